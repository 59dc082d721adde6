"""Kernels of legs that are made to stand: where their feet are, how these move, and least squares on that.

A leg is a chain of joints from the hip, three of which turn by rotation vectors; its unknowns are the root's
shift and these vectors, 12 numbers. Differentials of the exponential are those of
:mod:`marey.geometry.tangent`. O(frames) each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey._compiling import njit

Index = NDArray[np.int64]
# Small vectors and matrices are tuples: arrays would be allocated for each.
Row = tuple[float, ...]
Rows = tuple[Row, Row, Row]

_OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def add_leg(
    band: Array,
    right: Array,
    columns: Index,
    chain: tuple[Array, Array, Array, Array, Index, Index],
    ranges: tuple[Array, Array, Array],
    change: Array,
    limits: tuple[Array, Array],
    stands: NDArray[np.bool_],
    slide: float,
    weights: tuple[float, float, float],
) -> None:
    """Add the equations of a leg to those of all unknowns.

    band: `(frames · unknowns, 2 unknowns + 1)`, lower diagonals of the normal matrix, a row a column of it
    right: `(frames, unknowns)`
    columns: which unknowns of a frame the leg's 12 are
    chain: frame above, hip, local rotations, offsets, which joint turns and is a point, as its number or −1
    ranges: mean `(3, 4)`, low and high `(3, 3)`
    change: `(frames, unknowns)`, what has been solved for so far
    limits: heights that points have at least and at most, `(frames, points)` each
    slide: metres that a standing point may move in a frame
    weights: of a standing point's step, of heights, of ranges
    """
    frames, unknowns = change.shape
    points = stands.shape[1]
    places, before = np.zeros((points, 3)), np.zeros((points, 3))
    slopes, slopes_before = np.zeros((points, 3, 12)), np.zeros((points, 3, 12))
    over, turning = np.zeros((3, 3)), np.zeros((3, 3, 3))
    own = np.zeros(12)
    row = np.zeros(24)
    where = np.zeros(24, dtype=np.int64)
    for frame in range(frames):
        before[:] = places
        slopes_before[:] = slopes
        for i in range(12):
            own[i] = change[frame, columns[i]]
            where[i] = (frame - 1) * unknowns + columns[i]
            where[12 + i] = frame * unknowns + columns[i]
        leg_frame(chain, frame, own, ranges, places, slopes, over, turning)
        for point in range(points):
            height = places[point, 1]
            wrong = height - min(max(height, limits[0][frame, point]), limits[1][frame, point])
            if wrong != 0.0:
                row[12:] = slopes[point, 1]
                _add_row(band, right, where, row, 12, wrong, weights[1])
        for joint in range(3):
            for axis in range(3):
                if over[joint, axis] != 0.0:
                    row[12:] = 0.0
                    row[15 + 3 * joint : 18 + 3 * joint] = turning[joint, axis]
                    _add_row(band, right, where, row, 12, over[joint, axis], weights[2])
        if frame == 0:
            continue
        for point in range(points):
            if stands[frame, point] and stands[frame - 1, point]:
                x = places[point, 0] - before[point, 0]
                z = places[point, 2] - before[point, 2]
                part = max(1.0 - slide / max(np.sqrt(x * x + z * z), 1e-12), 0.0)
                for axis, step in ((0, x), (2, z)):
                    row[:12] = -slopes_before[point, axis]
                    row[12:] = slopes[point, axis]
                    _add_row(band, right, where, row, 0, part * step, weights[0])


@njit(**_OPTIONS)
def settle(
    chain: tuple[Array, Array, Array, Array, Index, Index],
    ranges: tuple[Array, Array, Array],
    root: Array,
    shifts: Array,
    damped: Array,
    options: tuple[float, int, float, float],
    out: Array,
) -> None:
    """Turns `(frames, 9)` of a leg that bring its points where they were and `shifts` `(frames, points, 3)`.

    damped: `(9,)`, weights of the turns
    options: weight of points and ranges, steps, radians of a step at most, radians of one that ends them
    """
    frames, points = shifts.shape[:2]
    firm, steps, stride, enough = options
    places, slopes = np.zeros((points, 3)), np.zeros((points, 3, 12))
    over, turning = np.zeros((3, 3)), np.zeros((3, 3, 3))
    goals = np.zeros((points, 3))
    own = np.zeros(12)
    normal, right = np.zeros((9, 9)), np.zeros(9)
    for frame in range(frames):
        own[:] = 0.0
        leg_frame(chain, frame, own, ranges, places, slopes, over, turning)
        goals[:] = places + shifts[frame]
        own[:3] = root[frame]
        for _ in range(steps):
            leg_frame(chain, frame, own, ranges, places, slopes, over, turning)
            for i in range(9):
                normal[i] = 0.0
                normal[i, i] = damped[i]
                right[i] = -damped[i] * own[3 + i]
            for point in range(points):
                for axis in range(3):
                    wrong = places[point, axis] - goals[point, axis]
                    slope = slopes[point, axis]
                    for i in range(9):
                        heavy = firm * slope[3 + i]
                        right[i] -= heavy * wrong
                        for j in range(i + 1):
                            normal[i, j] += heavy * slope[3 + j]
            for joint in range(3):
                for axis in range(3):
                    wrong = over[joint, axis]
                    if wrong != 0.0:
                        for i in range(3):
                            heavy = firm * turning[joint, axis, i]
                            right[3 * joint + i] -= heavy * wrong
                            for j in range(i + 1):
                                normal[3 * joint + i, 3 * joint + j] += heavy * turning[joint, axis, j]
            _solve(normal, right)
            largest = 0.0
            for i in range(9):
                step = min(max(right[i], -stride), stride)
                own[3 + i] += step
                largest = max(largest, abs(step))
            if largest < enough:
                break
        out[frame] = own[3:]


@njit(**_OPTIONS)
def leg_frame(
    chain: tuple[Array, Array, Array, Array, Index, Index],
    frame: int,
    own: Array,
    ranges: tuple[Array, Array, Array],
    places: Array,
    slopes: Array,
    over: Array,
    turning: Array,
) -> None:
    """A leg in one frame with its unknowns `own` `(12,)`.

    places, slopes: `(points, 3)` and `(points, 3, 12)`, of the foot's points
    over, turning: `(3, 3)` and `(3, 3, 3)`, logarithms beyond their ranges and how they move with the vectors
    """
    above, hip, local, offsets, turns, points = chain
    mean, low, high = ranges
    carried = above[frame]
    whole = (carried[0], carried[1], carried[2], carried[3])
    place = hip[frame] + own[:3]
    axes, centres = np.empty((3, 3, 3)), np.empty((3, 3))
    met = 0
    for number in range(len(turns)):
        if number:
            _carry(place, _matrix(whole), offsets[frame, number - 1])
        point = points[number]
        if point >= 0:
            places[point] = place
            slopes[point] = 0.0
            for i in range(3):
                slopes[point, i, i] = 1.0
            for joint in range(met):
                centre = centres[joint]
                x, y, z = place[0] - centre[0], place[1] - centre[1], place[2] - centre[2]
                for i in range(3):
                    a, b, c = axes[joint, 0, i], axes[joint, 1, i], axes[joint, 2, i]
                    slopes[point, 0, 3 + 3 * joint + i] = z * b - y * c
                    slopes[point, 1, 3 + 3 * joint + i] = x * c - z * a
                    slopes[point, 2, 3 + 3 * joint + i] = y * a - x * b
        joint = turns[number]
        if joint < 0:
            whole = _multiply(whole, local[frame, number])
            continue
        first = 3 + 3 * joint
        vector = (own[first], own[first + 1], own[first + 2])
        angle = np.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
        spread = _dexp(vector, angle)
        turned = _multiply(local[frame, number], _exp(vector, angle))
        whole = _multiply(whole, turned)
        _product(_matrix(whole), spread, axes[joint])
        centres[joint] = place
        met = joint + 1
        logarithm = _log_from(mean[joint], turned)
        beyond = False
        for i in range(3):
            over[joint, i] = logarithm[i] - min(max(logarithm[i], low[joint, i]), high[joint, i])
            beyond = beyond or over[joint, i] != 0.0
        if beyond:
            _product(_dexp_inverse(logarithm), spread, turning[joint])


@njit(**_OPTIONS)
def _add_row(
    band: Array, right: Array, where: Index, row: Array, first: int, value: float, weight: float
) -> None:
    """Add the equation that the row times the step is minus the value."""
    flat = right.ravel()
    for i in range(first, 24):
        heavy = weight * row[i]
        if heavy == 0.0:
            continue
        flat[where[i]] -= heavy * value
        for j in range(first, 24):
            below = where[i] - where[j]
            if below >= 0:
                band[where[j], below] += heavy * row[j]


@njit(**_OPTIONS)
def _solve(matrix: Array, right: Array) -> None:
    """Solve with a positive definite matrix whose lower half is given, in place, by Cholesky's factor."""
    size = len(right)
    for i in range(size):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                matrix[i, i] = np.sqrt(max(total, 1e-300))
            else:
                matrix[i, j] = total / matrix[j, j]
        total = right[i]
        for k in range(i):
            total -= matrix[i, k] * right[k]
        right[i] = total / matrix[i, i]
    for i in range(size - 1, -1, -1):
        total = right[i]
        for k in range(i + 1, size):
            total -= matrix[k, i] * right[k]
        right[i] = total / matrix[i, i]


