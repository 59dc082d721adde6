"""The best transition from one captured frame to another, and between all (Boukhayma 2017, section 2.5).

A transition blends two windows of frames along a time warp that holds neither of them for more than
`slope - 1` frames and begins with both moving. The published recursion finds the least sum of distances; the
least mean, which is stated as the aim, is found here by Dinkelbach's method. Cost of one transition: area of
the windows × (2 slope - 1). For all pairs, one dynamic programme tries all windows of a source frame: under
1 µs a pair for windows of 9 to 60 frames, 4 s for 2,600 frames on one core; 50 to 130 µs for the least mean.
Memory: 10 bytes a pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import Array, FloatArray, Integers, assign, checked, derived
from marey._work import Progress
from marey.errors import InputError
from marey.statistics.graphs.graph import DistanceMatrix, Windows

Objective = Literal["weight", "sum", "mean"]
Ends = Literal["strict", "short"]


@dataclass(frozen=True, eq=False)
class Transition:
    """A transition between two frames: the pairs of frames that are blended.

    Args:
        path: `(length, 2)`, frame of its source window and of the destination window, neither going back;
            the first source frame is where the transition leaves, the last destination frame where it
            arrives.
        cost: Sum of the pose distances of the pairs.

    >>> leap = Transition([[3, 10], [4, 11], [4, 12]], 0.6)
    >>> leap.source, leap.destination, leap.length
    (3, 12, 3)
    """

    path: NDArray[np.int64]
    cost: float

    def __post_init__(self) -> None:
        path = checked("path", self.path, (None, 2), dtype=np.int64)
        if len(path) == 0 or (np.diff(path, axis=0) < 0).any():
            raise InputError("transition: its path is empty or goes back in time")
        assign(self, path=path)

    @property
    def source(self) -> int:
        """The frame it leaves."""
        return int(self.path[0, 0])

    @property
    def destination(self) -> int:
        """The frame it arrives at."""
        return int(self.path[-1, 1])

    length = derived(len, "path", "Frames from the one to the other, both counted.")


@dataclass(frozen=True, eq=False)
class TransitionTable:
    """Cost and length of the best transition between every two frames.

    Args:
        costs: `(frames, frames)`, float32, sum of pose distances from row to column; infinite where there is
            no transition.
        lengths: `(frames, frames)`, int16, frames of the transition; 0 where there is none.
        source_lengths: `(frames, frames)`, int16, frames of its source window.
        destination_lengths: `(frames, frames)`, int16, frames of the destination window.
        starts: `(sequences + 1,)`, first frame of each sequence, then the number of frames.
        objective: What was minimised: "weight" (sum of distance + alpha), "sum" or "mean" of distances.
        alpha: Cost of a frame of duration in the objective "weight".
    """

    costs: FloatArray
    lengths: NDArray[np.int16]
    source_lengths: NDArray[np.int16]
    destination_lengths: NDArray[np.int16]
    starts: NDArray[np.int64]
    windows: Windows
    objective: Objective
    alpha: float = 0.0

    frames = derived(len, "costs", "Number of frames.")


@dataclass(frozen=True, eq=False)
class PairCosts:
    """The best transitions of given pairs of frames.

    Args:
        costs: `(pairs,)`, sum of pose distances; infinite where there is no transition.
        lengths: `(pairs,)`, frames of the transition.
        source_lengths: `(pairs,)`, frames of its source window.
        destination_lengths: `(pairs,)`, frames of the destination window.
    """

    costs: Array
    lengths: Integers
    source_lengths: Integers
    destination_lengths: Integers


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
    """From `source` to `destination` through windows of given lengths, with the best time warp.

    Args:
        slope: At most `slope - 1` frames of one window in a row are passed while the other is held.
        objective: What is minimised: the sum of distances + `alpha` ("weight"), their sum, or their mean.

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
    """From `source` to `destination` through the best windows, with the best time warp.

    Args:
        objective: "weight" is the sum of distances plus `alpha` a frame, the weight of an edge in a graph.

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


def smooth_path(transition: Transition) -> Array:
    """Both windows' times at each frame of a transition, `(length, 2)`, in fractions of frames.

    A time warp is a staircase: while it passes frames of one window, a frame of the other is held. The steps
    are smoothed over the frames around them, so that times rise strictly wherever a window has more than one
    frame; the first and last pair stay (after section 2.5.2).

    >>> held = Transition([[3, 10], [4, 11], [4, 12], [4, 13], [5, 14]], 0.0)
    >>> smooth_path(held).round(2).tolist()
    [[3.0, 10.0], [3.56, 11.0], [4.0, 12.0], [4.44, 13.0], [5.0, 14.0]]
    """
    from marey.statistics.graphs._transition_kernels import smooth_times

    return np.stack([smooth_times(np.ascontiguousarray(column)) for column in transition.path.T], axis=1)


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

    Args:
        windows: One length only (shortest = longest) gives plain time warping, with slope 1 plain blending.
        objective: "weight", the sum of distances plus `alpha` a frame; "sum"; or "mean", a hundred times as
            slow.
        ends: "strict" has no transition where a sequence has too few frames for the shortest window; "short"
            makes do with as many as there are, down to 3.

    >>> poses = np.sin(np.arange(24.0))
    >>> apart = DistanceMatrix(np.abs(np.subtract.outer(poses, poses)), np.zeros((24, 24)), [0, 12, 24],
    ...                        ("a", "b"), "example")
    >>> found = table(apart, windows=Windows(4, 8))
    >>> int(found.lengths[2, 20]), bool(np.isinf(found.costs[10, 20]))
    (6, True)
    """
    from marey.statistics.graphs import _transition_kernels as kernels

    extra = _frame_cost(objective, alpha)
    if ends not in ("strict", "short"):
        raise InputError(f"ends: 'strict' or 'short', not {ends!r}")
    # Lengths are stored in two bytes, and a transition may be twice as long as its windows.
    if windows.longest > 10_000:
        raise InputError(f"windows: the longest may have 10000 frames, got {windows.longest}")
    frames, starts, sizes = distances.frames, distances.starts, windows.within(distances.starts)
    costs = np.empty((frames, frames), np.float32)
    lengths = np.empty((3, frames, frames), np.int16)
    short = min(windows.shortest, 3 if ends == "short" else windows.shortest)
    pair_by_pair = objective == "mean" or windows.shortest == windows.longest
    values = np.ascontiguousarray(distances.values)
    destinations = np.arange(frames)
    before = destinations - np.repeat(starts[:-1], np.diff(starts)) + 1

    def fill(rows: tuple[int, int, int]) -> None:
        first, last, stop = rows
        if not pair_by_pair:
            sums, found = costs[first:last].copy(), lengths[:, first:last].copy()
            for left, right in pairwise(starts):
                kernels.block(
                    values, first, last, stop, left, right, sizes.shortest, sizes.longest, sizes.slope, short,
                    extra, sums, found,
                )  # fmt: skip
            costs[first:last], lengths[:, first:last] = sums, found
            return
        for source in range(first, last):
            shortest = np.clip(np.minimum(before, stop - source), short, sizes.shortest)
            sources = np.full(frames, source)
            costs[source], of_pairs = _pairs(
                values, starts, sources, destinations, shortest, sizes, extra, objective
            )
            lengths[:, source] = of_pairs.T

    blocks = list(_row_blocks(starts))
    for (_, last, _), _ in zip(blocks, _work.stream(fill, blocks), strict=True):
        if progress is not None:
            progress(last, frames)
    return TransitionTable(costs, lengths[0], lengths[1], lengths[2], starts, windows, objective, extra)


