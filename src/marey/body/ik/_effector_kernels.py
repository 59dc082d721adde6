"""Compiled kinematics of poses and effectors with their exact Jacobians, for `_kernels`.

The Jacobian takes one sweep down the tree with two sums a joint, `A = Σ G ω` and `C = Σ P × G ω`, from which
every point `x` below moves by `A × x + C` (Tournier 2011, section 8.2.2). Importing this module imports
numba: do so inside functions.

Bodies, effectors and limits are the tuples that `engine` declares. A state is (root, pose, rotations,
tangents, positions, world rotations, effectors' points, residuals, pull of the prior).
"""

from __future__ import annotations

import math

import numpy as np

from marey._arrays import Array
from marey._compiling import njit
from marey.body.ik.engine import AIM, PLANE, POINT, ROLL, TURN, Body, EffectorArrays, LimitArrays, Masses
from marey.body.limits._kernels import INNER, limit
from marey.geometry._inline_kernels import (
    Matrix,
    Vector,
    dexp_inverse,
    exp_and_factors,
    hat_polynomial,
    log_between,
    matrix,
    matrix_product,
    product,
    quaternion,
    rotate,
    row_times,
    store,
    vector,
)

State = tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array]

_TINY = 1e-12


@njit(**INNER)
def place(body: Body, state: State) -> None:
    """Forward kinematics of the joints that matter; in a pose model, the joints' rotations too."""
    full, _, needed, parents, offsets, mean, directions = body
    root, pose, rotations, tangents, positions, turned, _, _, _ = state
    store(vector(root), positions[0])
    store(quaternion(rotations[0]), turned[0])
    for step in range(1, needed.shape[0]):
        j = needed[step]
        if not full:
            v = tangent(directions[j], pose)
            store(v, tangents[j])
            turned_by, tangents[j, 3], tangents[j, 4] = exp_and_factors(v)
            store(product(quaternion(mean[j]), turned_by), rotations[j])
        p = parents[j]
        above = quaternion(turned[p])
        store(product(above, quaternion(rotations[j])), turned[j])
        store(_sum(rotate(above, vector(offsets[j])), vector(positions[p])), positions[j])


@njit(**INNER)
def tangent(directions: Array, pose: Array) -> Vector:
    """A joint's rotation vector at the mean, of directions `(3, modes)` and coordinates `(modes,)`."""
    x, y, z = 0.0, 0.0, 0.0
    for m in range(pose.shape[0]):
        x += directions[0, m] * pose[m]
        y += directions[1, m] * pose[m]
        z += directions[2, m] * pose[m]
    return x, y, z


@njit(**INNER)
def residuals(
    effectors: EffectorArrays, goals: Array, weights: Array, limits: LimitArrays, state: State
) -> None:
    """Weighted goal minus value, three rows an effector, then a row a limit."""
    kinds, joints, local, axes = effectors
    _, _, rotations, _, positions, turned, points, r, _ = state
    count = kinds.shape[0]
    for f in range(count):
        j, w, kind = joints[f], weights[f], kinds[f]
        row = r[3 * f : 3 * f + 3]
        store((0.0, 0.0, 0.0), row)
        if w == 0.0:
            continue
        q, goal = quaternion(turned[j]), vector(goals[f])
        x = _sum(rotate(q, vector(local[f])), vector(positions[j]))
        store(x, points[f])
        if kind == POINT:
            store((w * (goal[0] - x[0]), w * (goal[1] - x[1]), w * (goal[2] - x[2])), row)
        elif kind == TURN:
            v = log_between(q, quaternion(goals[f]))
            store((w * v[0], w * v[1], w * v[2]), row)
        elif kind == AIM:
            n, distance = _towards(x, goal)
            if distance > _TINY:
                v = rotate(q, vector(axes[f]))
                store((w * (n[0] - v[0]), w * (n[1] - v[1]), w * (n[2] - v[2])), row)
        elif kind == ROLL:
            row[0] = -w * _dot(rotate(q, vector(axes[f])), goal)
        else:
            missing = goal[0] - _dot(vector(axes[f]), x)
            row[0] = w * missing if kind == PLANE or missing > 0.0 else 0.0
    limited, limit_kind, centres, parameters, weight = limits
    for l in range(limited.shape[0]):
        q = quaternion(rotations[limited[l]])
        value, _ = limit(limit_kind, q, quaternion(centres[l]), parameters[l])
        r[3 * count + l] = -weight * max(0.0, value)


