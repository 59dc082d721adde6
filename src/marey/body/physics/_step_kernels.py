"""Compiled time steps: integrators on the group of configurations, contacts and limits by Gauss–Seidel.

Unknowns are the new velocities of a character and of the balls around it. Constraints are rows `J v ≥ b`,
kept as `J U⁻¹` with `UᵀU` the damped mass matrix: in these coordinates the metric of the kinetic energy is
the identity. Sweeps of Gauss–Seidel on the rows' own matrix find which rows act; the equations of these are
then solved directly. Transports of momenta along the root's step are power series of the transposed `ad` of
its twist, whose terms fall by (angle / 2π)².

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from marey._arrays import Array, Integers
from marey._compiling import njit
from marey.body.limits._kernels import limit
from marey.body.physics._kernels import (
    BLOCKS,
    DAMPED,
    FAST,
    FORCE,
    GIVEN,
    INNER,
    LEFT,
    MEAN,
    MOMENTUM,
    NEW,
    NUMBERS,
    PAIRS,
    RHS,
    SPIN,
    TABLE,
    TWIST,
    VECTOR,
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
    put,
    quadratic_forces,
    read,
    scaled,
    times,
    triple,
)
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

MATRIX = f"UniTuple({VECTOR}, 3)"
# Which integrator, which damping of the pose coordinates, which group the root moves on.
VARIATIONAL, EXACT, CONSTANT, IDENTITY, NAIVE = range(5)
UNIFORM, KINEMATIC, ENERGETIC = range(3)
CENTRE, RIGID, APART = range(3)
# Columns of `Scene.numbers` and `Scene.choices`.
STEP, RATE, FRICTION, RESTITUTION, MARGIN, TOLERANCE, DRIFT, GRAVITY = range(8)
METHOD, DAMPING, GROUP, KIND, SWEEPS, STABILISE = range(6)
# What a row is, if not the friction of the normal row of this number: pushes only, or holds both ways.
PUSHES, HOLDS = -1, -2
# Columns of `Solve.kind`: see above; where the multiplier is kept for the next step, -1 if nowhere; the
# joint, -1 if none; the ball, or that there is none, or that the row is of a limit.
SORT, SLOT, BODY, BALL = range(4)
NONE, LIMIT = -1, -2
# Rows of `Solve.line`: multiplier, speed beyond the bound, bound, bound without what gaps differ by, change,
# most friction.
PUSH, SPEED, BOUND, BASE, CHANGE, MOST = range(6)
# Columns of `Solve.spot`: point and direction in the root's frame.
AT, ALONG = 0, 3
# Metres and metres per second: gaps that always count as contacts, speeds below which nothing bounces, and
# the fastest correction of drift.
NEAR, REST, FASTEST = 0.01, 0.3, 2.0
# Added to the diagonal of the rows' matrix, relative: rows of corners of one foot depend on each other.
SOFTNESS = 1e-10
# After so many sweeps bounds of friction are kept until the rest is solved, and then moved by this share.
COUPLED, MOVED = 12, 0.5


class Scene(NamedTuple):
    """What a character meets, and how it is stepped.

    Args:
        numbers, choices: see the columns above.
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
        vectors: `(6, width + 1)`.
        J: `(width, rows)`, columns are rows in the coordinates in which the mass matrix is the identity.
        A, B: `(rows, rows)`, `(rows, rows + 1)`: A = J M⁻¹ Jᵀ, and room for equations.
        line, spot, kind: `(6, rows)`, `(rows, 6)`, `(rows, 4)`: see above.
        mark: `(slots + 1,)`, whether a contact has rows, and which; the last is how many rows there are.
        order: `(rows,)`, which equation a row is.
        ahead, frames: `(1, modes)`, `(joints, …)`: pose and frames at the end of the step.
    """

    vectors: Array
    J: Array
    A: Array
    B: Array
    line: Array
    spot: Array
    kind: Integers
    mark: Integers
    order: Integers
    ahead: Array
    frames: Array


class State(NamedTuple):
    """States, changed in place.

    Args:
        q, x, alpha: `(characters, 4)`, `(characters, 3)`, `(characters, modes)`: configurations.
        v, p: `(characters, 6 + modes)`, velocities of the root joint and the coordinates, and momenta of the
            group's velocities, in the roots' frames.
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

    Unless the group is SE(3), only the angular velocity counts, and linear momenta stay.
    """
    w, u = (
        (scale * v[i, 0], scale * v[i, 1], scale * v[i, 2]),
        (scale * v[i, 3], scale * v[i, 4], scale * v[i, 5]),
    )
    a, b = triple(y, k, 0), triple(y, k, 3)
    if group != RIGID:
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
    if group == RIGID:
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


@njit(
    f"float64({TABLE}, {TABLE}, {TABLE}, {TABLE}, {PAIRS}, {NUMBERS}, {TABLE}, int64, float64, int64, "
    "float64)",
    **INNER,
)  # fmt: skip
def project(
    J: Array, A: Array, B: Array, line: Array, kind: Integers, order: Integers, z: Array, rows: int,
    friction: float, sweeps: int, tolerance: float,
) -> float:  # fmt: skip
    """Project the velocity `z[LEFT]`, in the rows' coordinates, on `J z ≥ b` and friction's bounds.

    Starts with the multipliers in `line`; ends when no row's velocity changes by more than the tolerance in
    a sweep. Returns what changed most in the last one, m/s.
    """
    largest = 0.0
    for r in range(rows):
        line[SPEED, r] = -line[BOUND, r]
    for k in range(J.shape[0]):
        value = z[LEFT, k]
        for r in range(rows):
            line[SPEED, r] += value * J[k, r]
    for q in range(rows):
        value = line[PUSH, q]
        if value != 0.0:
            for r in range(rows):
                line[SPEED, r] += value * A[q, r]
    for sweep in range(sweeps):
        kept, largest = sweep >= COUPLED, 0.0
        for r in range(rows):
            old = line[PUSH, r]
            if kind[r, SORT] >= 0 and sweep <= COUPLED:
                line[MOST, r] = friction * line[PUSH, kind[r, SORT]]
            new = bounded(line, kind, r, old - line[SPEED, r] / A[r, r])
            change = new - old
            if change != 0.0:
                line[PUSH, r] = new
                for q in range(rows):
                    line[SPEED, q] += change * A[r, q]
                largest = max(largest, abs(change) * A[r, r])
        if largest < tolerance and kept:
            for r in range(rows):
                if kind[r, SORT] >= 0:
                    off = friction * line[PUSH, kind[r, SORT]] - line[MOST, r]
                    if abs(line[PUSH, r]) >= line[MOST, r]:
                        largest = max(largest, abs(off) * A[r, r])
                    line[MOST, r] += MOVED * off
        if largest < tolerance:
            break
        if sweep % 2 == 1:
            for _ in range(rows):
                if solve_acting(A, B, line, kind, order, rows, 0.0 if kept else friction) == 1.0:
                    break
    for k in range(J.shape[0]):
        total = 0.0
        for r in range(rows):
            total += J[k, r] * line[PUSH, r]
        z[LEFT, k] += total
    return largest


@njit(f"float64({TABLE}, {PAIRS}, int64, float64)", **INNER)
def bounded(line: Array, kind: Integers, r: int, value: float) -> float:
    """A multiplier within the bounds of its row."""
    sort, most = kind[r, SORT], line[MOST, r]
    if sort == HOLDS:
        return value
    return max(value, 0.0) if sort == PUSHES else min(max(value, -most), most)


@njit(f"float64({TABLE}, {TABLE}, {TABLE}, {PAIRS}, {NUMBERS}, int64, float64)", **INNER)
def solve_acting(
    A: Array, B: Array, line: Array, kind: Integers, order: Integers, rows: int, friction: float
) -> float:
    """Solve the equations of rows that are not at a bound, up to the first new bound.

    Friction that slides stays at its bound, which moves with the normal multiplier by `friction`, or not at
    all if that is 0. Returns the share of the step to the solution that was gone, 1 for all.
    """
    count = 0
    for r in range(rows):
        sort, value = kind[r, SORT], line[PUSH, r]
        acts = sort == HOLDS or (sort == PUSHES and value > 0.0)
        if sort >= 0:
            acts = abs(value) < line[MOST, r]
        order[r] = count if acts else -1
        count += acts
    for r in range(rows):
        i = order[r]
        if i >= 0:
            for q in range(rows):
                j = order[q]
                if j >= 0:
                    B[i, j] = A[r, q]
                elif kind[q, SORT] >= 0 and order[kind[q, SORT]] >= 0 and line[PUSH, q] != 0.0:
                    # Its normal row comes before it, so that entry is there already.
                    B[i, order[kind[q, SORT]]] += math.copysign(friction, line[PUSH, q]) * A[r, q]
            B[i, count] = -line[SPEED, r]
    for k in range(count):
        if not abs(B[k, k]) > 0.0:
            return 1.0
        for i in range(k + 1, count):
            factor = B[i, k] / B[k, k]
            if factor != 0.0:
                for j in range(k + 1, count + 1):
                    B[i, j] -= factor * B[k, j]
    for k in range(count - 1, -1, -1):
        total = B[k, count]
        for j in range(k + 1, count):
            total -= B[k, j] * B[j, count]
        B[k, count] = total / B[k, k]
    share = 1.0
    for r in range(rows):
        sort, value, change = kind[r, SORT], line[PUSH, r], 0.0
        if order[r] >= 0:
            change = B[order[r], count]
            if sort == PUSHES and value + share * change < 0.0:
                share = -value / change
        if sort >= 0:
            opens, most = friction * line[CHANGE, sort], line[MOST, r]
            if order[r] < 0:
                change = math.copysign(opens, opens * value) if value != 0.0 else 0.0
            elif abs(value + share * change) > most + share * opens:
                side = math.copysign(1.0, value + share * change)
                share = (most - side * value) / (side * change - opens)
        line[CHANGE, r] = change
    for r in range(rows):
        if kind[r, SORT] >= 0 and friction > 0.0:
            line[MOST, r] = friction * line[PUSH, kind[r, SORT]]
        change = bounded(line, kind, r, line[PUSH, r] + share * line[CHANGE, r]) - line[PUSH, r]
        if change != 0.0:
            line[PUSH, r] += change
            for q in range(rows):
                line[SPEED, q] += change * A[r, q]
    return share


@njit(f"int64({TABLE}, {PAIRS}, {TABLE}, int64, float64, int64, int64, int64, {VECTOR}, {VECTOR})", **INNER)
def add_row(
    line: Array, kind: Integers, spot: Array, row: int, bound: float, sort: int, slot: int, body: int,
    at: Vector, along: Vector,
) -> int:  # fmt: skip
    """Describe a row; returns the number of rows then."""
    line[PUSH, row], line[BOUND, row], line[BASE, row] = 0.0, bound, bound
    kind[row, SORT], kind[row, SLOT], kind[row, BODY], kind[row, BALL] = sort, slot, body, NONE
    put(at, spot, row, AT)
    put(along, spot, row, ALONG)
    return row + 1


@njit(**INNER)
def bend_row(line: Array, z: Array, size: int, row: int, bound: float, h: float) -> None:
    """A new bound of a row that is there; `z[GIVEN, size]` keeps the largest change that counts, metres."""
    off = bound - line[BOUND, row]
    line[BOUND, row] = bound
    if line[PUSH, row] > 0.0 or off > 0.0:
        z[GIVEN, size] = max(z[GIVEN, size], abs(h * off))


@njit(f"{VECTOR}({TABLE}, int64, {VECTOR})", **INNER)
def speed_at(frames: Array, j: int, point: Vector) -> Vector:
    """Velocity of a point on a body whose twist is known."""
    arm = minus(point, triple(frames, j, X))
    return plus(triple(frames, j, TWIST + 3), cross(triple(frames, j, TWIST), arm))


@njit(f"{VECTOR}({TABLE}, int64, {TABLE}, int64, int64)", **INNER)
def point_at(frames: Array, j: int, points: Array, i: int, at: int) -> Vector:
    """A joint's point in the root's frame."""
    return plus(triple(frames, j, X), times(read(frames, j, Q), triple(points, i, at)))


@njit(f"float64({NUMBERS.replace('int', 'float')}, float64, float64, float64, float64)", **INNER)
def bound_of(numbers: Array, gap: float, speed: float, bounce: float, h: float) -> float:
    """The least speed at which a gap may open: it may close but not more, and opens slowly if below zero."""
    bound = -gap / h if gap > 0.0 else min(-numbers[DRIFT] * gap / h, FASTEST)
    if bounce > 0.0 and speed < -REST and gap + h * speed < 0.0:
        bound = max(bound, -bounce * speed)
    return bound


@njit(**INNER)
def contacts(
    numbers: Array, planes: Array, carriers: Integers, spheres: Array, parents: Integers, frames: Array,
    ahead: Array, z: Array, line: Array, kind: Integers, spot: Array, mark: Integers, R: Matrix, x: Vector,
    turned: Matrix, moved: Vector, first: int, again: bool, h: float,
) -> int:  # fmt: skip
    """Rows of contacts with planes that are not there yet; returns how many rows there are then.

    Twists of the bodies must be known: a contact counts if its gap may close within a step. With `again`
    there is a velocity that keeps the rows so far, and gaps at the end of the step are found as well: what
    they differ from those of the rows is taken off the bounds, and points that would be behind a plane get
    rows; `z[GIVEN, -1]` is then the largest such difference, metres.
    With `h` 0 the rows are for places, not for velocities.

    Args:
        turned, moved: the root's step, in its frame before.
    """
    rows, count, last = first, carriers.shape[0], z.shape[1] - 1
    for k in range(planes.shape[0]):
        # The plane in the root's frame.
        n = row_times(triple(planes, k, 0), R)
        offset = planes[k, 3] - dot(triple(planes, k, 0), x)
        for s in range(count):
            slot = 3 * (k * count + s)
            j, radius = carriers[s], spheres[s, 3]
            at = point_at(frames, j, spheres, s, 0)
            gap = dot(n, at) - offset - radius
            if gap > 0.5 or (h == 0.0 and gap > NEAR):
                continue
            bound, bend = -gap, 0.0
            if h > 0.0:
                speed = dot(n, speed_at(frames, parents[j, 1], at))
                if again:
                    end = dot(n, plus(moved, times(turned, point_at(ahead, j, spheres, s, 0))))
                    bend = min(max(end - offset - radius - gap - h * speed, -FASTEST * h), NEAR)
                    if mark[slot] > 0:
                        row = mark[slot] - 1
                        bend_row(line, z, last, row, line[BASE, row] - bend / h, h)
                        continue
                    if gap + h * speed + bend > 0.0:
                        continue
                    z[GIVEN, last] = NEAR
                elif gap > NEAR + 2.0 * h * abs(speed):
                    continue
                bound = bound_of(numbers, gap, speed, numbers[RESTITUTION], h)
            if rows + 3 > kind.shape[0]:
                continue
            at = minus(at, scaled(radius, n))
            normal, mark[slot] = rows, rows + 1
            rows = add_row(line, kind, spot, rows, bound, PUSHES, slot, parents[j, 1], at, n)
            if h > 0.0:
                line[BOUND, normal] -= bend / h
            for c in range(1, 3 if numbers[FRICTION] > 0.0 and h > 0.0 else 1):
                along = row_times(triple(planes, k, 1 + 3 * c), R)
                rows = add_row(line, kind, spot, rows, 0.0, normal, slot + c, parents[j, 1], at, along)
    return rows


@njit(f"Tuple((float64, {VECTOR}))({TABLE}, {NUMBERS}, {TABLE}, {TABLE}, {TABLE}, int64, int64)", **INNER)
def limit_of(
    bones: Array, limited: Integers, middles: Array, parameters: Array, frames: Array, which: int, l: int
) -> tuple[float, Vector]:
    """A limit's value, and its derivative by the tangent vector of its joint."""
    j = limited[l]
    turn, _, _ = exp_and_factors(triple(frames, j, W))
    local = product(four(bones, j, MEAN), turn)
    value, slope = limit(which, local, four(middles, l, 0), parameters[l])
    return value, row_times(slope, read(frames, j, D))


