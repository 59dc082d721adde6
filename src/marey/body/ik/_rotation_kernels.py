"""Compiled mathematics of single rotations, for `_kernels`.

Its compiled code contains these functions: after a change here, that file must change (or be touched) too, or
a kept compilation stays as it was. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_TINY = 1e-12


@njit(**_OPTIONS)
def copy_row(source: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        out[i] = source[i]


@njit(**_OPTIONS)
def copy_rows(source: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = source[i, k]


@njit(**_OPTIONS)
def product(a: Array, b: Array, out: Array) -> None:
    w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]
    out[0], out[1], out[2], out[3] = w, x, y, z


@njit(**_OPTIONS)
def turn_by(q: Array, v: Array, out: Array) -> None:
    """out = q exp(v), made unit again."""
    angle = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    half = 0.5 * angle
    factor = math.sin(half) / angle if angle > 1e-6 else 0.5 - angle * angle / 48.0
    bw, bx, by, bz = math.cos(half), factor * v[0], factor * v[1], factor * v[2]
    w = q[0] * bw - q[1] * bx - q[2] * by - q[3] * bz
    x = q[0] * bx + q[1] * bw + q[2] * bz - q[3] * by
    y = q[0] * by - q[1] * bz + q[2] * bw + q[3] * bx
    z = q[0] * bz + q[1] * by - q[2] * bx + q[3] * bw
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    out[0], out[1], out[2], out[3] = w * scale, x * scale, y * scale, z * scale


@njit(**_OPTIONS)
def rotated(q: Array, v: Array, out: Array) -> None:
    w, x, y, z = q[0], q[1], q[2], q[3]
    tx, ty, tz = (
        2.0 * (y * v[2] - z * v[1]),
        2.0 * (z * v[0] - x * v[2]),
        2.0 * (x * v[1] - y * v[0]),
    )
    a = v[0] + w * tx + (y * tz - z * ty)
    b = v[1] + w * ty + (z * tx - x * tz)
    c = v[2] + w * tz + (x * ty - y * tx)
    out[0], out[1], out[2] = a, b, c


@njit(**_OPTIONS)
def matrix_of(q: Array, out: Array) -> None:
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0, 0], out[0, 1], out[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    out[1, 0], out[1, 1], out[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    out[2, 0], out[2, 1], out[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@njit(**_OPTIONS)
def log_between(a: Array, b: Array, out: Array) -> None:
    """out = log(a⁻¹ b), the shorter way."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1]
    z = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 * math.atan2(sine, w) / sine if sine > _TINY else 2.0
    out[0], out[1], out[2] = factor * x, factor * y, factor * z


@njit(**_OPTIONS)
def polynomial(v: Array, first: float, second: float, out: Array) -> None:
    """out = I + first V + second V², V = hat(v)."""
    x, y, z = v[0], v[1], v[2]
    out[0, 0] = 1.0 - second * (y * y + z * z)
    out[1, 1] = 1.0 - second * (x * x + z * z)
    out[2, 2] = 1.0 - second * (x * x + y * y)
    out[0, 1], out[1, 0] = second * x * y - first * z, second * x * y + first * z
    out[0, 2], out[2, 0] = second * x * z + first * y, second * x * z - first * y
    out[1, 2], out[2, 1] = second * y * z - first * x, second * y * z + first * x


@njit(**_OPTIONS)
def turn_along(q: Array, tangent: Array, out: Array) -> None:
    """out = q exp(v) of the first three numbers of `tangent`; the other two become those of dexp there.

    The body differential of exp is I - first V + second V²; both come cheaply with the half angle's sine.
    """
    x, y, z = tangent[0], tangent[1], tangent[2]
    squared = x * x + y * y + z * z
    angle = math.sqrt(squared)
    sine, bw = math.sin(0.5 * angle), math.cos(0.5 * angle)
    if squared < 1e-4:
        factor = 0.5 - squared / 48.0 + squared * squared / 3840.0
        tangent[3] = 0.5 - squared / 24.0 + squared * squared / 720.0
        tangent[4] = 1.0 / 6.0 - squared / 120.0 + squared * squared / 5040.0
    else:
        factor = sine / angle
        tangent[3] = 2.0 * factor * factor
        tangent[4] = (1.0 - 2.0 * factor * bw) / squared
    bx, by, bz = factor * x, factor * y, factor * z
    out[0] = q[0] * bw - q[1] * bx - q[2] * by - q[3] * bz
    out[1] = q[0] * bx + q[1] * bw + q[2] * bz - q[3] * by
    out[2] = q[0] * by - q[1] * bz + q[2] * bw + q[3] * bx
    out[3] = q[0] * bz + q[1] * by - q[2] * bx + q[3] * bw


@njit(**_OPTIONS)
def dexp_inverse(v: Array, sign: float, out: Array) -> None:
    """Inverse of the differential of exp: the body's for sign +1, the spatial one for -1."""
    squared = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    if squared < 1e-4:
        second = 1.0 / 12.0 + squared / 720.0 + squared * squared / 30240.0
    else:
        half = 0.5 * math.sqrt(squared)
        second = (1.0 - half * math.cos(half) / math.sin(half)) / squared
    polynomial(v, 0.5 * sign, second, out)
