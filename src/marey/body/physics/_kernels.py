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
FAST: dict[str, Any] = {**OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}, "_nrt": False}
INNER = {**FAST, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Types of the small functions: without them each constant index is compiled anew.
TABLE, BLOCKS, NUMBERS, PAIRS = "float64[:, ::1]", "float64[:, :, ::1]", "int64[::1]", "int64[:, ::1]"
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


@njit(**INNER)
def scaled(s: float, v: Vector) -> Vector:
    """s v."""
    return s * v[0], s * v[1], s * v[2]


@njit(**INNER)
def put_matrix(m: Matrix, rows: Array, i: int, at: int) -> None:
    """Write a matrix into a row."""
    put(m[0], rows, i, at)
    put(m[1], rows, i, at + 3)
    put(m[2], rows, i, at + 6)


@njit(f"UniTuple({VECTOR}, 3)({ROWS})", **INNER)
def symmetric(rows: Array, i: int, at: int) -> Matrix:
    """Six numbers of a row as a symmetric matrix."""
    (a, b, c), (d, e, f) = triple(rows, i, at), triple(rows, i, at + 3)
    return (a, b, c), (b, d, e), (c, e, f)


@njit(f"void({PAIRS}, {TABLE}, {BLOCKS}, {TABLE}, int64, boolean, {TABLE}, {BLOCKS})", **INNER)
def place(
    parents: Integers, bones: Array, directions: Array, alpha: Array, i: int, centred: bool, frames: Array,
    S: Array,
) -> None:  # fmt: skip
    """Frames of all joints in the root's frame, and how they turn with the coordinates `alpha[i]`.

    Places are from the root joint, or from the centre of mass if `centred`.
    """
    modes = alpha.shape[1]
    total, centre = 0.0, (0.0, 0.0, 0.0)
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
        middle, m = plus(here, times(local, triple(bones, j, CENTRE))), bones[j, MASS]
        put(middle, frames, j, C)
        total += m
        centre = plus(centre, scaled(m, middle))
        put_matrix(local, frames, j, Q)
        put_matrix(spun, frames, j, D)
        half = matrix_product(local, symmetric(bones, j, BONE_INERTIA))
        put((dot(half[0], local[0]), dot(half[0], local[1]), dot(half[0], local[2])), frames, j, INERTIA)
        put((dot(half[1], local[1]), dot(half[1], local[2]), dot(half[2], local[2])), frames, j, INERTIA + 3)
        if moves:
            both = matrix_product(local, spun)
            for c in range(3):
                x, y, z = both[0] if c == 0 else both[1] if c == 1 else both[2]
                for a in range(modes):
                    S[j, c, a] = x * directions[j, 0, a] + y * directions[j, 1, a] + z * directions[j, 2, a]
    if centred:
        for j in range(parents.shape[0]):
            for at in (X, C):
                put(plus(triple(frames, j, at), scaled(-1.0 / total, centre)), frames, j, at)


@njit(f"void({PAIRS}, {NUMBERS}, {TABLE}, {TABLE}, {BLOCKS}, {BLOCKS}, {BLOCKS}, {TABLE}, boolean)", **INNER)
def mass_matrix(
    parents: Integers, moving: Integers, bones: Array, frames: Array, S: Array, T: Array, G: Array, M: Array,
    centred: bool,
) -> None:  # fmt: skip
    """M of the root's twist and the coordinates, and the twists T, after :func:`place`.

    With `centred` the linear velocity is that of the centre of mass, from which M then separates.
    """
    modes, size, bodies = S.shape[2], M.shape[0], moving.shape[0]
    M[:] = 0.0
    T[0] = 0.0
    G[0] = 0.0
    for i in range(bodies):
        j = moving[i]
        above, m = parents[j, 2], bones[j, MASS]
        x, y, z = triple(frames, j, X)
        u, v, w = triple(frames, j, C)
        if i > 0:
            for a in range(modes):
                p, q, r = S[j, 0, a], S[j, 1, a], S[j, 2, a]
                T[j, 0, a] = T[above, 0, a] + p
                T[j, 1, a] = T[above, 1, a] + q
                T[j, 2, a] = T[above, 2, a] + r
                T[j, 3, a] = T[above, 3, a] + y * r - z * q
                T[j, 4, a] = T[above, 4, a] + z * p - x * r
                T[j, 5, a] = T[above, 5, a] + x * q - y * p
                if centred:
                    p, q, r = T[j, 0, a], T[j, 1, a], T[j, 2, a]
                    G[0, 3, a] -= m * (T[j, 3, a] + q * w - r * v)
                    G[0, 4, a] -= m * (T[j, 4, a] + r * u - p * w)
                    G[0, 5, a] -= m * (T[j, 5, a] + p * v - q * u)
        # The body's inertia about the origin.
        I = symmetric(frames, j, INERTIA)
        M[0, 0] += I[0][0] + m * (v * v + w * w)
        M[1, 1] += I[1][1] + m * (u * u + w * w)
        M[2, 2] += I[2][2] + m * (u * u + v * v)
        M[1, 0] += I[0][1] - m * u * v
        M[2, 0] += I[0][2] - m * u * w
        M[2, 1] += I[1][2] - m * v * w
        M[3, 3] += m
        M[3, 1] += m * w
        M[3, 2] -= m * v
        M[4, 2] += m * u
    for c in range(3, 6):
        for a in range(modes):
            T[0, c, a] = G[0, c, a] / M[3, 3]
    for i in range(bodies):
        j = moving[i]
        m, I = bones[j, MASS], symmetric(frames, j, INERTIA)
        u, v, w = triple(frames, j, C)
        for a in range(modes):
            if i > 0:
                T[j, 3, a] += T[0, 3, a]
                T[j, 4, a] += T[0, 4, a]
                T[j, 5, a] += T[0, 5, a]
            p, q, r = T[j, 0, a], T[j, 1, a], T[j, 2, a]
            x, y = m * (T[j, 3, a] + q * w - r * v), m * (T[j, 4, a] + r * u - p * w)
            z = m * (T[j, 5, a] + p * v - q * u)
            G[j, 0, a] = I[0][0] * p + I[0][1] * q + I[0][2] * r + v * z - w * y
            G[j, 1, a] = I[1][0] * p + I[1][1] * q + I[1][2] * r + w * x - u * z
            G[j, 2, a] = I[2][0] * p + I[2][1] * q + I[2][2] * r + u * y - v * x
            G[j, 3, a], G[j, 4, a], G[j, 5, a] = x, y, z
    for i in range(bodies - 1, 0, -1):
        j = moving[i]
        above = parents[j, 2]
        here = triple(frames, j, X)
        for a in range(modes):
            # S acts as a twist about the origin: Sᵀ (angular - X × linear).
            p, q, r = S[j, 0, a], S[j, 1, a], S[j, 2, a]
            x, y, z = cross(here, (p, q, r))
            for b in range(a + 1):
                M[6 + a, 6 + b] += (
                    p * G[j, 0, b] + q * G[j, 1, b] + r * G[j, 2, b]
                    + x * G[j, 3, b] + y * G[j, 4, b] + z * G[j, 5, b]
                )  # fmt: skip
        for c in range(6):
            for a in range(modes):
                G[above, c, a] += G[j, c, a]
    M[4, 4] = M[5, 5] = M[3, 3]
    M[4, 0], M[5, 0], M[5, 1] = -M[3, 1], -M[3, 2], -M[4, 2]
    for c in range(6):
        for a in range(modes):
            M[6 + a, c] = G[0, c, a]
    for a in range(size):
        for b in range(a):
            M[b, a] = M[a, b]


@njit(
    f"void({PAIRS}, {NUMBERS}, {TABLE}, {BLOCKS}, {BLOCKS}, {TABLE}, {TABLE}, boolean)",
    **INNER,
)
def quadratic_forces(
    parents: Integers, moving: Integers, bones: Array, directions: Array, T: Array, frames: Array,
    vectors: Array, centred: bool,
) -> None:  # fmt: skip
    """∂T/∂g at fixed velocity `vectors[NEW]` into `vectors[FORCE]`, after :func:`mass_matrix`.

    Twists and momenta of the bodies go into `frames`.

    One sweep to the tips and one back; the forces on the root's six coordinates are zero.
    """
    modes, bodies = directions.shape[2], moving.shape[0]
    drift, omega = triple(vectors, NEW, 3), triple(vectors, NEW, 0)
    u = cross(omega, triple(frames, 0, X))
    # The motion of the centre of mass has no part in the forces.
    if not centred:
        u = plus(u, drift)
    for a in range(6 + modes):
        vectors[FORCE, a] = 0.0
    for a in range(modes):
        u = plus(u, scaled(vectors[NEW, 6 + a], (T[0, 3, a], T[0, 4, a], T[0, 5, a])))
    for n in range(bodies):
        j = moving[n]
        here = triple(frames, j, X)
        if n > 0:
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
        arm = minus(triple(frames, j, C), here)
        linear = scaled(bones[j, MASS], plus(u, cross(omega, arm)))
        put(plus(times(symmetric(frames, j, INERTIA), omega), cross(arm, linear)), frames, j, MOMENTUM)
        put(linear, frames, j, MOMENTUM + 3)
    for n in range(bodies - 1, -1, -1):
        j = moving[n]
        angular, linear = triple(frames, j, MOMENTUM), triple(frames, j, MOMENTUM + 3)
        omega, u = triple(frames, j, TWIST), triple(frames, j, TWIST + 3)
        if centred:
            put(plus(u, drift), frames, j, TWIST + 3)
        if n == 0:
            break
        above = parents[j, 2]
        turned = plus(cross(angular, omega), cross(linear, u))
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


@njit(**FAST)
def evaluate(tree: Tree, alpha: Array, work: Work, vectors: Array) -> None:
    """All sweeps at a pose `(1, modes)`, from the root joint, with the forces at `vectors[NEW]`."""
    parents, moving, bones, directions = tree
    frames, S, T, G, M, _ = work
    place(parents, bones, directions, alpha, 0, False, frames, S)
    mass_matrix(parents, moving, bones, frames, S, T, G, M, False)
    quadratic_forces(parents, moving, bones, directions, T, frames, vectors, False)


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