@njit(**INNER)
def limits(
    which: int, margin: float, limited: Integers, middles: Array, parameters: Array, parents: Integers,
    bones: Array, frames: Array, ahead: Array, z: Array, line: Array, kind: Integers, spot: Array,
    mark: Integers, first: int, slot: int, again: bool, h: float,
) -> int:  # fmt: skip
    """Rows of joint limits; returns how many rows there are then. All as in :func:`contacts`."""
    rows, last = first, z.shape[1] - 1
    for l in range(limited.shape[0]):
        j = limited[l]
        if parents[j, 1] != j or rows == kind.shape[0]:
            continue
        value, slope = limit_of(bones, limited, middles, parameters, frames, which, l)
        bound = value if h == 0.0 else value / h if value < 0.0 else min(0.5 * value / h, FASTEST)
        if again:
            end, _ = limit_of(bones, limited, middles, parameters, ahead, which, l)
            bend = min(max(end - value - h * dot(slope, triple(frames, j, SPIN)), -0.5), 0.5) / h
            if mark[slot + l] > 0:
                row = mark[slot + l] - 1
                bend_row(line, z, last, row, line[BASE, row] + bend, 0.1 * h)
                continue
            if end < 0.0:
                continue
            z[GIVEN, last], bound = NEAR, bound + bend
        elif value < -margin:
            continue
        rows = add_row(line, kind, spot, rows, bound, PUSHES, slot + l, j, slope, scaled(-1.0, slope))
        kind[rows - 1, BALL], mark[slot + l] = LIMIT, rows
    return rows


