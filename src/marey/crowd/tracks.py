"""Positions of many people over time on the ground plane, and long tables of `frame, id, x, y`.

People come and go. Two samples of one person belong together when they are no further apart than that
recording usually samples (its annotation stride): nothing is interpolated over a longer absence, nothing is
extrapolated. A table annotated only every 6th or 10th frame of a video becomes one frame per annotation; the
numbers of the video's frames are `first_frame + step * index`. Cost: one sort of the rows of a table, a few
passes over `(frames, agents)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey import _arrays, _work
from marey._arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    Integers,
    Timed,
    as_slice,
    assign,
    check_memory,
    checked,
    checked_rate,
    derived,
    read_only,
    width,
)
from marey._report import rounded
from marey.errors import InputError
from marey.geometry.convention import unit_size
from marey.geometry.resampling import sample_positions

# A table may fill one cell in so many of its dense array; small arrays may be as empty as they like.
SPARSEST, SPARSE_ALLOWED = 2000, 1_800_000

# Whole numbers up to here are exact in float64, which is what text is parsed to.
LARGEST_NUMBER = 2**53


class RowError(InputError):
    """A row of a table that makes no sense; `row` counts from 0."""

    def __init__(self, message: str, row: int):
        self.row = row
        super().__init__(message)


class Dense(NamedTuple):
    """A table as arrays; see :class:`~marey.crowd.tracks.Tracks` for the first four."""

    positions: Array
    ids: Integers
    first_frame: int
    frame_step: int
    moved: int
    """Frames by which some rows were moved to fall on the common raster; 0 for nearly all files."""


def dense_from_rows(frame: ArrayLike, id: ArrayLike, x: ArrayLike, y: ArrayLike) -> Dense:
    """Rows in any order, each `(rows,)`, as positions `(frames, agents, 2)` with NaN for absence.

    The step between frames is the largest that fits all rows. Where an annotation was interrupted while
    no person was there and resumed off its own raster (BIWI ETH does), those rows move by less than a step.

    >>> table = dense_from_rows([10, 16, 16], [1, 1, 2], [0.0, 0.5, 3.0], [0.0, 0.0, 1.0])
    >>> table.positions[1].tolist(), table.first_frame, table.frame_step
    ([[0.5, 0.0], [3.0, 1.0]], 10, 6)
    """
    frames, agents = whole_numbers("frame", frame), whole_numbers("id", id)
    xy = np.stack([_numbers("x", x), _numbers("y", y)], axis=-1)
    if not len(frames) == len(agents) == len(xy):
        raise InputError(f"rows: {len(frames)} frames, {len(agents)} ids and {len(xy)} positions")
    if len(frames) == 0:
        raise InputError("rows: there is none")

    order = np.lexsort((frames, agents))
    torn = (
        (np.diff(frames[order]) == 0)
        & (np.diff(agents[order]) == 0)
        & (np.diff(xy[order], axis=0) != 0).any(axis=-1)
    )
    if torn.any():
        row = int(order[1:][torn].min())
        raise RowError(f"person {agents[row]} is at two places in frame {frames[row]}", row)

    step = common_step(frames[order], agents[order])
    first = int(frames.min())
    index = (frames - first + step // 2) // step
    ids, column = np.unique(agents, return_inverse=True)
    count = int(index.max()) + 1
    what = f"frames {first} to {frames.max()} in steps of {step}"
    check_size(count, len(ids), what)
    if count * len(ids) > max(SPARSE_ALLOWED, SPARSEST * len(frames)):
        raise InputError(
            f"{what} for {len(ids)} people, and only {len(frames)} rows: check that the frame column is one, "
            "or read it in parts"
        )
    positions = np.full((count, len(ids), 2), np.nan)
    positions[index, column] = xy
    moved = int(np.abs(frames - first - index * step).max())
    return Dense(positions, ids, first, step, moved)


def common_step(frames: IntArray, agents: IntArray) -> int:
    """Frames between two annotations, of rows sorted by agent and then frame.

    >>> common_step(np.array([0, 6, 12, 6, 12]), np.array([1, 1, 1, 2, 2]))
    6
    """
    gaps = np.diff(frames)[np.diff(agents) == 0]
    own = int(np.gcd.reduce(gaps)) if len(gaps) else 0
    numbers = np.unique(frames)
    common = int(np.gcd.reduce(np.diff(numbers))) if len(numbers) > 1 else 1
    if own > common:
        index = (numbers - numbers[0] + own // 2) // own
        if (np.diff(index) > 0).all():
            return own
    return common


def check_size(frames: int, agents: int, what: str) -> None:
    """Refuse a dense array that would not fit."""
    advice = "read it in parts, or check that the frame column is one"
    check_memory(16 * frames * agents, f"{what} for {agents} people", advice)


def whole_numbers(name: str, values: ArrayLike) -> Integers:
    """`values` as integers; a fraction, NaN or a giant is a :class:`RowError`."""
    array = np.asarray(values)
    if array.dtype.kind in "iu" and array.ndim == 1:
        return array.astype(np.int64)
    numbers = _numbers(name, array)
    bad = ~((numbers == np.rint(numbers)) & (np.abs(numbers) <= LARGEST_NUMBER))
    if bad.any():
        row = int(np.argmax(bad))
        raise RowError(f"{name} is {numbers[row]:g}, not a whole number", row)
    return numbers.astype(np.int64)


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: not a list of numbers ({error})") from error
    if array.ndim != 1:
        raise InputError(f"{name}: expected one number a row, got shape {array.shape}")
    bad = ~np.isfinite(array)
    if bad.any():
        row = int(np.argmax(bad))
        raise RowError(f"{name} is {array[row]}, not a number one can be at", row)
    return array


@dataclass(frozen=True, eq=False)
class Tracks(Timed):
    """Positions of agents in metres on the ground plane `(x, y)`.

    Attributes:
        positions: `(frames, agents, 2)`; NaN where an agent is absent.
        frame_rate: Frames per second.
        ids: `(agents,)`, the agents' own numbers.
        first_frame: The file's number of frame 0.
        frame_step: The file's frames from one of ours to the next (annotated every 6th frame: 6).

    >>> two = Tracks([[[0, 0], [1, 0]], [[0.1, 0], [np.nan, np.nan]]], 25)
    >>> two.agents, two.present.tolist()
    (2, [[True, True], [True, False]])
    """

    positions: FloatArray
    frame_rate: float
    ids: IntArray | None = None
    first_frame: int = 0
    frame_step: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        positions = checked("positions", self.positions, (None, None, 2), finite=False)
        frames, agents = positions.shape[:2]
        if frames == 0 or agents == 0:
            raise InputError("tracks: there is no frame or no agent")
        if np.isinf(positions).any():
            raise InputError("positions: some are infinite; use NaN where an agent is absent")
        ids = np.arange(agents) if self.ids is None else self.ids
        ids = checked("ids", ids, (agents,), dtype=np.int64)
        if len(np.unique(ids)) != agents:
            raise InputError("ids: two agents have the same number")
        if self.frame_step < 1:
            raise InputError(f"frame step: must be at least 1, got {self.frame_step}")
        assign(
            self,
            positions=positions,
            ids=ids,
            frame_rate=checked_rate(self.frame_rate),
            first_frame=int(self.first_frame),
            frame_step=int(self.frame_step),
        )

    @classmethod
    def from_rows(
        cls,
        frame: ArrayLike,
        id: ArrayLike,
        x: ArrayLike,
        y: ArrayLike,
        frame_rate: float,
        *,
        unit: str | float = "m",
        name: str = "",
    ) -> Tracks:
        """Tracks of a long table, one row a person and frame, each column `(rows,)`, in any order.

        Args:
            frame_rate: Of the frame numbers. Where only every n-th frame is annotated, the tracks have an
                n-th of it.
            unit: Of x and y, a name such as `"cm"` or a number of metres.

        >>> seen = Tracks.from_rows([0, 10, 10], [7, 7, 8], [0, 50, 300], [0, 0, 0], 25, unit="cm")
        >>> seen.frame_rate, seen.frame_step, seen.positions[1].tolist()
        (2.5, 10, [[0.5, 0.0], [3.0, 0.0]])
        """
        table = dense_from_rows(frame, id, x, y)
        table.positions[...] *= unit_size(unit)
        rate = checked_rate(frame_rate) / table.frame_step
        return cls(read_only(table.positions), rate, table.ids, table.first_frame, table.frame_step, name)

    def to_rows(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """`frame, id, x, y` of everyone present, each `(rows,)`, frame by frame, metres.

        >>> [column.tolist() for column in Tracks([[[0.0, 1.0], [np.nan, 0]]], 25, [4, 9], 30).to_rows()]
        [[30], [4], [0.0], [1.0]]
        """
        assert self.ids is not None
        index, agent = np.nonzero(np.isfinite(self.positions).all(axis=-1))
        x, y = self.positions[index, agent].T
        return self.frame_numbers[index], self.ids[agent], x, y

    frames = derived(len, "positions", "Number of frames.")

    agents = derived(width, "positions", "Number of different people.")

    @property
    def present(self) -> BoolArray:
        """Who is there when, `(frames, agents)`."""
        return is_present(self.positions)

    @property
    def frame_numbers(self) -> IntArray:
        """The file's number of each frame, `(frames,)`."""
        return self.first_frame + self.frame_step * np.arange(self.frames)

    def __getitem__(self, key: int | slice) -> Tracks:
        """Frames as a shorter series; agents that are never there any more are dropped."""
        chosen = range(*as_slice(key, self.frames).indices(self.frames))
        step = abs(chosen.step)
        return _of_those_present(
            self,
            self.positions[as_slice(key, self.frames)],
            first_frame=self.first_frame + self.frame_step * min(chosen[0], chosen[-1]),
            frame_step=self.frame_step * step,
            frame_rate=self.frame_rate / step,
        )

    def resample(self, frame_rate: float) -> Tracks:
        """At another rate, along straight lines; absences stay absences.

        Frame numbers then count frames of the new rate.

        >>> Tracks([[[0, 0]], [[1, 0]]], 10).resample(20).positions[:, 0, 0].tolist()
        [0.0, 0.5, 1.0]
        """
        rate = checked_rate(frame_rate)
        at = sample_positions(self.frames, self.frame_rate, rate)
        check_size(len(at), self.agents, f"frames at {rate:g} per second")
        start = self.first_frame / (self.frame_rate * self.frame_step)
        positions = _in_blocks(self.positions, len(at), lambda some, stride: _resampled(some, at, stride))
        return _of_those_present(
            self,
            read_only(positions),
            frame_rate=rate,
            first_frame=round(start * rate),
            frame_step=1,
        )

    def velocities(self) -> FloatArray:
        """Metres per second `(frames, agents, 2)`: central differences, one-sided at an absence.

        NaN where an agent is absent, or is seen in one frame only.

        >>> Tracks([[[0, 0]], [[1, 0]], [[3, 0]]], 10).velocities()[:, 0, 0].tolist()
        [10.0, 15.0, 20.0]
        """
        rate = self.frame_rate
        return _in_blocks(self.positions, self.frames, lambda some, stride: _velocities(some, rate, stride))

    def thinned(self, agents: int) -> Tracks:
        """A sample of at most `agents` agents, taken evenly."""
        if agents >= self.agents:
            return self
        kept = np.unique(np.linspace(0, self.agents - 1, agents).round().astype(np.int64))
        ids = None if self.ids is None else self.ids[kept]
        return replace(self, positions=self.positions[:, kept], ids=ids)

    def mirror(self) -> Tracks:
        """Left and right exchanged: x becomes -x."""
        return replace(self, positions=self.positions * [-1.0, 1.0])

    def scaled(self, factor: float) -> Tracks:
        """All positions times `factor`: 0.01 for tracks that turn out to be in centimetres."""
        if not (np.isfinite(factor) and factor > 0):
            raise InputError(f"factor: must be positive and finite, got {factor}; use mirror() to turn over")
        return replace(self, positions=self.positions * float(factor))

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        steps = np.linalg.norm(np.diff(self.positions, axis=0), axis=-1) * self.frame_rate
        low, high = np.nanmin(self.positions, axis=(0, 1)), np.nanmax(self.positions, axis=(0, 1))
        return {
            "kind": "tracks",
            "agents": self.agents,
            "most_at_once": int(self.present.sum(axis=1).max()),
            "mean_speed": rounded(np.nanmean(steps)) if np.isfinite(steps).any() else None,
            "area": [rounded(v) for v in (*low, *high)],
        }


