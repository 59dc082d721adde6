"""Compiled time steps: integrators on the group of configurations, contacts and limits by Gauss–Seidel.

Unknowns are the new velocities of a character and of the balls around it. Constraints are rows `J v ≥ b`,
kept as `J U⁻¹` with `UᵀU` the damped mass matrix: in these coordinates the metric of the kinetic energy is
the identity, and a sweep of Gauss–Seidel costs two products a row. Transports of momenta along the root's
step are power series of the transposed `ad` of its twist, whose terms fall by (angle / 2π)².

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from marey._arrays import Array, Integers
from marey._compiling import njit
from marey.body.limits._kernels import limit
from marey.body.physics._kernels import (
    DAMPED,
    FAST,
    FORCE,
    GIVEN,
    INNER,
    LEFT,
    MEAN,
    MOMENTUM,
    NEW,
    RHS,
    SPIN,
    TWIST,
    D,
    Q,
    Tree,
    W,
    Work,
    X,
    cross,
    dot,
    four,
    mass_matrix,
    minus,
    place,
    plus,
    point_row,
    put,
    quadratic_forces,
    read,
    times,
    triple,
)  # fmt: skip
from marey.geometry._inline_kernels import (
    Matrix,
    Vector,
    exp_and_factors,
    hat_polynomial,
    matrix,
    normalise,
    product,
    row_times,
)

TABLE = "float64[:, ::1]"
# Which integrator, and which damping of the pose coordinates.
VARIATIONAL, EXACT, CONSTANT, IDENTITY, NAIVE = range(5)
UNIFORM, KINEMATIC, ENERGETIC = range(3)
# Columns of `Scene.numbers` and `Scene.choices`.
STEP, RATE, FRICTION, RESTITUTION, MARGIN, TOLERANCE, DRIFT = range(7)
METHOD, DAMPING, GROUP, KIND, SWEEPS, STABILISE = range(6)
# What a row is, if not the friction of the normal row of this number: pushes only, or holds both ways.
PUSHES, HOLDS = -1, -2
# Metres and metres per second: gaps that always count as contacts, speeds below which nothing bounces, and
# the fastest correction of drift.
NEAR, REST, FASTEST = 0.01, 0.3, 2.0


class Scene(NamedTuple):
    """What a character meets, and how it is stepped.

    Args:
        numbers, choices: see the columns above.
        gravity: `(3,)`.
        planes: `(planes, 10)`: unit normal, offset, two tangents.
        carriers, spheres: `(spheres,)`, `(spheres, 4)`: joints, centres in their frames and radii.
        bones: `(bones, 8)`: capsules that balls meet: joint, ends in its frame, radius.
        balls: `(balls, 3)`: mass, radius, restitution.
        pins: `(pins, 7)`: joint, point in its frame, where it is held.
        effectors: `(ends,)`, joints whose speed kinematic damping measures.
        limited, middles, parameters: limits of joints, as `body.limits` has them.
        series: `(3, terms)`, coefficients of exp, of its left differential and of the inverse of that.
    """

    numbers: Array
    choices: Integers
    gravity: Array
    planes: Array
    carriers: Integers
    spheres: Array
    bones: Array
    balls: Array
    pins: Array
    effectors: Integers
    limited: Integers
    middles: Array
    parameters: Array
    series: Array


class Solve(NamedTuple):
    """Room for one step.

    Args:
        vectors: `(6, width)`.
        J: `(rows, width)`, in the coordinates in which the mass matrix is the identity.
        root: `(rows, 6)`, their first six entries in the root's frame.
        row: `(rows, 4)`: bound, diagonal of `J M⁻¹ Jᵀ`, multiplier, bound without what gaps differ by.
        kind: `(rows, 2)`: see above, and where the multiplier is kept for the next step, -1 if nowhere.
        mark: `(slots,)`, whether a contact has rows, and which.
        ahead, frames: `(1, modes)`, `(joints, …)`: pose and frames at the end of the step.
    """

    vectors: Array
    J: Array
    root: Array
    row: Array
    kind: Integers
    mark: Integers
    ahead: Array
    frames: Array


class State(NamedTuple):
    """States, changed in place.

    Args:
        q, x, alpha: `(characters, 4)`, `(characters, 3)`, `(characters, modes)`: configurations.
        v, p: `(characters, 6 + modes)`, velocities and momenta in the roots' frames.
        kept: `(characters, slots)`, multipliers of contacts, limits and pins.
        balls: `(characters, balls, 6)`, places and velocities.
    """

    q: Array
    x: Array
    alpha: Array
    v: Array
    p: Array
    kept: Array
    balls: Array


@njit(f"void({TABLE}, int64, int64, {TABLE}, int64, float64, {TABLE}, int64)", **INNER)
def transported(
    series: Array, which: int, group: int, v: Array, i: int, scale: float, y: Array, k: int
) -> None:
    """y[k] ← Σ c_n (adᵀ)ⁿ y[k], of the first six numbers, ad that of `scale` times the root's velocity v[i].

    On SO(3) × R³ (group 1) only the angular velocity counts, and linear momenta stay.
    """
    w, u = (
        (scale * v[i, 0], scale * v[i, 1], scale * v[i, 2]),
        (scale * v[i, 3], scale * v[i, 4], scale * v[i, 5]),
    )
    a, b = triple(y, k, 0), triple(y, k, 3)
    if group == 1:
        u, b = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    total, moved = a, b
    largest = abs(a[0]) + abs(a[1]) + abs(a[2]) + abs(b[0]) + abs(b[1]) + abs(b[2])
    for n in range(1, series.shape[1]):
        # adᵀ (a, b) = (a × w + b × u, b × w)
        a, b = plus(cross(a, w), cross(b, u)), cross(b, w)
        c = series[which, n]
        total = (total[0] + c * a[0], total[1] + c * a[1], total[2] + c * a[2])
        moved = (moved[0] + c * b[0], moved[1] + c * b[1], moved[2] + c * b[2])
        size = abs(a[0]) + abs(a[1]) + abs(a[2]) + abs(b[0]) + abs(b[1]) + abs(b[2])
        if n > 2 and size * 0.5**n < 1e-18 * largest:
            break
    put(total, y, k, 0)
    if group == 0:
        put(moved, y, k, 3)


@njit(f"boolean({TABLE}, int64)", **INNER)
def factor(U: Array, size: int) -> bool:
    """U ← the upper factor of the matrix in its upper half, `UᵀU`; false if it has none."""
    for k in range(size):
        if not U[k, k] > 0.0:
            return False
        scale = 1.0 / math.sqrt(U[k, k])
        for j in range(k, size):
            U[k, j] *= scale
        for i in range(k + 1, size):
            factor = U[k, i]
            for j in range(i, size):
                U[i, j] -= factor * U[k, j]
    return True


@njit(f"void({TABLE}, int64, {TABLE}, int64)", **INNER)
def forward(U: Array, size: int, y: Array, r: int) -> None:
    """y[r] ← U⁻ᵀ y[r]."""
    for k in range(size):
        value = y[r, k] / U[k, k]
        y[r, k] = value
        for i in range(k + 1, size):
            y[r, i] -= value * U[k, i]


@njit(f"void({TABLE}, int64, {TABLE}, int64)", **INNER)
def backward(U: Array, size: int, y: Array, r: int) -> None:
    """y[r] ← U⁻¹ y[r]."""
    for k in range(size - 1, -1, -1):
        total = y[r, k]
        for i in range(k + 1, size):
            total -= U[k, i] * y[r, i]
        y[r, k] = total / U[k, k]


@njit(**INNER)
def gauss_seidel(room: Solve, rows: int, friction: float, sweeps: int, tolerance: float) -> float:
    """Project the velocity `vectors[LEFT]`, in the rows' coordinates, on `J z ≥ b` and friction's bounds.

    Starts with the multipliers in `row`; sweeps end when no row's velocity changes by more than the
    tolerance. Returns what changed most in the last one, m/s.
    """
    J, data, kind, z = room.J, room.row, room.kind, room.vectors
    width, largest = J.shape[1], 0.0
    for r in range(rows):
        value = data[r, 2]
        if value != 0.0:
            for a in range(width):
                z[LEFT, a] += J[r, a] * value
    for _ in range(sweeps):
        largest = 0.0
        for r in range(rows):
            speed = 0.0
            for a in range(width):
                speed += J[r, a] * z[LEFT, a]
            old = data[r, 2]
            new = old - (speed - data[r, 0]) / data[r, 1]
            if kind[r, 0] == PUSHES:
                new = max(new, 0.0)
            elif kind[r, 0] >= 0:
                bound = friction * data[kind[r, 0], 2]
                new = min(max(new, -bound), bound)
            change = new - old
            if change != 0.0:
                data[r, 2] = new
                for a in range(width):
                    z[LEFT, a] += J[r, a] * change
                largest = max(largest, abs(change) * data[r, 1])
        if largest < tolerance:
            break
    return largest


@njit(**INNER)
def add_row(room: Solve, row: int, bound: float, kind: int, slot: int) -> int:
    """Begin a row with zeros; returns the number of rows then."""
    for a in range(room.J.shape[1]):
        room.J[row, a] = 0.0
    room.row[row, 0], room.row[row, 3], room.kind[row, 0], room.kind[row, 1] = bound, bound, kind, slot
    return row + 1


@njit(**INNER)
def speed_at(frames: Array, j: int, point: Vector) -> Vector:
    """Velocity of a point on a body whose twist is known."""
    arm = minus(point, triple(frames, j, X))
    return plus(triple(frames, j, TWIST + 3), cross(triple(frames, j, TWIST), arm))


@njit(**INNER)
def point_at(frames: Array, j: int, points: Array, i: int, at: int) -> Vector:
    """A joint's point in the root's frame."""
    return plus(triple(frames, j, X), times(read(frames, j, Q), triple(points, i, at)))


@njit(**INNER)
def bound_of(scene: Scene, gap: float, speed: float, bounce: float, h: float) -> float:
    """The least speed at which a gap may open: it may close but not more, and opens slowly if below zero."""
    bound = -gap / h if gap > 0.0 else min(-scene.numbers[DRIFT] * gap / h, FASTEST)
    if bounce > 0.0 and speed < -REST and gap + h * speed < 0.0:
        bound = max(bound, -bounce * speed)
    return bound


@njit(**INNER)
def contacts(
    tree: Tree, work: Work, scene: Scene, room: Solve, R: Matrix, x: Vector, first: int, again: bool, h: float
) -> int:
    """Rows of contacts with planes that are not there yet; returns how many rows there are then.

    Twists of the bodies must be known: a contact counts if its gap may close within a step. With `again`
    there is a velocity that keeps the rows so far, and gaps at the end of the step are found as well: what
    they differ from those of the rows is taken off the bounds, and points that would be behind a plane get
    rows; `vectors[GIVEN, size]` is then the largest such difference, metres.
    With `h` 0 the rows are for places, not for velocities.
    """
    frames, parents, planes, z = work.frames, tree.parents, scene.planes, room.vectors
    rows, count, size = first, scene.carriers.shape[0], work.M.shape[0]
    # The root's step, in its frame before.
    turn = (h * z[NEW, 0], h * z[NEW, 1], h * z[NEW, 2])
    spun, one, two = exp_and_factors(turn)
    S = matrix(spun)
    w = times(hat_polynomial(turn, one, two), (h * z[NEW, 3], h * z[NEW, 4], h * z[NEW, 5]))
    for k in range(planes.shape[0]):
        # The plane in the root's frame.
        n = row_times(triple(planes, k, 0), R)
        offset = planes[k, 3] - dot(triple(planes, k, 0), x)
        for s in range(count):
            slot = 3 * (k * count + s)
            j, radius = scene.carriers[s], scene.spheres[s, 3]
            body, at = parents[j, 1], point_at(frames, j, scene.spheres, s, 0)
            gap = dot(n, at) - offset - radius
            if gap > 0.5 or (h == 0.0 and gap > NEAR):
                continue
            bound, bend = -gap, 0.0
            if h > 0.0:
                speed = dot(n, speed_at(frames, body, at))
                if not again and gap > NEAR + 2.0 * h * abs(speed):
                    continue
                if again:
                    end = plus(w, times(S, point_at(room.frames, j, scene.spheres, s, 0)))
                    bend = min(max(dot(n, end) - offset - radius - gap - h * speed, -FASTEST * h), NEAR)
                    if room.mark[slot] > 0:
                        row = room.mark[slot] - 1
                        off = room.row[row, 3] - bend / h - room.row[row, 0]
                        room.row[row, 0] += off
                        if room.row[row, 2] > 0.0 or off > 0.0:
                            z[GIVEN, size] = max(z[GIVEN, size], abs(h * off))
                        continue
                    if gap + h * speed + bend > 0.0:
                        continue
                    z[GIVEN, size] = NEAR
                bound = bound_of(scene, gap, speed, scene.numbers[RESTITUTION], h)
            if rows + 3 > room.J.shape[0]:
                continue
            at = (at[0] - radius * n[0], at[1] - radius * n[1], at[2] - radius * n[2])
            room.mark[slot] = rows + 1
            normal = rows
            last = 3 if scene.numbers[FRICTION] > 0.0 and h > 0.0 else 1
            for c in range(last):
                direction = n if c == 0 else row_times(triple(planes, k, 1 + 3 * c), R)
                rows = add_row(room, rows, bound if c == 0 else 0.0, PUSHES if c == 0 else normal, slot + c)
                if c == 0:
                    room.row[normal, 0] = bound - bend / h if h > 0.0 else bound
                point_row(work, body, at, direction, room.J, rows - 1)
    return rows


@njit(**INNER)
def limit_of(tree: Tree, scene: Scene, frames: Array, l: int) -> tuple[float, Vector]:
    """A limit's value, and its derivative by the tangent vector of its joint."""
    j = scene.limited[l]
    turn, _, _ = exp_and_factors(triple(frames, j, W))
    local = product(four(tree.bones, j, MEAN), turn)
    value, slope = limit(scene.choices[KIND], local, four(scene.middles, l, 0), scene.parameters[l])
    return value, row_times(slope, read(frames, j, D))


