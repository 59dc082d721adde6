"""Pixel grids: fields and cameras brought to another size of the same image, and masked pixels filled.

A field is often captured on a coarser grid than the truth it is compared with. Both cover the same image, so
pixel edges match, not centres. Cost: one pass over the finer grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marey._arrays import Array, BoolArray, FloatArray
from marey.errors import InputError


def check_same_images(what: str, parts: Sequence[Any]) -> None:
    """Refuse to join parts, with `rows`, `columns` and `frame_rate`, of other images or another rate."""
    if not parts:
        raise InputError(f"there is no {what} to join")
    first = parts[0]
    for other in parts[1:]:
        if (other.rows, other.columns) != (first.rows, first.columns):
            raise InputError(
                f"cannot join {what} of {first.columns} × {first.rows} pixels "
                f"and of {other.columns} × {other.rows}"
            )
        if not np.isclose(other.frame_rate, first.frame_rate):
            raise InputError(
                f"cannot join {what} of {first.frame_rate:g} and {other.frame_rate:g} frames per second; "
                "resample one of them first"
            )


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


def pixel_centres(shape: tuple[int, ...]) -> Array:
    """`(rows, columns, 2)`, (column, row) of each pixel.

    >>> pixel_centres((1, 2)).tolist()
    [[[0.0, 0.0], [1.0, 0.0]]]
    """
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float64)
    return np.stack([columns, rows], axis=-1)


def pixel_map(shape: tuple[int, int], other: tuple[int, int]) -> Array:
    """`(3, 3)`: pixels (column, row) of a grid of `shape` (rows, columns) to those of the `other`.

    >>> (pixel_map((2, 3), (4, 6)) @ [0.0, 0.0, 1.0]).tolist()
    [0.5, 0.5, 1.0]
    """
    down, across = other[0] / shape[0], other[1] / shape[1]
    return np.array([[across, 0, 0.5 * across - 0.5], [0, down, 0.5 * down - 0.5], [0, 0, 1.0]])


def fill_masked(volume: Array, mask: BoolArray | None) -> Array:
    """A volume `(frames, rows, columns, parts)` with a smooth continuation outside `mask` `(rows, columns)`.

    Coarser and coarser block averages, the finest where there is one (pull and push): two passes.

    >>> fill_masked(np.array([1.0, 9.0, 3.0]).reshape(1, 1, 3, 1), np.array([[True, False, True]])).ravel()
    array([1., 1., 3.])
    """
    if mask is None or mask.all():
        return volume
    if not mask.any():
        return np.zeros_like(volume)
    weights = mask.astype(np.float64)[None, :, :, None]
    return np.asarray(np.where(weights > 0, volume, _coarser(volume * weights, weights)))


def _coarser(sums: Array, weights: Array) -> Array:
    """Averages over blocks of 2 × 2 pixels, of 4 × 4 where those are empty, and so on, at every pixel."""
    rows, columns = sums.shape[1:3]
    pad = ((0, 0), (0, rows % 2), (0, columns % 2), (0, 0))
    sums, weights = (_halved(np.pad(array, pad)) for array in (sums, weights))
    known = weights > 0
    means = sums / np.maximum(weights, 1e-300)
    if not known.all():
        means = np.where(known, means, _coarser(sums, weights))
    return np.asarray(means.repeat(2, axis=1).repeat(2, axis=2)[:, :rows, :columns])


def _halved(array: Array) -> Array:
    return np.asarray(array[:, ::2, ::2] + array[:, 1::2, ::2] + array[:, ::2, 1::2] + array[:, 1::2, 1::2])
