"""Walls as line segments, and which of them are near: a grid of lists, made once.

A person is pushed by every face it stands before and by every corner that is nearer than the faces that meet
there, so that a wall drawn in several pieces pushes like one (Courty 2013, section 6.3.2, obstacles). Cost:
a few ns a person and wall nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import BoolArray, FloatArray, IntArray, checked
from marey.errors import InputError

LARGEST_GRID = 1_000_000
SMALLEST_CELL = 1.0
# Ends of walls nearer than this are one corner.
SAME_PLACE = 1e-6


def segments_of(polygons: Sequence[ArrayLike], *, closed: bool = True) -> FloatArray:
    """Walls `(walls, 4)`, x, y of both ends, along polygons `(corners, 2)`.

    >>> segments_of([[(0, 0), (1, 0), (1, 1)]]).tolist()
    [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]]
    """
    parts = [np.zeros((0, 4))]
    for polygon in polygons:
        corners = checked("polygon", polygon, (None, 2))
        if len(corners) < 2:
            raise InputError(f"polygon: needs two corners or more, got {len(corners)}")
        ends = np.roll(corners, -1, axis=0)
        parts.append(np.concatenate([corners, ends], axis=1)[: None if closed else -1])
    return np.concatenate(parts)


def as_walls(walls: ArrayLike | None) -> FloatArray:
    """`(walls, 4)`, checked; pieces of no length are left out."""
    if walls is None:
        return np.zeros((0, 4))
    given = checked("walls", np.reshape(np.asarray(walls, dtype=np.float64), (-1, 4)), (None, 4))
    return given[np.hypot(given[:, 2] - given[:, 0], given[:, 3] - given[:, 1]) > SAME_PLACE]


def distances(points: ArrayLike, walls: ArrayLike | None) -> FloatArray:
    """Metres from each point `(points, 2)` to the nearest wall `(walls, 4)`; infinite without walls.

    >>> distances([[0.5, 2.0]], [[0, 0, 1, 0]]).tolist()
    [2.0]
    """
    places, segments = checked("points", points, (None, 2)), as_walls(walls)
    least = np.full(len(places), np.inf)
    for x0, y0, x1, y1 in segments:
        direction = np.array([x1 - x0, y1 - y0])
        away = places - [x0, y0]
        share = np.clip(away @ direction / (direction @ direction), 0.0, 1.0)
        np.minimum(least, np.linalg.norm(away - share[:, None] * direction, axis=1), out=least)
    return least


def crossed(before: ArrayLike, after: ArrayLike, walls: ArrayLike | None) -> BoolArray:
    """Which moves `(points, 2)` from `before` to `after` lead through a wall."""
    start, end = checked("before", before, (None, 2)), checked("after", after, (None, 2))
    hit = np.zeros(len(start), dtype=bool)
    for x0, y0, x1, y1 in as_walls(walls):
        sides = [(p[:, 1] - y0) * (x1 - x0) - (p[:, 0] - x0) * (y1 - y0) for p in (start, end)]
        move = end - start
        ends = [
            (y - start[:, 1]) * move[:, 0] - (x - start[:, 0]) * move[:, 1] for x, y in ((x0, y0), (x1, y1))
        ]
        hit |= (sides[0] * sides[1] < 0) & (ends[0] * ends[1] < 0)
    return hit


@dataclass(frozen=True, eq=False)
class WallIndex:
    """Faces and corners of walls, with the lists of those near each cell of a grid.

    features: `(features, 7)`: x, y, direction and length of a face; of a corner, -1 and where in `around`
    around: `(directions, 2)`, unit vectors along the faces that meet in a corner
    origin, cell, columns, rows: of the grid; rows is 0 without walls
    starts: `(cells + 1,)`, where each cell's part of `lists` begins
    """

    features: FloatArray
    around: FloatArray
    origin: tuple[float, float]
    cell: float
    columns: int
    rows: int
    starts: IntArray
    lists: IntArray


def index_of(walls: ArrayLike | None, reach: float) -> WallIndex:
    """Index of all walls `(walls, 4)` that are within `reach` metres of a place."""
    segments = as_walls(walls)
    if not len(segments):
        empty = np.zeros(1, dtype=np.int64)
        return WallIndex(np.zeros((0, 7)), np.zeros((0, 2)), (0.0, 0.0), 1.0, 0, 0, empty, empty[:0].copy())
    features, around = _features(segments)
    ends = segments.reshape(-1, 2)
    low, high = ends.min(axis=0) - reach, ends.max(axis=0) + reach
    cell = max(
        SMALLEST_CELL, float(np.sqrt(np.prod(high - low) / LARGEST_GRID)), float(max(high - low)) / 30_000
    )
    columns, rows = (int(n) + 1 for n in np.floor((high - low) / cell))
    cells = [_cells_near(feature, low, cell, columns, rows, reach) for feature in features]
    owner = np.repeat(np.arange(len(features)), [len(c) for c in cells])
    flat = np.concatenate(cells)
    order = np.argsort(flat, kind="stable")
    starts = np.zeros(columns * rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(flat, minlength=columns * rows), out=starts[1:])
    return WallIndex(
        features, around, (float(low[0]), float(low[1])), cell, columns, rows, starts, owner[order]
    )


def _features(segments: FloatArray) -> tuple[FloatArray, FloatArray]:
    vectors = segments[:, 2:] - segments[:, :2]
    lengths = np.linalg.norm(vectors, axis=1)
    units = vectors / lengths[:, None]
    faces = np.column_stack([segments[:, :2], units, lengths, np.zeros((len(segments), 2))])
    ends = np.concatenate([segments[:, :2], segments[:, 2:]])
    along = np.concatenate([units, -units])
    _, first, corner = np.unique(
        np.round(ends / SAME_PLACE).astype(np.int64), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(corner.reshape(-1), kind="stable")
    counts = np.bincount(corner.reshape(-1))
    starts = np.cumsum([0, *counts[:-1]])
    corners = np.column_stack([ends[first], np.zeros((len(first), 2)), -np.ones(len(first)), starts, counts])
    return np.concatenate([faces, corners]), along[order]


def _cells_near(
    feature: FloatArray, low: FloatArray, cell: float, columns: int, rows: int, reach: float
) -> IntArray:
    start, unit, length = feature[:2], feature[2:4], max(feature[4], 0.0)
    end = start + length * unit
    a = np.floor((np.minimum(start, end) - reach - low) / cell).astype(int).clip(0)
    b = np.floor((np.maximum(start, end) + reach - low) / cell).astype(int)
    x = np.arange(a[0], min(b[0], columns - 1) + 1)
    y = np.arange(a[1], min(b[1], rows - 1) + 1)
    away = np.stack(np.meshgrid(low[0] + (x + 0.5) * cell, low[1] + (y + 0.5) * cell), axis=-1) - start
    along = np.clip(away @ unit, 0.0, length)
    far = np.linalg.norm(away - along[..., None] * unit, axis=-1)
    row, column = np.nonzero(far <= reach + cell * np.sqrt(0.5))
    return (y[row] * columns + x[column]).astype(np.int64)