@njit(**INNER)
def limits(
    tree: Tree, work: Work, scene: Scene, room: Solve, first: int, slot: int, again: bool, h: float
) -> int:
    """Rows of joint limits; returns how many rows there are then. All as in :func:`contacts`."""
    directions, rows, J, z, size = tree.directions, first, room.J, room.vectors, work.M.shape[0]
    for l in range(scene.limited.shape[0]):
        j = scene.limited[l]
        if tree.parents[j, 1] != j or rows == J.shape[0]:
            continue
        value, slope = limit_of(tree, scene, work.frames, l)
        bound, bend = value if h == 0.0 else value / h if value < 0.0 else min(0.5 * value / h, FASTEST), 0.0
        if again:
            end, _ = limit_of(tree, scene, room.frames, l)
            bend = min(max(end - value - h * dot(slope, triple(work.frames, j, SPIN)), -0.5), 0.5)
            if room.mark[slot + l] > 0:
                row = room.mark[slot + l] - 1
                off = room.row[row, 3] + bend / h - room.row[row, 0]
                room.row[row, 0] += off
                if room.row[row, 2] > 0.0 or off > 0.0:
                    z[GIVEN, size] = max(z[GIVEN, size], 0.1 * abs(h * off))
                continue
            if end < 0.0:
                continue
            z[GIVEN, size] = NEAR
        elif value < -scene.numbers[MARGIN]:
            continue
        rows = add_row(room, rows, bound, PUSHES, slot + l)
        if again:
            room.row[rows - 1, 0] += bend / h
        room.mark[slot + l] = rows
        s, t, u = slope
        for a in range(directions.shape[2]):
            J[rows - 1, 6 + a] = -s * directions[j, 0, a] - t * directions[j, 1, a] - u * directions[j, 2, a]
    return rows


