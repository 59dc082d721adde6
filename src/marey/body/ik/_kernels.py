"""Compiled inverse kinematics: features, their exact Jacobians and Levenberg–Marquardt, one pose at a time.

A pose is a root frame and either coordinates in a pose model (`full` false: joint j turns by
`mean_j exp(V_j λ)`) or one free rotation a joint (`full` true). Unknowns come in the order root turn (own
frame), root shift (world), pose; without a free root only the pose. The Jacobian takes one sweep down the
tree with two sums a joint, `A = Σ G ω` and `C = Σ P × G ω`, from which every point `x` below moves by
`A × x + C` (Tournier 2011, section 8.2.2). Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# What a feature measures; each has three rows, of which the last three kinds use one.
POINT, TURN, AIM, ROLL, PLANE, ABOVE = 0, 1, 2, 3, 4, 5
# What damps a step: the diagonal of the normal matrix (Marquardt), how far unknowns usually go, the masses.
MARQUARDT, USUAL, KINETIC = 0, 1, 2

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_TINY = 1e-12
# Floor of Marquardt's damping, a share of the mean diagonal: some unknowns move no target (spec E-15).
_FLOOR = 1e-4
# Damping to begin with, far from the solution and near it, and its bounds. Cold starts that are damped
# little settle more often in a wrong minimum.
_COLD, _WARM, _LEAST, _MOST = 0.3, 1e-3, 1e-10, 1e8
# Relative decrease of the cost at which it has settled.
_SETTLED = 1e-6


@njit(**_OPTIONS)
def copy_row(source: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        out[i] = source[i]


@njit(**_OPTIONS)
def copy_rows(source: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = source[i, k]


@njit(**_OPTIONS)
def product(a: Array, b: Array, out: Array) -> None:
    w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]
    out[0], out[1], out[2], out[3] = w, x, y, z


@njit(**_OPTIONS)
def turn_by(q: Array, v: Array, out: Array) -> None:
    """out = q exp(v), made unit again."""
    angle = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    half = 0.5 * angle
    factor = math.sin(half) / angle if angle > 1e-6 else 0.5 - angle * angle / 48.0
    bw, bx, by, bz = math.cos(half), factor * v[0], factor * v[1], factor * v[2]
    w = q[0] * bw - q[1] * bx - q[2] * by - q[3] * bz
    x = q[0] * bx + q[1] * bw + q[2] * bz - q[3] * by
    y = q[0] * by - q[1] * bz + q[2] * bw + q[3] * bx
    z = q[0] * bz + q[1] * by - q[2] * bx + q[3] * bw
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    out[0], out[1], out[2], out[3] = w * scale, x * scale, y * scale, z * scale


@njit(**_OPTIONS)
def rotated(q: Array, v: Array, out: Array) -> None:
    w, x, y, z = q[0], q[1], q[2], q[3]
    tx, ty, tz = (
        2.0 * (y * v[2] - z * v[1]),
        2.0 * (z * v[0] - x * v[2]),
        2.0 * (x * v[1] - y * v[0]),
    )
    a = v[0] + w * tx + (y * tz - z * ty)
    b = v[1] + w * ty + (z * tx - x * tz)
    c = v[2] + w * tz + (x * ty - y * tx)
    out[0], out[1], out[2] = a, b, c


@njit(**_OPTIONS)
def matrix_of(q: Array, out: Array) -> None:
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0, 0], out[0, 1], out[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    out[1, 0], out[1, 1], out[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    out[2, 0], out[2, 1], out[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@njit(**_OPTIONS)
def log_between(a: Array, b: Array, out: Array) -> None:
    """out = log(a⁻¹ b), the shorter way."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1]
    z = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 * math.atan2(sine, w) / sine if sine > _TINY else 2.0
    out[0], out[1], out[2] = factor * x, factor * y, factor * z


