"""Compiled kinematics of poses and features with their exact Jacobians, for `_kernels`.

The Jacobian takes one sweep down the tree with two sums a joint, `A = Σ G ω` and `C = Σ P × G ω`, from which
every point `x` below moves by `A × x + C` (Tournier 2011, section 8.2.2). The compiled code of `_kernels`
contains these functions: after a change here, that file must change (or be touched) too. Importing this
module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.body.ik._rotation_kernels import (
    copy_row,
    dexp_inverse,
    log_between,
    matrix_of,
    polynomial,
    product,
    rotated,
    turn_along,
)

Array = NDArray[np.float64]

# What a feature measures; each has three rows, of which the last three kinds use one.
POINT, TURN, AIM, ROLL, PLANE, ABOVE = 0, 1, 2, 3, 4, 5

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_TINY = 1e-12


@njit(**_OPTIONS)
def place(
    full: bool,
    figure: Any,
    root: Array,
    pose: Array,
    rotations: Array,
    tangents: Array,
    positions: Array,
    turned: Array,
) -> None:
    """Forward kinematics of the joints that matter; in a pose model, the joints' rotations too."""
    needed, parents, offsets, mean, directions = figure
    modes = pose.shape[0]
    copy_row(root, positions[0])
    copy_row(rotations[0], turned[0])
    for step in range(1, needed.shape[0]):
        j = needed[step]
        if not full:
            for i in range(3):
                total = 0.0
                for m in range(modes):
                    total += directions[j, i, m] * pose[m]
                tangents[j, i] = total
            turn_along(mean[j], tangents[j], rotations[j])
        p = parents[j]
        product(turned[p], rotations[j], turned[j])
        rotated(turned[p], offsets[j], positions[j])
        for i in range(3):
            positions[j, i] += positions[p, i]


@njit(**_OPTIONS)
def residuals(
    features: Any,
    goals: Array,
    weights: Array,
    limits: Any,
    rotations: Array,
    positions: Array,
    turned: Array,
    x: Array,
    r: Array,
) -> None:
    """Weighted goal minus value, three rows a feature, then a row a limit."""
    kinds, joints, local, axes = features
    limited, limit_centres, limit_shapes, limit_weight = limits
    v = np.empty(3)
    for f in range(kinds.shape[0]):
        j, w, kind = joints[f], weights[f], kinds[f]
        row = 3 * f
        r[row], r[row + 1], r[row + 2] = 0.0, 0.0, 0.0
        if w == 0.0:
            continue
        rotated(turned[j], local[f], x[f])
        for i in range(3):
            x[f, i] += positions[j, i]
        if kind == POINT:
            for i in range(3):
                r[row + i] = w * (goals[f, i] - x[f, i])
        elif kind == TURN:
            log_between(turned[j], goals[f], v)
            for i in range(3):
                r[row + i] = w * v[i]
        elif kind == AIM:
            dx, dy, dz = goals[f, 0] - x[f, 0], goals[f, 1] - x[f, 1], goals[f, 2] - x[f, 2]
            distance = math.sqrt(dx * dx + dy * dy + dz * dz)
            if distance > _TINY:
                rotated(turned[j], axes[f], v)
                r[row] = w * (dx / distance - v[0])
                r[row + 1] = w * (dy / distance - v[1])
                r[row + 2] = w * (dz / distance - v[2])
        elif kind == ROLL:
            rotated(turned[j], axes[f], v)
            r[row] = -w * (v[0] * goals[f, 0] + v[1] * goals[f, 1] + v[2] * goals[f, 2])
        else:
            height = axes[f, 0] * x[f, 0] + axes[f, 1] * x[f, 1] + axes[f, 2] * x[f, 2]
            missing = goals[f, 0] - height
            r[row] = w * missing if kind == PLANE or missing > 0.0 else 0.0
    for l in range(limited.shape[0]):
        log_between(limit_centres[l], rotations[limited[l]], v)
        value = 0.0
        for i in range(3):
            for k in range(3):
                value += v[i] * limit_shapes[l, i, k] * v[k]
        r[3 * kinds.shape[0] + l] = -limit_weight * max(0.0, value - 1.0)


