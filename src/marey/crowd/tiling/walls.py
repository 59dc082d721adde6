"""Walls on a pixel grid: which pixels touch them, and which way a wall faces there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, FloatArray
from marey.crowd.fields import FieldSeries
from marey.crowd.scene import inside

Array = NDArray[np.float64]

# Pixels over which stairs of pixels are smoothed into a slope.
SMOOTHING = 1.5
# Pixels from an outline within which a pixel beside a wall is taken to be beside that outline.
AT_HAND = 1.5


def polygons_to_walls(polygons: Sequence[ArrayLike], rows: int, columns: int) -> BoolArray:
    """Pixels `(rows, columns)` whose centres lie in one of the polygons `(corners, 2)`, `(column, row)`.

    >>> polygons_to_walls([[[0.5, -1], [2.5, -1], [2.5, 1.5], [0.5, 1.5]]], 3, 4).astype(int).tolist()
    [[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    row, column = np.mgrid[:rows, :columns]
    points = np.stack([column.ravel(), row.ravel()], axis=1).astype(np.float64)
    walls = np.zeros(rows * columns, dtype=np.bool_)
    for corners in polygons:
        walls |= inside(points, np.asarray(corners, dtype=np.float64))
    return walls.reshape(rows, columns)


def beside_walls(free: BoolArray, outlines: Sequence[ArrayLike] = ()) -> tuple[NDArray[np.int64], Array]:
    """Free pixels with a wall left, right, above or below, `(n,)` row by row, and unit normals `(n, 2)`.

    Normals `(column, row)` point away from the wall. Where one of the outlines `(corners, 2)` is at hand
    they are exact; elsewhere they are those of the smoothed distance to the walls' pixels.

    >>> free = np.ones((5, 5), dtype=bool)
    >>> free[:, 0] = False
    >>> pixels, normals = beside_walls(free)
    >>> pixels.tolist(), normals[0].tolist()
    ([1, 6, 11, 16, 21], [1.0, 0.0])
    """
    from scipy.ndimage import binary_dilation, distance_transform_edt, gaussian_filter

    if free.all() or not free.any():
        return np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    beside = np.flatnonzero(free & binary_dilation(~free))
    # Signed, and continued beyond the border so that a wall that leaves the picture stays straight.
    room = 8
    wide = np.pad(free, room, mode="edge")
    distance = np.where(wide, distance_transform_edt(wide) - 0.5, 0.5 - distance_transform_edt(~wide))
    smooth = gaussian_filter(distance, SMOOTHING)
    down, right = (g[room:-room, room:-room].ravel()[beside] for g in np.gradient(smooth))
    normals = np.stack([right, down], axis=1)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    # In the middle of a gap of one pixel both sides are as near: any direction will do.
    normals = np.where(length > 1e-9, normals / np.maximum(length, 1e-9), [1.0, 0.0])
    normals = np.where(np.abs(normals) < 1e-9, 0.0, normals)
    points = np.stack([beside % free.shape[1], beside // free.shape[1]], axis=1).astype(np.float64)
    nearest = np.full(len(beside), AT_HAND)
    for corners in outlines:
        away = _from_edge(points, np.asarray(corners, dtype=np.float64))
        distance = np.linalg.norm(away, axis=1)
        nearer = (distance < nearest) & (distance > 1e-6)
        nearest[nearer] = distance[nearer]
        normals[nearer] = away[nearer] / distance[nearer, None]
    return beside, normals


def leak(fields: FieldSeries, outlines: Sequence[ArrayLike] = ()) -> float:
    """The part of the motion beside walls that goes through them: mean normal speed over mean speed.

    >>> mask = np.ones((4, 4), dtype=bool)
    >>> mask[0] = False
    >>> leak(FieldSeries(np.full((1, 4, 4, 2), [3.0, 4.0]), 25, mask=mask))
    0.8
    """
    if fields.mask is None:
        return 0.0
    pixels, normals = beside_walls(fields.mask, outlines)
    flow: FloatArray = fields.velocities.reshape(fields.frames, -1, 2)[:, pixels]
    speed = float(np.linalg.norm(flow, axis=-1).sum(dtype=np.float64))
    through = float(np.abs((flow * normals).sum(axis=-1)).sum(dtype=np.float64))
    return through / speed if speed > 0 else 0.0


def _from_edge(points: Array, corners: Array) -> Array:
    """From the nearest place on a closed polygon to each point, `(points, 2)`."""
    best = np.full((len(points), 2), np.inf)
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        side = end - start
        along = (points - start) @ side / max(float(side @ side), 1e-12)
        away = points - (start + np.clip(along, 0.0, 1.0)[:, None] * side)
        nearer = (away**2).sum(axis=1) < (best**2).sum(axis=1)
        best[nearer] = away[nearer]
    return best
