"""Polygons and walls on the ground: what lies in them, how near edges are, what of a ground they leave free.

A polygon is an array of corners `(corners, 2)`; a point lies in it when an odd number of edges are to its
right, so that a ring can be one polygon whose slit is passed twice. A region is an outline with holes.
Differences of polygons are Shapely's, on a grid of 1e-7 m. Cost: linear in points times edges.

Walls are line segments, with a grid of lists of those near each cell, made once. A pedestrian is pushed by
every face it stands in front of and by every corner that is nearer than the faces that meet there, so that a
wall drawn in several pieces pushes like one (Courty 2013, section 6.3.2, obstacles). Cost: a few ns a
pedestrian and wall nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, IntArray, Integers, checked
from marey.errors import InputError

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

Region = tuple[Array, tuple[Array, ...]]

# Metres to which corners are rounded.
GRID = 1e-7


def polygon(name: str, corners: ArrayLike) -> Array:
    """Corners `(corners, 2)`, at least three, or an error that names the thing."""
    points = checked(name, corners, (None, 2))
    if len(points) < 3:
        raise InputError(f"{name}: a polygon has at least three corners, this has {len(points)}")
    return points


def rectangle(west: float, south: float, east: float, north: float) -> Array:
    """Corners `(4, 2)` of a rectangle along the axes, counter-clockwise.

    >>> rectangle(0, 0, 2, 1).tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]
    """
    return np.array([[west, south], [east, south], [east, north], [west, north]], dtype=np.float64)


def area(ring: Array) -> float:
    """Square metres; negative if the corners run clockwise.

    >>> area(rectangle(0, 0, 2, 1))
    2.0
    """
    x, y = ring.T
    return float(0.5 * (x * np.roll(y, -1) - np.roll(x, -1) * y).sum())


def contains(corners: Array, points: Array) -> BoolArray:
    """Which points `(..., 2)` lie in a polygon `(corners, 2)`.

    >>> contains(rectangle(0, 0, 1, 1), np.array([[0.5, 0.5], [2.0, 0.5]])).tolist()
    [True, False]
    """
    within = np.zeros(points.shape[:-1], dtype=bool)
    x, y = points[..., 0], points[..., 1]
    for x0, y0, x1, y1 in edges([corners]):
        if y0 != y1:
            crosses = (y0 > y) != (y1 > y)
            within ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    return within


def edges(polygons: Sequence[ArrayLike], *, closed: bool = True) -> Array:
    """Segments `(edges, 4)`, x, y of both ends, along polygons `(corners, 2)`; open lines if not `closed`.

    >>> edges([[(0, 0), (1, 0), (1, 1)]]).tolist()
    [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]]
    """
    parts = [np.zeros((0, 4))]
    for one in polygons:
        corners = checked("polygon", one, (None, 2))
        if len(corners) < 2:
            raise InputError(f"polygon: needs two corners or more, got {len(corners)}")
        parts.append(np.hstack([corners, np.roll(corners, -1, axis=0)])[: None if closed else -1])
    return np.concatenate(parts)


def nearest_on_edge(segments: Array, points: Array) -> Array:
    """The place on segments `(edges, 4)` nearest to each of the points `(n, 2)`; inf without segments.

    >>> nearest_on_edge(edges([rectangle(0, 0, 2, 1)]), np.array([[1.0, 3.0]])).tolist()
    [[1.0, 1.0]]
    """
    nearest, least = np.full(points.shape, np.inf), np.full(len(points), np.inf)
    for segment in segments:
        start, side = segment[:2], segment[2:] - segment[:2]
        along = (points - start) @ side / max(float(side @ side), 1e-30)
        foot = start + np.clip(along, 0.0, 1.0)[:, None] * side
        distance = np.linalg.norm(points - foot, axis=-1)
        nearer = distance < least
        nearest[nearer], least[nearer] = foot[nearer], distance[nearer]
    return nearest


def wall_normals(free: BoolArray, outlines: Sequence[ArrayLike] = ()) -> tuple[Integers, Array]:
    """Free pixels with a wall left, right, above or below, `(n,)` row by row, and unit normals `(n, 2)`.

    Normals `(column, row)` point away from the wall. Within 1.5 pixels of one of the outlines `(corners, 2)`
    they are exact; elsewhere they are those of the distance to the walls' pixels, smoothed over 1.5 pixels.

    >>> free = np.ones((5, 5), dtype=bool)
    >>> free[:, 0] = False
    >>> pixels, normals = wall_normals(free)
    >>> pixels.tolist(), normals[0].tolist()
    ([1, 6, 11, 16, 21], [1.0, 0.0])
    """
    from scipy.ndimage import binary_dilation, distance_transform_edt, gaussian_filter

    reach = 1.5
    if free.all() or not free.any():
        return np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    beside = np.flatnonzero(free & binary_dilation(~free))
    # Signed, and continued beyond the border so that a wall that leaves the image stays straight.
    room = 8
    wide = np.pad(free, room, mode="edge")
    signed = np.where(wide, distance_transform_edt(wide) - 0.5, 0.5 - distance_transform_edt(~wide))
    slopes = np.gradient(gaussian_filter(signed, reach))
    down, right = (slope[room:-room, room:-room].ravel()[beside] for slope in slopes)
    normals = np.stack([right, down], axis=1)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    # In the middle of a gap of one pixel both sides are as near: any direction will do.
    normals = np.where(length > 1e-9, normals / np.maximum(length, 1e-9), [1.0, 0.0])
    normals = np.where(np.abs(normals) < 1e-9, 0.0, normals)
    points = np.stack([beside % free.shape[1], beside // free.shape[1]], axis=1).astype(np.float64)
    away = points - nearest_on_edge(edges(outlines), points)
    distance = np.linalg.norm(away, axis=1)
    exact = (distance < reach) & (distance > 1e-6)
    normals[exact] = away[exact] / distance[exact, None]
    return beside, normals


def free_regions(ground: Array, obstacles: Sequence[Array]) -> list[Region]:
    """What of a polygon is outside of others: (outline, holes) of each connected piece, largest first.

    Outlines run counter-clockwise, holes clockwise, no corner twice.

    >>> walls = [rectangle(0, 5, 9, 6), rectangle(2, 2, 3, 3)]
    >>> [(outline, holes)] = free_regions(rectangle(0, 0, 9, 6), walls)
    >>> outline.tolist(), len(holes)
    ([[0.0, 0.0], [9.0, 0.0], [9.0, 5.0], [0.0, 5.0]], 1)
    """
    import shapely

    shape = _shape(ground)
    if obstacles:
        walls = shapely.union_all([_shape(one) for one in obstacles], grid_size=GRID)
        shape = shapely.difference(shape, walls, grid_size=GRID)
    pieces = shapely.get_parts(shapely.orient_polygons(shape.normalize(), exterior_cw=False))
    pieces = [piece for piece in pieces if piece.geom_type == "Polygon" and not piece.is_empty]
    return [
        (_corners(piece.exterior), tuple(_corners(hole) for hole in piece.interiors))
        for piece in sorted(pieces, key=lambda piece: -piece.area)
    ]


def on_ground(corners: Array, size: tuple[float, float], obstacles: Sequence[Array] = ()) -> list[Region]:
    """What of a polygon lies on a ground of `size` (width, depth) and outside of obstacles.

    >>> [(outline, _)] = on_ground(rectangle(-5, 1, 3, 2), (9.0, 5.0))
    >>> outline.tolist()
    [[0.0, 1.0], [3.0, 1.0], [3.0, 2.0], [0.0, 2.0]]
    """
    far, (width, depth) = 1e6, size
    beyond = [
        rectangle(-far, -far, 0.0, far),
        rectangle(width, -far, far, far),
        rectangle(-far, -far, far, 0.0),
        rectangle(-far, depth, far, far),
    ]
    return free_regions(corners, [*obstacles, *beyond])


def as_one_ring(regions: Sequence[Region]) -> Array:
    """Regions as one polygon `(corners, 2)`: rings joined by slits that are passed there and back."""
    rings = [ring for outline, holes in regions for ring in (outline, *holes)]
    there = [np.concatenate([ring, ring[:1]]) for ring in rings]
    back = [ring[:1] for ring in rings[-2::-1]]
    return np.concatenate(there + back)


def _shape(corners: Array) -> BaseGeometry:
    import shapely

    return shapely.make_valid(shapely.Polygon(corners))


def _corners(ring: BaseGeometry) -> Array:
    """Corners of a ring, without those on the line between their neighbours."""
    corners = np.asarray(ring.coords)[:-1]
    before, after = corners - np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0) - corners
    turns = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    return np.asarray(corners[np.abs(turns) > GRID * np.hypot(*before.T) * np.hypot(*after.T)])


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
    return np.asarray(given[np.hypot(given[:, 2] - given[:, 0], given[:, 3] - given[:, 1]) > SAME_POINT])


def wall_distances(points: ArrayLike, walls: ArrayLike | None) -> Array:
    """Metres from each point `(points, 2)` to the nearest wall `(walls, 4)`; infinite without walls.

    >>> wall_distances([[0.5, 2.0]], [[0, 0, 1, 0]]).tolist()
    [2.0]
    """
    places = checked("points", points, (None, 2))
    return np.asarray(np.linalg.norm(places - nearest_on_edge(as_walls(walls), places), axis=1))


def wall_index(walls: ArrayLike | None, reach: float) -> WallIndex:
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
