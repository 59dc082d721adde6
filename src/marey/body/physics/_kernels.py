"""Compiled sweeps over the tree of bones: mass matrix, momenta, quadratic forces, weight.

Everything is in the frame of the root joint (Tournier 2011, section 11.1; the kinetic energy does not depend
on where the root is): `Q`, `X` rotations and positions of the joints, `S = Q dexp(w) V` the angular
velocities by the pose coordinates, `T` the twists about the root's origin
that they add up to along the chain.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marey._arrays import Array, BoolArray, Integers
from marey._compiling import OPTIONS, njit
from marey.geometry._inline_kernels import exp_and_factors, hat_polynomial, matrix, product, quaternion


class Tree(NamedTuple):
    """A skeleton with bones and a basis of poses; arrays by joint, `directions` `(joints, 3, modes)`."""

    parents: Integers
    offsets: Array
    mean: Array
    directions: Array
    moving: BoolArray
    masses: Array
    centres: Array
    inertias: Array


class Work(NamedTuple):
    """Room for the sweeps of one pose.

    `Q`, `D` are `(joints, 3, 3)`, `X` and `C`, the centres of mass, `(joints, 3)`, `S` `(joints, 3, modes)`,
    `T` and `G`, the momenta below by the coordinates, `(joints, 6, modes)`; `w` `(joints, 3)` are the tangent
    vectors; `joint` `(joints, 12)` holds velocities and momenta.
    """

    Q: Array
    D: Array
    X: Array
    C: Array
    S: Array
    T: Array
    G: Array
    w: Array
    joint: Array


@njit(**OPTIONS)
def cross(a: Array, b: Array, out: Array) -> None:
    """out += a × b."""
    out[0] += a[1] * b[2] - a[2] * b[1]
    out[1] += a[2] * b[0] - a[0] * b[2]
    out[2] += a[0] * b[1] - a[1] * b[0]


@njit(**OPTIONS)
def place(tree: Tree, alpha: Array, work: Work) -> None:
    """Frames of all joints in the root's frame, and how they turn with the coordinates `alpha`."""
    Q, D, X, C, S, w = work.Q, work.D, work.X, work.C, work.S, work.w
    modes = alpha.shape[0]
    for j in range(tree.parents.shape[0]):
        for c in range(3):
            total = 0.0
            for a in range(modes):
                total += tree.directions[j, c, a] * alpha[a]
            w[j, c] = total
        vector = (w[j, 0], w[j, 1], w[j, 2])
        turn, first, second = exp_and_factors(vector)
        local = matrix(product(quaternion(tree.mean[j]), turn))
        spun = hat_polynomial(vector, -first, second)
        p = tree.parents[j]
        for c in range(3):
            X[j, c] = 0.0 if p < 0 else X[p, c]
            for d in range(3):
                D[j, c, d] = spun[c][d]
                if p < 0:
                    Q[j, c, d] = 1.0 if c == d else 0.0
                else:
                    X[j, c] += Q[p, c, d] * tree.offsets[j, d]
                    Q[j, c, d] = (
                        Q[p, c, 0] * local[0][d] + Q[p, c, 1] * local[1][d] + Q[p, c, 2] * local[2][d]
                    )
        for c in range(3):
            C[j, c] = X[j, c]
            for d in range(3):
                C[j, c] += Q[j, c, d] * tree.centres[j, d]
        if tree.moving[j]:
            for c in range(3):
                x, y, z = 0.0, 0.0, 0.0
                for d in range(3):
                    x += Q[j, c, d] * D[j, d, 0]
                    y += Q[j, c, d] * D[j, d, 1]
                    z += Q[j, c, d] * D[j, d, 2]
                for a in range(modes):
                    S[j, c, a] = (
                        x * tree.directions[j, 0, a]
                        + y * tree.directions[j, 1, a]
                        + z * tree.directions[j, 2, a]
                    )


@njit(**OPTIONS)
def turned_inertia(tree: Tree, work: Work, j: int, out: Array) -> None:
    """The inertia `(3, 3)` of a bone about its centre of mass, in the root's frame."""
    Q = work.Q[j]
    half = np.empty((3, 3))
    for c in range(3):
        for d in range(3):
            half[c, d] = (
                Q[c, 0] * tree.inertias[j, 0, d]
                + Q[c, 1] * tree.inertias[j, 1, d]
                + Q[c, 2] * tree.inertias[j, 2, d]
            )
    for c in range(3):
        for d in range(3):
            out[c, d] = half[c, 0] * Q[d, 0] + half[c, 1] * Q[d, 1] + half[c, 2] * Q[d, 2]


