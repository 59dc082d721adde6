"""Compiled loop that lays out the time of many transitions at once. Importing it imports numba: do so inside
functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.surface.transitions._kernels import best_of_pair, trace

Whole = NDArray[np.int64]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def lay_out_times(
    values: NDArray[np.float32], sources: Whole, targets: Whole, rows: Whole, columns: Whole, slope: int,
    alpha: float, first: Whole, times: NDArray[np.float64],
) -> None:  # fmt: skip
    """Smooth times of transitions between windows of `rows` frames from each source and `columns` to each
    target; transition e fills the rows `first[e]` up to `first[e + 1]` of `times`, `(…, 2)`.
    """
    for e in range(len(sources)):
        height, width = rows[e], columns[e]
        costs = np.empty((height, slope + width))
        kept = np.zeros((height, slope + width), np.int64)
        down, across = np.empty((slope, width)), np.empty((slope, width))
        left = targets[e] - width + 1
        cells = best_of_pair(
            values, sources[e], left, alpha, 1, height, False, costs, kept, down, across
        )[1]  # fmt: skip
        out = times[first[e] : first[e + 1]]
        path = np.empty((max(cells, 2), 2), np.int64)
        if cells > 0:
            trace(values, sources[e], left, alpha, slope, costs, height - 1, path)
        else:  # windows that do not fit each other: straight through both
            path[0, 0], path[0, 1] = height - 1, width - 1
            path[1, 0], path[1, 1] = 0, 0
        for side in range(2):
            begin = sources[e] if side == 0 else left
            resample(spread(path[::-1, side]), out[:, side])
            out[:, side] += begin


@njit(**_OPTIONS)
def spread(path: Any) -> NDArray[np.float64]:
    """Times of one window with its rests spread over the frames around them, as `smooth_path` does."""
    count = len(path) - 1
    steps, smooth = np.empty(count), np.empty(count)
    rest, run = 0, 0
    for i in range(count):
        steps[i] = path[i + 1] - path[i]
        run = 0 if steps[i] > 0 else run + 1
        rest = max(rest, run)
    times = np.empty(count + 1)
    times[0] = path[0]
    if rest == count:
        rest = 0
    for i in range(count):
        total = 0.0
        for k in range(-rest, rest + 1):
            j = (i + k) % (2 * count)
            total += (rest + 1 - abs(k)) * steps[j if j < count else 2 * count - 1 - j]
        smooth[i] = total / ((rest + 1) * (rest + 1))
        times[i + 1] = times[i] + smooth[i]
    times[count] = path[count]
    return times


@njit(**_OPTIONS)
def resample(times: NDArray[np.float64], out: Any) -> None:
    """Times taken evenly, first and last included; as they are if the numbers agree."""
    count = len(out)
    for i in range(count):
        at = i * (len(times) - 1) / (count - 1) if count > 1 else len(times) - 1.0
        before = min(int(at), len(times) - 2)
        out[i] = times[before] + (at - before) * (times[before + 1] - times[before])
    out[count - 1] = times[-1]
