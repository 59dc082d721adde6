"""Path lines and streak lines of a velocity series, in pixels: where drops of ink go, how a thread lies.

Classical Runge–Kutta steps of one frame, bilinear in space, linear in time (Courty & Corpetti 2007,
section 4.1); field n, the motion from frame n to the next, holds in the middle between them. For pictures;
people are carried by `marey.crowd.animation`. Cost: about 1 µs a point and frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey.crowd.fields import FieldSeries
from marey.errors import InputError

Array = NDArray[np.float64]


def path_lines(fields: FieldSeries, starts: ArrayLike, *, first: int = 0, frames: int | None = None) -> Array:
    """Ways `(frames + 1, points, 2)`, (column, row), from `starts` `(points, 2)`; NaN once outside.

    first: the frame at which they start
    frames: how many frames they last; to the end of the series if None

    >>> east = FieldSeries(np.full((3, 5, 9, 2), [2.0, 0.0]), 25)
    >>> path_lines(east, [[1.0, 2.0]])[:, 0].tolist()
    [[1.0, 2.0], [3.0, 2.0], [5.0, 2.0], [7.0, 2.0]]
    """
    points = checked("starts", starts, (None, 2)).copy()
    last = _last(fields, first, frames)
    ways = np.empty((last - first + 1, *points.shape))
    ways[0] = points
    for step in range(1, len(ways)):
        points = _stepped(fields, points, first + step - 1)
        ways[step] = points
    return ways


def streak_lines(
    fields: FieldSeries, starts: ArrayLike, *, first: int = 0, frames: int | None = None
) -> Array:
    """Where everything is at last that left `starts` in each frame: `(frames + 1, points, 2)`, latest last.

    >>> east = FieldSeries(np.full((3, 5, 9, 2), [2.0, 0.0]), 25)
    >>> streak_lines(east, [[1.0, 2.0]])[:, 0].tolist()
    [[7.0, 2.0], [5.0, 2.0], [3.0, 2.0], [1.0, 2.0]]
    """
    origin = checked("starts", starts, (None, 2))
    last = _last(fields, first, frames)
    thread = np.full((last - first + 1, *origin.shape), np.nan)
    thread[0] = origin
    for step in range(1, len(thread)):
        moved = _stepped(fields, thread[:step].reshape(-1, 2), first + step - 1)
        thread[:step] = moved.reshape(step, -1, 2)
        thread[step] = origin
    return thread


def grid_points(fields: FieldSeries, across: int) -> Array:
    """Points `(n, 2)`, (column, row), evenly over the pixels that count, `across` of them in a row."""
    if across < 1:
        raise InputError(f"across: at least 1 point in a row, not {across}")
    spacing = fields.columns / across
    down = max(1, round(fields.rows / spacing))
    columns = (np.arange(across) + 0.5) * fields.columns / across - 0.5
    rows = (np.arange(down) + 0.5) * fields.rows / down - 0.5
    points = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
    if fields.mask is None:
        return points
    column, row = np.rint(points).astype(int).T
    return np.asarray(points[fields.mask[row, column]])


def _last(fields: FieldSeries, first: int, frames: int | None) -> int:
    if not 0 <= first < fields.frames or (frames is not None and frames < 0):
        raise InputError(f"{frames} frames from frame {first} on: the series has {fields.frames}")
    return fields.frames if frames is None else min(first + frames, fields.frames)


def _stepped(fields: FieldSeries, points: Array, frame: int) -> Array:
    """One frame later."""
    middle = fields.velocities[frame]
    now = 0.5 * (fields.velocities[max(frame - 1, 0)] + middle)
    later = 0.5 * (middle + fields.velocities[min(frame + 1, fields.frames - 1)])
    a = _velocity(now, fields, points)
    b = _velocity(middle, fields, points + 0.5 * a)
    c = _velocity(middle, fields, points + 0.5 * b)
    d = _velocity(later, fields, points + c)
    moved = points + (a + 2 * b + 2 * c + d) / 6
    moved[~_inside(fields, moved)] = np.nan
    return moved


def _velocity(field: NDArray[np.floating], fields: FieldSeries, points: Array) -> Array:
    """Bilinear; NaN for points that are nowhere, the border's velocity for those just outside."""
    there = np.asarray(np.isfinite(points).all(axis=1))
    at = np.where(there[:, None], points, 0.0)
    column = np.clip(at[:, 0], 0, fields.columns - 1)
    row = np.clip(at[:, 1], 0, fields.rows - 1)
    left = np.minimum(column.astype(np.int64), max(fields.columns - 2, 0))
    top = np.minimum(row.astype(np.int64), max(fields.rows - 2, 0))
    right, bottom = np.minimum(left + 1, fields.columns - 1), np.minimum(top + 1, fields.rows - 1)
    x, y = (column - left)[:, None], (row - top)[:, None]
    above = (1 - x) * field[top, left] + x * field[top, right]
    below = (1 - x) * field[bottom, left] + x * field[bottom, right]
    found = (1 - y) * above + y * below
    found[~there] = np.nan
    return np.asarray(found, dtype=np.float64)


def _inside(fields: FieldSeries, points: Array) -> NDArray[np.bool_]:
    column, row = points[:, 0], points[:, 1]
    with np.errstate(invalid="ignore"):
        inside = (column >= -0.5) & (column <= fields.columns - 0.5)
        inside &= (row >= -0.5) & (row <= fields.rows - 0.5)
    if fields.mask is not None:
        at = np.where(inside[:, None], points, 0.0)
        across = np.clip(np.rint(at[:, 0]).astype(np.int64), 0, fields.columns - 1)
        down = np.clip(np.rint(at[:, 1]).astype(np.int64), 0, fields.rows - 1)
        inside &= fields.mask[down, across]
    return np.asarray(inside)