def shared_columns(tracks: Tracks, *, apart: int = 1, groups: IntArray | None = None) -> Integers:
    """A column for each agent, `(agents,)`, as few as needed: those present within `apart` frames differ.

    Recordings of hours hold hundreds of people of whom a few are there at a time. Cost: a pass over the
    tracks.

    Args:
        tracks: People who come and go.
        apart: Frames from the last of one agent to the first of the next in its column.
        groups: `(agents,)`; people of different groups share no column.

    >>> gone = np.full((40, 2, 2), np.nan)
    >>> gone[:10, 0], gone[30:, 1] = 1.0, 2.0
    >>> [shared_columns(Tracks(gone, 10.0), apart=apart).tolist() for apart in (21, 22)]
    [[0, 0], [0, 1]]
    """
    present = tracks.present
    of_group = np.zeros(tracks.agents, np.int64) if groups is None else groups
    first = present.argmax(axis=0)
    last = len(present) - 1 - present[::-1].argmax(axis=0)
    here = np.flatnonzero(present.any(axis=0))
    columns, free_from = np.zeros(tracks.agents, np.int64), np.zeros(len(here), np.int64)
    count = 0
    for group in np.unique(of_group[here]):
        members, begins = here[of_group[here] == group], count
        for agent in members[np.argsort(first[members], kind="stable")]:
            free = np.flatnonzero(free_from[begins:count] <= first[agent])
            columns[agent] = begins + int(free[0]) if len(free) else count
            count = max(count, int(columns[agent]) + 1)
            free_from[columns[agent]] = last[agent] + apart
    return columns