def optimal_pairs(
    distances: DistanceMatrix,
    sources: ArrayLike,
    destinations: ArrayLike,
    *,
    windows: Windows,
    objective: Objective = "weight",
    alpha: float = 0.01,
) -> PairCosts:
    """The best transitions of given pairs of frames, `(pairs,)` each: e.g. a sample of a large library.

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
        np.full(len(first), windows.shortest), windows.within(distances.starts),
        _frame_cost(objective, alpha), objective,
    )  # fmt: skip
    return PairCosts(sums, *np.ascontiguousarray(lengths.T))


def _pairs(
    values: FloatArray, starts: Integers, sources: Integers, destinations: Integers, shortest: Integers,
    windows: Windows, extra: float, objective: Objective,
) -> tuple[Array, Integers]:  # fmt: skip
    """Sums `(pairs,)`, and frames of the transitions and of both windows `(pairs, 3)`."""
    from marey.statistics.graphs import _transition_kernels as kernels

    stops = starts[np.searchsorted(starts, sources, side="right")]
    heads = starts[np.searchsorted(starts, destinations, side="right") - 1]
    sums, lengths = np.empty(len(sources)), np.empty((len(sources), 3), np.int64)
    kernels.pairs(
        values, sources, stops, destinations, heads, shortest, windows.longest, windows.slope, extra,
        objective == "mean", sums, lengths,
    )  # fmt: skip
    return sums, lengths


def _row_blocks(starts: Integers, rows: int = 8) -> Iterator[tuple[int, int, int]]:
    """First and last source frames of the blocks that threads share, and the end of their sequence."""
    for start, stop in pairwise(starts.tolist()):
        for first in range(start, stop, rows):
            yield first, min(first + rows, stop), stop


def _frame_cost(objective: Objective, alpha: float) -> float:
    """Cost of every frame of a transition beside its distance."""
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
    extra, slope = _frame_cost(objective, alpha), min(slope, max(height, width))
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


def _costed(distances: DistanceMatrix, path: Integers) -> Transition:
    return Transition(path, float(distances.values[path[:, 0], path[:, 1]].sum(dtype=np.float64)))


def _check_window(distances: DistanceMatrix, frame: int, length: int, which: str) -> int:
    """How many frames there are from `frame` on, or up to it for a `length` below 0; an error if too few."""
    if not 0 <= frame < distances.frames:
        raise InputError(f"{which} frame {frame}: there are frames 0…{distances.frames - 1}")
    if abs(length) < 2:
        raise InputError(f"{which} window: 2 frames or more, got {abs(length)}")
    sequence = int(np.searchsorted(distances.starts, frame, side="right")) - 1
    start, stop = int(distances.starts[sequence]), int(distances.starts[sequence + 1])
    room, side = (stop - frame, "from it on") if length > 0 else (frame - start + 1, "up to it")
    if room < abs(length):
        raise InputError(
            f"{which} frame {frame}: {distances.names[sequence]} has {room} frames {side}, but the window "
            f"needs {abs(length)}; choose another frame or a shorter window"
        )
    return room
