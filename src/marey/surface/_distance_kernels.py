"""Compiled loops of the surface metric, one thread each; importing this module imports numba.

What a pair needs of a frame is laid out `(frames, 7, triangles)`, so that the innermost loop, over triangles,
runs in the processor's vector units: 1 to 2 ns a triangle and pair on one core. Rotations are compared by
the chord of their quaternions, which keeps its digits for small angles where the cosine has none.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray, FloatArray
from marey._compiling import OPTIONS, njit
from marey.geometry._inline_kernels import Matrix, Vector, from_matrix, store, vector

Floats = NDArray[np.float32]
Faces = NDArray[np.int32]
Edges = tuple[float, float, float]

_VECTORISED = {**OPTIONS, "fastmath": {"reassoc", "contract", "nsz", "nnan", "ninf"}}
_CHUNK = 256

# The angle of a rotation whose quaternion is the chord c away from identity is c g(c²) for 0 <= c² <= 2, with
# g(x) = 4 asin(√x / 2) / √x. Coefficients of g, lowest first: a least squares fit at Chebyshev points, off by
# less than 1e-7 of the angle in single precision.
_G0, _G1 = np.float32(1.9999999750772928), np.float32(0.08333489321662861)
_G2, _G3 = np.float32(0.009359152035014032), np.float32(0.001455579246608078)
_G4, _G5 = np.float32(0.0001262576042270696), np.float32(0.00015086597549281887)
_G6, _G7 = np.float32(-4.521592039029701e-05), np.float32(1.356573778825092e-05)
_ONE = np.float32(1)


@njit(**OPTIONS)
def polar_2d(before: Edges, after: Edges) -> tuple[float, float]:
    """Cosine and sine of the turn within the plane of a triangle whose edges change so.

    The edges from the third corner are `(x, 0)` to the first and `(y, z)` to the second, in the triangle's
    own axes. The 2x2 map of one onto the other then has its lower left entry zero.
    """
    along = after[0] * before[2] + after[2] * before[0]
    across = after[0] * before[1] - after[1] * before[0]
    size = math.sqrt(along * along + across * across)
    return along / size, across / size


@njit(**OPTIONS)
def features(
    vertices: Array, faces: Faces, axes: Array, edges: Array, least: Array, scale: float, out: Floats,
    degenerate: BoolArray,
) -> None:  # fmt: skip
    """Rotation from the reference as a quaternion, then `scale` times the logarithm of the stretch.

    The logarithm's entries p, u, v stand for [[p + u, v], [v, p - u]], in the reference's tangent axes.
    """
    for frame in range(vertices.shape[0]):
        for m in range(faces.shape[0]):
            flat, local, edge = tangent(*_edges(vertices[frame], faces, m), least[frame])
            if flat:
                degenerate[m] = True
            x, y, z = edges[m, 0], edges[m, 1], edges[m, 2]
            reference = (vector(axes[m, 0]), vector(axes[m, 1]), vector(axes[m, 2]))
            c, s = polar_2d((x, y, z), edge)
            store(from_matrix(rotation_between(reference, local, c, s)), out[frame, :4, m])
            j11, j22 = edge[0] / x, edge[2] / z
            j12 = (edge[1] - j11 * y) / z
            s11, s12, s22 = c * j11, c * j12 + s * j22, c * j22 - s * j12
            mean, half = 0.5 * (s11 + s22), 0.5 * (s11 - s22)
            spread = math.sqrt(half * half + s12 * s12)
            factor = scale / mean
            if spread > 1e-9 * mean:
                factor = scale * math.atanh(min(spread / mean, 1 - 1e-15)) / spread
            out[frame, 4, m] = scale * 0.5 * math.log(j11 * j22)
            out[frame, 5, m] = factor * half
            out[frame, 6, m] = factor * s12


@njit(**OPTIONS)
def tangent_features(vertices: Array, faces: Faces, least: Array, out: Array, degenerate: BoolArray) -> None:
    """The tangent axes of each triangle as a quaternion, then its edges in them."""
    for frame in range(vertices.shape[0]):
        for m in range(faces.shape[0]):
            flat, local, edge = tangent(*_edges(vertices[frame], faces, m), least[frame])
            if flat:
                degenerate[m] = True
            store(from_matrix(local), out[frame, :4, m])
            store(edge, out[frame, 4:, m])


@njit(**OPTIONS)
def yaw(poses: Array, faces: Faces, least: Array, weights: Array) -> float:
    """Radians by which the second pose turns about the vertical to face as the first."""
    across, along = 0.0, 0.0
    for m in range(faces.shape[0]):
        here, before, edge = tangent(*_edges(poses[0], faces, m), least[0])
        there, after, moved = tangent(*_edges(poses[1], faces, m), least[1])
        if not (here or there):
            c, s = polar_2d(edge, moved)
            r = rotation_between(before, after, c, s)
            across += weights[m] * (r[2][0] - r[0][2])
            along += weights[m] * (r[0][0] + r[2][2])
    return math.atan2(across, along)


@njit(**OPTIONS)
def add_distances(
    found: Floats, weights: Floats, turns: Floats, rows: tuple[int, int], columns: tuple[int, int],
    out: Floats,
) -> None:  # fmt: skip
    """Add to `out` the distances of frames in a range of rows to later ones in a range of columns."""
    height, width = rows[1] - rows[0], columns[1] - columns[0]
    cosines, sines = np.empty((height, width), np.float32), np.empty((height, width), np.float32)
    for i in range(height):
        for j in range(width):
            turn = 0.5 * turns[rows[0] + i, columns[0] + j]
            cosines[i, j], sines[i, j] = math.cos(turn), math.sin(turn)
    total = np.zeros((height, width))
    for start in range(0, found.shape[2], _CHUNK):
        stop = min(start + _CHUNK, found.shape[2])
        for i in range(height):
            for j in range(max(0, rows[0] + i + 1 - columns[0]), width):
                total[i, j] += _distance(
                    found, rows[0] + i, columns[0] + j, start, stop, weights, cosines[i, j], sines[i, j]
                )
    for i in range(height):
        for j in range(width):
            out[rows[0] + i, columns[0] + j] += total[i, j]


@njit(**OPTIONS)
def add_distances_exactly(
    found: Array, weights: FloatArray, turns: FloatArray, stretch_weight: float, rows: tuple[int, int],
    columns: tuple[int, int], logarithmic: bool, out: FloatArray,
) -> None:  # fmt: skip
    """As :func:`add_distances`, from the gradient of every pair, in double precision.

    logarithmic: whether the logarithm of the stretch counts (eq. 2.14) or its difference from one (2.13)
    """
    for i in range(rows[0], rows[1]):
        for j in range(max(i + 1, columns[0]), columns[1]):
            turn = 0.5 * turns[i, j]
            c, s = math.cos(turn), math.sin(turn)
            total = 0.0
            for m in range(found.shape[2]):
                angle, stretch = _exact_distance(found[i, :, m], found[j, :, m], c, s, logarithmic)
                total += weights[m] * (angle + stretch_weight * stretch)
            out[i, j] += total


@njit(**_VECTORISED)
def _distance(
    found: Floats, i: int, j: int, start: int, stop: int, weights: Floats, c: np.float32, s: np.float32
) -> np.float32:
    a0, b0 = found[i, 0, start:stop], found[j, 0, start:stop]
    a1, b1 = found[i, 1, start:stop], found[j, 1, start:stop]
    a2, b2 = found[i, 2, start:stop], found[j, 2, start:stop]
    a3, b3 = found[i, 3, start:stop], found[j, 3, start:stop]
    a4, b4 = found[i, 4, start:stop], found[j, 4, start:stop]
    a5, b5 = found[i, 5, start:stop], found[j, 5, start:stop]
    a6, b6 = found[i, 6, start:stop], found[j, 6, start:stop]
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


@njit(**OPTIONS)
def _exact_distance(a: Array, b: Array, c: float, s: float, logarithmic: bool) -> tuple[float, float]:
    w, x, y, z = c * b[0] - s * b[2], c * b[1] + s * b[3], c * b[2] + s * b[0], c * b[3] - s * b[1]
    # How the second triangle's axes lie in the first one's, then turned by half the angle within the plane.
    rw = a[0] * w + a[1] * x + a[2] * y + a[3] * z
    rx = a[0] * x - a[1] * w - a[2] * z + a[3] * y
    ry = a[0] * y + a[1] * z - a[2] * w - a[3] * x
    rz = a[0] * z - a[1] * y + a[2] * x - a[3] * w
    j11 = b[4] / a[4]
    j12 = (b[5] - j11 * a[5]) / a[6]
    j22 = b[6] / a[6]
    cosine, sine = polar_2d((a[4], a[5], a[6]), (b[4], b[5], b[6]))
    ca = math.sqrt(0.5 + 0.5 * cosine)
    sa = 0.5 * sine / ca
    w, z = rw * ca - rz * sa, rw * sa + rz * ca
    angle = 2 * math.atan2(math.sqrt(rx * rx + ry * ry + z * z), abs(w))
    p = 0.5 * math.log(j11 * j22)
    t = math.atanh(min(math.sqrt(((j11 - j22) ** 2 + j12 * j12) / ((j11 + j22) ** 2 + j12 * j12)), 1 - 1e-15))
    if logarithmic:
        return angle, math.sqrt(2 * (p * p + t * t))
    return angle, math.hypot(math.exp(p + t) - 1, math.exp(p - t) - 1)


@njit(**OPTIONS)
def _edges(vertices: Array, faces: Faces, m: int) -> tuple[Vector, Vector]:
    """Of face m from its third corner to the first and to the second."""
    a, b, c = faces[m, 0], faces[m, 1], faces[m, 2]
    x, y, z = vertices[c, 0], vertices[c, 1], vertices[c, 2]
    return (
        (vertices[a, 0] - x, vertices[a, 1] - y, vertices[a, 2] - z),
        (vertices[b, 0] - x, vertices[b, 1] - y, vertices[b, 2] - z),
    )


@njit(**OPTIONS)
def tangent(first: Vector, second: Vector, least: float) -> tuple[bool, Matrix, Edges]:
    """Whether a triangle has no area, axes of its plane as columns, and its two edges in them.

    The axes are along the first edge, across it, and the normal; identity and edges of length 1 if there is
    no area beyond `least`.
    """
    e0, e1, e2 = first
    f0, f1, f2 = second
    n0, n1, n2 = e1 * f2 - e2 * f1, e2 * f0 - e0 * f2, e0 * f1 - e1 * f0
    area = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    if not area > 2 * least:
        return True, ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (1.0, 0.0, 1.0)
    length = math.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
    # One division for several: they are what takes long here.
    scale = 1.0 / length
    e0, e1, e2 = scale * e0, scale * e1, scale * e2
    scale = 1.0 / area
    n0, n1, n2 = scale * n0, scale * n1, scale * n2
    axes = (
        (e0, n1 * e2 - n2 * e1, n0),
        (e1, n2 * e0 - n0 * e2, n1),
        (e2, n0 * e1 - n1 * e0, n2),
    )
    return False, axes, (length, e0 * f0 + e1 * f1 + e2 * f2, area / length)


@njit(**OPTIONS)
def rotation_between(before: Matrix, after: Matrix, c: float, s: float) -> Matrix:
    """The rotation from axes to others that turn by an angle within their plane."""
    return (
        _turned(before, after[0], c, s),
        _turned(before, after[1], c, s),
        _turned(before, after[2], c, s),
    )


@njit(**OPTIONS)
def _turned(before: Matrix, row: Edges, c: float, s: float) -> Edges:
    along, across, up = c * row[0] + s * row[1], c * row[1] - s * row[0], row[2]
    return (
        along * before[0][0] + across * before[0][1] + up * before[0][2],
        along * before[1][0] + across * before[1][1] + up * before[1][2],
        along * before[2][0] + across * before[2][1] + up * before[2][2],
    )