@njit(**_OPTIONS)
def _carry(place: Array, matrix: Rows, offset: Array) -> None:
    """Go on from a place by a turned offset, in place."""
    for i in range(3):
        place[i] += matrix[i][0] * offset[0] + matrix[i][1] * offset[1] + matrix[i][2] * offset[2]


@njit(**_OPTIONS)
def _product(a: Rows, b: Rows, out: Array) -> None:
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j]


@njit(**_OPTIONS)
def _multiply(a: Any, b: Any) -> Row:
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@njit(**_OPTIONS)
def _matrix(q: Row) -> Rows:
    w, x, y, z = q
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


@njit(**_OPTIONS)
def _exp(v: Row, angle: float) -> Row:
    part = np.sin(0.5 * angle) / angle if angle > 1e-8 else 0.5
    return (np.cos(0.5 * angle), part * v[0], part * v[1], part * v[2])


@njit(**_OPTIONS)
def _log_from(mean: Array, q: Row) -> Row:
    """Logarithm of a rotation seen from another."""
    w, x, y, z = _multiply((mean[0], -mean[1], -mean[2], -mean[3]), q)
    sine = np.sqrt(x * x + y * y + z * z)
    part = 2.0 * np.arctan2(sine, abs(w)) / sine if sine > 1e-9 else 2.0
    if w < 0:
        part = -part
    return (part * x, part * y, part * z)