@njit(**INNER)
def pins(
    drift: float, held: Array, parents: Integers, frames: Array, line: Array, kind: Integers, spot: Array,
    R: Matrix, x: Vector, first: int, slot: int, h: float,
) -> int:  # fmt: skip
    """Rows of points that are held, along the world's axes; returns how many rows there are then."""
    rows = first
    for i in range(held.shape[0]):
        j = int(held[i, 0])
        at = point_at(frames, j, held, i, 1)
        off = minus(plus(x, times(R, at)), triple(held, i, 4))
        for c in range(3):
            error = off[0] if c == 0 else off[1] if c == 1 else off[2]
            bound = -error if h == 0.0 else min(max(-drift * error / h, -FASTEST), FASTEST)
            along = R[0] if c == 0 else R[1] if c == 1 else R[2]
            rows = add_row(line, kind, spot, rows, bound, HOLDS, slot + 3 * i + c, parents[j, 1], at, along)
    return rows


@njit(**INNER)
def hits(
    numbers: Array, planes: Array, bones: Array, kinds: Array, balls: Array, i: int, parents: Integers,
    frames: Array, line: Array, kind: Integers, spot: Array, R: Matrix, x: Vector, first: int, h: float,
) -> int:  # fmt: skip
    """Rows of balls with bones and planes; returns how many rows there are then."""
    rows = first
    for b in range(kinds.shape[0]):
        radius, bounce = kinds[b, 1], kinds[b, 2]
        world = (balls[i, b, 0], balls[i, b, 1], balls[i, b, 2])
        velocity = row_times((balls[i, b, 3], balls[i, b, 4], balls[i, b, 5]), R)
        here = row_times(minus(world, x), R)
        for k in range(bones.shape[0] + planes.shape[0]):
            body, at = -1, here
            if k < bones.shape[0]:
                j = int(bones[k, 0])
                body, start = parents[j, 1], point_at(frames, j, bones, k, 1)
                along, away = minus(point_at(frames, j, bones, k, 4), start), minus(here, start)
                share = min(max(dot(away, along) / max(dot(along, along), 1e-12), 0.0), 1.0)
                away = minus(away, scaled(share, along))
                distance = max(math.sqrt(dot(away, away)), 1e-9)
                n = scaled(1.0 / distance, away)
                # On the line through the ball's centre, so that the ball does not spin.
                at = minus(here, scaled(radius, n))
                gap = distance - radius - bones[k, 7]
                speed = dot(n, minus(velocity, speed_at(frames, body, at)))
            else:
                plane = k - bones.shape[0]
                n = row_times(triple(planes, plane, 0), R)
                gap = dot(triple(planes, plane, 0), world) - planes[plane, 3] - radius
                speed = dot(n, velocity)
            if gap < NEAR + 2.0 * h * abs(speed):
                bound = bound_of(numbers, gap, speed, bounce, h)
                rows = add_row(line, kind, spot, rows, bound, PUSHES, -1, body, at, scaled(-1.0, n))
                kind[rows - 1, BALL] = b
    return rows