@njit(**_OPTIONS)
def polynomial(v: Array, first: float, second: float, out: Array) -> None:
    """out = I + first V + second V², V = hat(v)."""
    x, y, z = v[0], v[1], v[2]
    out[0, 0] = 1.0 - second * (y * y + z * z)
    out[1, 1] = 1.0 - second * (x * x + z * z)
    out[2, 2] = 1.0 - second * (x * x + y * y)
    out[0, 1], out[1, 0] = second * x * y - first * z, second * x * y + first * z
    out[0, 2], out[2, 0] = second * x * z + first * y, second * x * z - first * y
    out[1, 2], out[2, 1] = second * y * z - first * x, second * y * z + first * x


@njit(**_OPTIONS)
def turn_along(q: Array, tangent: Array, out: Array) -> None:
    """out = q exp(v) of the first three numbers of `tangent`; the other two become those of dexp there.

    The body differential of exp is I - first V + second V²; both come cheaply with the half angle's sine.
    """
    x, y, z = tangent[0], tangent[1], tangent[2]
    squared = x * x + y * y + z * z
    angle = math.sqrt(squared)
    sine, bw = math.sin(0.5 * angle), math.cos(0.5 * angle)
    if squared < 1e-4:
        factor = 0.5 - squared / 48.0 + squared * squared / 3840.0
        tangent[3] = 0.5 - squared / 24.0 + squared * squared / 720.0
        tangent[4] = 1.0 / 6.0 - squared / 120.0 + squared * squared / 5040.0
    else:
        factor = sine / angle
        tangent[3] = 2.0 * factor * factor
        tangent[4] = (1.0 - 2.0 * factor * bw) / squared
    bx, by, bz = factor * x, factor * y, factor * z
    out[0] = q[0] * bw - q[1] * bx - q[2] * by - q[3] * bz
    out[1] = q[0] * bx + q[1] * bw + q[2] * bz - q[3] * by
    out[2] = q[0] * by - q[1] * bz + q[2] * bw + q[3] * bx
    out[3] = q[0] * bz + q[1] * by - q[2] * bx + q[3] * bw


@njit(**_OPTIONS)
def dexp_inverse(v: Array, sign: float, out: Array) -> None:
    """Inverse of the differential of exp: the body's for sign +1, the spatial one for -1."""
    squared = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    if squared < 1e-4:
        second = 1.0 / 12.0 + squared / 720.0 + squared * squared / 30240.0
    else:
        half = 0.5 * math.sqrt(squared)
        second = (1.0 - half * math.cos(half) / math.sin(half)) / squared
    polynomial(v, 0.5 * sign, second, out)


