"""Compiled twins of the busiest functions of `rotations`, for many rotations at a time.

Tangents and arc tangents stay with NumPy and the rest is done in the same order, so a rotation comes out
the same to the last bit whether it is computed alone or among a million. Rows of the inputs repeat from
the start when they run out, which is how (frames, joints) x (joints,) broadcasts without a copy. One
thread; a few nanoseconds a rotation. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

from numba import types

from marey._compiling import njit
from marey.geometry import _inline_kernels as one
from marey.geometry._arrays import TINY, Array

_GIVEN = types.Array(types.float64, 2, "C", readonly=True)
_RESULT = types.Array(types.float64, 2, "C")
_COLUMN = types.Array(types.float64, 1, "C")
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(types.void(_GIVEN, _GIVEN, _RESULT), **_OPTIONS)
def multiply(a: Array, b: Array, out: Array) -> None:
    i = j = 0
    for row in range(out.shape[0]):
        one.store(one.product(one.quaternion(a[i]), one.quaternion(b[j])), out[row])
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
        one.store(one.rotate(one.quaternion(q[i]), one.vector(v[j])), out[row])
        i += 1
        j += 1
        if i == q.shape[0]:
            i = 0
        if j == v.shape[0]:
            j = 0


@njit(types.void(_GIVEN, _COLUMN), **_OPTIONS)
def exp_angle(v: Array, angle: Array) -> None:
    for row in range(v.shape[0]):
        x, y, z = v[row, 0], v[row, 1], v[row, 2]
        length = math.sqrt(x * x + y * y + z * z)
        angle[row] = TINY if length < TINY else length


@njit(types.void(_GIVEN, _COLUMN, _COLUMN, _RESULT), **_OPTIONS)
def exp_from_tangent(v: Array, angle: Array, tangent: Array, out: Array) -> None:
    for row in range(v.shape[0]):
        t = tangent[row]
        u = 2.0 / (1.0 + t * t)
        factor = t * u / angle[row]
        out[row, 0] = u - 1.0
        out[row, 1] = factor * v[row, 0]
        out[row, 2] = factor * v[row, 1]
        out[row, 3] = factor * v[row, 2]


@njit(types.void(_GIVEN, _COLUMN, _COLUMN), **_OPTIONS)
def log_sine_cosine(q: Array, sine: Array, cosine: Array) -> None:
    for row in range(q.shape[0]):
        x, y, z = q[row, 1], q[row, 2], q[row, 3]
        length = math.sqrt(x * x + y * y + z * z)
        sine[row] = TINY if length < TINY else length
        cosine[row] = abs(q[row, 0])


@njit(types.void(_GIVEN, _COLUMN, _COLUMN, _RESULT), **_OPTIONS)
def log_from_half_angle(q: Array, sine: Array, half: Array, out: Array) -> None:
    for row in range(q.shape[0]):
        w, x, y, z = q[row, 0], q[row, 1], q[row, 2], q[row, 3]
        leading = w if w != 0.0 else (x if x != 0.0 else (y if y != 0.0 else z))
        factor = math.copysign(2.0 * half[row] / sine[row], leading)
        out[row, 0] = factor * x
        out[row, 1] = factor * y
        out[row, 2] = factor * z
