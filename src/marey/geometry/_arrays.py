"""How the functions of this package take their arrays: float64, checked last axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.errors import InputError

Array = NDArray[np.float64]


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


def _with_last_axis(value: ArrayLike, size: int, name: str) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != size:
        raise InputError(f"{name} must have shape (..., {size}), found {array.shape}")
    return array