@njit(**_OPTIONS)
def _dexp(v: Row, angle: float) -> Rows:
    squared = angle * angle
    if angle < 1e-2:
        return _polynomial(v, -(0.5 - squared / 24.0), 1.0 / 6.0 - squared / 120.0)
    half = np.sin(0.5 * angle) / angle
    return _polynomial(v, -2.0 * half * half, (angle - np.sin(angle)) / (squared * angle))


@njit(**_OPTIONS)
def _dexp_inverse(v: Row) -> Rows:
    squared = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    if squared < 1e-4:
        return _polynomial(v, 0.5, 1.0 / 12.0 + squared / 720.0)
    half = 0.5 * np.sqrt(squared)
    return _polynomial(v, 0.5, (1.0 - half * np.cos(half) / np.sin(half)) / squared)


@njit(**_OPTIONS)
def _polynomial(w: Row, first: float, second: float) -> Rows:
    """I + first W + second W² with W the matrix of the cross product with w."""
    x, y, z = w
    rest = 1.0 - second * (x * x + y * y + z * z)
    return (
        (rest + second * x * x, second * x * y - first * z, second * x * z + first * y),
        (second * x * y + first * z, rest + second * y * y, second * y * z - first * x),
        (second * x * z - first * y, second * y * z + first * x, rest + second * z * z),
    )