@njit(**_OPTIONS)
def place(
    full: bool,
    needed: Whole,
    parents: Whole,
    offsets: Array,
    mean: Array,
    directions: Array,
    root: Array,
    pose: Array,
    rotations: Array,
    tangents: Array,
    positions: Array,
    turned: Array,
) -> None:
    """Forward kinematics of the joints that matter; in a pose model, the joints' rotations too."""
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
    kinds: Whole,
    joints: Whole,
    local: Array,
    axes: Array,
    goals: Array,
    weights: Array,
    limited: Whole,
    limit_centres: Array,
    limit_shapes: Array,
    limit_weight: float,
    rotations: Array,
    positions: Array,
    turned: Array,
    x: Array,
    r: Array,
) -> None:
    """Weighted goal minus value, three rows a feature, then a row a limit."""
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
    needed: Whole,
    parents: Whole,
    directions: Array,
    tangents: Array,
    positions: Array,
    turned: Array,
    A: Array,
    C: Array,
) -> None:
    """Sums over each joint's chain of its world turn rates and their moments, a column an unknown."""
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
    directions: Array,
    kinds: Whole,
    joints: Whole,
    local: Array,
    axes: Array,
    goals: Array,
    weights: Array,
    limited: Whole,
    limit_centres: Array,
    limit_shapes: Array,
    limit_weight: float,
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
def pull_of_prior(
    full: bool,
    free: int,
    precision: Array,
    centre_root: Array,
    centre_pose: Array,
    centre_rotations: Array,
    root: Array,
    pose: Array,
    rotations: Array,
    pull: Array,
) -> float:
    """Precision times the way back to the centre, an entry an unknown; returns the cost.

    The way back of a rotation is its log; d(½|log|²) is the log itself, so the pull is exact.
    """
    v = np.empty(3)
    cost = 0.0
    if free:
        log_between(rotations[0], centre_rotations[0], v)
        for i in range(3):
            pull[i] = precision[i] * v[i]
            cost += pull[i] * v[i]
            away = centre_root[i] - root[i]
            pull[3 + i] = precision[3 + i] * away
            cost += pull[3 + i] * away
    if full:
        for j in range(1, rotations.shape[0]):
            first = free + 3 * (j - 1)
            if precision[first] == 0.0:
                pull[first], pull[first + 1], pull[first + 2] = 0.0, 0.0, 0.0
                continue
            log_between(rotations[j], centre_rotations[j], v)
            for i in range(3):
                pull[first + i] = precision[first + i] * v[i]
                cost += pull[first + i] * v[i]
    else:
        for m in range(pose.shape[0]):
            away = centre_pose[m] - pose[m]
            pull[free + m] = precision[free + m] * away
            cost += pull[free + m] * away
    return cost


@njit(**_OPTIONS)
def factor_and_solve(H: Array, size: int, b: Array) -> bool:
    """Cholesky in the lower half of H, then b ← H⁻¹ b; false if H is not positive definite."""
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


@njit(**_OPTIONS)
def mass_matrix(
    needed: Whole,
    masses: Array,
    mass_points: Array,
    positions: Array,
    turned: Array,
    A: Array,
    C: Array,
    M: Array,
) -> None:
    """M = Σ m JᵀJ of point masses, lower half, with a floor so that every unknown weighs something."""
    unknowns = M.shape[0]
    for m in range(unknowns):
        for k in range(unknowns):
            M[m, k] = 0.0
    rows = np.empty((3, unknowns))
    x = np.empty(3)
    for step in range(needed.shape[0]):
        j = needed[step]
        if masses[j] == 0.0:
            continue
        rotated(turned[j], mass_points[j], x)
        px, py, pz = x[0] + positions[j, 0], x[1] + positions[j, 1], x[2] + positions[j, 2]
        for m in range(unknowns):
            a, b, c = A[j, 0, m], A[j, 1, m], A[j, 2, m]
            rows[0, m] = b * pz - c * py + C[j, 0, m]
            rows[1, m] = c * px - a * pz + C[j, 1, m]
            rows[2, m] = a * py - b * px + C[j, 2, m]
        for m in range(unknowns):
            for k in range(m + 1):
                M[m, k] += masses[j] * (
                    rows[0, m] * rows[0, k] + rows[1, m] * rows[1, k] + rows[2, m] * rows[2, k]
                )
    trace = 0.0
    for m in range(unknowns):
        trace += M[m, m]
    for m in range(unknowns):
        M[m, m] += 1e-6 * trace + _TINY