@njit(**INNER)
def build(
    directions: Array, T: Array, U: Array, kinds: Array, kept: Array, i: int, line: Array, kind: Integers,
    spot: Array, R: Matrix, J: Array, A: Array, first: int, rows: int,
) -> None:  # fmt: skip
    """Rows `first` to `rows` in the coordinates in which the mass matrix is the identity, and J M⁻¹ Jᵀ."""
    size, width = U.shape[0], J.shape[0]
    for r in range(first, rows):
        for k in range(width):
            J[k, r] = 0.0
        at, along, body, ball = triple(spot, r, AT), triple(spot, r, ALONG), kind[r, BODY], kind[r, BALL]
        if ball == LIMIT:
            for a in range(size - 6):
                J[6 + a, r] = (
                    along[0] * directions[body, 0, a]
                    + along[1] * directions[body, 1, a]
                    + along[2] * directions[body, 2, a]
                )
        elif body >= 0:
            turn = cross(at, along)
            for c in range(3):
                J[c, r] = turn[0] if c == 0 else turn[1] if c == 1 else turn[2]
                J[3 + c, r] = spot[r, ALONG + c]
            for a in range(size - 6):
                J[6 + a, r] = (
                    turn[0] * T[body, 0, a] + turn[1] * T[body, 1, a] + turn[2] * T[body, 2, a]
                    + along[0] * T[body, 3, a] + along[1] * T[body, 4, a] + along[2] * T[body, 5, a]
                )  # fmt: skip
        if ball >= 0:
            away = scaled(-1.0 / math.sqrt(kinds[ball, 0]), times(R, along))
            for c in range(3):
                J[size + 3 * ball + c, r] = away[0] if c == 0 else away[1] if c == 1 else away[2]
        if kind[r, SLOT] >= 0:
            line[PUSH, r] = kept[i, kind[r, SLOT]]
        for q in range(rows):
            A[r, q] = 0.0
    for k in range(size):
        inverse = 1.0 / U[k, k]
        for r in range(first, rows):
            J[k, r] *= inverse
        for l in range(k + 1, size):
            factor = U[k, l]
            if factor != 0.0:
                for r in range(first, rows):
                    J[l, r] -= factor * J[k, r]
    for r in range(first, rows):
        for k in range(width):
            value = J[k, r]
            if value != 0.0:
                for q in range(r + 1):
                    A[r, q] += value * J[k, q]
        A[r, r] = max(A[r, r] * (1.0 + SOFTNESS), 1e-12)
        for q in range(r):
            A[q, r] = A[r, q]