@njit(**INNER)
def pins(
    tree: Tree, work: Work, scene: Scene, room: Solve, R: Matrix, x: Vector, first: int, slot: int, h: float
) -> int:
    """Rows of points that are held, along the world's axes; returns how many rows there are then."""
    rows = first
    for i in range(scene.pins.shape[0]):
        j = int(scene.pins[i, 0])
        at = point_at(work.frames, j, scene.pins, i, 1)
        off = minus(plus(x, times(R, at)), triple(scene.pins, i, 4))
        for c in range(3):
            error = off[0] if c == 0 else off[1] if c == 1 else off[2]
            bound = -error
            if h > 0.0:
                bound = min(max(-scene.numbers[DRIFT] * error / h, -FASTEST), FASTEST)
            rows = add_row(room, rows, bound, HOLDS, slot + 3 * i + c)
            point_row(
                work, tree.parents[j, 1], at, R[0] if c == 0 else R[1] if c == 1 else R[2], room.J, rows - 1
            )
    return rows


@njit(**INNER)
def hits(
    tree: Tree, work: Work, scene: Scene, room: Solve, R: Matrix, x: Vector, balls: Array, i: int, first: int,
    h: float,
) -> int:  # fmt: skip
    """Rows of balls with bones and planes; returns how many rows there are then."""
    frames, bones, size, rows = work.frames, scene.bones, work.M.shape[0], first
    for b in range(scene.balls.shape[0]):
        radius, bounce = scene.balls[b, 1], scene.balls[b, 2]
        world = (balls[i, b, 0], balls[i, b, 1], balls[i, b, 2])
        moving = (balls[i, b, 3], balls[i, b, 4], balls[i, b, 5])
        here, velocity = row_times(minus(world, x), R), row_times(moving, R)
        for k in range(bones.shape[0] + scene.planes.shape[0]):
            body, at = -1, here
            if k < bones.shape[0]:
                j = int(bones[k, 0])
                body, start = tree.parents[j, 1], point_at(frames, j, bones, k, 1)
                along, away = minus(point_at(frames, j, bones, k, 4), start), minus(here, start)
                share = min(max(dot(away, along) / max(dot(along, along), 1e-12), 0.0), 1.0)
                away = (away[0] - share * along[0], away[1] - share * along[1], away[2] - share * along[2])
                distance = max(math.sqrt(dot(away, away)), 1e-9)
                n = (away[0] / distance, away[1] / distance, away[2] / distance)
                # On the line through the ball's centre, so that the ball does not spin.
                at = (here[0] - radius * n[0], here[1] - radius * n[1], here[2] - radius * n[2])
                gap = distance - radius - bones[k, 7]
                speed = dot(n, minus(velocity, speed_at(frames, body, at)))
            else:
                plane = k - bones.shape[0]
                n = row_times(triple(scene.planes, plane, 0), R)
                gap = dot(triple(scene.planes, plane, 0), world) - scene.planes[plane, 3] - radius
                speed = dot(n, velocity)
            if gap > NEAR + 2.0 * h * abs(speed):
                continue
            rows = add_row(room, rows, bound_of(scene, gap, speed, bounce, h), PUSHES, -1)
            if body >= 0:
                point_row(work, body, at, (-n[0], -n[1], -n[2]), room.J, rows - 1)
            put(times(R, n), room.J, rows - 1, size + 3 * b)
    return rows