def _of_those_present(
    tracks: Tracks, positions: FloatArray, *, frame_rate: float, first_frame: int, frame_step: int
) -> Tracks:
    kept = is_present(positions).any(axis=0)
    if not kept.any():
        raise InputError("no agent is present in these frames")
    assert tracks.ids is not None
    return replace(
        tracks,
        positions=positions if kept.all() else positions[:, kept],
        ids=tracks.ids[kept],
        frame_rate=frame_rate,
        first_frame=first_frame,
        frame_step=frame_step,
    )


def is_present(positions: FloatArray) -> BoolArray:
    """Who is there when, `(frames, agents)`."""
    return np.asarray(np.isfinite(positions).all(axis=-1))


def annotation_stride(present: BoolArray) -> int:
    """The most common distance in frames between two samples of one agent.

    >>> annotation_stride(np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]], dtype=bool))
    2
    """
    agent, frame = np.nonzero(present.T)
    gaps = np.diff(frame)[np.diff(agent) == 0]
    return int(np.bincount(gaps).argmax()) if len(gaps) else 1


def _in_blocks(positions: FloatArray, frames: int, compute: Callable[[FloatArray, int], Array]) -> Array:
    """`compute(positions, stride)` of a few agents at a time, so that its arrays stay small."""
    stride = annotation_stride(is_present(positions))
    agents = positions.shape[1]
    result = np.empty((frames, agents, 2))
    size = _work.block_rows(16 * max(frames, len(positions)), _arrays.BLOCK_BYTES)
    for block in (slice(start, start + size) for start in range(0, agents, size)):
        result[:, block] = compute(positions[:, block], stride)
    return result


