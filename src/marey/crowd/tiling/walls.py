"""Walls on a pixel grid: which pixels touch them, and which way a wall faces there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import BoolArray, FloatArray
from marey.crowd.fields import FieldSeries
from marey.crowd.polygons import contains, wall_normals


def polygons_to_walls(polygons: Sequence[ArrayLike], rows: int, columns: int) -> BoolArray:
    """Pixels `(rows, columns)` whose centres lie in one of the polygons `(corners, 2)`, `(column, row)`.

    >>> polygons_to_walls([[[0.5, -1], [2.5, -1], [2.5, 1.5], [0.5, 1.5]]], 3, 4).astype(int).tolist()
    [[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    row, column = np.mgrid[:rows, :columns]
    points = np.stack([column.ravel(), row.ravel()], axis=1).astype(np.float64)
    walls = np.zeros(rows * columns, dtype=np.bool_)
    for corners in polygons:
        walls |= contains(np.asarray(corners, dtype=np.float64), points)
    return walls.reshape(rows, columns)


def leak(fields: FieldSeries, outlines: Sequence[ArrayLike] = ()) -> float:
    """The part of the motion beside walls that goes through them: mean normal speed over mean speed.

    >>> mask = np.ones((4, 4), dtype=bool)
    >>> mask[0] = False
    >>> leak(FieldSeries(np.full((1, 4, 4, 2), [3.0, 4.0]), 25, mask=mask))
    0.8
    """
    if fields.mask is None:
        return 0.0
    pixels, normals = wall_normals(fields.mask, outlines)
    flow: FloatArray = fields.velocities.reshape(fields.frames, -1, 2)[:, pixels]
    speed = float(np.linalg.norm(flow, axis=-1).sum(dtype=np.float64))
    through = float(np.abs((flow * normals).sum(axis=-1)).sum(dtype=np.float64))
    return through / speed if speed > 0 else 0.0