@njit(**OPTIONS)
def mass_matrix(tree: Tree, work: Work, M: Array) -> None:
    """M `(6 + modes, 6 + modes)` of the root's twist and the coordinates, after :func:`place`."""
    joints, modes = work.X.shape[0], work.S.shape[2]
    X, S, T, G = work.X, work.S, work.T, work.G
    M[:] = 0.0
    T[0] = 0.0
    inertia = np.empty((3, 3))
    for j in range(joints):
        if j:
            T[j] = T[tree.parents[j]]
        if tree.moving[j]:
            x, y, z = X[j]
            for a in range(modes):
                s, t, u = S[j, 0, a], S[j, 1, a], S[j, 2, a]
                T[j, 0, a] += s
                T[j, 1, a] += t
                T[j, 2, a] += u
                T[j, 3, a] += y * u - z * t
                T[j, 4, a] += z * s - x * u
                T[j, 5, a] += x * t - y * s
        # The bone's inertia about the root's origin.
        m = tree.masses[j]
        x, y, z = work.C[j]
        turned_inertia(tree, work, j, inertia)
        xx, yy, zz = inertia[0, 0] + m * (y * y + z * z), inertia[1, 1] + m * (x * x + z * z), 0.0
        zz = inertia[2, 2] + m * (x * x + y * y)
        xy, xz, yz = inertia[0, 1] - m * x * y, inertia[0, 2] - m * x * z, inertia[1, 2] - m * y * z
        x, y, z = m * x, m * y, m * z
        M[0, 0] += xx
        M[1, 1] += yy
        M[2, 2] += zz
        M[1, 0] += xy
        M[2, 0] += xz
        M[2, 1] += yz
        for c in range(3):
            M[3 + c, 3 + c] += m
        M[4, 0] -= z
        M[5, 0] += y
        M[3, 1] += z
        M[5, 1] -= x
        M[3, 2] -= y
        M[4, 2] += x
        for a in range(modes):
            r, s, t, u, v, w = T[j, 0, a], T[j, 1, a], T[j, 2, a], T[j, 3, a], T[j, 4, a], T[j, 5, a]
            G[j, 0, a] = xx * r + xy * s + xz * t + y * w - z * v
            G[j, 1, a] = xy * r + yy * s + yz * t + z * u - x * w
            G[j, 2, a] = xz * r + yz * s + zz * t + x * v - y * u
            G[j, 3, a] = m * u + s * z - t * y
            G[j, 4, a] = m * v + t * x - r * z
            G[j, 5, a] = m * w + r * y - s * x
    for j in range(joints - 1, -1, -1):
        if tree.moving[j]:
            x, y, z = X[j]
            for a in range(modes):
                # Momenta about the joint.
                G[j, 0, a] -= y * G[j, 5, a] - z * G[j, 4, a]
                G[j, 1, a] -= z * G[j, 3, a] - x * G[j, 5, a]
                G[j, 2, a] -= x * G[j, 4, a] - y * G[j, 3, a]
            for a in range(modes):
                r, s, t = S[j, 0, a], S[j, 1, a], S[j, 2, a]
                for b in range(a + 1):
                    M[6 + a, 6 + b] += r * G[j, 0, b] + s * G[j, 1, b] + t * G[j, 2, b]
            for a in range(modes):
                G[j, 0, a] += y * G[j, 5, a] - z * G[j, 4, a]
                G[j, 1, a] += z * G[j, 3, a] - x * G[j, 5, a]
                G[j, 2, a] += x * G[j, 4, a] - y * G[j, 3, a]
        if j:
            G[tree.parents[j]] += G[j]
    for a in range(modes):
        for c in range(6):
            M[6 + a, c] = G[0, c, a]
    for a in range(6 + modes):
        for b in range(a):
            M[b, a] = M[a, b]


