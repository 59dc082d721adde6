"""Walls as line segments, and a grid with lists of those near each cell, made once.

A pedestrian is pushed by every face it stands in front of and by every corner that is nearer than the faces
that meet there, so that a wall drawn in several pieces pushes like one (Courty 2013, section 6.3.2,
obstacles). Cost: a few ns a pedestrian and wall nearby.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, IntArray, checked
from marey.crowd.polygons import nearest_on_edge

MAX_CELLS, MIN_CELL = 1_000_000, 1.0
# Ends of walls nearer than this are one corner.
SAME_POINT = 1e-6


class Grid(NamedTuple):
    """Square cells of `cell` metres from a corner (x, y) on."""

    x: float
    y: float
    cell: float
    columns: int
    rows: int


class WallIndex(NamedTuple):
    """Faces and corners of walls, with lists of those near each cell of a grid, as the kernels take them.

    Attributes:
        features: `(features, 7)`: x, y, direction and length of a face; of a corner, -1 and first and number
            of its directions in `around`.
        around: `(directions, 2)`, unit vectors along the faces that meet in a corner.
        grid: cells; without walls it has no rows.
        starts: `(cells + 1,)`, where each cell's part of `lists` begins.
        lists: features near each cell.
    """

    features: Array
    around: Array
    grid: Grid
    starts: IntArray
    lists: IntArray


def as_walls(walls: ArrayLike | None) -> Array:
    """Segments `(walls, 4)`, checked, without those of no length."""
    if walls is None:
        return np.zeros((0, 4))
    given = checked("walls", np.reshape(np.asarray(walls, dtype=np.float64), (-1, 4)), (None, 4))
    return given[np.hypot(given[:, 2] - given[:, 0], given[:, 3] - given[:, 1]) > SAME_POINT]


def distances(points: ArrayLike, walls: ArrayLike | None) -> Array:
    """Metres from each point `(points, 2)` to the nearest wall `(walls, 4)`; infinite without walls.

    >>> distances([[0.5, 2.0]], [[0, 0, 1, 0]]).tolist()
    [2.0]
    """
    places = checked("points", points, (None, 2))
    return np.asarray(np.linalg.norm(places - nearest_on_edge(as_walls(walls), places), axis=1))


def index_of(walls: ArrayLike | None, reach: float) -> WallIndex:
    """Index of all walls `(walls, 4)` that are within `reach` metres of a cell."""
    segments = as_walls(walls)
    if not len(segments):
        empty = np.zeros(1, dtype=np.int64)
        none = Grid(0.0, 0.0, 1.0, 0, 0)
        return WallIndex(np.zeros((0, 7)), np.zeros((0, 2)), none, empty, empty[:0].copy())
    features, around = _features(segments)
    ends = segments.reshape(-1, 2)
    low, high = ends.min(axis=0) - reach, ends.max(axis=0) + reach
    cell = max(MIN_CELL, float(np.sqrt(np.prod(high - low) / MAX_CELLS)), float(max(high - low)) / 30_000)
    columns, rows = (int(n) + 1 for n in np.floor((high - low) / cell))
    cells = [_cells_near(feature, low, cell, columns, rows, reach) for feature in features]
    owner = np.repeat(np.arange(len(features)), [len(c) for c in cells])
    flat = np.concatenate(cells)
    order = np.argsort(flat, kind="stable")
    starts = np.zeros(columns * rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(flat, minlength=columns * rows), out=starts[1:])
    grid = Grid(float(low[0]), float(low[1]), cell, columns, rows)
    return WallIndex(features, around, grid, starts, owner[order])


def _features(segments: Array) -> tuple[Array, Array]:
    vectors = segments[:, 2:] - segments[:, :2]
    lengths = np.linalg.norm(vectors, axis=1)
    units = vectors / lengths[:, None]
    faces = np.column_stack([segments[:, :2], units, lengths, np.zeros((len(segments), 2))])
    ends = np.concatenate([segments[:, :2], segments[:, 2:]])
    along = np.concatenate([units, -units])
    _, first, corner = np.unique(
        np.round(ends / SAME_POINT).astype(np.int64), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(corner.reshape(-1), kind="stable")
    counts = np.bincount(corner.reshape(-1))
    starts = np.cumsum([0, *counts[:-1]])
    corners = np.column_stack([ends[first], np.zeros((len(first), 2)), -np.ones(len(first)), starts, counts])
    return np.concatenate([faces, corners]), along[order]


def _cells_near(feature: Array, low: Array, cell: float, columns: int, rows: int, reach: float) -> IntArray:
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