@njit(**INNER)
def finish(work: Work, scene: Scene, room: Solve, kept: Array, i: int, first: int, rows: int) -> None:
    """Rows `first` to `rows` into the coordinates in which the mass matrix is the identity."""
    J, U, data = room.J, work.U, room.row
    size = U.shape[0]
    for r in range(first, rows):
        for c in range(6):
            room.root[r, c] = J[r, c]
        forward(U, size, J, r)
        total = 0.0
        for b in range(scene.balls.shape[0]):
            scale = 1.0 / math.sqrt(scene.balls[b, 0])
            for c in range(3):
                J[r, size + 3 * b + c] *= scale
        for a in range(J.shape[1]):
            total += J[r, a] * J[r, a]
        data[r, 1] = max(total * (1.0 + 1e-9), 1e-12)
        slot = room.kind[r, 1]
        data[r, 2] = kept[i, slot] if slot >= 0 else 0.0


@njit(**INNER)
def damped(work: Work, scene: Scene, room: Solve, rate: float) -> bool:
    """U ← factor of the mass matrix with damping of the pose; the root is never damped."""
    M, U, T, size, damping = work.M, work.U, work.T, work.M.shape[0], room.vectors
    h = scene.numbers[STEP]
    for a in range(size):
        for b in range(a, size):
            U[a, b] = M[a, b]
        damping[DAMPED, a] = 0.0
        if a >= 6:
            if scene.choices[DAMPING] == UNIFORM:
                damping[DAMPED, a] = rate
            elif scene.choices[DAMPING] == ENERGETIC:
                damping[DAMPED, a] = h * rate * M[a, a]
            else:
                for e in range(scene.effectors.shape[0]):
                    j = scene.effectors[e]
                    spin = (T[j, 0, a - 6], T[j, 1, a - 6], T[j, 2, a - 6])
                    slide = (T[j, 3, a - 6], T[j, 4, a - 6], T[j, 5, a - 6])
                    slide = plus(slide, cross(spin, triple(work.frames, j, X)))
                    damping[DAMPED, a] += h * rate * dot(slide, slide)
        U[a, a] += damping[DAMPED, a]
    return factor(U, size)


