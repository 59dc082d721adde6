"""Divergence, vorticity and Okubo–Weiss of velocity fields, by differences that never look behind a wall.

Central differences where both neighbours count, one-sided where one does, nothing where none does. In image
axes (u right, v down): positive vorticity turns clockwise as seen. Courty 2013, section 7.1.1. Cost: a few
passes over the fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray

Fields = NDArray[Any]


def divergence(velocities: Fields, mask: BoolArray | None = None) -> Fields:
    """`du/dx + dv/dy` per frame, `(…, rows, columns)`, of velocities `(…, rows, columns, 2)`.

    >>> y, x = np.mgrid[:4, :5]
    >>> float(divergence(np.stack([x, y], axis=-1).astype(float)).min())
    2.0
    """
    u, v = velocities[..., 0], velocities[..., 1]
    return along_columns(u, mask) + along_rows(v, mask)


def vorticity(velocities: Fields, mask: BoolArray | None = None) -> Fields:
    """`dv/dx - du/dy` per frame, `(…, rows, columns)`; positive = clockwise as seen in the image.

    >>> y, x = np.mgrid[:4, :5]
    >>> float(vorticity(np.stack([-y, x], axis=-1).astype(float)).max())
    2.0
    """
    u, v = velocities[..., 0], velocities[..., 1]
    return along_columns(v, mask) - along_rows(u, mask)


def okubo_weiss(velocities: Fields, mask: BoolArray | None = None) -> Fields:
    """Strain squared less vorticity squared, `(…, rows, columns)`: negative where rotation prevails.

    >>> y, x = np.mgrid[:4, :5]
    >>> float(okubo_weiss(np.stack([-y, x], axis=-1).astype(float)).max())
    -4.0
    """
    u, v = velocities[..., 0], velocities[..., 1]
    ux, uy = along_columns(u, mask), along_rows(u, mask)
    vx, vy = along_columns(v, mask), along_rows(v, mask)
    return (ux - vy) ** 2 + (vx + uy) ** 2 - (vx - uy) ** 2


def along_columns(values: Fields, mask: BoolArray | None = None) -> Fields:
    """Derivative to the right of `(…, rows, columns)`; 0 outside the mask."""
    steps = values[..., 1:] - values[..., :-1]
    known = np.ones(values.shape[-2:], np.bool_) if mask is None else mask
    both = known[:, 1:] & known[:, :-1]
    total, count = np.zeros_like(values), np.zeros(known.shape, dtype=values.dtype)
    steps = steps * both
    total[..., :-1] += steps
    total[..., 1:] += steps
    count[:, :-1] += both
    count[:, 1:] += both
    return np.asarray(total / np.maximum(count, 1))


def along_rows(values: Fields, mask: BoolArray | None = None) -> Fields:
    """Derivative downwards of `(…, rows, columns)`; 0 outside the mask."""
    turned = along_columns(np.swapaxes(values, -1, -2), None if mask is None else mask.T)
    return np.swapaxes(turned, -1, -2)