@njit(**INNER)
def accumulate_jacobians(body: Body, state: State, A: Array, C: Array) -> None:
    """Sums over each joint's chain of its world turn rates and their moments, a column an unknown."""
    full, free, needed, parents, _, _, directions = body
    _, _, _, tangents, positions, turned, _, _, _ = state
    modes = directions.shape[2]
    A[0] = 0.0
    C[0] = 0.0
    if free:
        G = matrix(quaternion(turned[0]))
        _add_turns(A[0], C[0], 0, G, _moments(vector(positions[0]), G))
        for i in range(3):
            C[0, i, 3 + i] = 1.0
    for step in range(1, needed.shape[0]):
        j = needed[step]
        p = parents[j]
        G = matrix(quaternion(turned[j]))
        if full:
            copy_rows(A[p], A[j])
            copy_rows(C[p], C[j])
            _add_turns(A[j], C[j], free + 3 * (j - 1), G, _moments(vector(positions[j]), G))
            continue
        E = matrix_product(G, _dexp(tangents[j]))
        F = _moments(vector(positions[j]), E)
        for i in range(3):
            for m in range(free):
                A[j, i, m] = A[p, i, m]
                C[j, i, m] = C[p, i, m]
            # One sum a loop, so that the loops are vectorised.
            a, b, c = E[i]
            for m in range(modes):
                A[j, i, free + m] = A[p, i, free + m] + (
                    a * directions[j, 0, m] + b * directions[j, 1, m] + c * directions[j, 2, m]
                )
            a, b, c = F[i]
            for m in range(modes):
                C[j, i, free + m] = C[p, i, free + m] + (
                    a * directions[j, 0, m] + b * directions[j, 1, m] + c * directions[j, 2, m]
                )


@njit(**INNER)
def jacobian(
    body: Body, effectors: EffectorArrays, goals: Array, weights: Array, limits: LimitArrays,
    state: State, A: Array, C: Array, J: Array,
) -> None:  # fmt: skip
    """Derivatives of the weighted values (minus those of the residuals)."""
    kinds, joints, _, axes = effectors
    _, _, _, _, _, turned, points, r, _ = state
    unknowns = J.shape[1]
    for f in range(kinds.shape[0]):
        j, w, kind, row = joints[f], weights[f], kinds[f], 3 * f
        J[row : row + 3] = 0.0
        if w == 0.0:
            continue
        q, x = quaternion(turned[j]), vector(points[f])
        if kind == POINT:
            for m in range(unknowns):
                hx, hy, hz = _velocity(A, C, j, m, x)
                J[row, m], J[row + 1, m], J[row + 2, m] = w * hx, w * hy, w * hz
        elif kind == TURN:
            M = matrix_product(matrix(q), dexp_inverse(log_between(q, quaternion(goals[f]))))
            for m in range(unknowns):
                a, b, c = row_times((w * A[j, 0, m], w * A[j, 1, m], w * A[j, 2, m]), M)
                J[row, m], J[row + 1, m], J[row + 2, m] = a, b, c
        elif kind == AIM:
            n, distance = _towards(x, vector(goals[f]))
            if distance > _TINY:
                v = rotate(q, vector(axes[f]))
                for m in range(unknowns):
                    a, b, c = A[j, 0, m], A[j, 1, m], A[j, 2, m]
                    h = _velocity(A, C, j, m, x)
                    along = _dot(n, h)
                    J[row, m] = w * (b * v[2] - c * v[1] + (h[0] - along * n[0]) / distance)
                    J[row + 1, m] = w * (c * v[0] - a * v[2] + (h[1] - along * n[1]) / distance)
                    J[row + 2, m] = w * (a * v[1] - b * v[0] + (h[2] - along * n[2]) / distance)
        elif kind == ROLL:
            # (a × v) · up = a · (v × up)
            v, up = rotate(q, vector(axes[f])), vector(goals[f])
            n = (v[1] * up[2] - v[2] * up[1], v[2] * up[0] - v[0] * up[2], v[0] * up[1] - v[1] * up[0])
            for m in range(unknowns):
                J[row, m] = w * (A[j, 0, m] * n[0] + A[j, 1, m] * n[1] + A[j, 2, m] * n[2])
        elif kind == PLANE or r[row] > 0.0:
            for m in range(unknowns):
                J[row, m] = w * _dot(vector(axes[f]), _velocity(A, C, j, m, x))
    _limit_jacobian(body, limits, state, 3 * kinds.shape[0], J)


