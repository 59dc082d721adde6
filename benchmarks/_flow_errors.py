"""Error measures of a velocity field against the truth: endpoint, angle, divergence, vorticity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Errors:
    """Means over the pixels that count.

    endpoint: px/frame; angular_degrees: between `(u, v, 1)` vectors
    divergence, vorticity: root mean square of the difference, 1/frame
    """

    endpoint: float
    angular_degrees: float
    divergence: float
    vorticity: float


def errors(estimated: Array, true: Array, mask: Array | None = None) -> Errors:
    """How far `estimated` `(rows, columns, 2)` is from `true`, where `mask` `(rows, columns)` is True."""
    counts = np.ones(true.shape[:2], dtype=bool) if mask is None else mask
    found, wanted = estimated.astype(np.float64), np.where(counts[..., None], true, 0.0).astype(np.float64)
    endpoint = np.hypot(*np.moveaxis(found - wanted, -1, 0))[counts].mean()
    dot = 1 + (found * wanted).sum(-1)
    cosine = dot / np.sqrt((1 + (found**2).sum(-1)) * (1 + (wanted**2).sum(-1)))
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))[counts].mean()
    inner = _whole_stencils(counts)
    apart = derivatives(found - wanted)
    divergence, vorticity = (float(np.sqrt((part[inner] ** 2).mean())) for part in apart)
    return Errors(float(endpoint), float(angle), divergence, vorticity)


def derivatives(field: Array) -> tuple[Array, Array]:
    """Divergence and vorticity `(rows, columns)` by central differences."""
    u_y, u_x = np.gradient(field[..., 0])
    v_y, v_x = np.gradient(field[..., 1])
    return u_x + v_y, v_x - u_y


def _whole_stencils(mask: Array) -> Array:
    whole = mask.copy()
    for axis in (0, 1):
        for shift in (-1, 1):
            whole &= np.roll(mask, shift, axis)
    whole[[0, -1]] = False
    whole[:, [0, -1]] = False
    return whole