@njit(**_OPTIONS)
def step_of(
    rows: int,
    unknowns: int,
    J: Array,
    r: Array,
    downhill: Array,
    H: Array,
    diagonal: Array,
    precision: Array,
    pull: Array,
    metric: Array,
    curvature: Array,
    curved: bool,
    damping: int,
    dual: bool,
    mu: float,
    S: Array,
    y: Array,
    step: Array,
) -> bool:
    """Solve (JᵀJ + P + curvature + mu D) step = Jᵀr + pull; `dual`: in the size of the rows."""
    if dual:
        # With diagonal E = P + mu D:  step = E⁻¹ (Jᵀ (I + J E⁻¹ Jᵀ)⁻¹ (r - J E⁻¹ pull) + pull)
        for m in range(unknowns):
            step[m] = 1.0 / (precision[m] + mu * diagonal[m])
        for a in range(rows):
            total = r[a]
            for m in range(unknowns):
                total -= J[a, m] * step[m] * pull[m]
            y[a] = total
            for b in range(a + 1):
                total = 0.0
                for m in range(unknowns):
                    total += J[a, m] * step[m] * J[b, m]
                S[a, b] = total
            S[a, a] += 1.0
        if not factor_and_solve(S, rows, y):
            return False
        for m in range(unknowns):
            total = pull[m]
            for a in range(rows):
                total += J[a, m] * y[a]
            step[m] *= total
        return True
    for m in range(unknowns):
        step[m] = downhill[m]
        for k in range(m + 1):
            S[m, k] = H[m, k]
            if damping == KINETIC:
                S[m, k] += mu * metric[m, k]
            if curved:
                S[m, k] += curvature[m, k]
        S[m, m] += precision[m]
        if damping != KINETIC:
            S[m, m] += mu * diagonal[m]
    return factor_and_solve(S, unknowns, step)


@njit(**_OPTIONS)
def learn_curvature(
    unknowns: int, step: Array, slope_change: Array, total_change: Array, curvature: Array, y: Array
) -> None:
    """Update the estimate of what JᵀJ leaves out of the cost's curvature, by how the slope changed.

    The structured secant rule of Dennis, Gay and Welsch (1981, NL2SOL): without it, targets that cannot be
    met make the steps crawl. slope_change: of the targets' part, at equal residuals; total_change: of all.
    Symmetric, all of it kept; y: scratch.
    """
    along, size, known, wanted = 0.0, 0.0, 0.0, 0.0
    for m in range(unknowns):
        total = 0.0
        for k in range(unknowns):
            total += curvature[m, k] * step[k]
        y[m] = total
        known += step[m] * total
        wanted += step[m] * slope_change[m]
        along += total_change[m] * step[m]
        size += total_change[m] * total_change[m]
    if not along > 1e-12 * math.sqrt(size):
        return
    share = min(1.0, abs(wanted) / abs(known)) if known != 0.0 else 1.0
    rest = 0.0
    for m in range(unknowns):
        y[m] = slope_change[m] - share * y[m]
        rest += step[m] * y[m]
    for m in range(unknowns):
        for k in range(unknowns):
            curvature[m, k] = (
                share * curvature[m, k]
                + (y[m] * total_change[k] + total_change[m] * y[k]) / along
                - rest * total_change[m] * total_change[k] / (along * along)
            )


@njit(**_OPTIONS)
def normal_matrix(
    rows: int,
    unknowns: int,
    J: Array,
    precision: Array,
    spreads: Array,
    damping: int,
    dual: bool,
    H: Array,
    diagonal: Array,
) -> None:
    """H = JᵀJ (lower half; its diagonal alone if only that is asked for) and what damps a step."""
    for m in range(unknowns):
        total = 0.0
        for a in range(rows):
            total += J[a, m] * J[a, m]
        H[m, m] = total
    if not dual:
        for m in range(unknowns):
            for k in range(m):
                H[m, k] = 0.0
        for a in range(rows):
            for m in range(unknowns):
                factor = J[a, m]
                if factor != 0.0:
                    for k in range(m):
                        H[m, k] += factor * J[a, k]
    trace, usual = 0.0, 0.0
    for m in range(unknowns):
        trace += H[m, m] + precision[m]
        usual += (H[m, m] + precision[m]) * spreads[m] * spreads[m]
    floor = _FLOOR * trace / unknowns + _TINY
    for m in range(unknowns):
        if damping == USUAL:
            diagonal[m] = (usual / unknowns + _TINY) / (spreads[m] * spreads[m])
        else:
            diagonal[m] = H[m, m] + precision[m] + floor


