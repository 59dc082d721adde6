"""One transition between two frames: blended straight, warped in time, or with the best windows of all
(Boukhayma 2017, sections 2.5.1-2.5.3).

A warped transition lays its windows over each other along a path that holds neither of them for more than
`slope - 1` frames, and begins with both moving. The recursion of the source finds the least sum; the least
mean, which it states as its aim, is found here by Dinkelbach's method. Cost: windows' area × (2 slope - 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError
from marey.statistics.graphs.clips import DistanceMatrix
from marey.statistics.graphs.transitions import Objective, Transition, Windows


def standard(distances: DistanceMatrix, source: int, destination: int, length: int) -> Transition:
    """From `source` to `destination` by blending `length` frames in step.

    >>> apart = DistanceMatrix(np.abs(np.subtract.outer(range(6), range(6))), np.zeros((6, 6)), [0, 6],
    ...                        ("rise",), "example")
    >>> standard(apart, 0, 4, 3).path.tolist(), standard(apart, 0, 4, 3).cost
    ([[0, 2], [1, 3], [2, 4]], 6.0)
    """
    _check_window(distances, source, length, "source")
    _check_window(distances, destination, -length, "destination")
    path = np.arange(length)[:, None] + np.array([source, destination - length + 1])
    return _costed(distances, path)


def warped(
    distances: DistanceMatrix,
    source: int,
    destination: int,
    source_length: int,
    destination_length: int,
    *,
    slope: int = 3,
    objective: Objective = "weight",
    alpha: float = 0.0,
) -> Transition:
    """From `source` to `destination` through windows of given lengths, in the time that deforms least.

    slope: at most `slope - 1` frames of one window in a row are passed while the other is held
    objective: what is least, the sum of distances + `alpha` ("weight"), their sum, or their mean

    >>> poses = np.array([0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    >>> apart = DistanceMatrix(np.abs(np.subtract.outer(poses, poses)), np.zeros((9, 9)), [0, 4, 9],
    ...                        ("at once", "late"), "example")
    >>> warped(apart, 0, 8, 4, 4).cost
    0.0
    """
    _check_window(distances, source, source_length, "source")
    _check_window(distances, destination, -destination_length, "destination")
    if slope < 1:
        raise InputError(f"slope: 1 or more, got {slope}")
    shorter, longer = sorted((source_length - 1, destination_length - 1))
    if longer > slope * shorter:
        raise InputError(
            f"windows of {source_length} and {destination_length} frames: neither may pass more than {slope} "
            "times as fast as the other; choose lengths nearer to each other, or a larger slope"
        )
    rows, columns = (source, source_length), (destination - destination_length + 1, destination_length)
    return _best(distances, rows, columns, None, slope, objective, alpha)


def optimal(
    distances: DistanceMatrix,
    source: int,
    destination: int,
    *,
    windows: Windows,
    objective: Objective = "weight",
    alpha: float = 0.01,
) -> Transition:
    """From `source` to `destination` through the windows, and in the time, that serve the objective best.

    objective: "weight" is the sum of distances plus `alpha` a frame, what the transition weighs in a graph

    >>> poses = np.array([0.0, 5.0, 5.0, 5.0, 9.0, 5.0, 5.0, 0.0])
    >>> apart = DistanceMatrix(np.abs(np.subtract.outer(poses, poses)), np.zeros((8, 8)), [0, 4, 8],
    ...                        ("rise", "fall"), "example")
    >>> found = optimal(apart, 1, 6, windows=Windows(2, 3))
    >>> found.path.tolist(), found.cost
    ([[1, 5], [2, 6]], 0.0)
    """
    rows = _check_window(distances, source, windows.shortest, "source")
    columns = _check_window(distances, destination, -windows.shortest, "destination")
    height, width = min(windows.longest, rows), min(windows.longest, columns)
    return _best(
        distances, (source, height), (destination - width + 1, width), windows.shortest, windows.slope,
        objective, alpha,
    )  # fmt: skip


def extra_cost(objective: Objective, alpha: float) -> float:
    """What every frame of a transition costs beside its distance."""
    if objective not in ("weight", "sum", "mean"):
        raise InputError(f"objective: 'weight', 'sum' or 'mean', not {objective!r}")
    if not (np.isfinite(alpha) and alpha >= 0):
        raise InputError(f"alpha: must not be negative, got {alpha}")
    return float(alpha) if objective == "weight" else 0.0


def _best(
    distances: DistanceMatrix,
    rows: tuple[int, int],
    columns: tuple[int, int],
    shortest: int | None,
    slope: int,
    objective: Objective,
    alpha: float,
) -> Transition:
    """The best path from the first row to the last column of a block, or over all of it."""
    from marey.statistics.graphs import _transition_kernels as kernels

    (top, height), (left, width) = rows, columns
    extra, slope = extra_cost(objective, alpha), min(slope, max(height, width))
    values = np.ascontiguousarray(distances.values)
    costs, kept = np.empty((height, slope + width)), np.zeros((height, slope + width), np.int64)
    down, across = np.empty((slope, width)), np.empty((slope, width))
    # A window that must be used whole begins in the first column and ends in the last row.
    begins, first_end = (1, height) if shortest is None else (width - shortest + 1, shortest)
    _, cells, used, _, extra = kernels.best_of_pair(
        values, top, left, extra, begins, first_end, objective == "mean", costs, kept, down, across
    )
    if cells == 0:
        raise InputError(
            f"no transition from frame {top} to frame {left + width - 1}: windows of up to {height} and "
            f"{width} frames do not fit each other with slope {slope}"
        )
    path = np.empty((cells, 2), np.int64)
    kernels.trace(values, top, left, extra, slope, costs, used - 1, path)
    return _costed(distances, path[::-1] + np.array([top, left]))


def _costed(distances: DistanceMatrix, path: NDArray[np.int64]) -> Transition:
    return Transition(path, float(distances.values[path[:, 0], path[:, 1]].sum(dtype=np.float64)))


def _check_window(distances: DistanceMatrix, frame: int, length: int, which: str) -> int:
    """How many frames there are from `frame` on, or up to it for a `length` below 0; enough of them?"""
    if not 0 <= frame < distances.frames:
        raise InputError(f"{which} frame {frame}: there are frames 0…{distances.frames - 1}")
    if abs(length) < 2:
        raise InputError(f"{which} window: 2 frames or more, got {abs(length)}")
    sequence = int(np.searchsorted(distances.starts, frame, side="right")) - 1
    start, stop = int(distances.starts[sequence]), int(distances.starts[sequence + 1])
    room, way = (stop - frame, "from it on") if length > 0 else (frame - start + 1, "up to it")
    if room < abs(length):
        raise InputError(
            f"{which} frame {frame}: {distances.names[sequence]} has {room} frames {way}, but the window "
            f"needs {abs(length)}; choose another frame or a shorter window"
        )
    return room