@njit(**INNER)
def moved(h: float, group: int, state: State, i: int, v: Array) -> None:
    """A configuration along the velocity v[NEW]; on SO(3) × R³ linear parts of the state turn with it."""
    R = matrix(four(state.q, i, 0))
    turn = (h * v[NEW, 0], h * v[NEW, 1], h * v[NEW, 2])
    spun, first, second = exp_and_factors(turn)
    slid = (h * v[NEW, 3], h * v[NEW, 4], h * v[NEW, 5])
    if group == 0:
        slid = times(hat_polynomial(turn, first, second), slid)
    else:
        back = matrix(spun)
        put(row_times(triple(state.v, i, 3), back), state.v, i, 3)
        put(row_times(triple(state.p, i, 3), back), state.p, i, 3)
    put(plus(triple(state.x, i, 0), times(R, slid)), state.x, i, 0)
    turned = normalise(product(four(state.q, i, 0), spun))
    state.q[i, 0], state.q[i, 1], state.q[i, 2], state.q[i, 3] = turned
    for a in range(state.alpha.shape[1]):
        state.alpha[i, a] += h * v[NEW, 6 + a]


@njit(f"void({TABLE}, {TABLE}, int64, int64)", **INNER)
def mass_times(M: Array, z: Array, of: int, into: int) -> None:
    """z[into] ← M z[of]."""
    for a in range(M.shape[0]):
        total = 0.0
        for b in range(M.shape[0]):
            total += M[a, b] * z[of, b]
        z[into, a] = total


