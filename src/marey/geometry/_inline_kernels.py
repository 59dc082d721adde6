"""Compiled quaternions, rotations and small solves: the functions that kernels of all packages call.

Quaternions `(w, x, y, z)`, vectors and matrices (three rows) are tuples, which live in registers; rows of
arrays become tuples by :func:`quaternion` and :func:`vector`, and tuples are written by :func:`store`. Keep
to tuples: each new kind of argument is compiled anew. LLVM inlines all of them, a few nanoseconds a call.
Importing this module imports numba: do so in `_kernels` modules only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey._compiling import OPTIONS, njit

Quaternion = tuple[float, float, float, float]
Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]


@njit(**OPTIONS)
def quaternion(row: FloatArray) -> Quaternion:
    """The first four numbers of a row."""
    return row[0], row[1], row[2], row[3]


@njit(**OPTIONS)
def vector(row: FloatArray) -> Vector:
    """The first three numbers of a row."""
    return row[0], row[1], row[2]


@njit(**OPTIONS)
def store(values: tuple[float, ...], row: FloatArray) -> None:
    """Write a quaternion or a vector into a row."""
    for i in range(len(values)):
        row[i] = values[i]


@njit(**OPTIONS)
def conjugate(q: Quaternion) -> Quaternion:
    """The inverse of a unit quaternion."""
    return q[0], -q[1], -q[2], -q[3]


@njit(**OPTIONS)
def normalise(q: Quaternion) -> Quaternion:
    """The unit quaternion along q."""
    scale = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale


@njit(**OPTIONS)
def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """a b: first b, then a."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@njit(**OPTIONS)
def rotate(q: Quaternion, v: Vector) -> Vector:
    """v turned by the unit quaternion q."""
    w, x, y, z = q
    a, b, c = 2.0 * (y * v[2] - z * v[1]), 2.0 * (z * v[0] - x * v[2]), 2.0 * (x * v[1] - y * v[0])
    return (
        v[0] + w * a + (y * c - z * b),
        v[1] + w * b + (z * a - x * c),
        v[2] + w * c + (x * b - y * a),
    )


@njit(**OPTIONS)
def exp(v: Vector) -> Quaternion:
    """The rotation by the rotation vector v, radians."""
    angle = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    factor = math.sin(0.5 * angle) / angle if angle > 1e-6 else 0.5 - angle * angle / 48.0
    return math.cos(0.5 * angle), factor * v[0], factor * v[1], factor * v[2]


@njit(**OPTIONS)
def about_y(angle: float) -> Quaternion:
    """The rotation by an angle about the y axis."""
    return math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0


@njit(**OPTIONS)
def log(q: Quaternion) -> Vector:
    """The shorter rotation vector of q, radians."""
    w, x, y, z = q
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
    return factor * x, factor * y, factor * z


@njit(**OPTIONS)
def turn(q: Quaternion, v: Vector) -> Quaternion:
    """q exp(v), made unit again."""
    return normalise(product(q, exp(v)))


@njit(**OPTIONS)
def log_between(a: Quaternion, b: Quaternion) -> Vector:
    """log(a⁻¹ b): what takes a to b, in the frame of a."""
    return log(product(conjugate(a), b))


@njit(**OPTIONS)
def matrix(q: Quaternion) -> Matrix:
    """The rotation matrix of a unit quaternion."""
    w, x, y, z = q
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


@njit(**OPTIONS)
def from_matrix(m: Matrix) -> Quaternion:
    """The unit quaternion of a rotation matrix; of both signs the one whose largest component is positive."""
    (m00, m01, m02), (m10, m11, m12), (m20, m21, m22) = m
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


@njit(**OPTIONS)
def matrix_product(a: Matrix, b: Matrix) -> Matrix:
    """a b of two matrices."""
    return row_times(a[0], b), row_times(a[1], b), row_times(a[2], b)


@njit(**OPTIONS)
def row_times(v: Vector, m: Matrix) -> Vector:
    """vᵀ m, also mᵀ v."""
    return (
        v[0] * m[0][0] + v[1] * m[1][0] + v[2] * m[2][0],
        v[0] * m[0][1] + v[1] * m[1][1] + v[2] * m[2][1],
        v[0] * m[0][2] + v[1] * m[1][2] + v[2] * m[2][2],
    )


@njit(**OPTIONS)
def exp_and_factors(v: Vector) -> tuple[Quaternion, float, float]:
    """exp(v), and the factors (1 - cos t) / t² and (t - sin t) / t³ of its differentials, t = |v|.

    The body differential of exp is `hat_polynomial(v, -first, second)`, the spatial one has +first.
    """
    x, y, z = v
    squared = x * x + y * y + z * z
    angle = math.sqrt(squared)
    sine, cosine = math.sin(0.5 * angle), math.cos(0.5 * angle)
    if squared < 1e-4:
        factor = 0.5 - squared / 48.0 + squared * squared / 3840.0
        first = 0.5 - squared / 24.0 + squared * squared / 720.0
        second = 1.0 / 6.0 - squared / 120.0 + squared * squared / 5040.0
    else:
        factor = sine / angle
        first = 2.0 * factor * factor
        second = (1.0 - 2.0 * factor * cosine) / squared
    return (cosine, factor * x, factor * y, factor * z), first, second


