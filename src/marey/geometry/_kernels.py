"""Compiled twins of the busiest functions of `rotations`, for many rotations at a time.

Rows of the inputs repeat from the start when they run out, which is how shapes such as
(frames, joints) x (joints,) broadcast without a copy. One thread; a few nanoseconds a rotation.
Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

from numba import njit, types

from marey.geometry._arrays import Array

_GIVEN = types.Array(types.float64, 2, "C", readonly=True)
_RESULT = types.Array(types.float64, 2, "C")
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Stands in for lengths so small that their squares underflow; sin(h) / h and atan(h) / h are 1 there.
_TINY = 1e-150


@njit(types.void(_GIVEN, _GIVEN, _RESULT), **_OPTIONS)
def multiply(a: Array, b: Array, out: Array) -> None:
    i = j = 0
    for row in range(out.shape[0]):
        aw, ax, ay, az = a[i, 0], a[i, 1], a[i, 2], a[i, 3]
        bw, bx, by, bz = b[j, 0], b[j, 1], b[j, 2], b[j, 3]
        out[row, 0] = aw * bw - ax * bx - ay * by - az * bz
        out[row, 1] = aw * bx + ax * bw + ay * bz - az * by
        out[row, 2] = aw * by - ax * bz + ay * bw + az * bx
        out[row, 3] = aw * bz + ax * by - ay * bx + az * bw
        i += 1
        j += 1
        if i == a.shape[0]:
            i = 0
        if j == b.shape[0]:
            j = 0


@njit(types.void(_GIVEN, _GIVEN, _RESULT), **_OPTIONS)
def rotate(q: Array, v: Array, out: Array) -> None:
    i = j = 0
    for row in range(out.shape[0]):
        w, x, y, z = q[i, 0], q[i, 1], q[i, 2], q[i, 3]
        vx, vy, vz = v[j, 0], v[j, 1], v[j, 2]
        tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
        out[row, 0] = vx + w * tx + (y * tz - z * ty)
        out[row, 1] = vy + w * ty + (z * tx - x * tz)
        out[row, 2] = vz + w * tz + (x * ty - y * tx)
        i += 1
        j += 1
        if i == q.shape[0]:
            i = 0
        if j == v.shape[0]:
            j = 0


@njit(types.void(_GIVEN, _RESULT), **_OPTIONS)
def exp(v: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        x, y, z = v[row, 0], v[row, 1], v[row, 2]
        half = max(0.5 * math.sqrt(x * x + y * y + z * z), _TINY)
        if half < 1.6:
            # One sine of a quarter of the angle gives both; it is below 0.72, so nothing cancels.
            sine = math.sin(0.5 * half)
            cosine = 1.0 - 2.0 * sine * sine
            factor = sine * math.sqrt(1.0 - sine * sine) / half
        else:
            cosine = math.cos(half)
            factor = 0.5 * math.sin(half) / half
        out[row, 0] = cosine
        out[row, 1] = factor * x
        out[row, 2] = factor * y
        out[row, 3] = factor * z


@njit(types.void(_GIVEN, _RESULT), **_OPTIONS)
def log(q: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        w, x, y, z = q[row, 0], q[row, 1], q[row, 2], q[row, 3]
        leading = w if w != 0.0 else (x if x != 0.0 else (y if y != 0.0 else z))
        length = max(math.sqrt(x * x + y * y + z * z), _TINY)
        factor = 2.0 * math.atan2(length, abs(w)) / length
        if leading < 0.0:
            factor = -factor
        out[row, 0] = factor * x
        out[row, 1] = factor * y
        out[row, 2] = factor * z
