"""How the functions of this package take their arrays: float64, checked last axis."""

from __future__ import annotations

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


def _with_last_axis(value: ArrayLike, size: int, name: str) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != size:
        raise InputError(f"{name} must have shape (..., {size}), found {array.shape}")
    return array
