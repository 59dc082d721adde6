"""The best transition between every two frames of a library (Boukhayma 2017, sections 2.5.3-2.5.4).

All windows of a source frame are tried in one dynamic programme, which gives what trying them one by one
would: a path may leave the source's row in any column and end in any. Only the few whose destination window
comes out too long are found anew by themselves, as is the least mean. Threads share the source frames.
Cost for windows of 9 to 60 frames: under 1 µs a pair of frames, 4 s for 2,600 frames on one core; 50 to
130 µs for the least mean. Memory: 10 bytes a pair, and a few rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import FloatArray
from marey._progress import Progress
from marey.errors import InputError
from marey.statistics.graphs.clips import DistanceMatrix
from marey.statistics.graphs.single import extra_cost
from marey.statistics.graphs.transitions import Objective, TransitionTable, Windows

Ends = Literal["strict", "short"]

# Windows that a sequence's end cuts short have at least so many frames.
SHORTEST_AT_ENDS = 3
# Lengths are kept in two bytes, and a transition may be twice as long as its windows.
LONGEST = 10_000
# Source frames a thread takes at a time.
ROWS = 8


@dataclass(frozen=True, eq=False)
class PairCosts:
    """The best transitions of given pairs of frames.

    costs: `(pairs,)`, sum of pose distances; infinite where there is none
    lengths, source_lengths, destination_lengths: `(pairs,)`, frames of the transition and of its windows
    """

    costs: NDArray[np.float64]
    lengths: NDArray[np.int64]
    source_lengths: NDArray[np.int64]
    destination_lengths: NDArray[np.int64]


def table(
    distances: DistanceMatrix,
    *,
    windows: Windows,
    objective: Objective = "weight",
    alpha: float = 0.01,
    ends: Ends = "strict",
    progress: Progress | None = None,
) -> TransitionTable:
    """Costs, lengths and windows of the best transition from every frame to every other.

    windows: one length only (shortest = longest) gives plain time warping, with slope 1 plain blending
    objective: "weight", the sum of distances plus `alpha` a frame; "sum"; or "mean", a hundred times as slow
    ends: "strict" has no transition where a sequence has too few frames for the shortest window; "short"
        makes do with as many as there are, down to 3

    >>> poses = np.sin(np.arange(24.0))
    >>> apart = DistanceMatrix(np.abs(np.subtract.outer(poses, poses)), np.zeros((24, 24)), [0, 12, 24],
    ...                        ("a", "b"), "example")
    >>> found = table(apart, windows=Windows(4, 8))
    >>> int(found.lengths[2, 20]), bool(np.isinf(found.costs[10, 20]))
    (6, True)
    """
    extra = extra_cost(objective, alpha)
    if ends not in ("strict", "short"):
        raise InputError(f"ends: 'strict' or 'short', not {ends!r}")
    if windows.longest > LONGEST:
        raise InputError(f"windows: the longest may have {LONGEST} frames, got {windows.longest}")
    frames, sizes = distances.frames, within(windows, distances.starts)
    costs = np.empty((frames, frames), np.float32)
    lengths = np.empty((3, frames, frames), np.int16)
    short = min(windows.shortest, SHORTEST_AT_ENDS if ends == "short" else windows.shortest)
    every_pair = objective == "mean" or windows.shortest == windows.longest
    work = _pair_rows if every_pair else _batched_rows
    values = np.ascontiguousarray(distances.values)

    def job(piece: tuple[int, int, int]) -> None:
        first, last, sequence = piece
        found = work(values, distances.starts, first, last, sequence, sizes, short, extra, objective)
        costs[first:last], lengths[:, first:last] = found

    pieces = list(_pieces(distances.starts))
    for (_, last, _), _ in zip(pieces, _work.stream(job, pieces), strict=True):
        if progress is not None:
            progress(last, frames)
    return TransitionTable(
        costs, lengths[0], lengths[1], lengths[2], distances.starts, windows, objective,
        alpha if objective == "weight" else 0.0,
    )  # fmt: skip


def optimal_pairs(
    distances: DistanceMatrix,
    sources: ArrayLike,
    destinations: ArrayLike,
    *,
    windows: Windows,
    objective: Objective = "weight",
    alpha: float = 0.01,
) -> PairCosts:
    """The same for given pairs of frames, `(pairs,)` each: a sample of a large library, say.

    >>> poses = np.sin(np.arange(24.0))
    >>> apart = DistanceMatrix(np.abs(np.subtract.outer(poses, poses)), np.zeros((24, 24)), [0, 24], ("a",),
    ...                        "example")
    >>> found = optimal_pairs(apart, [2, 3], [20, 9], windows=Windows(4, 8), objective="mean")
    >>> (found.costs / found.lengths).round(2).tolist()
    [0.25, 0.0]
    """
    first, last = (np.array(frames, np.int64) for frames in (sources, destinations))
    if first.ndim != 1 or first.shape != last.shape:
        raise InputError(f"pairs: as many sources as destinations, got {first.shape} and {last.shape}")
    both = np.concatenate([first, last])
    if len(both) and not (both.min() >= 0 and both.max() < distances.frames):
        raise InputError(f"pairs: there are frames 0…{distances.frames - 1}")
    sums, lengths = _pairs(
        np.ascontiguousarray(distances.values), distances.starts, first, last,
        np.full(len(first), windows.shortest), within(windows, distances.starts),
        extra_cost(objective, alpha), objective,
    )  # fmt: skip
    return PairCosts(sums, *np.ascontiguousarray(lengths.T))


def within(windows: Windows, starts: NDArray[np.int64]) -> Windows:
    """The same windows, with no more room than the longest sequence can fill."""
    most = max(int(np.diff(starts).max()), windows.shortest)
    longest = min(windows.longest, most)
    return Windows(windows.shortest, longest, min(windows.slope, longest))


Found = tuple[FloatArray, NDArray[np.int16]]


def _batched_rows(
    values: FloatArray, starts: NDArray[np.int64], first: int, last: int, sequence: int, windows: Windows,
    short: int, extra: float, objective: Objective,
) -> Found:  # fmt: skip
    """Source frames `first` up to `last` to all others, all windows at once."""
    from marey.statistics.graphs import _transition_kernels as kernels

    costs = np.empty((last - first, len(values)), np.float32)
    lengths = np.empty((3, last - first, len(values)), np.int16)
    for left, right in pairwise(starts):
        kernels.block(
            values, first, last, starts[sequence + 1], left, right, windows.shortest, windows.longest,
            windows.slope, short, extra, costs, lengths,
        )  # fmt: skip
    return costs, lengths


def _pair_rows(
    values: FloatArray, starts: NDArray[np.int64], first: int, last: int, sequence: int, windows: Windows,
    short: int, extra: float, objective: Objective,
) -> Found:  # fmt: skip
    """Source frames `first` up to `last` to all others, each pair by itself."""
    frames = len(values)
    destinations = np.arange(frames)
    before = destinations - np.repeat(starts[:-1], np.diff(starts)) + 1
    costs = np.empty((last - first, frames), np.float32)
    lengths = np.empty((3, last - first, frames), np.int16)
    for row, source in enumerate(range(first, last)):
        room = np.minimum(before, starts[sequence + 1] - source)
        shortest = np.clip(room, short, windows.shortest)
        sums, found = _pairs(
            values, starts, np.full(frames, source), destinations, shortest, windows, extra, objective
        )
        costs[row], lengths[:, row] = sums, found.T
    return costs, lengths


def _pairs(
    values: FloatArray, starts: NDArray[np.int64], sources: NDArray[np.int64],
    destinations: NDArray[np.int64], shortest: NDArray[np.int64], windows: Windows, extra: float,
    objective: Objective,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:  # fmt: skip
    from marey.statistics.graphs import _transition_kernels as kernels

    stops = starts[np.searchsorted(starts, sources, side="right")]
    beginnings = starts[np.searchsorted(starts, destinations, side="right") - 1]
    sums, lengths = np.empty(len(sources)), np.empty((len(sources), 3), np.int64)
    kernels.pairs(
        values, sources, stops, destinations, beginnings, shortest, windows.longest, windows.slope, extra,
        objective == "mean", sums, lengths,
    )  # fmt: skip
    return sums, lengths


def _pieces(starts: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    for sequence, (start, stop) in enumerate(pairwise(starts)):
        for first in range(int(start), int(stop), ROWS):
            yield first, min(first + ROWS, int(stop)), sequence
