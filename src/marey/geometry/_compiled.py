"""Products, rotated vectors, exponentials and logarithms of many rotations, through compiled kernels.

The results equal those of the NumPy expressions in `rotations` bit for bit, so it only matters for
speed which of the two runs: a kernel takes a tenth of the time, but numba takes a second to load.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from marey.geometry._arrays import Array


def pays(rotations: int) -> bool:
    """Whether so many rotations are done sooner by a kernel."""
    return rotations >= 1_000 and (rotations >= 100_000 or "numba" in sys.modules)


def multiply(a: Array, b: Array) -> Array:
    from marey.geometry import _kernels

    leading = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    out = np.empty((math.prod(leading), 4))
    _kernels.multiply(_rows(a, leading), _rows(b, leading), out)
    return out.reshape(*leading, 4)


def rotate(q: Array, v: Array) -> Array:
    from marey.geometry import _kernels

    leading = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    out = np.empty((math.prod(leading), 3))
    _kernels.rotate(_rows(q, leading), _rows(v, leading), out)
    return out.reshape(*leading, 3)


def exp(v: Array) -> Array:
    from marey.geometry import _kernels

    rows = _rows(v, v.shape[:-1])
    angle, out = np.empty(len(rows)), np.empty((len(rows), 4))
    _kernels.exp_angle(rows, angle)
    quarter = 0.25 * angle
    _kernels.exp_from_tangent(rows, angle, np.tan(quarter, out=quarter), out)
    return out.reshape(*v.shape[:-1], 4)


def log(q: Array) -> Array:
    from marey.geometry import _kernels

    rows = _rows(q, q.shape[:-1])
    sine, cosine, out = np.empty(len(rows)), np.empty(len(rows)), np.empty((len(rows), 3))
    _kernels.log_sine_cosine(rows, sine, cosine)
    _kernels.log_from_half_angle(rows, sine, np.arctan2(sine, cosine, out=cosine), out)
    return out.reshape(*q.shape[:-1], 3)


def _rows(array: Array, leading: tuple[int, ...]) -> Array:
    """Contiguous rows which, repeated from the start, fill the `leading` shape."""
    own = array.shape[:-1]
    while own and own[0] == 1:
        own = own[1:]
    if own != leading[len(leading) - len(own) :]:
        array = np.broadcast_to(array, (*leading, array.shape[-1]))
    return np.ascontiguousarray(array).reshape(-1, array.shape[-1])
