"""Compiled quaternions `(w, x, y, z)` as tuples, for kernels that go through many joints.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]
Row = Any

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def from_axes(
    ex: float, ey: float, ez: float, dx: float, dy: float, dz: float, at_rest: Array
) -> tuple[float, float, float, float]:
    """The turn of the frame (hinge, bone, their product) at rest, columns of `at_rest`, into this one."""
    fx, fy, fz = ey * dz - ez * dy, ez * dx - ex * dz, ex * dy - ey * dx
    r = at_rest
    m00 = ex * r[0, 0] + dx * r[0, 1] + fx * r[0, 2]
    m01 = ex * r[1, 0] + dx * r[1, 1] + fx * r[1, 2]
    m02 = ex * r[2, 0] + dx * r[2, 1] + fx * r[2, 2]
    m10 = ey * r[0, 0] + dy * r[0, 1] + fy * r[0, 2]
    m11 = ey * r[1, 0] + dy * r[1, 1] + fy * r[1, 2]
    m12 = ey * r[2, 0] + dy * r[2, 1] + fy * r[2, 2]
    m20 = ez * r[0, 0] + dz * r[0, 1] + fz * r[0, 2]
    m21 = ez * r[1, 0] + dz * r[1, 1] + fz * r[1, 2]
    m22 = ez * r[2, 0] + dz * r[2, 1] + fz * r[2, 2]
    trace = m00 + m11 + m22
    if trace > 0:
        w = 0.5 * math.sqrt(1 + trace)
        return w, (m21 - m12) / (4 * w), (m02 - m20) / (4 * w), (m10 - m01) / (4 * w)
    if m00 >= m11 and m00 >= m22:
        x = 0.5 * math.sqrt(max(1 + m00 - m11 - m22, 1e-12))
        return (m21 - m12) / (4 * x), x, (m01 + m10) / (4 * x), (m02 + m20) / (4 * x)
    if m11 >= m22:
        y = 0.5 * math.sqrt(max(1 + m11 - m00 - m22, 1e-12))
        return (m02 - m20) / (4 * y), (m01 + m10) / (4 * y), y, (m12 + m21) / (4 * y)
    z = 0.5 * math.sqrt(max(1 + m22 - m00 - m11, 1e-12))
    return (m10 - m01) / (4 * z), (m02 + m20) / (4 * z), (m12 + m21) / (4 * z), z


@njit(**_OPTIONS)
def store(rotations: NDArray[np.float32], row: int, joint: int, q: Row) -> None:
    """Store a unit quaternion, of the two signs the one near the frame before."""
    sign = 1.0
    if row > 0:
        before = rotations[row - 1, joint]
        if before[0] * q[0] + before[1] * q[1] + before[2] * q[2] + before[3] * q[3] < 0:
            sign = -1.0
    sign /= math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    for n in range(4):
        rotations[row, joint, n] = sign * q[n]


@njit(**_OPTIONS)
def quaternion(a: Any) -> Row:
    return a[0], a[1], a[2], a[3]


@njit(**_OPTIONS)
def inverse(q: Row) -> Row:
    return q[0], -q[1], -q[2], -q[3]


@njit(**_OPTIONS)
def times(a: Row, b: Row) -> Row:
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@njit(**_OPTIONS)
def exponential(x: float, y: float, z: float) -> Row:
    angle = math.sqrt(x * x + y * y + z * z)
    part = 0.5 if angle < 1e-8 else math.sin(0.5 * angle) / angle
    return math.cos(0.5 * angle), part * x, part * y, part * z


@njit(**_OPTIONS)
def about_up(angle: float) -> Row:
    return math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0


@njit(**_OPTIONS)
def rotated(q: Row, x: float, y: float, z: float) -> Row:
    tx, ty, tz = 2 * (q[2] * z - q[3] * y), 2 * (q[3] * x - q[1] * z), 2 * (q[1] * y - q[2] * x)
    return (
        x + q[0] * tx + q[2] * tz - q[3] * ty,
        y + q[0] * ty + q[3] * tx - q[1] * tz,
        z + q[0] * tz + q[1] * ty - q[2] * tx,
    )


@njit(**_OPTIONS)
def length(v: Array) -> float:
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
