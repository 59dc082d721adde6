"""One picture on two pixel grids: fields brought to the other's size, and cameras to the other's pixels.

A field is often captured on a coarser grid than the truth it is held against. Both cover the same picture, so
pixel edges match, not centres. Cost: one pass over the finer grid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray

Array = NDArray[np.float64]


def on_grid(field: FloatArray, rows: int, columns: int) -> Array:
    """A field `(r, c, 2)` in pixels per frame on `(rows, columns, 2)`, in pixels of that grid.

    >>> on_grid(np.ones((2, 3, 2)), 4, 3)[0, 0].tolist()
    [1.0, 2.0]
    """
    values = np.asarray(field, dtype=np.float64)
    old_rows, old_columns = values.shape[:2]
    for axis, (old, new) in enumerate(((old_rows, rows), (old_columns, columns))):
        if old == new:
            continue
        at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
        first = np.minimum(at.astype(int), max(old - 2, 0))
        share = (at - first).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        below, above = np.take(values, first, axis), np.take(values, np.minimum(first + 1, old - 1), axis)
        values = below + share * (above - below)
    return np.asarray(values * [columns / old_columns, rows / old_rows])


def to_grid(shape: tuple[int, int], other: tuple[int, int]) -> Array:
    """`(3, 3)`: pixels (column, row) of a grid of `shape` (rows, columns) to those of the `other`.

    >>> (to_grid((2, 3), (4, 6)) @ [0.0, 0.0, 1.0]).tolist()
    [0.5, 0.5, 1.0]
    """
    down, across = other[0] / shape[0], other[1] / shape[1]
    return np.array([[across, 0, 0.5 * across - 0.5], [0, down, 0.5 * down - 0.5], [0, 0, 1.0]])
