"""Polygons on the ground: what lies in them, how near their edges are, and what of a ground they leave free.

A polygon is an array of corners `(corners, 2)`; a point lies in it when an odd number of edges are to its
right, so that a ring can be one polygon whose slit is passed twice. A region is an outline with holes.
Differences of polygons are Shapely's, on a grid of 1e-7 m. Cost: linear in points times edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, Integers, checked
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
