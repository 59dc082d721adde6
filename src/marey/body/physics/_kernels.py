"""Compiled sweeps over the tree of bones: frames, mass matrix, quadratic forces, velocities of points.

Everything is in the frame of the root joint (Tournier 2011, section 11.1; the kinetic energy does not depend
on where the root is). Only joints that the coordinates move are swept: what hangs on others is one rigid body
with what carries it. Loops run over the coordinates inside, so that they become vector instructions.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from marey._arrays import Array, Integers
from marey._compiling import OPTIONS, njit
from marey.geometry._inline_kernels import (
    Matrix,
    Quaternion,
    Vector,
    exp_and_factors,
    hat_polynomial,
    matrix,
    matrix_product,
    product,
    row_times,
)

# Sums may be taken in another order; only kernels call what is `INNER`.
FAST: dict[str, Any] = {**OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}}
INNER = {**FAST, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Types of the small functions: without them each constant index is compiled anew.
ROWS, VECTOR = "float64[:, ::1], int64, int64", "UniTuple(float64, 3)"
# Columns of `Work.frames`: rotation and its differential, places of joint and centre of mass, tangent vector
# and its rate; angular velocity and velocity of the joint, angular (about the joint) and linear momentum; the
# inertia about the centre of mass (xx, xy, xz, yy, yz, zz).
Q, D, X, C, W, SPIN, TWIST, MOMENTUM, INERTIA, COLUMNS = 0, 9, 18, 21, 24, 27, 30, 36, 42, 48
# Rows of a step's vectors: right-hand side, new velocity, forces, residual, damping, given impulses.
RHS, NEW, FORCE, LEFT, DAMPED, GIVEN = range(6)
# Columns of `Tree.bones`: offset, mean, mass, centre of mass, inertia.
OFFSET, MEAN, MASS, CENTRE, BONE_INERTIA, BONE_COLUMNS = 0, 3, 7, 8, 11, 17


class Tree(NamedTuple):
    """A skeleton with bones and a basis of poses.

    Args:
        parents: `(joints, 3)`: parent; the moving joint that carries this one, or itself; that of the parent.
        moving: `(bodies,)`, joints that the coordinates move, the root first.
        bones: `(joints, 17)`, see the columns above; masses of what does not move are with what carries it.
        directions: `(joints, 3, modes)`.
    """

    parents: Integers
    moving: Integers
    bones: Array
    directions: Array


class Work(NamedTuple):
    """Room for the sweeps of one pose.

    Args:
        frames: `(joints, 48)`, see the columns above.
        S: `(joints, 3, modes)`, angular velocities that a joint adds, `S = Q dexp(w) V`.
        T, G: `(joints, 6, modes)`, twists about the root's origin, momenta of all that a joint carries.
        M, U: `(6 + modes, 6 + modes)`, the mass matrix, and the factor of the damped one, `UᵀU`.
    """

    frames: Array
    S: Array
    T: Array
    G: Array
    M: Array
    U: Array


@njit(f"{VECTOR}({ROWS})", **INNER)
def triple(rows: Array, i: int, at: int) -> Vector:
    """Three numbers of a row."""
    return rows[i, at], rows[i, at + 1], rows[i, at + 2]


@njit(f"UniTuple({VECTOR}, 3)({ROWS})", **INNER)
def read(rows: Array, i: int, at: int) -> Matrix:
    """Nine numbers of a row as a matrix. Arrays and row numbers compile faster than views of rows."""
    return triple(rows, i, at), triple(rows, i, at + 3), triple(rows, i, at + 6)


@njit(f"UniTuple(float64, 4)({ROWS})", **INNER)
def four(rows: Array, i: int, at: int) -> Quaternion:
    """Four numbers of a row."""
    return rows[i, at], rows[i, at + 1], rows[i, at + 2], rows[i, at + 3]


@njit(**INNER)
def times(m: Matrix, v: Vector) -> Vector:
    """m v."""
    return (
        m[0][0] * v[0] + m[0][1] * v[1] + m[0][2] * v[2],
        m[1][0] * v[0] + m[1][1] * v[1] + m[1][2] * v[2],
        m[2][0] * v[0] + m[2][1] * v[1] + m[2][2] * v[2],
    )


@njit(**INNER)
def cross(a: Vector, b: Vector) -> Vector:
    """a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(**INNER)
