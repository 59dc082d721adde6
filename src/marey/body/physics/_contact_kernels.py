"""Compiled rows of contacts, limits, pins and balls, and their matrix.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

from marey._arrays import Array, Integers
from marey._compiling import njit
from marey.body.limits._kernels import limit
from marey.body.limits.limits import ELLIPSOID
from marey.body.physics._kernels import (
    BLOCKS,
    GIVEN,
    INNER,
    MEAN,
    NUMBERS,
    PAIRS,
    SPIN,
    TABLE,
    TWIST,
    VECTOR,
    Q,
    W,
    X,
    cross,
    dot,
    four,
    minus,
    plus,
    put,
    read,
    scaled,
    times,
    triple,
)
from marey.body.physics._projection_kernels import (
    BALL,
    BASE,
    BODY,
    BOUND,
    HOLDS,
    LIMIT,
    NONE,
    PUSH,
    PUSHES,
    SLOT,
    SORT,
    SPEED,
)
from marey.geometry._inline_kernels import Matrix, Vector, exp_and_factors, hat_polynomial, product, row_times

MATRIX, FLOATS = f"UniTuple({VECTOR}, 3)", "float64[::1]"
# Columns of `Scene.numbers`.
STEP, RATE, FRICTION, RESTITUTION, MARGIN, TOLERANCE, DRIFT, GRAVITY = range(8)
# Columns of `Solve.spot`: point and direction in the root's frame.
AT, ALONG = 0, 3
# Metres and metres per second: gaps that always count as contacts, speeds below which nothing bounces, and
# the fastest correction of drift.
NEAR, REST, FASTEST = 0.01, 0.3, 2.0
# Cosine above which two planes of a limit are one; how far a joint may be beyond before it gets another; how
# far a plane may be beyond a joint that is at rest, as a share of the limit's size.
SAME, BEYOND, MOST_BENT = 0.95, 0.005, 1.0
# Added to the diagonal of the rows' matrix, relative: rows of corners of one foot depend on each other.
SOFTNESS = 1e-10
# The same of limits once their bounds have bent: planes far apart on them need not have a common velocity.
YIELDING = 1e-6


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
    """A new bound of a row that is there; `z[GIVEN, -1]` keeps the largest change that counts, metres."""
    off = bound - line[BOUND, row]
    line[BOUND, row] = bound
    if line[PUSH, row] > 0.0 or line[SPEED, row] < off:
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


@njit(f"float64({FLOATS}, float64, float64, float64, float64)", **INNER)
def bound_of(numbers: Array, gap: float, speed: float, bounce: float, h: float) -> float:
    """The least speed at which a gap may open: it may close but not more, and opens slowly if below zero."""
    bound = -gap / h if gap > 0.0 else min(-numbers[DRIFT] * gap / h, FASTEST)
    if bounce > 0.0 and speed < -REST and gap + h * speed < 0.0:
        bound = max(bound, -bounce * speed)
    return bound


@njit(
    f"int64({FLOATS}, {TABLE}, {NUMBERS}, {TABLE}, {PAIRS}, {TABLE}, {TABLE}, {TABLE}, {TABLE}, {PAIRS}, "
    f"{TABLE}, {NUMBERS}, {MATRIX}, {VECTOR}, {MATRIX}, {VECTOR}, int64, boolean, float64)",
    **INNER,
)
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


@njit(f"Tuple((float64, {VECTOR}))({TABLE}, int64, {TABLE}, {TABLE}, int64, int64, {VECTOR})", **INNER)
def limit_of(
    bones: Array, j: int, middles: Array, parameters: Array, which: int, l: int, w: Vector
) -> tuple[float, Vector]:
    """A limit's value at a joint's tangent vector, and its derivative by that.

    That of an ellipsoid is how much larger it must be: its planes then touch it, however far the joint is.
    """
    turn, first, second = exp_and_factors(w)
    local = product(four(bones, j, MEAN), turn)
    value, slope = limit(which, local, four(middles, l, 0), parameters[l])
    slope = row_times(slope, hat_polynomial(w, -first, second))
    if which == ELLIPSOID:
        root = math.sqrt(max(value + 1.0, 1e-12))
        value, slope = root - 1.0, scaled(0.5 / root, slope)
    return value, slope


@njit(
    f"int64(int64, float64, {NUMBERS}, {TABLE}, {TABLE}, {PAIRS}, {TABLE}, {TABLE}, {TABLE}, {TABLE}, "
    f"{PAIRS}, {TABLE}, {NUMBERS}, int64, int64, boolean, float64)",
    **INNER,
)
def limits(
    which: int, margin: float, limited: Integers, middles: Array, parameters: Array, parents: Integers,
    bones: Array, frames: Array, z: Array, line: Array, kind: Integers, spot: Array, mark: Integers,
    first: int, slot: int, again: bool, h: float,
) -> int:  # fmt: skip
    """Rows of joint limits; returns how many rows there are then. As in :func:`contacts`.

    A row is the plane that touches the limit where the joint is headed: a hinge gets through that of where it
    is. With `again`, joints whose way has turned get another one.
    """
    rows, last = first, z.shape[1] - 1
    for l in range(limited.shape[0]):
        j = limited[l]
        if parents[j, 1] != j:
            continue
        w, spin = triple(frames, j, W), triple(frames, j, SPIN)
        # A radian at most: half a turn on, planes would face the other way.
        ahead = min(h, 1.0 / max(math.sqrt(dot(spin, spin)), 1e-12))
        end, slope = limit_of(bones, j, middles, parameters, which, l, plus(w, scaled(ahead, spin)))
        if again and end < BEYOND and mark[slot + l] == 0:
            continue
        now, other = limit_of(bones, j, middles, parameters, which, l, w)
        bound = now
        if h > 0.0:
            if not again and now > end:
                # It may be thrown at its limit by others.
                end, slope, ahead = now, other, 0.0
            # Back slowly, if it is outside already.
            back, row, best = (
                max(0.0, 0.5 * now / h, now / h - FASTEST),
                -1,
                SAME * math.sqrt(dot(slope, slope)),
            )
            for r in range(first if again else 0):
                if kind[r, BALL] == LIMIT and kind[r, BODY] == j:
                    held = triple(spot, r, AT)
                    along = dot(held, slope) / math.sqrt(dot(held, held))
                    if along > best:
                        row, best = r, along
            if row >= 0:
                bound = end / h - dot(triple(spot, row, AT), spin) * ahead / h - back
                bound = min(bound, MOST_BENT / h)
                bend_row(line, z, last, row, bound, 0.2 * h)
                continue
            bound = min((end - ahead * dot(slope, spin)) / h - back, MOST_BENT / h)
        if end < (BEYOND if again else -margin) or rows == kind.shape[0]:
            continue
        if again:
            z[GIVEN, last] = NEAR
        kept = slot + l if mark[slot + l] == 0 else -1
        rows = add_row(line, kind, spot, rows, bound, PUSHES, kept, j, slope, scaled(-1.0, slope))
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


@njit(
    f"void({BLOCKS}, {BLOCKS}, {TABLE}, {TABLE}, {TABLE}, int64, {TABLE}, {PAIRS}, {TABLE}, {MATRIX}, "
    f"{TABLE}, {TABLE}, int64, int64)",
    **INNER,
)
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
        soft = YIELDING if first > 0 and kind[r, BALL] == LIMIT else SOFTNESS
        A[r, r] = max(A[r, r] * (1.0 + soft), 1e-12)
        for q in range(r):
            A[q, r] = A[r, q]
