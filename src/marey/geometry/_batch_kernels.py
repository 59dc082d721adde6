"""Compiled loops over many rotations: twins of the busiest functions of `rotations`, and sums for their mean.

Tangents and arc tangents stay with NumPy and the rest is done in the same order, so a rotation comes out
the same to the last bit whether it is computed alone or among a million. Rows of the inputs repeat from
the start when they run out, which is how (frames, joints) x (joints,) broadcasts without a copy. One
thread; a few nanoseconds a rotation, 15 with a logarithm and its sums. Importing this module imports numba:
do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from marey._arrays import Array
from marey._compiling import OPTIONS, njit
from marey.geometry import _inline_kernels as one
from marey.geometry._batch import TINY

_GIVEN = types.Array(types.float64, 2, "C", readonly=True)
_RESULT = types.Array(types.float64, 2, "C")
_COLUMN = types.Array(types.float64, 1, "C")
_ROTATIONS = types.Array(types.float64, 3, "C", readonly=True)
_WEIGHTS = types.Array(types.float64, 1, "C", readonly=True)


@njit(types.void(_GIVEN, _GIVEN, _RESULT), **OPTIONS)
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


@njit(types.void(_GIVEN, _GIVEN, _RESULT), **OPTIONS)
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


@njit(types.void(_GIVEN, _COLUMN), **OPTIONS)
def exp_angle(v: Array, angle: Array) -> None:
    for row in range(v.shape[0]):
        x, y, z = v[row, 0], v[row, 1], v[row, 2]
        length = math.sqrt(x * x + y * y + z * z)
        angle[row] = TINY if length < TINY else length


@njit(types.void(_GIVEN, _COLUMN, _COLUMN, _RESULT), **OPTIONS)
def exp_from_tangent(v: Array, angle: Array, tangent: Array, out: Array) -> None:
    for row in range(v.shape[0]):
        t = tangent[row]
        u = 2.0 / (1.0 + t * t)
        factor = t * u / angle[row]
        out[row, 0] = u - 1.0
        out[row, 1] = factor * v[row, 0]
        out[row, 2] = factor * v[row, 1]
        out[row, 3] = factor * v[row, 2]


@njit(types.void(_GIVEN, _COLUMN, _COLUMN), **OPTIONS)
def log_sine_cosine(q: Array, sine: Array, cosine: Array) -> None:
    for row in range(q.shape[0]):
        x, y, z = q[row, 1], q[row, 2], q[row, 3]
        length = math.sqrt(x * x + y * y + z * z)
        sine[row] = TINY if length < TINY else length
        cosine[row] = abs(q[row, 0])


@njit(types.void(_GIVEN, _COLUMN, _COLUMN, _RESULT), **OPTIONS)
def log_from_half_angle(q: Array, sine: Array, half: Array, out: Array) -> None:
    for row in range(q.shape[0]):
        w, x, y, z = q[row, 0], q[row, 1], q[row, 2], q[row, 3]
        leading = w if w != 0.0 else (x if x != 0.0 else (y if y != 0.0 else z))
        factor = math.copysign(2.0 * half[row] / sine[row], leading)
        out[row, 0] = factor * x
        out[row, 1] = factor * y
        out[row, 2] = factor * z


@njit(types.void(_ROTATIONS, _WEIGHTS, _RESULT), fastmath={"contract"}, **OPTIONS)
def sum_products(rotations: Array, weights: Array, sums: Array) -> None:
    """Add to `sums` `(10, joints)` the upper triangle of q qᵀ of all rotations, each times its weight."""
    for frame in range(rotations.shape[0]):
        weight = weights[frame]
        for joint in range(rotations.shape[1]):
            w, x, y, z = one.quaternion(rotations[frame, joint])
            a, b, c = weight * w, weight * x, weight * y
            sums[0, joint] += a * w
            sums[1, joint] += a * x
            sums[2, joint] += a * y
            sums[3, joint] += a * z
            sums[4, joint] += b * x
            sums[5, joint] += b * y
            sums[6, joint] += b * z
            sums[7, joint] += c * y
            sums[8, joint] += c * z
            sums[9, joint] += weight * z * z


@njit(types.void(_GIVEN, _ROTATIONS, _WEIGHTS, _RESULT, _RESULT), fastmath={"contract"}, **OPTIONS)
def sum_logarithms(mean: Array, rotations: Array, weights: Array, logs: Array, sums: Array) -> None:
    """Logarithms at the mean, `(frames, 3 joints)`, and weighted sums over frames, `(12, joints)`.

    The sums: of the logarithms (3), of bend n nᵀ with n their directions (6), of bend, of the squared
    angles, and the largest of those; bend = 1 - (angle / 2) cot(angle / 2) is what the curvature of the
    rotations takes from the second derivative of half the squared distance, across n.
    """
    joints = rotations.shape[1]
    w, x, y, z = np.empty(joints), np.empty(joints), np.empty(joints), np.empty(joints)
    factor, bend = np.empty(joints), np.empty(joints)
    for frame in range(rotations.shape[0]):
        weight = weights[frame]
        for j in range(joints):
            before = one.conjugate(one.quaternion(mean[j]))
            w[j], x[j], y[j], z[j] = one.product(before, one.quaternion(rotations[frame, j]))
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
            share = weight * bend[j] / (angle2 + 1e-300)
            logs[frame, 3 * j] = u
            logs[frame, 3 * j + 1] = v
            logs[frame, 3 * j + 2] = r
            sums[0, j] += weight * u
            sums[1, j] += weight * v
            sums[2, j] += weight * r
            sums[3, j] += share * u * u
            sums[4, j] += share * u * v
            sums[5, j] += share * u * r
            sums[6, j] += share * v * v
            sums[7, j] += share * v * r
            sums[8, j] += share * r * r
            sums[9, j] += weight * bend[j]
            sums[10, j] += weight * angle2
            sums[11, j] = angle2 if weight > 0.0 and angle2 > sums[11, j] else sums[11, j]