@njit(**_OPTIONS)
def sums_down(
    full: bool,
    free: int,
    figure: Any,
    tangents: Array,
    positions: Array,
    turned: Array,
    A: Array,
    C: Array,
) -> None:
    """Sums over each joint's chain of its world turn rates and their moments, a column an unknown."""
    needed, parents, _, _, directions = figure
    unknowns = A.shape[2]
    modes = directions.shape[2]
    G, D, E, F = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((6, 3))
    for i in range(3):
        for m in range(unknowns):
            A[0, i, m], C[0, i, m] = 0.0, 0.0
    if free:
        matrix_of(turned[0], G)
        for m in range(3):
            A[0, 0, m], A[0, 1, m], A[0, 2, m] = G[0, m], G[1, m], G[2, m]
            C[0, 0, m] = positions[0, 1] * G[2, m] - positions[0, 2] * G[1, m]
            C[0, 1, m] = positions[0, 2] * G[0, m] - positions[0, 0] * G[2, m]
            C[0, 2, m] = positions[0, 0] * G[1, m] - positions[0, 1] * G[0, m]
            C[0, m, 3 + m] = 1.0
    for step in range(1, needed.shape[0]):
        j = needed[step]
        p = parents[j]
        px, py, pz = positions[j, 0], positions[j, 1], positions[j, 2]
        matrix_of(turned[j], G)
        if full:
            for i in range(3):
                for m in range(unknowns):
                    A[j, i, m] = A[p, i, m]
                    C[j, i, m] = C[p, i, m]
            first = free + 3 * (j - 1)
            for m in range(3):
                a, b, c = G[0, m], G[1, m], G[2, m]
                A[j, 0, first + m], A[j, 1, first + m], A[j, 2, first + m] = a, b, c
                C[j, 0, first + m] = py * c - pz * b
                C[j, 1, first + m] = pz * a - px * c
                C[j, 2, first + m] = px * b - py * a
            continue
        polynomial(tangents[j], -tangents[j, 3], tangents[j, 4], D)
        for i in range(3):
            for k in range(3):
                E[i, k] = G[i, 0] * D[0, k] + G[i, 1] * D[1, k] + G[i, 2] * D[2, k]
            for m in range(free):
                A[j, i, m] = A[p, i, m]
                C[j, i, m] = C[p, i, m]
        # Row by row, so that the inner loops are vectorised.
        for k in range(3):
            F[0, k], F[1, k], F[2, k] = E[0, k], E[1, k], E[2, k]
            F[3, k] = py * E[2, k] - pz * E[1, k]
            F[4, k] = pz * E[0, k] - px * E[2, k]
            F[5, k] = px * E[1, k] - py * E[0, k]
        for i in range(3):
            a, b, c = F[i, 0], F[i, 1], F[i, 2]
            for m in range(modes):
                A[j, i, free + m] = A[p, i, free + m] + (
                    a * directions[j, 0, m] + b * directions[j, 1, m] + c * directions[j, 2, m]
                )
            a, b, c = F[3 + i, 0], F[3 + i, 1], F[3 + i, 2]
            for m in range(modes):
                C[j, i, free + m] = C[p, i, free + m] + (
                    a * directions[j, 0, m] + b * directions[j, 1, m] + c * directions[j, 2, m]
                )


