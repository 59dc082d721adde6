"""How the functions of this package take their arrays (float64, checked last axis), and many of them at once.

Products, rotated vectors, exponentials and logarithms through compiled kernels equal those of the NumPy
expressions in `rotations` bit for bit, so it only matters for speed which of the two runs: a kernel takes a
tenth of the time, but numba takes a second to load.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError

# Stands in for lengths so small that their squares underflow; sin(h) / h and atan(h) / h are 1 there.
TINY = 1e-150


def quaternions(value: ArrayLike, name: str = "quaternions") -> Array:
    """`value` as a float64 array `(..., 4)`."""
    return _with_last_axis(value, 4, name)


def vectors(value: ArrayLike, name: str = "vectors") -> Array:
    """`value` as a float64 array `(..., 3)`."""
    return _with_last_axis(value, 3, name)


def square(value: ArrayLike, size: int, name: str = "matrices") -> Array:
    """`value` as a float64 array `(..., size, size)`."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape[-2:] != (size, size):
        raise InputError(f"{name} must have shape (..., {size}, {size}), found {array.shape}")
    return array


def time_axis(axis: int, array: Array) -> int:
    """`axis` counted from the front, checked to be one of the leading axes."""
    if array.ndim < 2 or not -array.ndim <= axis < array.ndim or axis % array.ndim == array.ndim - 1:
        raise InputError(f"axis {axis} is not a time axis of an array of shape {array.shape}")
    return axis % array.ndim


def dot(a: Array, b: Array) -> Array:
    """Inner products `(...)` over the last axis."""
    return np.asarray(np.einsum("...i,...i->...", a, b))


def length(v: Array) -> Array:
    """Euclidean lengths `(...)` over the last axis."""
    return np.asarray(np.sqrt(np.einsum("...i,...i->...", v, v)))


def pays(rotations: int) -> bool:
    """Whether so many rotations are done sooner by a kernel."""
    return rotations >= 1_000 and (rotations >= 100_000 or "numba" in sys.modules)


def multiply(a: Array, b: Array) -> Array:
    from marey.geometry import _batch_kernels

    leading = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    out = np.empty((math.prod(leading), 4))
    _batch_kernels.multiply(_rows(a, leading), _rows(b, leading), out)
    return out.reshape(*leading, 4)


def rotate(q: Array, v: Array) -> Array:
    from marey.geometry import _batch_kernels

    leading = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    out = np.empty((math.prod(leading), 3))
    _batch_kernels.rotate(_rows(q, leading), _rows(v, leading), out)
    return out.reshape(*leading, 3)


def exp(v: Array) -> Array:
    from marey.geometry import _batch_kernels

    rows = _rows(v, v.shape[:-1])
    angle, out = np.empty(len(rows)), np.empty((len(rows), 4))
    _batch_kernels.exp_angle(rows, angle)
    quarter = 0.25 * angle
    _batch_kernels.exp_from_tangent(rows, angle, np.tan(quarter, out=quarter), out)
    return out.reshape(*v.shape[:-1], 4)


def log(q: Array) -> Array:
    from marey.geometry import _batch_kernels

    rows = _rows(q, q.shape[:-1])
    sine, cosine, out = np.empty(len(rows)), np.empty(len(rows)), np.empty((len(rows), 3))
    _batch_kernels.log_sine_cosine(rows, sine, cosine)
    _batch_kernels.log_from_half_angle(rows, sine, np.arctan2(sine, cosine, out=cosine), out)
    return out.reshape(*q.shape[:-1], 3)


def _with_last_axis(value: ArrayLike, size: int, name: str) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != size:
        raise InputError(f"{name} must have shape (..., {size}), found {array.shape}")
    return array


def _rows(array: Array, leading: tuple[int, ...]) -> Array:
    """Contiguous rows which, repeated from the start, fill the `leading` shape."""
    own = array.shape[:-1]
    while own and own[0] == 1:
        own = own[1:]
    if own != leading[len(leading) - len(own) :]:
        array = np.broadcast_to(array, (*leading, array.shape[-1]))
    return np.ascontiguousarray(array).reshape(-1, array.shape[-1])
