"""Colours as light and as values of an image: the sRGB curve (IEC 61966-2-1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array


def from_srgb(values: ArrayLike) -> Array:
    """Linear light of sRGB values, both 0…1, any shape.

    >>> float(from_srgb(np.array(1.0)))
    1.0
    """
    values = np.clip(np.asarray(values, dtype=np.float64), 0.0, 1.0)
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def to_srgb(light: ArrayLike) -> Array:
    """sRGB values of linear light, both 0…1, any shape; the inverse of :func:`from_srgb`."""
    light = np.clip(np.asarray(light, dtype=np.float64), 0.0, 1.0)
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