@njit(**OPTIONS)
def momenta(tree: Tree, work: Work, v: Array, p: Array, force: Array) -> None:
    """Momentum p = M v, and the quadratic forces ∂T/∂g at fixed v, after :func:`place`.

    One sweep to the tips and one back; the forces on the root's six coordinates are zero.
    """
    joints, modes = work.X.shape[0], work.S.shape[2]
    X, Q, S, state = work.X, work.Q, work.S, work.joint
    p[:] = 0.0
    force[:] = 0.0
    inertia, arm, moved, rate, here = np.empty((3, 3)), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for j in range(joints):
        # Angular velocity, velocity of the joint, linear momentum, angular momentum about the joint.
        omega, u, linear, angular = state[j, :3], state[j, 3:6], state[j, 6:9], state[j, 9:]
        parent = tree.parents[j]
        for c in range(3):
            omega[c] = v[c] if parent < 0 else state[parent, c]
            u[c] = v[3 + c] if parent < 0 else state[parent, 3 + c]
            arm[c] = 0.0 if parent < 0 else X[j, c] - X[parent, c]
        cross(omega, arm, u)
        if tree.moving[j]:
            for c in range(3):
                total = 0.0
                for a in range(modes):
                    total += S[j, c, a] * v[6 + a]
                omega[c] += total
        turned_inertia(tree, work, j, inertia)
        for c in range(3):
            arm[c] = work.C[j, c] - X[j, c]
            moved[c] = u[c]
            angular[c] = inertia[c, 0] * omega[0] + inertia[c, 1] * omega[1] + inertia[c, 2] * omega[2]
        cross(omega, arm, moved)
        for c in range(3):
            linear[c] = tree.masses[j] * moved[c]
        cross(arm, linear, angular)
    for j in range(joints - 1, -1, -1):
        omega, u, linear, angular = state[j, :3], state[j, 3:6], state[j, 6:9], state[j, 9:]
        if tree.moving[j]:
            moved[:] = 0.0
            cross(angular, omega, moved)
            cross(linear, u, moved)
            for c in range(3):
                total = 0.0
                for a in range(modes):
                    total += tree.directions[j, c, a] * v[6 + a]
                rate[c] = total
                here[c] = Q[j, 0, c] * angular[0] + Q[j, 1, c] * angular[1] + Q[j, 2, c] * angular[2]
            bent = dexp_rate_transposed(work.w[j], rate, here)
            for a in range(modes):
                p[6 + a] += S[j, 0, a] * angular[0] + S[j, 1, a] * angular[1] + S[j, 2, a] * angular[2]
                force[6 + a] += (
                    S[j, 0, a] * moved[0] + S[j, 1, a] * moved[1] + S[j, 2, a] * moved[2]
                    + tree.directions[j, 0, a] * bent[0] + tree.directions[j, 1, a] * bent[1]
                    + tree.directions[j, 2, a] * bent[2]
                )  # fmt: skip
        parent = tree.parents[j]
        if parent >= 0:
            for c in range(3):
                arm[c] = X[j, c] - X[parent, c]
                state[parent, 6 + c] += linear[c]
                state[parent, 9 + c] += angular[c]
            cross(arm, linear, state[parent, 9:])
    for c in range(3):
        p[c], p[3 + c] = state[0, 9 + c], state[0, 6 + c]


@njit(**OPTIONS)
def dexp_rate_transposed(w: Array, rate: Array, h: Array) -> tuple[float, float, float]:
    """Ḋᵀ h, with D = 1 - b W + c W² the body differential of exp at w, when w changes by `rate`."""
    _, b, c = exp_and_factors((w[0], w[1], w[2]))
    squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    along = w[0] * rate[0] + w[1] * rate[1] + w[2] * rate[2]
    if squared < 1e-2:
        first = -1.0 / 12 + squared / 180 - squared * squared / 6720
        second = -1.0 / 60 + squared / 1260 - squared * squared / 60480
    else:
        first, second = (1.0 - c * squared - 2.0 * b) / squared, (b - 3.0 * c) / squared
    first, second = first * along, second * along
    # Wᵀ = -W: Ḋᵀ h = (ḃ W + b Ẇ + ċ W² + c (W Ẇ + Ẇ W)) h.
    wh, rh = np.zeros(3), np.zeros(3)
    cross(w, h, wh)
    cross(rate, h, rh)
    wwh, both = np.zeros(3), np.zeros(3)
    cross(w, wh, wwh)
    cross(w, rh, both)
    cross(rate, wh, both)
    return (
        first * wh[0] + b * rh[0] + second * wwh[0] + c * both[0],
        first * wh[1] + b * rh[1] + second * wwh[1] + c * both[1],
        first * wh[2] + b * rh[2] + second * wwh[2] + c * both[2],
    )


@njit(**OPTIONS)
def weight(tree: Tree, work: Work, gravity: Array, force: Array) -> None:
    """Add the generalised force of gravity `(3,)`, given in the root's frame, after :func:`place`."""
    load = work.joint
    for j in range(load.shape[0]):
        load[j, :6] = 0.0
        for c in range(3):
            load[j, 3 + c] = tree.masses[j] * gravity[c]
        cross(work.C[j], load[j, 3:6], load[j, :3])
    about = np.empty(3)
    for j in range(load.shape[0] - 1, -1, -1):
        if tree.moving[j]:
            for c in range(3):
                about[c] = load[j, c]
            cross(load[j, 3:6], work.X[j], about)
            for a in range(work.S.shape[2]):
                force[6 + a] += (
                    work.S[j, 0, a] * about[0] + work.S[j, 1, a] * about[1] + work.S[j, 2, a] * about[2]
                )
        if j:
            load[tree.parents[j], :6] += load[j, :6]
    force[:6] += load[0, :6]


@njit(**OPTIONS)
def point_row(work: Work, joint: int, point: Array, direction: Array, row: Array) -> None:
    """Velocity along a direction of a bone's point, in the root's frame, by v; after `mass_matrix`."""
    moment = np.zeros(3)
    cross(point, direction, moment)
    for c in range(3):
        row[c], row[3 + c] = moment[c], direction[c]
    T = work.T[joint]
    for a in range(T.shape[1]):
        row[6 + a] = (
            moment[0] * T[0, a] + moment[1] * T[1, a] + moment[2] * T[2, a]
            + direction[0] * T[3, a] + direction[1] * T[4, a] + direction[2] * T[5, a]
        )  # fmt: skip
