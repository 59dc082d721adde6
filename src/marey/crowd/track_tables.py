"""Long tables of `frame, id, x, y` and the dense arrays of :class:`~marey.crowd.tracks.Tracks`.

People are often annotated only every 6th or 10th frame of a video. Such a table becomes one frame per
annotation, so that agents do not blink in and out; the numbers of the video's frames are kept as
`first_frame + step * index`. Cost: one sort of the rows; the dense array is bounded.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, IntArray, Integers
from marey.errors import InputError

LARGEST_ARRAY = 2_000_000_000
"""Bytes of the dense array; a longer recording is read in parts."""

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


def rows_from_dense(
    positions: FloatArray, ids: IntArray, frame_numbers: IntArray
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """`frame, id, x, y` of everyone present, each `(rows,)`, frame by frame."""
    index, agent = np.nonzero(np.isfinite(positions).all(axis=-1))
    x, y = positions[index, agent].T
    return frame_numbers[index], ids[agent], x, y


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
    """Raise where a dense array would not fit."""
    size = frames * agents * 16
    if size > LARGEST_ARRAY:
        raise InputError(
            f"{what} for {agents} people would need {size / 1e9:.1f} GB "
            f"(at most {LARGEST_ARRAY / 1e9:.0f}); read it in parts, or check that the frame column is one"
        )


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


def _numbers(name: str, values: Any) -> Array:
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