@njit(**_OPTIONS)
def descend(
    full: bool,
    free: int,
    needed: Whole,
    parents: Whole,
    offsets: Array,
    mean: Array,
    directions: Array,
    kinds: Whole,
    joints: Whole,
    local: Array,
    axes: Array,
    goals: Array,
    weights: Array,
    limited: Whole,
    limit_centres: Array,
    limit_shapes: Array,
    limit_weight: float,
    precision: Array,
    centre_root: Array,
    centre_pose: Array,
    centre_rotations: Array,
    damping: int,
    spreads: Array,
    masses: Array,
    mass_points: Array,
    most: int,
    tolerance: float,
    mu: float,
    root: Array,
    pose: Array,
    rotations: Array,
    work: Any,
) -> tuple[int, bool]:
    """Levenberg–Marquardt from (root, pose, rotations), which it moves; iterations and whether it settled.

    Damping follows Nielsen's rule: it falls with how well the last step was foretold. The curvature that
    JᵀJ leaves out is estimated as the steps go, and used whenever it would have foretold the last better.

    tolerance: metres; stops as soon as every feature is as near as this (0: go on to the least cost)
    mu: damping to begin with
    """
    (
        tangents, positions, turned, x, r, A, C, J, H, S, diagonal, pull, y, step, metric,
        new_root, new_pose, new_rotations, new_x, new_r, new_tangents, new_positions, new_turned,
        downhill, slope_change, total_change, curvature,
    ) = work  # fmt: skip
    rows, unknowns = J.shape
    dual = full and damping != KINETIC and rows < unknowns
    place(
        full, needed, parents, offsets, mean, directions, root, pose, rotations, tangents, positions, turned
    )
    residuals(
        kinds, joints, local, axes, goals, weights, limited, limit_centres, limit_shapes, limit_weight,
        rotations, positions, turned, x, r,
    )  # fmt: skip
    cost = pull_of_prior(
        full, free, precision, centre_root, centre_pose, centre_rotations, root, pose, rotations, pull
    )
    for a in range(rows):
        cost += r[a] * r[a]
    for m in range(unknowns):
        for k in range(unknowns):
            curvature[m, k] = 0.0
    growth = 2.0
    moved, curved, learned, surprised = True, False, False, False
    for iteration in range(most):
        if moved:
            near = tolerance > 0.0
            for f in range(kinds.shape[0]):
                w = weights[f]
                miss = r[3 * f] ** 2 + r[3 * f + 1] ** 2 + r[3 * f + 2] ** 2
                if miss > (w * tolerance) ** 2:
                    near = False
            if near or cost < 1e-24:
                return iteration, True
            sums_down(full, free, needed, parents, directions, tangents, positions, turned, A, C)
            jacobian(
                full, free, directions, kinds, joints, local, axes, goals, weights, limited, limit_centres,
                limit_shapes, limit_weight, rotations, tangents, turned, x, r, A, C, J,
            )  # fmt: skip
            normal_matrix(rows, unknowns, J, precision, spreads, damping, dual, H, diagonal)
            if damping == KINETIC:
                mass_matrix(needed, masses, mass_points, positions, turned, A, C, metric)
            for m in range(unknowns):
                total = 0.0
                for a in range(rows):
                    total += J[a, m] * r[a]
                if surprised and not dual:
                    # They hold J_oldᵀ r and the old slope since the step was taken.
                    slope_change[m] -= total
                    total_change[m] -= total + pull[m]
                downhill[m] = total + pull[m]
            if surprised and not dual:
                learn_curvature(unknowns, step, slope_change, total_change, curvature, y)
                curved = curved or not learned
                learned = True
        if not step_of(
            rows, unknowns, J, r, downhill, H, diagonal, precision, pull, metric, curvature, curved,
            damping, dual, mu, S, y, step,
        ):  # fmt: skip
            mu = 10.0 * mu
            moved = False
            if mu > _MOST:
                return iteration + 1, False
            continue
        # Decrease of the cost foretold by the straight model, and what curvature takes from it.
        largest, foretold, bent = 0.0, _TINY * cost, 0.0
        for m in range(unknowns):
            largest = max(largest, abs(step[m]))
            foretold += step[m] * (2.0 * downhill[m] - precision[m] * step[m])
            if learned:
                for k in range(unknowns):
                    bent += step[m] * curvature[m, k] * step[k]
        for a in range(rows):
            total = 0.0
            for m in range(unknowns):
                total += J[a, m] * step[m]
            foretold -= total * total
        if largest < 1e-9:
            return iteration, True
        for i in range(3):
            new_root[i] = root[i] + (step[3 + i] if free else 0.0)
        if free:
            turn_by(rotations[0], step[0:3], new_rotations[0])
        else:
            copy_row(rotations[0], new_rotations[0])
        if full:
            for j in range(1, rotations.shape[0]):
                first = free + 3 * (j - 1)
                turn_by(rotations[j], step[first : first + 3], new_rotations[j])
        else:
            for m in range(pose.shape[0]):
                new_pose[m] = pose[m] + step[free + m]
        place(
            full, needed, parents, offsets, mean, directions, new_root, new_pose, new_rotations,
            new_tangents, new_positions, new_turned,
        )  # fmt: skip
        residuals(
            kinds, joints, local, axes, goals, weights, limited, limit_centres, limit_shapes, limit_weight,
            new_rotations, new_positions, new_turned, new_x, new_r,
        )  # fmt: skip
        new_cost = pull_of_prior(
            full, free, precision, centre_root, centre_pose, centre_rotations, new_root, new_pose,
            new_rotations, y,
        )  # fmt: skip
        for a in range(rows):
            new_cost += new_r[a] * new_r[a]
        if new_cost < cost:
            gain = cost - new_cost
            copy_row(new_root, root)
            copy_row(new_pose, pose)
            copy_rows(new_rotations, rotations)
            tangents, new_tangents = new_tangents, tangents
            positions, new_positions = new_positions, positions
            turned, new_turned = new_turned, turned
            x, new_x = new_x, x
            copy_row(new_r, r)
            for m in range(unknowns):
                pull[m] = y[m]
            settled = gain < _SETTLED * cost
            cost = new_cost
            used = foretold - bent if curved else foretold
            mu = max(mu * max(0.1, 1.0 - (2.0 * gain / used - 1.0) ** 3), _LEAST)
            growth = 2.0
            moved = True
            if settled:
                return iteration + 1, True
            # While steps do what they should, there is no need to know the curvature.
            surprised = learned or not 0.7 < gain / foretold < 1.3
            if learned:
                curved = abs(foretold - bent - gain) < abs(foretold - gain)
            if surprised and not dual:
                for m in range(unknowns):
                    total = 0.0
                    for a in range(rows):
                        total += J[a, m] * r[a]
                    slope_change[m] = total
                    total_change[m] = downhill[m]
        else:
            # Also here when the cost is not a number.
            mu *= growth
            growth *= 2.0
            moved = False
            if mu > _MOST:
                return iteration + 1, False
    return most, False