def plus(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(**INNER)
def minus(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(**INNER)
def dot(a: Vector, b: Vector) -> float:
    """a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(f"void({VECTOR}, {ROWS})", **INNER)
def put(v: Vector, rows: Array, i: int, at: int) -> None:
    """Write three numbers into a row."""
    rows[i, at], rows[i, at + 1], rows[i, at + 2] = v


@njit(f"UniTuple({VECTOR}, 3)({ROWS})", **INNER)
def symmetric(rows: Array, i: int, at: int) -> Matrix:
    """Six numbers of a row as a symmetric matrix."""
    (a, b, c), (d, e, f) = triple(rows, i, at), triple(rows, i, at + 3)
    return (a, b, c), (b, d, e), (c, e, f)


@njit(**FAST)
def place(tree: Tree, alpha: Array, i: int, work: Work) -> None:
    """Frames of all joints in the root's frame, and how they turn with the coordinates `alpha[i]`."""
    parents, bones, directions, frames, S = tree.parents, tree.bones, tree.directions, work.frames, work.S
    modes = alpha.shape[1]
    for j in range(parents.shape[0]):
        turned = four(bones, j, MEAN)
        above, moves = parents[j, 0], parents[j, 1] == j and j > 0
        spun = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        if moves:
            x, y, z = 0.0, 0.0, 0.0
            for a in range(modes):
                x += directions[j, 0, a] * alpha[i, a]
                y += directions[j, 1, a] * alpha[i, a]
                z += directions[j, 2, a] * alpha[i, a]
            turn, first, second = exp_and_factors((x, y, z))
            turned = product(turned, turn)
            spun = hat_polynomial((x, y, z), -first, second)
            put((x, y, z), frames, j, W)
        if above < 0:
            local, here = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0)
        else:
            carrier = read(frames, above, Q)
            local = matrix_product(carrier, matrix(turned))
            here = plus(triple(frames, above, X), times(carrier, triple(bones, j, OFFSET)))
        put(here, frames, j, X)
        put(plus(here, times(local, triple(bones, j, CENTRE))), frames, j, C)
        for r in range(3):
            put(local[r], frames, j, Q + 3 * r)
            put(spun[r], frames, j, D + 3 * r)
        half = matrix_product(local, symmetric(bones, j, BONE_INERTIA))
        put((dot(half[0], local[0]), dot(half[0], local[1]), dot(half[0], local[2])), frames, j, INERTIA)
        put((dot(half[1], local[1]), dot(half[1], local[2]), dot(half[2], local[2])), frames, j, INERTIA + 3)
        if moves:
            both = matrix_product(local, spun)
            for c in range(3):
                x, y, z = both[0] if c == 0 else both[1] if c == 1 else both[2]
                for a in range(modes):
                    S[j, c, a] = x * directions[j, 0, a] + y * directions[j, 1, a] + z * directions[j, 2, a]


@njit(**FAST)
def mass_matrix(tree: Tree, work: Work) -> None:
    """M of the root's twist and the coordinates, and the twists T, after :func:`place`."""
    parents, moving, bones, frames = tree.parents, tree.moving, tree.bones, work.frames
    S, T, G, M = work.S, work.T, work.G, work.M
    modes, size, bodies = S.shape[2], M.shape[0], moving.shape[0]
    for a in range(size):
        for b in range(size):
            M[a, b] = 0.0
    for i in range(bodies):
        j = moving[i]
        above = parents[j, 2]
        x, y, z = triple(frames, j, X)
        if i > 0:
            for a in range(modes):
                s, t, u = S[j, 0, a], S[j, 1, a], S[j, 2, a]
                T[j, 0, a] = T[above, 0, a] + s
                T[j, 1, a] = T[above, 1, a] + t
                T[j, 2, a] = T[above, 2, a] + u
                T[j, 3, a] = T[above, 3, a] + y * u - z * t
                T[j, 4, a] = T[above, 4, a] + z * s - x * u
                T[j, 5, a] = T[above, 5, a] + x * t - y * s
        # The body's inertia about the root's origin.
        m = bones[j, MASS]
        x, y, z = triple(frames, j, C)
        xx, yy = frames[j, INERTIA] + m * (y * y + z * z), frames[j, INERTIA + 3] + m * (x * x + z * z)
        zz, xy = frames[j, INERTIA + 5] + m * (x * x + y * y), frames[j, INERTIA + 1] - m * x * y
        xz, yz = frames[j, INERTIA + 2] - m * x * z, frames[j, INERTIA + 4] - m * y * z
        x, y, z = m * x, m * y, m * z
        M[0, 0] += xx
        M[1, 1] += yy
        M[2, 2] += zz
        M[1, 0] += xy
        M[2, 0] += xz
        M[2, 1] += yz
        M[3, 3] += m
        M[3, 1] += z
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
    for i in range(bodies - 1, 0, -1):
        j = moving[i]
        above = parents[j, 2]
        for a in range(modes):
            # S acts as a twist about the root's origin: Sᵀ (angular - X × linear).
            r, s, t = S[j, 0, a], S[j, 1, a], S[j, 2, a]
            x, y, z = cross((r, s, t), triple(frames, j, X))
            x, y, z = -x, -y, -z
            for b in range(modes):
                M[6 + a, 6 + b] += (
                    r * G[j, 0, b] + s * G[j, 1, b] + t * G[j, 2, b]
                    + x * G[j, 3, b] + y * G[j, 4, b] + z * G[j, 5, b]
                )  # fmt: skip
        for c in range(6):
            for a in range(modes):
                G[above, c, a] += G[j, c, a]
    M[4, 4] = M[5, 5] = M[3, 3]
    M[4, 0], M[5, 0], M[5, 1] = -M[3, 1], -M[3, 2], -M[4, 2]
    for a in range(modes):
        for c in range(6):
            M[6 + a, c] = G[0, c, a]
    for a in range(size):
        for b in range(a):
            M[b, a] = M[a, b]


@njit(**FAST)
def quadratic_forces(tree: Tree, work: Work, vectors: Array) -> None:
    """∂T/∂g at fixed velocity `vectors[NEW]` into `vectors[FORCE]`, after :func:`place`.

    Twists and momenta of the bodies go into `frames`.

    One sweep to the tips and one back; the forces on the root's six coordinates are zero.
    """
    parents, moving, bones, frames = tree.parents, tree.moving, tree.bones, work.frames
    directions = tree.directions
    modes, bodies = directions.shape[2], moving.shape[0]
    for a in range(6 + modes):
        vectors[FORCE, a] = 0.0
    for n in range(bodies):
        j = moving[n]
        here = triple(frames, j, X)
        if n == 0:
            omega, u = triple(vectors, NEW, 0), triple(vectors, NEW, 3)
        else:
            above = parents[j, 2]
            omega = triple(frames, above, TWIST)
            u = plus(triple(frames, above, TWIST + 3), cross(omega, minus(here, triple(frames, above, X))))
            x, y, z = 0.0, 0.0, 0.0
            for a in range(modes):
                x += directions[j, 0, a] * vectors[NEW, 6 + a]
                y += directions[j, 1, a] * vectors[NEW, 6 + a]
                z += directions[j, 2, a] * vectors[NEW, 6 + a]
            put((x, y, z), frames, j, SPIN)
            omega = plus(omega, times(read(frames, j, Q), times(read(frames, j, D), (x, y, z))))
        put(omega, frames, j, TWIST)
        put(u, frames, j, TWIST + 3)
        arm, m = minus(triple(frames, j, C), here), bones[j, MASS]
        x, y, z = plus(u, cross(omega, arm))
        linear = (m * x, m * y, m * z)
        angular = plus(times(symmetric(frames, j, INERTIA), omega), cross(arm, linear))
        put(angular, frames, j, MOMENTUM)
        put(linear, frames, j, MOMENTUM + 3)
    for n in range(bodies - 1, 0, -1):
        j = moving[n]
        above = parents[j, 2]
        angular, linear = triple(frames, j, MOMENTUM), triple(frames, j, MOMENTUM + 3)
        turned = plus(cross(angular, triple(frames, j, TWIST)), cross(linear, triple(frames, j, TWIST + 3)))
        local = read(frames, j, Q)
        bent = dexp_rate_transposed(triple(frames, j, W), triple(frames, j, SPIN), row_times(angular, local))
        x, y, z = plus(row_times(row_times(turned, local), read(frames, j, D)), bent)
        for a in range(modes):
            vectors[FORCE, 6 + a] += (
                directions[j, 0, a] * x + directions[j, 1, a] * y + directions[j, 2, a] * z
            )
        arm = minus(triple(frames, j, X), triple(frames, above, X))
        put(plus(triple(frames, above, MOMENTUM), plus(angular, cross(arm, linear))), frames, above, MOMENTUM)
        put(plus(triple(frames, above, MOMENTUM + 3), linear), frames, above, MOMENTUM + 3)


@njit(**INNER)
def dexp_rate_transposed(w: Vector, rate: Vector, h: Vector) -> Vector:
    """Ḋᵀ h, with D = 1 - b W + c W² the body differential of exp at w, when w changes by `rate`."""
    _, b, c = exp_and_factors(w)
    squared, along = dot(w, w), dot(w, rate)
    if squared < 1e-2:
        first = -1.0 / 12 + squared / 180 - squared * squared / 6720
        second = -1.0 / 60 + squared / 1260 - squared * squared / 60480
    else:
        first, second = (1.0 - c * squared - 2.0 * b) / squared, (b - 3.0 * c) / squared
    first, second = first * along, second * along
    # Wᵀ = -W: Ḋᵀ h = (ḃ W + b Ẇ + ċ W² + c (W Ẇ + Ẇ W)) h.
    wh, rh = cross(w, h), cross(rate, h)
    wwh, both = cross(w, wh), plus(cross(w, rh), cross(rate, wh))
    return (
        first * wh[0] + b * rh[0] + second * wwh[0] + c * both[0],
        first * wh[1] + b * rh[1] + second * wwh[1] + c * both[1],
        first * wh[2] + b * rh[2] + second * wwh[2] + c * both[2],
    )


@njit(**FAST)
def point_row(work: Work, body: int, point: Vector, direction: Vector, rows: Array, i: int) -> None:
    """Velocity along a direction of a point on a moving joint, in the root's frame, by v, into a row.

    Twists T must be known.
    """
    T = work.T
    x, y, z = cross(point, direction)
    u, v, w = direction
    put((x, y, z), rows, i, 0)
    put(direction, rows, i, 3)
    for a in range(T.shape[2]):
        rows[i, 6 + a] = (
            x * T[body, 0, a] + y * T[body, 1, a] + z * T[body, 2, a]
            + u * T[body, 3, a] + v * T[body, 4, a] + w * T[body, 5, a]
        )  # fmt: skip
