"""Compiled loops over many rotations: products for a starting mean, logarithms and their sums.

One thread each, about 2 and 15 ns a rotation. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]

_ROTATIONS = types.Array(types.float64, 3, "C", readonly=True)
_ROWS = types.Array(types.float64, 2, "C", readonly=True)
_RESULT = types.Array(types.float64, 2, "C")
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(types.void(_ROTATIONS, _RESULT), fastmath={"contract"}, **_OPTIONS)
def sum_products(rotations: Array, sums: Array) -> None:
    """Add to `sums` `(10, joints)` the upper triangle of q q^T of every rotation."""
    for frame in range(rotations.shape[0]):
        for joint in range(rotations.shape[1]):
            w, x = rotations[frame, joint, 0], rotations[frame, joint, 1]
            y, z = rotations[frame, joint, 2], rotations[frame, joint, 3]
            sums[0, joint] += w * w
            sums[1, joint] += w * x
            sums[2, joint] += w * y
            sums[3, joint] += w * z
            sums[4, joint] += x * x
            sums[5, joint] += x * y
            sums[6, joint] += x * z
            sums[7, joint] += y * y
            sums[8, joint] += y * z
            sums[9, joint] += z * z


@njit(types.void(_ROWS, _ROTATIONS, _RESULT, _RESULT), fastmath={"contract"}, **_OPTIONS)
def logarithms(mean: Array, rotations: Array, logs: Array, sums: Array) -> None:
    """Logarithms at the mean, `(frames, 3 joints)`, and sums over frames, `(12, joints)`.

    The sums: of the logarithms (3), of bend n n^T with n their directions (6), of bend, of the squared
    angles, and the largest of those; bend = 1 - (angle / 2) cot(angle / 2) is what the curvature of the
    rotations takes from the second derivative of half the squared distance, across n.
    """
    joints = rotations.shape[1]
    w, x, y, z = np.empty(joints), np.empty(joints), np.empty(joints), np.empty(joints)
    factor, bend = np.empty(joints), np.empty(joints)
    for frame in range(rotations.shape[0]):
        for j in range(joints):
            aw, ax, ay, az = mean[j, 0], -mean[j, 1], -mean[j, 2], -mean[j, 3]
            bw, bx = rotations[frame, j, 0], rotations[frame, j, 1]
            by, bz = rotations[frame, j, 2], rotations[frame, j, 3]
            w[j] = aw * bw - ax * bx - ay * by - az * bz
            x[j] = aw * bx + ax * bw + ay * bz - az * by
            y[j] = aw * by - ax * bz + ay * bw + az * bx
            z[j] = aw * bz + ax * by - ay * bx + az * bw
        for j in range(joints):
            # With t the tangent of a quarter of the angle, angle / sin(angle/2) = 4 atan(t) / t / (1 + |w|).
            # Two halvings bring t below 0.2, where the series of atan(t) / t is exact to rounding.
            up = 1.0 + abs(w[j])
            t2 = (x[j] * x[j] + y[j] * y[j] + z[j] * z[j]) / (up * up)
            half = 1.0 + math.sqrt(1.0 + t2)
            t2 = t2 / (half * half)
            quarter = 1.0 + math.sqrt(1.0 + t2)
            t2 = t2 / (quarter * quarter)
            series = 1.0 / 21.0 - t2 * (1.0 / 23.0)
            series = 1.0 / 19.0 - t2 * series
            series = 1.0 / 17.0 - t2 * series
            series = 1.0 / 15.0 - t2 * series
            series = 1.0 / 13.0 - t2 * series
            series = 1.0 / 11.0 - t2 * series
            series = 1.0 / 9.0 - t2 * series
            series = 1.0 / 7.0 - t2 * series
            series = 1.0 / 5.0 - t2 * series
            series = 1.0 / 3.0 - t2 * series
            series = 1.0 - t2 * series
            factor[j] = 16.0 * series / (up * half * quarter)
            bend[j] = 1.0 - 0.5 * factor[j] * (up - 1.0)
        for j in range(joints):
            # Half a turn has two logarithms: the one that rotations.log takes.
            leading = w[j] if w[j] != 0.0 else (x[j] if x[j] != 0.0 else (y[j] if y[j] != 0.0 else z[j]))
            signed = math.copysign(factor[j], leading)
            u, v, r = signed * x[j], signed * y[j], signed * z[j]
            angle2 = u * u + v * v + r * r
            share = bend[j] / (angle2 + 1e-300)
            logs[frame, 3 * j] = u
            logs[frame, 3 * j + 1] = v
            logs[frame, 3 * j + 2] = r
            sums[0, j] += u
            sums[1, j] += v
            sums[2, j] += r
            sums[3, j] += share * u * u
            sums[4, j] += share * u * v
            sums[5, j] += share * u * r
            sums[6, j] += share * v * v
            sums[7, j] += share * v * r
            sums[8, j] += share * r * r
            sums[9, j] += bend[j]
            sums[10, j] += angle2
            sums[11, j] = angle2 if angle2 > sums[11, j] else sums[11, j]