@njit(**INNER)
def exact_root(work: Work, scene: Scene, room: Solve, rows: int) -> bool:
    """Solve the six equations of the root to rounding, for its new velocity: momentum is then exact."""
    h, group, M, U, z = scene.numbers[STEP], scene.choices[GROUP], work.M, work.U, room.vectors
    for c in range(6):
        z[RHS, c] += z[GIVEN, c] + (h * z[FORCE, c] if group == 1 else 0.0)
    for i in range(rows):
        for c in range(6):
            z[RHS, c] += room.root[i, c] * room.row[i, 2]
    largest = 1.0
    for c in range(6):
        largest = max(largest, abs(z[RHS, c]))
        for a in range(c, 6):
            U[c, a] = M[c, a]
    if not factor(U, 6):
        return False
    for _ in range(30):
        for c in range(6):
            total = 0.0
            for a in range(M.shape[0]):
                total += M[c, a] * z[NEW, a]
            z[FORCE, c] = total
        transported(scene.series, 2, group, z, NEW, h, z, FORCE)
        off = 0.0
        for c in range(6):
            z[FORCE, c] -= z[RHS, c]
            off = max(off, abs(z[FORCE, c]))
        if off < 2e-15 * largest:
            break
        forward(U, 6, z, FORCE)
        backward(U, 6, z, FORCE)
        for c in range(6):
            z[NEW, c] -= z[FORCE, c]
    return True


