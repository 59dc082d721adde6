"""Path lines and streak lines of a velocity series, in pixels: where drops of ink go, how a thread lies.

The image takes the place of the ground in :mod:`marey.crowd.animation` (Courty & Corpetti 2007, section 4.1):
classical Runge–Kutta steps of one frame, bilinear in space, linear in time. Cost: 0.2 µs a point and frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked
from marey.crowd.fields import FieldSeries
from marey.errors import InputError


def path_lines(fields: FieldSeries, starts: ArrayLike, *, first: int = 0, frames: int | None = None) -> Array:
    """Paths `(frames + 1, points, 2)`, (column, row), from `starts` `(points, 2)`; NaN once outside.

    Args:
        fields: The series.
        starts: Pixels (column, row).
        first: The frame at which they start.
        frames: How many frames they last; to the end of the series if None.

    >>> east = FieldSeries(np.full((3, 5, 9, 2), [2.0, 0.0]), 25)
    >>> path_lines(east, [[1.0, 2.0]])[:, 0].tolist()
    [[1.0, 2.0], [3.0, 2.0], [5.0, 2.0], [7.0, 2.0]]
    """
    span = _span(fields, first, frames)
    return np.stack(
        [points.copy() for points in _carried(fields, checked("starts", starts, (None, 2)), span)]
    )


def streak_lines(
    fields: FieldSeries, starts: ArrayLike, *, first: int = 0, frames: int | None = None
) -> Array:
    """Where everything is at last that left `starts` in each frame: `(frames + 1, points, 2)`, latest last.

    >>> east = FieldSeries(np.full((3, 5, 9, 2), [2.0, 0.0]), 25)
    >>> streak_lines(east, [[1.0, 2.0]])[:, 0].tolist()
    [[7.0, 2.0], [5.0, 2.0], [3.0, 2.0], [1.0, 2.0]]
    """
    origin, span = checked("starts", starts, (None, 2)), _span(fields, first, frames)
    thread = np.tile(origin, (len(span) + 1, 1, 1))
    for released, points in enumerate(_carried(fields, thread.reshape(-1, 2), span)):
        thread = points.reshape(thread.shape)
        # Those still to leave.
        thread[released:] = origin
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


def _span(fields: FieldSeries, first: int, frames: int | None) -> range:
    if not 0 <= first < fields.frames or (frames is not None and frames < 0):
        raise InputError(f"{frames} frames from frame {first} on: the series has {fields.frames}")
    return range(first, fields.frames if frames is None else min(first + frames, fields.frames))


def _carried(fields: FieldSeries, starts: Array, span: range) -> Iterator[Array]:
    """Points `(points, 2)` at the first of the frames and after each of them; they may be changed."""
    from marey.crowd.animation.agents import Agents, AgentSettings
    from marey.crowd.animation.flow import Flow
    from marey.crowd.animation.ground import WALKABLE, WalkableGround

    image = replace(fields, homography=np.eye(3))
    # Points end at obstacles, where agents would pass by.
    ground = WalkableGround.of(image)
    agents = Agents(Flow.of(replace(image, mask=None)), starts, AgentSettings())
    yield agents.positions
    for frame in span:
        agents.step(frame / fields.frame_rate, (frame + 1) / fields.frame_rate)
        agents.positions[ground.under(agents.positions) != WALKABLE] = np.nan
        yield agents.positions
