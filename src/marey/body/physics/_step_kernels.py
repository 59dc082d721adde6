"""Compiled time steps: integrators on the group of configurations, contacts and limits by Gauss–Seidel.

The root's part of a step is on SE(3) (Tournier 2011, section 11.1; SO(3) × R³ is not compiled): transports of
momenta are power series of the transposed `ad` of the root's twist, whose terms fall by (angle / 2π)².

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marey._arrays import Array, Integers
from marey._compiling import OPTIONS, njit
from marey.body.limits._kernels import limit
from marey.body.physics._kernels import Tree, Work, mass_matrix, momenta, place, point_row, weight
from marey.geometry._inline_kernels import (
    exp,
    exp_and_factors,
    hat_polynomial,
    matrix,
    normalise,
    product,
    quaternion,
    store,
)  # fmt: skip

# Which integrator.
VARIATIONAL, EXACT, CONSTANT, IDENTITY, NAIVE = range(5)
# Which damping of the pose coordinates.
UNIFORM, KINEMATIC, ENERGETIC = range(3)


class Scene(NamedTuple):
    """What a character meets, and how it is stepped.

    Args:
        numbers: step (s), damping rate, friction, restitution, predictive margin of limits, floor (m).
        choices: integrator, damping, whether there is a ground, kind of limits, most sweeps.
        gravity: `(3,)`.
        carriers, points, radii: contact spheres: joints `(spheres,)`, centres `(spheres, 3)`, `(spheres,)`.
        effectors: `(ends,)`, joints whose speed kinematic damping measures.
        limited, middles, parameters: limits of joints, as `body.limits` has them.
        series: `(3, terms)`, coefficients of exp, of its left differential and of the inverse of that.
    """

    numbers: Array
    choices: Integers
    gravity: Array
    carriers: Integers
    points: Array
    radii: Array
    effectors: Integers
    limited: Integers
    middles: Array
    parameters: Array
    series: Array


class Solve(NamedTuple):
    """Room for one step: matrices, vectors `(4, size)`, rows of constraints and their multipliers."""

    M: Array
    L: Array
    vectors: Array
    J: Array
    W: Array
    row: Array
    kind: Integers


@njit(**OPTIONS)
def transported(coefficients: Array, twist: Array, scale: float, y: Array) -> None:
    """y ← Σ c_n (adᵀ)ⁿ y, of the first six numbers, ad that of `scale` times the twist."""
    term = y[:6].copy()
    w, u = scale * twist[:3], scale * twist[3:6]
    y[:6] = coefficients[0] * term
    largest = np.abs(term).max()
    for n in range(1, coefficients.shape[0]):
        a, b = term[:3].copy(), term[3:].copy()
        term[0] = w[2] * a[1] - w[1] * a[2] + u[2] * b[1] - u[1] * b[2]
        term[1] = w[0] * a[2] - w[2] * a[0] + u[0] * b[2] - u[2] * b[0]
        term[2] = w[1] * a[0] - w[0] * a[1] + u[1] * b[0] - u[0] * b[1]
        term[3] = w[2] * b[1] - w[1] * b[2]
        term[4] = w[0] * b[2] - w[2] * b[0]
        term[5] = w[1] * b[0] - w[0] * b[1]
        y[:6] += coefficients[n] * term
        if n > 2 and np.abs(term).max() * 0.5**n < 1e-18 * largest:
            break


@njit(**OPTIONS)
def factor(M: Array, L: Array, size: int) -> bool:
    """L ← Cholesky's factor of the first rows of M; false if it has none."""
    for i in range(size):
        for j in range(i + 1):
            total = M[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


@njit(**OPTIONS)
def solve(L: Array, b: Array, size: int) -> None:
    """b ← (L Lᵀ)⁻¹ b."""
    for i in range(size):
        for k in range(i):
            b[i] -= L[i, k] * b[k]
        b[i] /= L[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            b[i] -= L[k, i] * b[k]
        b[i] /= L[i, i]


@njit(**OPTIONS)
def gauss_seidel(room: Solve, rows: int, friction: float, sweeps: int, v: Array) -> None:
    """Project a velocity on `J v ≥ b` in the metric of M; tangential rows within the friction of theirs.

    `row` holds b, the diagonal of J M⁻¹ Jᵀ and the multipliers, with which v already moves. The kind of a row
    is -1 if it pushes only, else the row of the normal force that bounds it.
    """
    J, W, data, kind = room.J, room.W, room.row, room.kind
    size = v.shape[0]
    for r in range(rows):
        for a in range(size):
            v[a] += W[r, a] * data[r, 2]
    for _ in range(sweeps):
        largest = 0.0
        for r in range(rows):
            speed = -data[r, 0]
            for a in range(size):
                speed += J[r, a] * v[a]
            new = data[r, 2] - speed / data[r, 1]
            if kind[r] < 0:
                new = max(new, 0.0)
            else:
                bound = friction * data[kind[r], 2]
                new = min(max(new, -bound), bound)
            change = new - data[r, 2]
            if change != 0.0:
                data[r, 2] = new
                for a in range(size):
                    v[a] += W[r, a] * change
                largest = max(largest, abs(change) * data[r, 1])
        if largest < 1e-9:
            break


@njit(**OPTIONS)
def constrain(tree: Tree, work: Work, scene: Scene, room: Solve, q: Array, x: Array, v: Array) -> int:
    """Rows of contacts and limits at a configuration; returns how many. `joint` must hold velocities."""
    h, restitution, margin, floor = scene.numbers[0], scene.numbers[3], scene.numbers[4], scene.numbers[5]
    J, data, kind = room.J, room.row, room.kind
    R = matrix(quaternion(q))
    rows, size = 0, v.shape[0]
    axis, at = np.empty(3), np.empty(3)
    if scene.choices[2]:
        for s in range(scene.carriers.shape[0]):
            j = scene.carriers[s]
            height = x[1] - scene.radii[s] - floor
            for c in range(3):
                at[c] = work.X[j, c] - scene.radii[s] * R[1][c]
                for d in range(3):
                    at[c] += work.Q[j, c, d] * scene.points[s, d]
                height += R[1][c] * (at[c] + scene.radii[s] * R[1][c])
            if height > 0.5 or rows + 3 > J.shape[0]:
                continue
            normal = rows
            axis[0], axis[1], axis[2] = R[1]
            point_row(work, j, at, axis, J[rows])
            speed = 0.0
            for a in range(size):
                speed += J[rows, a] * v[a]
            if height > 0.01 + 2.0 * h * abs(speed):
                continue
            bound = -height / h if height > 0.0 else min(-0.2 * height / h, 2.0)
            if restitution > 0.0 and speed < -0.3 and height + h * speed < 0.0:
                bound = max(bound, -restitution * speed)
            data[rows, 0], kind[rows] = bound, -1
            rows += 1
            if scene.numbers[2] > 0.0:
                for other in (0, 2):
                    axis[0], axis[1], axis[2] = R[other]
                    point_row(work, j, at, axis, J[rows])
                    data[rows, 0], kind[rows] = 0.0, normal
                    rows += 1
    for l in range(scene.limited.shape[0]):
        j = scene.limited[l]
        if not tree.moving[j] or rows == J.shape[0]:
            continue
        turn = exp((work.w[j, 0], work.w[j, 1], work.w[j, 2]))
        local = product(quaternion(tree.mean[j]), turn)
        value, slope = limit(scene.choices[3], local, quaternion(scene.middles[l]), scene.parameters[l])
        if value < -margin:
            continue
        J[rows, :6] = 0.0
        for a in range(size - 6):
            total = 0.0
            for c in range(3):
                spun = 0.0
                for d in range(3):
                    spun += work.D[j, c, d] * tree.directions[j, d, a]
                total -= slope[c] * spun
            J[rows, 6 + a] = total
        data[rows, 0], kind[rows] = value / h if value < 0.0 else min(0.5 * value / h, 2.0), -1
        rows += 1
    # W = M⁻¹ Jᵀ, and its products with J.
    for r in range(rows):
        room.W[r] = J[r]
        solve(room.L, room.W[r], size)
        total = 0.0
        for a in range(size):
            total += J[r, a] * room.W[r, a]
        data[r, 1], data[r, 2] = max(total * (1.0 + 1e-9), 1e-12), 0.0
    return rows


@njit(**OPTIONS)
def step(
    tree: Tree, work: Work, scene: Scene, room: Solve, q: Array, x: Array, alpha: Array, v: Array, p: Array,
    impulse: Array, found: Array,
) -> int:  # fmt: skip
    """One step in place; the number of rows that bound it, or -1 if it failed.

    Args:
        q, x, alpha: configuration: rotation `(4,)` and place `(3,)` of the root, coordinates of the pose.
        v, p: velocity and momentum `(6 + modes,)`, in the root's frame.
        impulse: `(6 + modes,)`, generalised, given in this step.
        found: `(8,)`, kinetic energy; linear and angular momentum about the world's origin; ground's push.
    """
    h, rate, series, method = scene.numbers[0], scene.numbers[1], scene.series, scene.choices[0]
    size, M, L = v.shape[0], room.M, room.L
    rhs, new, force, r = room.vectors[0], room.vectors[1], room.vectors[2], room.vectors[3]
    R = matrix(quaternion(q))
    place(tree, alpha, work)
    mass_matrix(tree, work, M)
    # The damped mass matrix; the root is never damped.
    L[:] = M
    for a in range(6, size):
        if scene.choices[1] == UNIFORM:
            L[a, a] += rate
        elif scene.choices[1] == ENERGETIC:
            L[a, a] += h * rate * M[a, a]
        else:
            for e in range(scene.effectors.shape[0]):
                T, X = work.T[scene.effectors[e]], work.X[scene.effectors[e]]
                for c in range(3):
                    d, f = (c + 1) % 3, (c + 2) % 3
                    L[a, a] += h * rate * (T[3 + c, a - 6] + T[d, a - 6] * X[f] - T[f, a - 6] * X[d]) ** 2
    damping = np.empty(size)
    for a in range(size):
        damping[a] = L[a, a] - M[a, a]
    if not factor(L, L, size):
        return -1
    # Forces that do not depend on the new velocity.
    given = impulse.copy()
    if np.abs(scene.gravity).max() > 0.0:
        pull, loads = np.zeros(3), np.zeros(size)
        for c in range(3):
            for d in range(3):
                pull[c] += R[d][c] * scene.gravity[d]
        weight(tree, work, pull, loads)
        given += h * loads
    rows = constrain(tree, work, scene, room, q, x, v)
    friction, sweeps = scene.numbers[2], scene.choices[4]
    rhs[:] = p
    if method <= EXACT:
        transported(series[2], v, -h, rhs)
        rhs += given
        new[:] = v
        for iteration in range(2 if method == VARIATIONAL else 60):
            momenta(tree, work, new, r, force)
            transported(series[2], new, h, r)
            r += damping * new - rhs - h * force
            solve(L, r, size)
            before = new.copy()
            new -= r
            # Each iteration projects anew, starting with the multipliers that it has.
            gauss_seidel(room, rows, friction, sweeps, new)
            if iteration > 0 and np.abs(new - before).max() < 1e-13:
                break
        for i in range(rows):
            rhs[:6] += room.J[i, :6] * room.row[i, 2]
        # The six equations of the root, to rounding: momentum is then exact.
        if not factor(M, L, 6):
            return -1
        for _ in range(30):
            r[:] = 0.0
            for c in range(6):
                for a in range(size):
                    r[c] += M[c, a] * new[a]
            transported(series[2], new, h, r)
            r -= rhs
            off = np.abs(r[:6]).max()
            solve(L, r, 6)
            for c in range(6):
                new[c] -= r[c]
            if off < 1e-15 * (1.0 + np.abs(rhs[:6]).max()):
                break
    else:
        momenta(tree, work, v, r, force)
        force *= h
        force += given
        if method != NAIVE:
            transported(series[2], v, -h, rhs)
        rhs += force
        if method == CONSTANT:
            transported(series[1], v, h, rhs)
        new[:] = rhs
        solve(L, new, size)
        gauss_seidel(room, rows, friction, sweeps, new)
    v[:] = new
    momenta(tree, work, v, p, force)
    found[0] = 0.5 * (p @ v)
    r[:] = p
    if method <= EXACT:
        transported(series[2], v, h, r)
    for c in range(3):
        found[1 + c], found[4 + c] = 0.0, 0.0
        for d in range(3):
            found[1 + c] += R[c][d] * r[3 + d]
            found[4 + c] += R[c][d] * r[d]
    found[4] += x[1] * found[3] - x[2] * found[2]
    found[5] += x[2] * found[1] - x[0] * found[3]
    found[6] += x[0] * found[2] - x[1] * found[1]
    found[7] = 0.0
    for i in range(rows):
        if kind_is_normal(room, i):
            found[7] += room.row[i, 2]
    # The root along its twist.
    turn = (h * v[0], h * v[1], h * v[2])
    spun, first, second = exp_and_factors(turn)
    slid = hat_polynomial(turn, first, second)
    for c in range(3):
        for d in range(3):
            x[c] += h * R[c][d] * (slid[d][0] * v[3] + slid[d][1] * v[4] + slid[d][2] * v[5])
    store(normalise(product(quaternion(q), spun)), q)
    for a in range(size - 6):
        alpha[a] += h * v[6 + a]
    angle = h * math.sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
    return rows if angle < 1.57 else -1


@njit(**OPTIONS)
def kind_is_normal(room: Solve, row: int) -> bool:
    """Whether a row is the push of a contact, which moves the root; limits do not."""
    return room.kind[row] < 0 and abs(room.J[row, 3]) + abs(room.J[row, 4]) + abs(room.J[row, 5]) > 0.0


@njit(**OPTIONS)
def advance(
    tree: Tree, work: Work, scene: Scene, room: Solve, q: Array, x: Array, alpha: Array, v: Array, p: Array,
    impulses: Array, record: Array,
) -> int:  # fmt: skip
    """Many steps in place; how many were done.

    Args:
        impulses: `(pushes, 8)`: number of the step, joint, point in the joint's frame, impulse in the world.
        record: `(steps, 15 + modes)`: what each step found, then the configuration after it.
    """
    given, row, at, axis = np.empty(v.shape[0]), np.empty(v.shape[0]), np.empty(3), np.empty(3)
    for n in range(record.shape[0]):
        given[:] = 0.0
        for i in range(impulses.shape[0]):
            if impulses[i, 0] == n:
                place(tree, alpha, work)
                mass_matrix(tree, work, room.M)
                R, j = matrix(quaternion(q)), int(impulses[i, 1])
                for c in range(3):
                    at[c], axis[c] = work.X[j, c], 0.0
                    for d in range(3):
                        at[c] += work.Q[j, c, d] * impulses[i, 2 + d]
                        axis[c] += R[d][c] * impulses[i, 5 + d]
                point_row(work, j, at, axis, row)
                given += row
        if step(tree, work, scene, room, q, x, alpha, v, p, given, record[n]) < 0:
            return n
        record[n, 8:12], record[n, 12:15], record[n, 15:] = q, x, alpha
    return record.shape[0]