@njit(**FAST)
def step(
    tree: Tree, work: Work, scene: Scene, room: Solve, state: State, i: int, pushes: Array, number: int,
    record: Array, settling: bool,
) -> int:  # fmt: skip
    """One step of character i in place; the number of rows that bound it, or -1 if it failed.

    Args:
        pushes: `(pushes, 9)`: number of the step, of the character, joint, point in the joint's frame,
            impulse in the world.
        record: `(characters, steps, columns)`; `record[i, number]` gets kinetic and potential energy, linear
            and angular momentum about the world's origin, and the push of the planes.
        settling: move the configuration instead, in the metric of the mass, to where its contacts, limits and
            pins hold.
    """
    h, group, method = scene.numbers[STEP], scene.choices[GROUP], scene.choices[METHOD]
    z, M, U, size, width = room.vectors, work.M, work.U, work.M.shape[0], room.J.shape[1]
    sweeps, friction, tolerance = scene.choices[SWEEPS], scene.numbers[FRICTION], scene.numbers[TOLERANCE]
    R, origin, series = matrix(four(state.q, i, 0)), triple(state.x, i, 0), scene.series
    place(tree, state.alpha, i, work)
    mass_matrix(tree, work)
    if not damped(work, scene, room, 0.0 if settling else scene.numbers[RATE]):
        return -1
    # Forces that do not depend on the new velocity: gravity accelerates the root, and all with it.
    pull = row_times((scene.gravity[0], scene.gravity[1], scene.gravity[2]), R)
    for a in range(size):
        z[GIVEN, a] = h * (M[a, 3] * pull[0] + M[a, 4] * pull[1] + M[a, 5] * pull[2])
        z[RHS, a], z[NEW, a] = state.p[i, a], state.v[i, a]
    for k in range(pushes.shape[0]):
        if pushes[k, 0] == number and pushes[k, 1] == i and not settling:
            j = int(pushes[k, 2])
            at = point_at(work.frames, j, pushes, k, 3)
            point_row(work, tree.parents[j, 1], at, row_times(triple(pushes, k, 6), R), z, LEFT)
            for a in range(size):
                z[GIVEN, a] += z[LEFT, a]
    quadratic_forces(tree, work, z)
    for s in range(room.mark.shape[0]):
        room.mark[s] = 0
    pressed = 3 * scene.planes.shape[0] * scene.carriers.shape[0]
    variational, rows, change = method <= EXACT, 0, 1.0
    # A start has no momentum of a step before it, but that of its velocity.
    begins = math.isnan(z[RHS, 0])
    if begins:
        mass_times(M, z, NEW, RHS)
    if method != NAIVE and not (begins and variational):
        transported(series, 2, group, z, NEW, -h, z, RHS)
    # Where a contact bends much in the second iteration, up to four more find its bound.
    iterations = 60 if method == EXACT else 6 if variational else 1
    for iteration in range(1 if settling else iterations):
        if iteration > 0:
            quadratic_forces(tree, work, z)
        first, again, time = rows, iteration > 0, 0.0 if settling else h
        z[GIVEN, size] = 0.0
        if iteration > 0 and (scene.planes.shape[0] > 0 or scene.limited.shape[0] > 0):
            for a in range(room.ahead.shape[1]):
                room.ahead[0, a] = state.alpha[i, a] + h * z[NEW, 6 + a]
            place(tree, room.ahead, 0, Work(room.frames, work.S, work.T, work.G, work.M, U))
        rows = contacts(tree, work, scene, room, R, origin, first, again, time)
        rows = limits(tree, work, scene, room, rows, pressed, again, time)
        if iteration == 0:
            rows = pins(tree, work, scene, room, R, origin, rows, pressed + scene.limited.shape[0], time)
            if not settling:
                rows = hits(tree, work, scene, room, R, origin, state.balls, i, rows, h)
        finish(work, scene, room, state.kept, i, first, rows)
        for a in range(width):
            z[LEFT, a] = 0.0
        if settling:
            for r in range(rows):
                room.row[r, 2] = 0.0
        else:
            if group == 1:
                linear = triple(work.frames, 0, MOMENTUM + 3)
                put(plus(triple(z, FORCE, 0), cross(linear, triple(z, NEW, 3))), z, FORCE, 0)
            # What is missing in J_l(h v)⁻ᵀ M v = rhs + h force, or in M v = rhs itself.
            mass_times(M, z, NEW, LEFT)
            if variational:
                transported(series, 2, group, z, NEW, h, z, LEFT)
                for a in range(size):
                    z[LEFT, a] = z[RHS, a] + z[GIVEN, a] + h * z[FORCE, a] - z[LEFT, a]
            else:
                for a in range(size):
                    z[RHS, a] += z[GIVEN, a] + h * z[FORCE, a]
                if method == CONSTANT:
                    transported(series, 1, group, z, NEW, h, z, RHS)
                for a in range(size):
                    z[LEFT, a] = z[RHS, a] - z[LEFT, a]
            for a in range(size):
                z[LEFT, a] -= z[DAMPED, a] * z[NEW, a]
            forward(U, size, z, LEFT)
            for a in range(size):
                for b in range(a, size):
                    z[LEFT, a] += U[a, b] * z[NEW, b]
            for b in range(scene.balls.shape[0]):
                for c in range(3):
                    speed = state.balls[i, b, 3 + c] + h * scene.gravity[c]
                    z[LEFT, size + 3 * b + c] = math.sqrt(scene.balls[b, 0]) * speed
        largest = gauss_seidel(room, rows, friction, sweeps, tolerance)
        z[GIVEN, size] = max(z[GIVEN, size], h * largest)
        backward(U, size, z, LEFT)
        change = 0.0
        for a in range(size):
            change = max(change, abs(z[NEW, a] - z[LEFT, a]))
            z[NEW, a] = z[LEFT, a]
        if iteration > 0 and (change < 1e-13 or (method == VARIATIONAL and z[GIVEN, size] < 2e-4)):
            break
    if settling:
        largest = 0.0
        for a in range(size):
            largest = max(largest, abs(z[NEW, a]))
        moved(min(1.0, 0.5 / max(largest, 1e-12)), 0 * group, state, i, z)
        return rows if largest > 1e-9 else 0
    if variational and not exact_root(work, scene, room, rows):
        return -1
    mass_times(M, z, NEW, FORCE)
    kinetic = 0.0
    for a in range(size):
        state.v[i, a], state.p[i, a] = z[NEW, a], z[FORCE, a]
        kinetic += 0.5 * z[NEW, a] * z[FORCE, a]
    if variational:
        transported(series, 2, group, z, NEW, h, z, FORCE)
    linear = times(R, triple(z, FORCE, 3))
    angular = plus(times(R, triple(z, FORCE, 0)), cross(origin, linear))
    centre = plus(origin, times(R, (M[4, 2] / M[3, 3], M[5, 0] / M[3, 3], M[3, 1] / M[3, 3])))
    record[i, number, 0] = kinetic
    record[i, number, 1] = -M[3, 3] * dot(centre, (scene.gravity[0], scene.gravity[1], scene.gravity[2]))
    for c in range(3):
        record[i, number, 2 + c] = linear[0] if c == 0 else linear[1] if c == 1 else linear[2]
        record[i, number, 5 + c] = angular[0] if c == 0 else angular[1] if c == 1 else angular[2]
    record[i, number, 8] = 0.0
    for s in range(state.kept.shape[1]):
        state.kept[i, s] = 0.0
    for r in range(rows):
        slot = room.kind[r, 1]
        if slot >= 0:
            state.kept[i, slot] = room.row[r, 2]
            if slot < pressed and room.kind[r, 0] == PUSHES:
                record[i, number, 8] += room.row[r, 2]
    moved(h, group, state, i, z)
    for b in range(scene.balls.shape[0]):
        for c in range(3):
            speed = z[LEFT, size + 3 * b + c] / math.sqrt(scene.balls[b, 0])
            state.balls[i, b, 3 + c] = speed
            state.balls[i, b, c] += h * speed
    turned = z[NEW, 0] ** 2 + z[NEW, 1] ** 2 + z[NEW, 2] ** 2
    return rows if kinetic < 1e12 and h * h * turned < 2.46 else -1