@njit(f"boolean({TABLE}, {TABLE}, {BLOCKS}, {TABLE}, {NUMBERS}, {TABLE}, int64, float64, float64)", **INNER)
def damped(
    M: Array, U: Array, T: Array, frames: Array, effectors: Integers, z: Array, kind: int, rate: float,
    h: float,
) -> bool:  # fmt: skip
    """U ← factor of the mass matrix with damping of the pose; the root is never damped."""
    size = M.shape[0]
    for a in range(size):
        for b in range(a, size):
            U[a, b] = M[a, b]
        more = 0.0
        if a >= 6:
            if kind == UNIFORM:
                more = rate
            elif kind == ENERGETIC:
                more = h * rate * M[a, a]
            else:
                for e in range(effectors.shape[0]):
                    j = effectors[e]
                    spin = (T[j, 0, a - 6], T[j, 1, a - 6], T[j, 2, a - 6])
                    slide = (T[j, 3, a - 6], T[j, 4, a - 6], T[j, 5, a - 6])
                    slide = plus(slide, cross(spin, triple(frames, j, X)))
                    more += h * rate * dot(slide, slide)
        z[DAMPED, a] = more
        U[a, a] += more
    return factor(U, size)


@njit(f"void({TABLE}, {TABLE}, int64, int64)", **INNER)
def mass_times(M: Array, z: Array, of: int, into: int) -> None:
    """z[into] ← M z[of]."""
    for a in range(M.shape[0]):
        total = 0.0
        for b in range(M.shape[0]):
            total += M[a, b] * z[of, b]
        z[into, a] = total