@njit(**OPTIONS)
def dexp_inverse(v: Vector) -> Matrix:
    """The inverse of `matrices.dexp_body`, of angles below 2 π; its transpose is the spatial one."""
    squared = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    if squared < 1e-4:
        second = 1.0 / 12.0 + squared / 720.0 + squared * squared / 30240.0
    else:
        half = 0.5 * math.sqrt(squared)
        second = (1.0 - half * math.cos(half) / math.sin(half)) / squared
    return hat_polynomial(v, 0.5, second)


@njit(**OPTIONS)
def hat_polynomial(v: Vector, first: float, second: float) -> Matrix:
    """I + first V + second V², with V the matrix of the cross product with v."""
    x, y, z = v
    return (
        (1.0 - second * (y * y + z * z), second * x * y - first * z, second * x * z + first * y),
        (second * x * y + first * z, 1.0 - second * (x * x + z * z), second * y * z - first * x),
        (second * x * z - first * y, second * y * z + first * x, 1.0 - second * (x * x + y * y)),
    )


@njit(**OPTIONS)
def cholesky_solve(H: NDArray[np.float64], size: int, b: NDArray[np.float64]) -> bool:
    """b ← H⁻¹ b, of the first `size` unknowns; false if H is not positive definite.

    Only the lower half of H is read; it becomes Cholesky's factor.
    """
    for i in range(size):
        for j in range(i + 1):
            total = H[i, j]
            for k in range(j):
                total -= H[i, k] * H[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                H[i, i] = math.sqrt(total)
            else:
                H[i, j] = total / H[j, j]
    for i in range(size):
        total = b[i]
        for k in range(i):
            total -= H[i, k] * b[k]
        b[i] = total / H[i, i]
    for i in range(size - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, size):
            total -= H[k, i] * b[k]
        b[i] = total / H[i, i]
    return True


@njit(**OPTIONS)
def grid_cell(place: float, count: int) -> tuple[int, float]:
    """First of the two nodes, of `count` in a row, around a place, and the share of the second; NaN is 0."""
    inside = min(place if place > 0.0 else 0.0, count - 1.0)
    first = min(int(inside), max(count - 2, 0))
    return first, inside - first


@njit(**OPTIONS)
def in_polygon(x: float, y: float, corners: NDArray[np.float64], first: int, last: int) -> bool:
    """Whether a point is in the polygon of the corners `first … last` (exclusive) of `(corners, 2)`."""
    odd, j = False, last - 1
    for i in range(first, last):
        if (corners[i, 1] > y) != (corners[j, 1] > y):
            crossing = (corners[j, 0] - corners[i, 0]) * (y - corners[i, 1])
            if x < crossing / (corners[j, 1] - corners[i, 1]) + corners[i, 0]:
                odd = not odd
        j = i
    return odd


@njit(**OPTIONS)
def heap_push(
    keys: NDArray[np.float64], items: NDArray[np.int64], size: int, key: float, tie: int, item: int
) -> int:
    """Add an entry to a binary heap whose first entry has the least key, and the least tie at that key.

    Args:
        keys: `(room,)`, with room for one more than `size`.
        items: `(room, 2)`, ties and items.
        size: Number of entries.

    Returns:
        The new size.
    """
    place = size
    while place > 0:
        above = (place - 1) // 2
        if keys[above] < key or (keys[above] == key and items[above, 0] <= tie):
            break
        keys[place], items[place, 0], items[place, 1] = keys[above], items[above, 0], items[above, 1]
        place = above
    keys[place], items[place, 0], items[place, 1] = key, tie, item
    return size + 1


@njit(**OPTIONS)
def heap_pop(keys: NDArray[np.float64], items: NDArray[np.int64], size: int) -> tuple[int, int]:
    """Take the first entry from a heap, see :func:`heap_push`: its item and the new size."""
    top, last = items[0, 1], size - 1
    key, tie, item = keys[last], items[last, 0], items[last, 1]
    place = 0
    while 2 * place + 1 < last:
        child, other = 2 * place + 1, 2 * place + 2
        if other < last and (
            keys[other] < keys[child] or (keys[other] == keys[child] and items[other, 0] < items[child, 0])
        ):
            child = other
        if key < keys[child] or (key == keys[child] and tie <= items[child, 0]):
            break
        keys[place], items[place, 0], items[place, 1] = keys[child], items[child, 0], items[child, 1]
        place = child
    keys[place], items[place, 0], items[place, 1] = key, tie, item
    return top, last