@njit(**FAST)
def advance(
    tree: Tree, work: Work, scene: Scene, room: Solve, state: State, pushes: Array, first: int, last: int,
    settling: bool, record: Array, multipliers: Array,
) -> int:  # fmt: skip
    """Many steps of characters `first` to `last` in place; how many steps all of them did.

    Args:
        record: `(characters, steps, 16 + modes + 6 balls)`: what each step found, then the configuration
            and the balls after it.
        multipliers: `(characters, steps, slots)`.
    """
    modes, done = state.alpha.shape[1], record.shape[1]
    for i in range(first, last):
        for n in range(record.shape[1]):
            bound = step(tree, work, scene, room, state, i, pushes, n, record, settling)
            if bound < 0 or (settling and bound == 0):
                done = min(done, n)
                break
            # Where contacts bend too much for their bounds to be found, places are corrected afterwards.
            bent = room.vectors[GIVEN, state.v.shape[1]] > 1e-3 and record[i, n, 8] > 0.0
            if not settling and (bent or scene.choices[STABILISE] == 1):
                step(tree, work, scene, room, state, i, pushes, n, record, not settling)
            for c in range(4):
                record[i, n, 9 + c] = state.q[i, c]
            for c in range(3):
                record[i, n, 13 + c] = state.x[i, c]
            for a in range(modes):
                record[i, n, 16 + a] = state.alpha[i, a]
            for b in range(state.balls.shape[1]):
                for c in range(6):
                    record[i, n, 16 + modes + 6 * b + c] = state.balls[i, b, c]
            for s in range(multipliers.shape[2]):
                multipliers[i, n, s] = state.kept[i, s]
    return done