@njit(**INNER)
def exact_root(
    M: Array, U: Array, z: Array, spot: Array, kind: Integers, line: Array, series: Array, rows: int,
    group: int, h: float,
) -> bool:  # fmt: skip
    """Solve the six equations of the root to rounding, for its new velocity: momentum is then exact."""
    for r in range(rows):
        if kind[r, BODY] >= 0 and kind[r, BALL] != LIMIT:
            along, value = triple(spot, r, ALONG), line[PUSH, r]
            put(plus(triple(z, RHS, 0), scaled(value, cross(triple(spot, r, AT), along))), z, RHS, 0)
            put(plus(triple(z, RHS, 3), scaled(value, along)), z, RHS, 3)
    largest = 1.0
    for c in range(6):
        z[RHS, c] += z[GIVEN, c] + (h * z[FORCE, c] if group == APART else 0.0)
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
        transported(series, 2, group, z, NEW, h, z, FORCE)
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


@njit(f"Tuple(({MATRIX}, {VECTOR}, UniTuple(float64, 4)))({TABLE}, int64, float64)", **INNER)
def root_step(z: Array, group: int, h: float) -> tuple[Matrix, Vector, tuple[float, float, float, float]]:
    """The root's step by the velocity `z[NEW]`, in its frame before: turn, way of the origin, and turn."""
    turn, slid = scaled(h, triple(z, NEW, 0)), scaled(h, triple(z, NEW, 3))
    spun, first, second = exp_and_factors(turn)
    if group == RIGID:
        slid = times(hat_polynomial(turn, first, second), slid)
    return matrix(spun), slid, spun


