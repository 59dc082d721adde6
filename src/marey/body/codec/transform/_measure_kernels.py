"""Compiled measure of an encoding: from rounded curves straight to how far every joint is off.

About 3 µs a frame of a human figure. Importing this module imports numba.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey._compiling import njit

Whole = NDArray[np.int64]


@njit(cache=True, nogil=True, error_model="numpy")
def displacements(
    curves: Array,
    frames: Whole,
    starts: Whole,
    means: Array,
    path_centre: Array,
    parents: Whole,
    offsets: Array,
    end_parents: Whole,
    end_offsets: Array,
    true_positions: Array,
    true_rotations: Array,
    true_ends: Array,
    shell: float,
    bounded: Array,
) -> float:
    """What is bounded at each joint, into `bounded` `(frames, joints)`; returns the sum over joints and ends.

    frames: which frames of the truth the rows of `curves` and `bounded` are
    starts: `(joints + 1,)`, first column of each joint; four columns are a quaternion about its mean
    """
    joints = parents.shape[0]
    rotations = np.empty((joints, 4))
    positions = np.empty((joints, 3))
    total = 0.0
    for row in range(curves.shape[0]):
        t = frames[row]
        for j in range(joints):
            first = starts[j]
            if starts[j + 1] - first == 4:
                w = curves[row, first] + means[j, 0]
                x = curves[row, first + 1] + means[j, 1]
                y = curves[row, first + 2] + means[j, 2]
                z = curves[row, first + 3] + means[j, 3]
                scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
                w, x, y, z = w * scale, x * scale, y * scale, z * scale
            else:
                a, b, c = curves[row, first], curves[row, first + 1], curves[row, first + 2]
                angle = math.sqrt(a * a + b * b + c * c)
                factor = 0.5 - angle * angle / 48.0 if angle < 1e-4 else math.sin(0.5 * angle) / angle
                w, x, y, z = _product(
                    (means[j, 0], means[j, 1], means[j, 2], means[j, 3]),
                    (math.cos(0.5 * angle), factor * a, factor * b, factor * c),
                )
            p = parents[j]
            if p < 0:
                for i in range(3):
                    positions[j, i] = curves[row, i] + path_centre[i]
            else:
                above = (rotations[p, 0], rotations[p, 1], rotations[p, 2], rotations[p, 3])
                vx, vy, vz = _turned(above, offsets[j, 0], offsets[j, 1], offsets[j, 2])
                positions[j, 0] = positions[p, 0] + vx
                positions[j, 1] = positions[p, 1] + vy
                positions[j, 2] = positions[p, 2] + vz
                w, x, y, z = _product(above, (w, x, y, z))
            rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3] = w, x, y, z
            dx = positions[j, 0] - true_positions[t, j, 0]
            dy = positions[j, 1] - true_positions[t, j, 1]
            dz = positions[j, 2] - true_positions[t, j, 2]
            off = math.sqrt(dx * dx + dy * dy + dz * dz)
            cosine = abs(
                w * true_rotations[t, j, 0]
                + x * true_rotations[t, j, 1]
                + y * true_rotations[t, j, 2]
                + z * true_rotations[t, j, 3]
            )
            # 2 r sin(angle / 2), the farthest that a point at distance r is carried by the turn.
            bounded[row, j] = off + 2.0 * shell * math.sqrt(max(0.0, 1.0 - cosine * cosine))
            total += off
        for e in range(end_parents.shape[0]):
            j = end_parents[e]
            above = (rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3])
            vx, vy, vz = _turned(above, end_offsets[e, 0], end_offsets[e, 1], end_offsets[e, 2])
            dx = positions[j, 0] + vx - true_ends[t, e, 0]
            dy = positions[j, 1] + vy - true_ends[t, e, 1]
            dz = positions[j, 2] + vz - true_ends[t, e, 2]
            off = math.sqrt(dx * dx + dy * dy + dz * dz)
            bounded[row, j] = max(bounded[row, j], off)
            total += off
    return total


@njit(cache=True, nogil=True, inline="always")
def _product(
    a: tuple[float, float, float, float], b: tuple[float, float, float, float]
) -> tuple[float, float, float, float]:
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@njit(cache=True, nogil=True, inline="always")
def _turned(q: tuple[float, float, float, float], x: float, y: float, z: float) -> tuple[float, float, float]:
    tx, ty, tz = (
        2.0 * (q[2] * z - q[3] * y),
        2.0 * (q[3] * x - q[1] * z),
        2.0 * (q[1] * y - q[2] * x),
    )
    return (
        x + q[0] * tx + (q[2] * tz - q[3] * ty),
        y + q[0] * ty + (q[3] * tx - q[1] * tz),
        z + q[0] * tz + (q[1] * ty - q[2] * tx),
    )
