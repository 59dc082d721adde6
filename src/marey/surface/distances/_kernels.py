"""Compiled loops of the surface metric, one thread each; importing this module imports numba.

What a pair needs of a frame is laid out `(frames, 7, triangles)`, so that the innermost loop, over triangles,
runs in the processor's vector units: 1 to 2 ns a triangle and pair on one core. Rotations are compared by
the chord of their quaternions, which keeps its digits for small angles where the cosine has none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]
Floats = NDArray[np.float32]

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
_VECTORISED = {**_OPTIONS, "fastmath": {"reassoc", "contract", "nsz", "nnan", "ninf"}}
_CHUNK = 256

# The angle of a rotation whose quaternion is the chord c away from identity is c g(c²) for 0 <= c² <= 2, with
# g(x) = 4 asin(√x / 2) / √x. Coefficients of g, lowest first: a least squares fit at Chebyshev points, off by
# less than 1e-7 of the angle in single precision.
_G0, _G1 = np.float32(1.9999999750772928), np.float32(0.08333489321662861)
_G2, _G3 = np.float32(0.009359152035014032), np.float32(0.001455579246608078)
_G4, _G5 = np.float32(0.0001262576042270696), np.float32(0.00015086597549281887)
_G6, _G7 = np.float32(-4.521592039029701e-05), np.float32(1.356573778825092e-05)
_ONE = np.float32(1)


@njit(**_OPTIONS)
def describe(
    vertices: Array,
    faces: NDArray[np.int32],
    axes: Array,
    edges: Array,
    least: Array,
    scale: float,
    out: Floats,
    degenerate: NDArray[np.bool_],
) -> None:
    """Rotation from the template as a quaternion, then `scale` times the logarithm of the stretch.

    The logarithm's entries p, u, v stand for [[p + u, v], [v, p - u]], in the template's tangent axes.
    """
    local = np.empty((3, 3))
    edge = np.empty(3)
    turn = np.empty((3, 3))
    q = np.empty(4)
    for frame in range(vertices.shape[0]):
        for m in range(faces.shape[0]):
            if not _tangent(vertices[frame], faces[m], least[frame], local, edge):
                degenerate[m] = True
            j11 = edge[0] / edges[m, 0]
            j12 = (edge[1] - j11 * edges[m, 1]) / edges[m, 2]
            j22 = edge[2] / edges[m, 2]
            size = math.sqrt((j11 + j22) ** 2 + j12 * j12)
            c, s = (j11 + j22) / size, -j12 / size
            for a in range(3):
                along = c * local[a, 0] + s * local[a, 1]
                across = c * local[a, 1] - s * local[a, 0]
                for b in range(3):
                    turn[a, b] = along * axes[m, b, 0] + across * axes[m, b, 1] + local[a, 2] * axes[m, b, 2]
            _to_quaternion(turn, q)
            for a in range(4):
                out[frame, a, m] = q[a]
            s11, s12, s22 = c * j11, c * j12 + s * j22, c * j22 - s * j12
            mean, half = 0.5 * (s11 + s22), 0.5 * (s11 - s22)
            spread = math.sqrt(half * half + s12 * s12)
            factor = scale / mean
            if spread > 1e-9 * mean:
                factor = scale * math.atanh(min(spread / mean, 1 - 1e-15)) / spread
            out[frame, 4, m] = scale * 0.5 * math.log(j11 * j22)
            out[frame, 5, m] = factor * half
            out[frame, 6, m] = factor * s12


@njit(**_OPTIONS)
def describe_exactly(
    vertices: Array,
    faces: NDArray[np.int32],
    least: Array,
    out: Array,
    degenerate: NDArray[np.bool_],
) -> None:
    """The tangent axes of each triangle as a quaternion, then its edges in them."""
    local = np.empty((3, 3))
    edge = np.empty(3)
    q = np.empty(4)
    for frame in range(vertices.shape[0]):
        for m in range(faces.shape[0]):
            if not _tangent(vertices[frame], faces[m], least[frame], local, edge):
                degenerate[m] = True
            _to_quaternion(local, q)
            for a in range(4):
                out[frame, a, m] = q[a]
            for a in range(3):
                out[frame, 4 + a, m] = edge[a]


@njit(**_OPTIONS)
def add_distances(
    described: Floats,
    weights: Floats,
    turns: Floats,
    rows: tuple[int, int],
    columns: tuple[int, int],
    out: Floats,
) -> None:
    """Add to `out` the distances of frames in a range of rows to later ones in a range of columns."""
    height, width = rows[1] - rows[0], columns[1] - columns[0]
    cosines, sines = np.empty((height, width), np.float32), np.empty((height, width), np.float32)
    for i in range(height):
        for j in range(width):
            turn = 0.5 * turns[rows[0] + i, columns[0] + j]
            cosines[i, j], sines[i, j] = math.cos(turn), math.sin(turn)
    total = np.zeros((height, width))
    for start in range(0, described.shape[2], _CHUNK):
        stop = min(start + _CHUNK, described.shape[2])
        for i in range(height):
            for j in range(max(0, rows[0] + i + 1 - columns[0]), width):
                total[i, j] += _apart(
                    described, rows[0] + i, columns[0] + j, start, stop, weights, cosines[i, j], sines[i, j]
                )
    for i in range(height):
        for j in range(width):
            out[rows[0] + i, columns[0] + j] += total[i, j]


@njit(**_OPTIONS)
def add_distances_exactly(
    described: Array,
    weights: Floats,
    turns: Floats,
    stretch_weight: float,
    rows: tuple[int, int],
    columns: tuple[int, int],
    out: Floats,
) -> None:
    """As :func:`add_distances`, from the gradient of every pair, in double precision."""
    for i in range(rows[0], rows[1]):
        for j in range(max(i + 1, columns[0]), columns[1]):
            turn = 0.5 * turns[i, j]
            c, s = math.cos(turn), math.sin(turn)
            total = 0.0
            for m in range(described.shape[2]):
                total += weights[m] * _apart_exactly(
                    described[i, :, m], described[j, :, m], c, s, stretch_weight
                )
            out[i, j] += total


@njit(**_OPTIONS)
def best_turns(
    described: Floats, weights: Floats, first: NDArray[np.int64], second: NDArray[np.int64], out: Array
) -> None:
    """For each pair the turn of `second` that brings it nearest to `first`: of 36, then refined."""
    golden = 0.5 * (math.sqrt(5.0) - 1)
    step = 2 * math.pi / 36
    for k in range(first.shape[0]):
        i, j = first[k], second[k]
        best, least = 0.0, np.inf
        for n in range(36):
            apart = _apart_at(described, i, j, weights, n * step - math.pi)
            if apart < least:
                best, least = n * step - math.pi, apart
        low, high = best - step, best + step
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left = _apart_at(described, i, j, weights, left)
        at_right = _apart_at(described, i, j, weights, right)
        while high - low > 1e-4:
            if at_left < at_right:
                high, right, at_right = right, left, at_left
                left = high - golden * (high - low)
                at_left = _apart_at(described, i, j, weights, left)
            else:
                low, left, at_left = left, right, at_right
                right = low + golden * (high - low)
                at_right = _apart_at(described, i, j, weights, right)
        turn = 0.5 * (low + high)
        out[k] = math.atan2(math.sin(turn), math.cos(turn))


@njit(**_OPTIONS)
def _apart_at(described: Floats, i: int, j: int, weights: Floats, turn: float) -> float:
    c, s = np.float32(math.cos(0.5 * turn)), np.float32(math.sin(0.5 * turn))
    return float(_apart(described, i, j, 0, described.shape[2], weights, c, s))


@njit(**_VECTORISED)
def _apart(
    described: Floats, i: int, j: int, start: int, stop: int, weights: Floats, c: np.float32, s: np.float32
) -> np.float32:
    a0, b0 = described[i, 0, start:stop], described[j, 0, start:stop]
    a1, b1 = described[i, 1, start:stop], described[j, 1, start:stop]
    a2, b2 = described[i, 2, start:stop], described[j, 2, start:stop]
    a3, b3 = described[i, 3, start:stop], described[j, 3, start:stop]
    a4, b4 = described[i, 4, start:stop], described[j, 4, start:stop]
    a5, b5 = described[i, 5, start:stop], described[j, 5, start:stop]
    a6, b6 = described[i, 6, start:stop], described[j, 6, start:stop]
    share = weights[start:stop]
    total = np.float32(0)
    for m in range(stop - start):
        w = c * b0[m] - s * b2[m]
        x = c * b1[m] + s * b3[m]
        y = c * b2[m] + s * b0[m]
        z = c * b3[m] - s * b1[m]
        cosine = a0[m] * w + a1[m] * x + a2[m] * y + a3[m] * z
        sign = _ONE if cosine >= np.float32(0) else -_ONE
        w, x, y, z = a0[m] - sign * w, a1[m] - sign * x, a2[m] - sign * y, a3[m] - sign * z
        chord = w * w + x * x + y * y + z * z
        g = _G6 + chord * _G7
        g = _G5 + chord * g
        g = _G4 + chord * g
        g = _G3 + chord * g
        g = _G2 + chord * g
        g = _G1 + chord * g
        g = _G0 + chord * g
        p, u, v = a4[m] - b4[m], a5[m] - b5[m], a6[m] - b6[m]
        total += share[m] * (g * math.sqrt(chord) + math.sqrt(p * p + u * u + v * v))
    return total


@njit(**_OPTIONS)
def _apart_exactly(a: Array, b: Array, c: float, s: float, stretch_weight: float) -> float:
    w, x, y, z = c * b[0] - s * b[2], c * b[1] + s * b[3], c * b[2] + s * b[0], c * b[3] - s * b[1]
    # How the second triangle's axes lie in the first one's, then turned by half the angle within the plane.
    rw = a[0] * w + a[1] * x + a[2] * y + a[3] * z
    rx = a[0] * x - a[1] * w - a[2] * z + a[3] * y
    ry = a[0] * y + a[1] * z - a[2] * w - a[3] * x
    rz = a[0] * z - a[1] * y + a[2] * x - a[3] * w
    j11 = b[4] / a[4]
    j12 = (b[5] - j11 * a[5]) / a[6]
    j22 = b[6] / a[6]
    size = math.sqrt((j11 + j22) ** 2 + j12 * j12)
    ca = math.sqrt(0.5 + 0.5 * (j11 + j22) / size)
    sa = -0.5 * j12 / (size * ca)
    w, z = rw * ca - rz * sa, rw * sa + rz * ca
    angle = 2 * math.atan2(math.sqrt(rx * rx + ry * ry + z * z), abs(w))
    p = 0.5 * math.log(j11 * j22)
    t = math.atanh(min(math.sqrt((j11 - j22) ** 2 + j12 * j12) / size, 1 - 1e-15))
    return angle + stretch_weight * math.sqrt(2 * (p * p + t * t))


@njit(**_OPTIONS)
def _tangent(vertices: Array, face: NDArray[np.int32], least: float, local: Array, edge: Array) -> bool:
    """Axes of the triangle's plane as columns and its edges in them; False and identity without area."""
    third = vertices[face[2]]
    e0, e1, e2 = (
        vertices[face[0], 0] - third[0],
        vertices[face[0], 1] - third[1],
        vertices[face[0], 2] - third[2],
    )
    f0, f1, f2 = (
        vertices[face[1], 0] - third[0],
        vertices[face[1], 1] - third[1],
        vertices[face[1], 2] - third[2],
    )
    n0, n1, n2 = e1 * f2 - e2 * f1, e2 * f0 - e0 * f2, e0 * f1 - e1 * f0
    area = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    if not area > 2 * least:
        for a in range(3):
            for b in range(3):
                local[a, b] = 1.0 if a == b else 0.0
        edge[0], edge[1], edge[2] = 1.0, 0.0, 1.0
        return False
    length = math.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
    e0, e1, e2 = e0 / length, e1 / length, e2 / length
    n0, n1, n2 = n0 / area, n1 / area, n2 / area
    local[0, 0], local[1, 0], local[2, 0] = e0, e1, e2
    local[0, 1], local[1, 1], local[2, 1] = n1 * e2 - n2 * e1, n2 * e0 - n0 * e2, n0 * e1 - n1 * e0
    local[0, 2], local[1, 2], local[2, 2] = n0, n1, n2
    edge[0], edge[1], edge[2] = length, e0 * f0 + e1 * f1 + e2 * f2, area / length
    return True


@njit(**_OPTIONS)
def _to_quaternion(r: Array, q: Array) -> None:
    """Through the largest component, which divides by none below a half."""
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    if trace >= max(r[0, 0], r[1, 1], r[2, 2]):
        q[0], q[1], q[2], q[3] = 1 + trace, r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    elif r[0, 0] >= max(r[1, 1], r[2, 2]):
        q[0], q[1] = r[2, 1] - r[1, 2], 1 + 2 * r[0, 0] - trace
        q[2], q[3] = r[1, 0] + r[0, 1], r[0, 2] + r[2, 0]
    elif r[1, 1] >= r[2, 2]:
        q[0], q[1] = r[0, 2] - r[2, 0], r[1, 0] + r[0, 1]
        q[2], q[3] = 1 + 2 * r[1, 1] - trace, r[2, 1] + r[1, 2]
    else:
        q[0], q[1] = r[1, 0] - r[0, 1], r[0, 2] + r[2, 0]
        q[2], q[3] = r[2, 1] + r[1, 2], 1 + 2 * r[2, 2] - trace
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    for a in range(4):
        q[a] /= size