@njit(**FAST)
def advance(
    tree: Tree, work: Work, scene: Scene, room: Solve, state: State, pushes: Array, first: int, last: int,
    settling: bool, record: Array, multipliers: Array,
) -> int:  # fmt: skip
    """Many steps of characters `first` to `last` in place; the number of the step that failed, or of all.

    Args:
        pushes: `(pushes, 9)`: number of the step, of the character, joint, point in the joint's frame,
            impulse in the world.
        settling: move the configuration instead, in the metric of the mass, to where its contacts, limits and
            pins hold.
        record: `(characters, steps, 16 + modes + 6 balls)`: kinetic and potential energy, linear and angular
            momentum about the world's origin, and the push of the planes in a step, then the configuration
            and the balls after it.
        multipliers: `(characters, steps, slots)`.
    """
    parents, moving, bones, directions = tree
    frames, S, T, G, M, U = work
    (
        numbers,
        choices,
        planes,
        carriers,
        spheres,
        capsules,
        kinds,
        held,
        effectors,
        limited,
        middles,
        params,
        series,
    ) = scene
    z, J, A, B, line, spot, kind, mark, order, ahead, after = room
    places, alphas, kept, balls = state.x, state.alpha, state.kept, state.balls
    modes, size, steps, slots = alphas.shape[1], M.shape[0], record.shape[1], kept.shape[1]
    group, method, friction, centred = (
        choices[GROUP],
        choices[METHOD],
        numbers[FRICTION],
        choices[GROUP] == CENTRE,
    )
    pressed, variational = 3 * planes.shape[0] * carriers.shape[0], method <= EXACT
    for k in range((last - first) * steps * 2):
        # After each step there may be a correction of places alone.
        i, n, settles = first + k // (2 * steps), k // 2 % steps, settling or k % 2 == 1
        if k % (2 * steps) == 0:
            place(parents, bones, directions, alphas, i, centred, frames, S)
        bent = z[GIVEN, size] > 1e-3 and record[i, n, 8] > 0.0
        if k % 2 == 1 and (settling or not (bent or choices[STABILISE] == 1)):
            continue
        h = 0.0 if settles else numbers[STEP]
        R = matrix(four(state.q, i, 0))
        origin = minus(triple(places, i, 0), times(R, triple(frames, 0, X)))
        mass_matrix(parents, moving, bones, frames, S, T, G, M, centred)
        if not damped(M, U, T, frames, effectors, z, choices[DAMPING], 0.0 if settles else numbers[RATE], h):
            return n
        # Forces that do not depend on the new velocity: gravity accelerates the root, and all with it.
        pull = scaled(h, row_times((numbers[GRAVITY], numbers[GRAVITY + 1], numbers[GRAVITY + 2]), R))
        for a in range(size):
            z[GIVEN, a] = M[a, 3] * pull[0] + M[a, 4] * pull[1] + M[a, 5] * pull[2]
            z[RHS, a], z[NEW, a] = state.p[i, a], state.v[i, a]
        # Of the root joint to that of the group's origin.
        base = cross(triple(z, NEW, 0), triple(frames, 0, X))
        for a in range(modes):
            base = plus(base, scaled(z[NEW, 6 + a], (T[0, 3, a], T[0, 4, a], T[0, 5, a])))
        put(minus(triple(z, NEW, 3), base), z, NEW, 3)
        # A start has no momentum of a step before it, but that of its velocity.
        begins = math.isnan(z[RHS, 0])
        if begins:
            mass_times(M, z, NEW, RHS)
        elif centred:
            put(scaled(1.0 / M[3, 3], triple(z, RHS, 3)), z, NEW, 3)
        for l in range(pushes.shape[0]):
            if pushes[l, 0] == n and pushes[l, 1] == i and not settles:
                j = int(pushes[l, 2])
                at, along, j = (
                    point_at(frames, j, pushes, l, 3),
                    row_times(triple(pushes, l, 6), R),
                    parents[j, 1],
                )
                turn = cross(at, along)
                put(plus(triple(z, GIVEN, 0), turn), z, GIVEN, 0)
                put(plus(triple(z, GIVEN, 3), along), z, GIVEN, 3)
                for a in range(modes):
                    z[GIVEN, 6 + a] += dot(turn, (T[j, 0, a], T[j, 1, a], T[j, 2, a])) + dot(
                        along, (T[j, 3, a], T[j, 4, a], T[j, 5, a])
                    )
        for s in range(slots):
            mark[s] = 0
        if method != NAIVE and not (begins and variational):
            transported(series, 2, group, z, NEW, -numbers[STEP], z, RHS)
        rows, change = 0, 1.0
        # Where a contact bends much in the second iteration, up to four more find its bound.
        for iteration in range(1 if settles else 60 if method == EXACT else 6 if variational else 1):
            again, before = iteration > 0, rows
            quadratic_forces(parents, moving, bones, directions, T, frames, z, centred)
            z[GIVEN, size] = 0.0
            turned, slid, _ = root_step(z, group, h)
            if again and (planes.shape[0] > 0 or limited.shape[0] > 0):
                for a in range(modes):
                    ahead[0, a] = alphas[i, a] + h * z[NEW, 6 + a]
                place(parents, bones, directions, ahead, 0, centred, after, S)
            rows = contacts(
                numbers, planes, carriers, spheres, parents, frames, after, z, line, kind, spot, mark, R,
                origin, turned, slid, rows, again, h,
            )  # fmt: skip
            rows = limits(
                choices[KIND], numbers[MARGIN], limited, middles, params, parents, bones, frames, after, z,
                line, kind, spot, mark, rows, pressed, again, h,
            )  # fmt: skip
            if not again:
                slot = pressed + limited.shape[0]
                rows = pins(numbers[DRIFT], held, parents, frames, line, kind, spot, R, origin, rows, slot, h)
                if not settles:
                    rows = hits(
                        numbers, planes, capsules, kinds, balls, i, parents, frames, line, kind, spot, R,
                        origin, rows, h,
                    )  # fmt: skip
            build(directions, T, U, kinds, kept, i, line, kind, spot, R, J, A, before, rows)
            for a in range(J.shape[0]):
                z[LEFT, a] = 0.0
            if settles:
                for r in range(rows):
                    line[PUSH, r] = 0.0
            else:
                if group == APART:
                    linear = triple(frames, 0, MOMENTUM + 3)
                    put(plus(triple(z, FORCE, 0), cross(linear, triple(z, NEW, 3))), z, FORCE, 0)
                # What is missing in J_l(h v)⁻ᵀ M v = rhs + h force, or in M v = rhs itself.
                mass_times(M, z, NEW, LEFT)
                for a in range(size):
                    z[FORCE, a] = z[GIVEN, a] + h * z[FORCE, a]
                if variational:
                    transported(series, 2, group, z, NEW, h, z, LEFT)
                else:
                    for a in range(size):
                        z[RHS, a] += z[FORCE, a]
                        z[FORCE, a] = 0.0
                    if method == CONSTANT:
                        transported(series, 1, group, z, NEW, h, z, RHS)
                for a in range(size):
                    z[LEFT, a] = z[RHS, a] + z[FORCE, a] - z[LEFT, a] - z[DAMPED, a] * z[NEW, a]
                forward(U, size, z, LEFT)
                for a in range(size):
                    for b in range(a, size):
                        z[LEFT, a] += U[a, b] * z[NEW, b]
                for b in range(kinds.shape[0]):
                    for c in range(3):
                        speed = balls[i, b, 3 + c] + h * numbers[GRAVITY + c]
                        z[LEFT, size + 3 * b + c] = math.sqrt(kinds[b, 0]) * speed
            largest = project(
                J, A, B, line, kind, order, z, rows, friction, choices[SWEEPS], numbers[TOLERANCE]
            )
            z[GIVEN, size] = max(z[GIVEN, size], h * largest)
            backward(U, size, z, LEFT)
            change = 0.0
            for a in range(size):
                change = max(change, abs(z[NEW, a] - z[LEFT, a]))
                z[NEW, a] = z[LEFT, a]
            if again and (change < 1e-13 or (method == VARIATIONAL and z[GIVEN, size] < 2e-4)):
                break
        mark[slots] = rows
        largest = 0.0
        for a in range(size):
            largest = max(largest, abs(z[NEW, a]))
        if settles:
            if settling and (rows == 0 or largest <= 1e-9):
                return n
            h = min(1.0, 0.5 / max(largest, 1e-12))
        else:
            if variational and not exact_root(M, U, z, spot, kind, line, series, rows, group, h):
                return n
            mass_times(M, z, NEW, FORCE)
            kinetic = 0.0
            base = cross(triple(z, NEW, 0), triple(frames, 0, X))
            for a in range(modes):
                base = plus(base, scaled(z[NEW, 6 + a], (T[0, 3, a], T[0, 4, a], T[0, 5, a])))
            for a in range(size):
                state.v[i, a], state.p[i, a] = z[NEW, a], z[FORCE, a]
                kinetic += 0.5 * z[NEW, a] * z[FORCE, a]
            put(plus(triple(z, NEW, 3), base), state.v, i, 3)
            turned = scaled(h, triple(z, NEW, 0))
            if not (kinetic < 1e12 and dot(turned, turned) < 2.46):
                return n
            if variational:
                transported(series, 2, group, z, NEW, h, z, FORCE)
            linear = times(R, triple(z, FORCE, 3))
            centre = plus(origin, times(R, scaled(1.0 / M[3, 3], (M[4, 2], M[5, 0], M[3, 1]))))
            record[i, n, 0] = kinetic
            record[i, n, 1] = -M[3, 3] * dot(
                centre, (numbers[GRAVITY], numbers[GRAVITY + 1], numbers[GRAVITY + 2])
            )
            put(linear, record[i], n, 2)
            put(plus(times(R, triple(z, FORCE, 0)), cross(origin, linear)), record[i], n, 5)
            record[i, n, 8] = 0.0
            for s in range(slots):
                kept[i, s] = 0.0
            for r in range(rows):
                slot = kind[r, SLOT]
                if slot >= 0:
                    kept[i, slot] = line[PUSH, r]
                    if slot < pressed and kind[r, SORT] == PUSHES:
                        record[i, n, 8] += line[PUSH, r]
            for b in range(kinds.shape[0]):
                for c in range(3):
                    speed = z[LEFT, size + 3 * b + c] / math.sqrt(kinds[b, 0])
                    balls[i, b, 3 + c] = speed
                    balls[i, b, c] += h * speed
        # The configuration along the velocity; linear momenta of the world keep their directions there.
        turned, slid, spun = root_step(z, RIGID if settles and group != CENTRE else group, h)
        if group != RIGID:
            put(row_times(triple(state.p, i, 3), turned), state.p, i, 3)
        if group == APART:
            put(row_times(triple(state.v, i, 3), turned), state.v, i, 3)
        q = normalise(product(four(state.q, i, 0), spun))
        state.q[i, 0], state.q[i, 1], state.q[i, 2], state.q[i, 3] = q
        for a in range(modes):
            alphas[i, a] += h * z[NEW, 6 + a]
        place(parents, bones, directions, alphas, i, centred, frames, S)
        here = plus(origin, plus(times(R, slid), times(matrix(q), triple(frames, 0, X))))
        put(here, places, i, 0)
        record[i, n, 9], record[i, n, 10], record[i, n, 11], record[i, n, 12] = q
        put(here, record[i], n, 13)
        for a in range(modes):
            record[i, n, 16 + a] = alphas[i, a]
        for b in range(kinds.shape[0]):
            for c in range(6):
                record[i, n, 16 + modes + 6 * b + c] = balls[i, b, c]
        for s in range(multipliers.shape[2]):
            multipliers[i, n, s] = kept[i, s]
    return steps