@njit(**_OPTIONS)
def jacobian(
    full: bool,
    free: int,
    figure: Any,
    features: Any,
    goals: Array,
    weights: Array,
    limits: Any,
    rotations: Array,
    tangents: Array,
    turned: Array,
    x: Array,
    r: Array,
    A: Array,
    C: Array,
    J: Array,
) -> None:
    """Derivatives of the weighted values (minus those of the residuals)."""
    directions = figure[4]
    kinds, joints, _, axes = features
    limited, limit_centres, limit_shapes, limit_weight = limits
    unknowns = J.shape[1]
    modes = directions.shape[2]
    v, u, n = np.empty(3), np.empty(3), np.empty(3)
    D, G, E = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for f in range(kinds.shape[0]):
        j, w, kind = joints[f], weights[f], kinds[f]
        row = 3 * f
        for i in range(3):
            for m in range(unknowns):
                J[row + i, m] = 0.0
        if w == 0.0:
            continue
        px, py, pz = x[f, 0], x[f, 1], x[f, 2]
        if kind == POINT:
            for m in range(unknowns):
                a, b, c = A[j, 0, m], A[j, 1, m], A[j, 2, m]
                J[row, m] = w * (b * pz - c * py + C[j, 0, m])
                J[row + 1, m] = w * (c * px - a * pz + C[j, 1, m])
                J[row + 2, m] = w * (a * py - b * px + C[j, 2, m])
        elif kind == TURN:
            log_between(turned[j], goals[f], v)
            dexp_inverse(v, -1.0, D)
            matrix_of(turned[j], G)
            for i in range(3):
                for k in range(3):
                    E[i, k] = w * (D[i, 0] * G[k, 0] + D[i, 1] * G[k, 1] + D[i, 2] * G[k, 2])
            for m in range(unknowns):
                a, b, c = A[j, 0, m], A[j, 1, m], A[j, 2, m]
                for i in range(3):
                    J[row + i, m] = E[i, 0] * a + E[i, 1] * b + E[i, 2] * c
        elif kind == AIM:
            for i in range(3):
                n[i] = goals[f, i] - x[f, i]
            distance = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
            if distance > _TINY:
                for i in range(3):
                    n[i] /= distance
                rotated(turned[j], axes[f], v)
                for m in range(unknowns):
                    a, b, c = A[j, 0, m], A[j, 1, m], A[j, 2, m]
                    hx = b * pz - c * py + C[j, 0, m]
                    hy = c * px - a * pz + C[j, 1, m]
                    hz = a * py - b * px + C[j, 2, m]
                    along = n[0] * hx + n[1] * hy + n[2] * hz
                    J[row, m] = w * (b * v[2] - c * v[1] + (hx - along * n[0]) / distance)
                    J[row + 1, m] = w * (c * v[0] - a * v[2] + (hy - along * n[1]) / distance)
                    J[row + 2, m] = w * (a * v[1] - b * v[0] + (hz - along * n[2]) / distance)
        elif kind == ROLL:
            rotated(turned[j], axes[f], v)
            # (a × v) · up = a · (v × up)
            ux, uy, uz = goals[f, 0], goals[f, 1], goals[f, 2]
            cx, cy, cz = v[1] * uz - v[2] * uy, v[2] * ux - v[0] * uz, v[0] * uy - v[1] * ux
            for m in range(unknowns):
                J[row, m] = w * (A[j, 0, m] * cx + A[j, 1, m] * cy + A[j, 2, m] * cz)
        elif kind == PLANE or r[row] > 0.0:
            for m in range(unknowns):
                a, b, c = A[j, 0, m], A[j, 1, m], A[j, 2, m]
                J[row, m] = w * (
                    axes[f, 0] * (b * pz - c * py + C[j, 0, m])
                    + axes[f, 1] * (c * px - a * pz + C[j, 1, m])
                    + axes[f, 2] * (a * py - b * px + C[j, 2, m])
                )
    for l in range(limited.shape[0]):
        row, j = 3 * kinds.shape[0] + l, limited[l]
        for m in range(unknowns):
            J[row, m] = 0.0
        if r[row] == 0.0 or (j == 0 and free == 0):
            continue
        log_between(limit_centres[l], rotations[j], v)
        dexp_inverse(v, 1.0, D)
        for k in range(3):
            u[k] = 0.0
            for i in range(3):
                u[k] += limit_shapes[l, k, i] * v[i]
        for k in range(3):
            n[k] = 2.0 * limit_weight * (u[0] * D[0, k] + u[1] * D[1, k] + u[2] * D[2, k])
        if j == 0:
            for k in range(3):
                J[row, k] = n[k]
        elif full:
            for k in range(3):
                J[row, free + 3 * (j - 1) + k] = n[k]
        else:
            polynomial(tangents[j], -tangents[j, 3], tangents[j, 4], D)
            for k in range(3):
                u[k] = n[0] * D[0, k] + n[1] * D[1, k] + n[2] * D[2, k]
            for m in range(modes):
                J[row, free + m] = (
                    u[0] * directions[j, 0, m] + u[1] * directions[j, 1, m] + u[2] * directions[j, 2, m]
                )


@njit(**_OPTIONS)
def mass_matrix(
    figure: Any,
    masses: Any,
    positions: Array,
    turned: Array,
    A: Array,
    C: Array,
    M: Array,
) -> None:
    """M = Σ m JᵀJ of point masses, lower half, with a floor so that every unknown weighs something."""
    needed = figure[0]
    amounts, points = masses
    unknowns = M.shape[0]
    for m in range(unknowns):
        for k in range(unknowns):
            M[m, k] = 0.0
    rows = np.empty((3, unknowns))
    x = np.empty(3)
    for step in range(needed.shape[0]):
        j = needed[step]
        if amounts[j] == 0.0:
            continue
        rotated(turned[j], points[j], x)
        px, py, pz = x[0] + positions[j, 0], x[1] + positions[j, 1], x[2] + positions[j, 2]
        for m in range(unknowns):
            a, b, c = A[j, 0, m], A[j, 1, m], A[j, 2, m]
            rows[0, m] = b * pz - c * py + C[j, 0, m]
            rows[1, m] = c * px - a * pz + C[j, 1, m]
            rows[2, m] = a * py - b * px + C[j, 2, m]
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