@njit(**_OPTIONS)
def workspace(joints: int, features: int, rows: int, unknowns: int, modes: int) -> Any:
    """Scratch arrays of :func:`descend`."""
    size = max(rows, unknowns)
    return (
        np.empty((joints, 5)), np.empty((joints, 3)), np.empty((joints, 4)), np.empty((features, 3)),
        np.empty(rows), np.empty((joints, 3, unknowns)), np.empty((joints, 3, unknowns)),
        np.empty((rows, unknowns)), np.empty((unknowns, unknowns)), np.empty((size, size)),
        np.empty(unknowns), np.empty(unknowns), np.empty(size), np.empty(unknowns),
        np.empty((unknowns, unknowns)), np.empty(3), np.empty(modes), np.empty((joints, 4)),
        np.empty((features, 3)), np.empty(rows), np.empty((joints, 5)), np.empty((joints, 3)),
        np.empty((joints, 4)), np.empty(unknowns), np.empty(unknowns), np.empty(unknowns),
        np.empty((unknowns, unknowns)),
    )  # fmt: skip


@njit(types.boolean(types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")), **_OPTIONS)
def solve_banded(rows: Array, b: Array) -> bool:
    """b ← A⁻¹ b for a banded, positive definite A by Cholesky, in one thread; false if A is not.

    rows: `(unknowns, width + 1)`, entries of columns i - width … i in row i; becomes the factor. Libraries
    do this with many threads, which takes them far longer when the machine is busy.
    """
    size, width = rows.shape[0], rows.shape[1] - 1
    column = np.empty(width + 1)
    for j in range(size):
        pivot = rows[j, width]
        if not pivot > 0.0:
            return False
        pivot = math.sqrt(pivot)
        rows[j, width] = pivot
        last = min(j + width, size - 1)
        for i in range(j + 1, last + 1):
            value = rows[i, j - i + width] / pivot
            rows[i, j - i + width] = value
            column[i - j] = value
        for i in range(j + 1, last + 1):
            value = column[i - j]
            if value != 0.0:
                first = j + 1 - i + width
                for k in range(i - j):
                    rows[i, first + k] -= value * column[1 + k]
    for i in range(size):
        total = b[i]
        for k in range(max(0, i - width), i):
            total -= rows[i, k - i + width] * b[k]
        b[i] = total / rows[i, width]
    for i in range(size - 1, -1, -1):
        b[i] /= rows[i, width]
        for k in range(max(0, i - width), i):
            b[k] -= rows[i, k - i + width] * b[i]
    return True


_TREE = types.Array(types.int64, 1, "C", readonly=True)
_IN = {n: types.Array(types.float64, n, "C", readonly=True) for n in (1, 2, 3)}
_OUT = {n: types.Array(types.float64, n, "C") for n in (1, 2, 3)}
_FLAGS = types.Array(types.boolean, 1, "C")
_COUNTS = types.Array(types.int64, 1, "C")
_CHARACTER = (types.boolean, types.int64, _TREE, _TREE, _IN[2], _IN[2], _IN[3])
_LIMITS = (_TREE, _IN[2], _IN[3], types.float64)


@njit(
    types.void(
        *_CHARACTER, _TREE, _TREE, _IN[2], _IN[2], _IN[3], _IN[2], *_LIMITS, _IN[1], _IN[2], _IN[2], _IN[3],
        types.int64, _IN[1], _IN[1], _IN[2], types.int64, types.float64, types.boolean, types.boolean,
        _OUT[2], _OUT[2], _OUT[3], _OUT[2], _COUNTS, _FLAGS,
    ),
    **_OPTIONS,
)  # fmt: skip
def solve_frames(
    full: bool,
    free: int,
    needed: Whole,
    parents: Whole,
    offsets: Array,
    mean: Array,
    directions: Array,
    kinds: Whole,
    joints: Whole,
    local: Array,
    axes: Array,
    goals: Array,
    weights: Array,
    limited: Whole,
    limit_centres: Array,
    limit_shapes: Array,
    limit_weight: float,
    precision: Array,
    centre_root: Array,
    centre_pose: Array,
    centre_rotations: Array,
    damping: int,
    spreads: Array,
    masses: Array,
    mass_points: Array,
    most: int,
    tolerance: float,
    warm: bool,
    chained: bool,
    root: Array,
    pose: Array,
    rotations: Array,
    misses: Array,
    iterations: Whole,
    settled: Any,
) -> None:
    """Every frame by `descend`, from its own start (`warm`: near the end) or, `chained`, the one before.

    centre_*, weights and goals have a row a frame. root, pose and rotations hold the start and become the
    result; rotations are complete, whether a target needs the joint or not. misses: unweighted lengths.
    """
    frames, features, modes = goals.shape[0], kinds.shape[0], directions.shape[2]
    rows, unknowns = 3 * features + limited.shape[0], precision.shape[0]
    work = workspace(rotations.shape[1], features, rows, unknowns, modes)
    r = work[4]
    for t in range(frames):
        if chained and t > 0:
            copy_row(pose[t - 1], pose[t])
            if free:
                copy_row(root[t - 1], root[t])
                copy_row(rotations[t - 1, 0], rotations[t, 0])
            if full:
                copy_rows(rotations[t - 1, 1:], rotations[t, 1:])
        mu = _WARM if warm or (chained and t > 0) else _COLD
        iterations[t], settled[t] = descend(
            full, free, needed, parents, offsets, mean, directions, kinds, joints, local, axes, goals[t],
            weights[t], limited, limit_centres, limit_shapes, limit_weight, precision, centre_root[t],
            centre_pose[t], centre_rotations[t], damping, spreads, masses, mass_points, most, tolerance,
            mu, root[t], pose[t], rotations[t], work,
        )  # fmt: skip
        for f in range(features):
            w = weights[t, f]
            length = math.sqrt(r[3 * f] ** 2 + r[3 * f + 1] ** 2 + r[3 * f + 2] ** 2)
            misses[t, f] = length / w if w > 0.0 else np.nan
        if not full:
            tangent = np.empty(5)
            for j in range(1, parents.shape[0]):
                for i in range(3):
                    tangent[i] = 0.0
                    for m in range(modes):
                        tangent[i] += directions[j, i, m] * pose[t, m]
                turn_along(mean[j], tangent, rotations[t, j])


@njit(
    types.void(
        *_CHARACTER, _TREE, _TREE, _IN[2], _IN[2], _IN[3], _IN[2], *_LIMITS, types.int64,
        _IN[2], _IN[2], _OUT[3], _OUT[2], _OUT[3],
    ),
    **_OPTIONS,
)  # fmt: skip
def evaluate_frames(
    full: bool,
    free: int,
    needed: Whole,
    parents: Whole,
    offsets: Array,
    mean: Array,
    directions: Array,
    kinds: Whole,
    joints: Whole,
    local: Array,
    axes: Array,
    goals: Array,
    weights: Array,
    limited: Whole,
    limit_centres: Array,
    limit_shapes: Array,
    limit_weight: float,
    unknowns: int,
    root: Array,
    pose: Array,
    rotations: Array,
    values: Array,
    jacobians: Array,
) -> None:
    """Residuals `(frames, rows)` and Jacobians `(frames, rows, unknowns)` at given poses, not moved."""
    frames, features, modes = goals.shape[0], kinds.shape[0], directions.shape[2]
    rows = 3 * features + limited.shape[0]
    work = workspace(rotations.shape[1], features, rows, unknowns, modes)
    tangents, positions, turned, x, A, C = work[0], work[1], work[2], work[3], work[5], work[6]
    for t in range(frames):
        place(
            full, needed, parents, offsets, mean, directions, root[t], pose[t], rotations[t], tangents,
            positions, turned,
        )  # fmt: skip
        residuals(
            kinds, joints, local, axes, goals[t], weights[t], limited, limit_centres, limit_shapes,
            limit_weight, rotations[t], positions, turned, x, values[t],
        )  # fmt: skip
        sums_down(full, free, needed, parents, directions, tangents, positions, turned, A, C)
        jacobian(
            full, free, directions, kinds, joints, local, axes, goals[t], weights[t], limited, limit_centres,
            limit_shapes, limit_weight, rotations[t], tangents, turned, x, values[t], A, C, jacobians[t],
        )  # fmt: skip