def _resampled(positions: FloatArray, times: Array, stride: int) -> Array:
    """Positions at fractional frames `times` `(n,)`, NaN between samples farther apart than `stride`."""
    last, following = _neighbours(positions)
    before, after = last[np.floor(times).astype(int)], following[np.ceil(times).astype(int)]
    known = (before >= 0) & (after < len(positions)) & (after - before <= stride)
    before, after = np.where(known, before, 0), np.where(known, after, 0)
    share = (times[:, None] - before) / np.maximum(after - before, 1)
    start, end = (np.take_along_axis(positions, at[..., None], axis=0) for at in (before, after))
    return np.where(known[..., None], start + share[..., None] * (end - start), np.nan)


def _velocities(positions: FloatArray, frame_rate: float, stride: int) -> Array:
    """Central differences between the samples before and after; one-sided where one is too far away."""
    last, following = _neighbours(positions)
    here = np.broadcast_to(np.arange(len(positions))[:, None], last.shape)
    before, after = here.copy(), here.copy()
    before[1:] = np.where((last[:-1] >= 0) & (here[1:] - last[:-1] <= stride), last[:-1], here[1:])
    near = (following[1:] < len(positions)) & (following[1:] - here[:-1] <= stride)
    after[:-1] = np.where(near, following[1:], here[:-1])
    known = is_present(positions) & (after > before)
    span = np.where(known, after - before, 1) / frame_rate
    start, end = (np.take_along_axis(positions, at[..., None], axis=0) for at in (before, after))
    return np.where(known[..., None], (end - start) / span[..., None], np.nan)


def _neighbours(positions: FloatArray) -> tuple[Integers, Integers]:
    """Of each frame the last sample up to it (-1 = none) and the first from it on (`frames` = none)."""
    present, frame = is_present(positions), np.arange(len(positions))[:, None]
    last = np.maximum.accumulate(np.where(present, frame, -1), axis=0)
    following = np.minimum.accumulate(np.where(present, frame, len(positions))[::-1], axis=0)[::-1]
    return last, following