@njit(**INNER)
def _limit_jacobian(body: Body, limits: LimitArrays, state: State, first: int, J: Array) -> None:
    full, free, _, _, _, _, directions = body
    _, _, rotations, tangents, _, _, _, r, _ = state
    limited, kind, centres, parameters, weight = limits
    for l in range(limited.shape[0]):
        row, j = first + l, limited[l]
        J[row] = 0.0
        if r[row] == 0.0 or (j == 0 and free == 0):
            continue
        _, slope = limit(kind, quaternion(rotations[j]), quaternion(centres[l]), parameters[l])
        if j == 0 or full:
            start = 0 if j == 0 else free + 3 * (j - 1)
            for k in range(3):
                J[row, start + k] = weight * slope[k]
        else:
            a, b, c = row_times(slope, _dexp(tangents[j]))
            for m in range(directions.shape[2]):
                J[row, free + m] = weight * (
                    a * directions[j, 0, m] + b * directions[j, 1, m] + c * directions[j, 2, m]
                )


@njit(**INNER)
def mass_matrix(body: Body, masses: Masses, state: State, A: Array, C: Array, M: Array) -> None:
    """M = Σ m JᵀJ of point masses, lower half, with a floor so that every unknown weighs something."""
    amounts, centres = masses
    _, _, _, _, positions, turned, _, _, _ = state
    needed, unknowns = body[2], M.shape[0]
    M[:] = 0.0
    rows = np.empty((3, unknowns))
    for step in range(needed.shape[0]):
        j = needed[step]
        if amounts[j] == 0.0:
            continue
        x = _sum(rotate(quaternion(turned[j]), vector(centres[j])), vector(positions[j]))
        for m in range(unknowns):
            rows[0, m], rows[1, m], rows[2, m] = _velocity(A, C, j, m, x)
        for m in range(unknowns):
            for k in range(m + 1):
                M[m, k] += amounts[j] * (
                    rows[0, m] * rows[0, k] + rows[1, m] * rows[1, k] + rows[2, m] * rows[2, k]
                )
    trace = 0.0
    for m in range(unknowns):
        trace += M[m, m]
    for m in range(unknowns):
        M[m, m] += 1e-6 * trace + _TINY


@njit(**INNER)
def copy_rows(source: Array, out: Array) -> None:
    """out ← source, both `(rows, columns)`; numba takes seconds to compile the assignment of an array."""
    for i in range(out.shape[0]):
        for m in range(out.shape[1]):
            out[i, m] = source[i, m]


@njit(**INNER)
def _velocity(A: Array, C: Array, j: int, m: int, x: Vector) -> Vector:
    """How a point that joint j carries moves with unknown m."""
    a, b, c = A[j, 0, m], A[j, 1, m], A[j, 2, m]
    return (
        b * x[2] - c * x[1] + C[j, 0, m],
        c * x[0] - a * x[2] + C[j, 1, m],
        a * x[1] - b * x[0] + C[j, 2, m],
    )


@njit(**INNER)
def _add_turns(A: Array, C: Array, first: int, G: Matrix, moments: Matrix) -> None:
    """Three columns of a joint that turns about its own axes."""
    for i in range(3):
        for m in range(3):
            A[i, first + m] = G[i][m]
            C[i, first + m] = moments[i][m]


@njit(**INNER)
def _moments(p: Vector, G: Matrix) -> Matrix:
    """p × every column of G."""
    return matrix_product(((0.0, -p[2], p[1]), (p[2], 0.0, -p[0]), (-p[1], p[0], 0.0)), G)


@njit(**INNER)
def _dexp(row: Array) -> Matrix:
    """The body differential of exp from a tangent and its two factors."""
    return hat_polynomial(vector(row), -row[3], row[4])


@njit(**INNER)
def _towards(x: Vector, goal: Vector) -> tuple[Vector, float]:
    """Direction and distance to a goal."""
    a, b, c = goal[0] - x[0], goal[1] - x[1], goal[2] - x[2]
    distance = math.sqrt(a * a + b * b + c * c)
    scale = 1.0 / max(distance, _TINY)
    return (scale * a, scale * b, scale * c), distance


@njit(**INNER)
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(**INNER)
def _sum(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]
