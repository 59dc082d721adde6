"""Compiled time steps: integrators on the group of configurations.

Unknowns are the new velocities of a character and of the balls around it. Transports of momenta along the
root's step are power series of the transposed `ad` of its twist, whose terms fall by (angle / 2π)².

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from marey._arrays import Array, Integers
from marey._compiling import njit
from marey.body.physics._contact_kernels import (
    ALONG,
    AT,
    DRIFT,
    FRICTION,
    GRAVITY,
    MARGIN,
    RATE,
    STEP,
    TOLERANCE,
    YIELDING,
    build,
    contacts,
    hits,
    limits,
    pins,
    point_at,
)
from marey.body.physics._kernels import (
    BLOCKS,
    DAMPED,
    FAST,
    FORCE,
    GIVEN,
    INNER,
    LEFT,
    MOMENTUM,
    NEW,
    NUMBERS,
    RHS,
    TABLE,
    VECTOR,
    Tree,
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
    scaled,
    times,
    triple,
)
from marey.body.physics._projection_kernels import (
    BALL,
    BODY,
    LIMIT,
    PUSH,
    PUSHES,
    SLOT,
    SORT,
    backward,
    factor,
    forward,
    project,
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
# Columns of `Scene.choices`.
METHOD, DAMPING, GROUP, KIND, SWEEPS, STABILISE = range(6)


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
        z[RHS, c] += z[FORCE, c]
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
    # The column of what bounds changed by, behind the balls'.
    worst = z.shape[1] - 1
    pressed, variational = 3 * planes.shape[0] * carriers.shape[0], method <= EXACT
    for k in range((last - first) * steps * 2):
        # After each step there may be a correction of places alone.
        i, n, settles = first + k // (2 * steps), k // 2 % steps, settling or k % 2 == 1
        if k % (2 * steps) == 0:
            place(parents, bones, directions, alphas, i, centred, frames, S)
        bent = z[GIVEN, worst] > 1e-3 and record[i, n, 8] > 0.0
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
        # Where a contact bends much in the second iteration, some more find its bound.
        for iteration in range(1 if settles else 60 if method == EXACT else 20 if variational else 1):
            again, before = iteration > 0, rows
            quadratic_forces(parents, moving, bones, directions, T, frames, z, centred)
            z[GIVEN, worst] = 0.0
            turned, slid, _ = root_step(z, group, h)
            if again and planes.shape[0] > 0:
                for a in range(modes):
                    ahead[0, a] = alphas[i, a] + h * z[NEW, 6 + a]
                place(parents, bones, directions, ahead, 0, centred, after, S)
            rows = contacts(
                numbers, planes, carriers, spheres, parents, frames, after, z, line, kind, spot, mark, R,
                origin, turned, slid, rows, again, h,
            )  # fmt: skip
            rows = limits(
                choices[KIND], numbers[MARGIN], limited, middles, params, parents, bones, frames, z, line,
                kind, spot, mark, rows, pressed, again, h,
            )  # fmt: skip
            if not again:
                slot = pressed + limited.shape[0]
                rows = pins(numbers[DRIFT], held, parents, frames, line, kind, spot, R, origin, rows, slot, h)
                if not settles:
                    rows = hits(
                        numbers, planes, capsules, kinds, balls, i, parents, frames, line, kind, spot, R,
                        origin, rows, h,
                    )  # fmt: skip
            for r in range(before if iteration == 1 else 0):
                if kind[r, BALL] == LIMIT:
                    A[r, r] *= 1.0 + YIELDING
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
            z[GIVEN, worst] = max(z[GIVEN, worst], h * largest)
            backward(U, size, z, LEFT)
            change = 0.0
            for a in range(size):
                change = max(change, abs(z[NEW, a] - z[LEFT, a]))
                z[NEW, a] = z[LEFT, a]
            if again and (change < 1e-13 or (method == VARIATIONAL and z[GIVEN, worst] < 1e-3)):
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
            if variational and group != APART:
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
