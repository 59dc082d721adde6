"""Compiled parts of a simulation step: neighbours by cells, forces of people and walls, the move.

Pedestrians are sorted by cell in each step, so that neighbours lie in a few runs of memory; each pair is
evaluated from both sides, hence results do not depend on the number of threads. Repulsion takes nearly all
the time: it is written without calls and branches so that the compiler works on several neighbours at once;
exponential, arc cosine and power are polynomials, exact to a relative 1e-10. About 6 ns a neighbour on one
core, 3 ns without perception. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Sums over neighbours may be reordered; rounding by a large constant, below, may not.
_SUMS = {"contract", "reassoc", "nsz"}
_ROUNDING = 6755399441055744.0  # 1.5 · 2^52: adding it leaves the nearest whole number in the lowest bits
_ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
POWER_CENTRE, POWER_TERMS, POWER_OFFSET = 1.0625, 11, 64


@njit(fastmath={"contract"}, forceinline=True, **_OPTIONS)
def exp2(x):  # type: ignore[no-untyped-def]
    """2^x for |x| < 1000; the polynomial's own error is 1e-12."""
    shifted = x + _ROUNDING
    r = x - (shifted - _ROUNDING)
    r2 = r * r
    r4 = r2 * r2
    p = (0.9999999999999997 + 0.6931471805459343 * r) + (0.24022650695821055 + 0.055504109412010456 * r) * r2
    p += (
        (0.009618129157656703 + 0.0013333450573018062 * r)
        + (0.00015403457039410448 + 1.531007807039615e-05 * r) * r2
    ) * r4
    p += 1.325497460306718e-06 * (r4 * r4)
    bits = np.float64(shifted).view(np.int64) << 52
    return np.int64(np.float64(p).view(np.int64) + bits).view(np.float64)


@njit(fastmath={"contract"}, forceinline=True, **_OPTIONS)
def exponent_and_mantissa(u):  # type: ignore[no-untyped-def]
    """u = 2^e m with m between the roots of 1/2 and of 2."""
    bits = np.float64(u).view(np.int64)
    e = (bits - np.int64(_ROOT_HALF_BITS)) >> 52
    return e, np.int64(bits - (e << 52)).view(np.float64)


@njit(fastmath=_SUMS, **_OPTIONS)
def anisotropic_force(n, dx, dy, radii, wx, wy, near, pair, power, powers):  # type: ignore[no-untyped-def]
    """Force of `n` neighbours at `dx, dy` `(n,)`, those ahead weigh most: x, y, sum of magnitudes, pressure.

    The last sums up metres nearer than `near` times the radii. A neighbour at the same position exerts none.

    Args:
        radii: sum of both radii `(n,)`.
        wx, wy: desired direction.
        pair: see `engine.PairConstants`.
        power, powers: see `power_table`.
    """
    fx, fy, total, pressed = 0.0, 0.0, 0.0, 0.0
    scale, strength, reach, fade = pair.scale, pair.strength, pair.reach, pair.fade
    c0, c1, c2, c3, c4, c5 = power[0], power[1], power[2], power[3], power[4], power[5]
    c6, c7, c8, c9, c10 = power[6], power[7], power[8], power[9], power[10]
    for k in range(n):
        x, y = dx[k], dy[k]
        squared = max(x * x + y * y, 1e-12)
        inverse = 1.0 / math.sqrt(squared)
        d = squared * inverse
        pressed += max(0.0, near * radii[k] - d)
        push = exp2((radii[k] - d) * scale + strength)
        s = max(0.0, min(1.0, (reach - d) * fade))
        push *= s * s * (3.0 - 2.0 * s)
        cosine = (x * wx + y * wy) * inverse
        # acos(c) = 2 asin(root of (1 - c) / 2): w in 0 … 1/2, its series in Estrin's order.
        w = max(0.5 - 0.5 * abs(cosine), 1e-24)
        w2 = w * w
        w4 = w2 * w2
        a = (0.6366197723641964 + 0.1061032973408374 * w) + (
            0.047746298885963226 + 0.02842729425054576 * w
        ) * w2
        a += (
            (0.019214155408612037 + 0.015647985202122093 * w)
            + (0.0013547151138481779 + 0.05214200863459463 * w) * w2
        ) * w4
        a += (
            (-0.1181385336773626 + 0.23671170448263495 * w)
            + (-0.24197776118914288 + 0.1278362274169922 * w) * w2
        ) * (w4 * w4)
        u = math.sqrt(w) * a
        u = u if cosine >= 0.0 else 1.0 - u
        e, m = exponent_and_mantissa(u)
        m -= POWER_CENTRE
        m2 = m * m
        m4 = m2 * m2
        p = (c0 + c1 * m) + (c2 + c3 * m) * m2
        p += ((c4 + c5 * m) + (c6 + c7 * m) * m2) * m4
        p += ((c8 + c9 * m) + c10 * m2) * (m4 * m4)
        push *= 1.0 - p * powers[np.uint64(e + POWER_OFFSET)]
        total += push
        push *= inverse
        fx -= push * x
        fy -= push * y
    return fx, fy, total, pressed


@njit(fastmath=_SUMS, **_OPTIONS)
def isotropic_force(n, dx, dy, radii, near, pair):  # type: ignore[no-untyped-def]
    """As `anisotropic_force`, whatever the direction."""
    fx, fy, total, pressed = 0.0, 0.0, 0.0, 0.0
    scale, strength, reach, fade = pair.scale, pair.strength, pair.reach, pair.fade
    for k in range(n):
        x, y = dx[k], dy[k]
        squared = max(x * x + y * y, 1e-12)
        inverse = 1.0 / math.sqrt(squared)
        d = squared * inverse
        pressed += max(0.0, near * radii[k] - d)
        push = exp2((radii[k] - d) * scale + strength)
        s = max(0.0, min(1.0, (reach - d) * fade))
        push *= s * s * (3.0 - 2.0 * s)
        total += push
        push *= inverse
        fx -= push * x
        fy -= push * y
    return fx, fy, total, pressed


def power_table(exponent: float) -> tuple[Array, Array]:
    """Polynomial `(11,)` of m^exponent about 1.0625 and table `(80,)` of 2^(exponent e), e = -64 … 15."""
    from numpy.polynomial import Chebyshev, Polynomial

    def raised(m: Array) -> Array:
        return m**exponent

    fit = Chebyshev.interpolate(raised, POWER_TERMS - 1, [math.sqrt(0.5), math.sqrt(2.0)])
    series = fit.convert(kind=Polynomial)(Polynomial([POWER_CENTRE, 1.0]))
    terms = np.zeros(POWER_TERMS)
    terms[: len(series.coef)] = series.coef
    return terms, np.exp2(exponent * (np.arange(80) - float(POWER_OFFSET)))


_STEP = {**_OPTIONS, "fastmath": {"contract"}}
# Neighbours evaluated at once; more are taken in turns.
_BATCH = 512
# Nearer than this is at the same position, metres.
_TOUCHING = 1e-6
# Share of the radius that keeps away from walls whatever the force.
_HARD_CORE = 0.5


@njit(**_STEP)
def sort_by_cell(  # type: ignore[no-untyped-def]
    positions, velocities, traits, directions, grid, starts, order, sorted_
):  # fmt: skip
    """Fill `starts` `(cells + 1,)`, `order` `(people,)`, `sorted_` `(7, people)`.

    The rows of the latter are position, velocity, radius and desired direction.
    """
    people = len(positions)
    cells = np.empty(people, dtype=np.int32)
    starts[:] = 0
    for i in range(people):
        column = min(int((positions[i, 0] - grid.x) / grid.cell), grid.columns - 1)
        row = min(int((positions[i, 1] - grid.y) / grid.cell), grid.rows - 1)
        cells[i] = row * grid.columns + column
        starts[cells[i] + 1] += 1
    for c in range(1, len(starts)):
        starts[c] += starts[c - 1]
    filled = starts[:-1].copy()
    for i in range(people):
        place = filled[cells[i]]
        filled[cells[i]] = place + 1
        order[place] = i
        sorted_[4, place] = traits[i, 4]
        for axis in range(2):
            sorted_[axis, place] = positions[i, axis]
            sorted_[2 + axis, place] = velocities[i, axis]
            sorted_[5 + axis, place] = directions[i, axis]


@njit(**_STEP)
def forces(  # type: ignore[no-untyped-def]
    first, last, sorted_, order, grid, starts, traits, constants, power, powers,
    walls, result,
):  # fmt: skip
    """Forces on the people sorted at `first … last`; the largest squared speed and acceleration, stiffness.

    traits: `(people, 5)`, mass, its inverse, inverse of the response time, desired speed, radius
    result: `(people, 6)`, acceleration x, y, friction matrix xx, xy, yy and other drag, over the mass
    """
    xs, ys, us, vs, radii = sorted_[0], sorted_[1], sorted_[2], sorted_[3], sorted_[4]
    dx, dy, sums = np.empty(_BATCH), np.empty(_BATCH), np.empty(_BATCH)
    who = np.empty(_BATCH, dtype=np.int64)
    reach = constants.people.reach
    reach2 = reach * reach
    fastest = hardest = stiffest = 0.0
    per_cell = 1.0 / grid.cell
    for place in range(first, last):
        i = order[place]
        x, y, u, v, radius = xs[place], ys[place], us[place], vs[place], radii[place]
        wx, wy = sorted_[5, place], sorted_[6, place]
        mass, lightness, eagerness, speed = traits[i, 0], traits[i, 1], traits[i, 2], traits[i, 3]
        fx = fy = xx = xy = yy = stiffness = jostle = 0.0
        lowest = max(int((y - reach - grid.y) * per_cell), 0)
        highest = min(int((y + reach - grid.y) * per_cell), grid.rows - 1)
        count = np.int64(0)
        for row in range(lowest, highest + 1):
            bottom = grid.y + row * grid.cell
            away = max(bottom - y, y - bottom - grid.cell, 0.0)
            width = math.sqrt(max(reach2 - away * away, 0.0))
            left = max(int((x - width - grid.x) * per_cell), 0)
            right = min(int((x + width - grid.x) * per_cell), grid.columns - 1)
            other, end = starts[row * grid.columns + left], starts[row * grid.columns + right + 1]
            while other < end:
                stop = min(end, other + _BATCH - count)
                for j in range(other, stop):
                    a, b = xs[j] - x, ys[j] - y
                    k = np.uint64(count)
                    dx[k] = a
                    dy[k] = b
                    sums[k] = radius + radii[j]
                    who[k] = j
                    count += np.int64(a * a + b * b < reach2) & np.int64(j != place)
                other = stop
                if count == _BATCH:
                    part = neighbours(
                        count, dx, dy, sums, who, place, u, v, us, vs, wx, wy, constants, power, powers
                    )
                    fx, fy, xx, xy, yy = fx + part[0], fy + part[1], xx + part[2], xy + part[3], yy + part[4]
                    stiffness, jostle, count = stiffness + part[5], jostle + part[6], np.int64(0)
        part = neighbours(count, dx, dy, sums, who, place, u, v, us, vs, wx, wy, constants, power, powers)
        fx, fy, xx, xy, yy = fx + part[0], fy + part[1], xx + part[2], xy + part[3], yy + part[4]
        stiffness, jostle = stiffness + part[5], jostle + part[6]

        if walls.grid.rows > 0:
            gx, gy, gxx, gxy, gyy, hard = wall_forces(x, y, u, v, radius, constants, walls)
            fx += gx
            fy += gy
            xx += gxx
            xy += gxy
            yy += gyy
            stiffness += 0.5 * hard

        squared = u * u + v * v
        drag = eagerness
        if squared > 1e-18:
            drag += constants.stumble * squared * jostle * lightness
            backwards = -(u * wx + v * wy)
            if backwards > 0.0:
                drag += constants.reluctance * eagerness * backwards / math.sqrt(squared)
        fx += mass * (eagerness * speed * wx - drag * u)
        fy += mass * (eagerness * speed * wy - drag * v)
        result[i, 0] = fx * lightness
        result[i, 1] = fy * lightness
        result[i, 2] = xx * lightness
        result[i, 3] = xy * lightness
        result[i, 4] = yy * lightness
        result[i, 5] = drag
        fastest = max(fastest, squared)
        hardest = max(hardest, result[i, 0] * result[i, 0] + result[i, 1] * result[i, 1])
        stiffest = max(stiffest, stiffness * lightness)
    return fastest, hardest, stiffest


@njit(**_STEP)
def neighbours(n, dx, dy, sums, who, place, u, v, us, vs, wx, wy, constants, power, powers):  # type: ignore[no-untyped-def]
    """What `n` neighbours do: force x, y, friction matrix xx, xy, yy, stiffness, jostling in metres."""
    fx = fy = xx = xy = yy = jostle = 0.0
    pair, near = constants.people, max(1.0, constants.stumble_reach)
    # A whole number of vectors: the last ones out of reach.
    padded = (n + 7) & ~7
    for k in range(n, padded):
        dx[k] = 2.0 * pair.reach
        dy[k] = 0.0
        sums[k] = 0.0
    if constants.perceives:
        px, py, push, pressed = anisotropic_force(padded, dx, dy, sums, wx, wy, near, pair, power, powers)
    else:
        px, py, push, pressed = isotropic_force(padded, dx, dy, sums, near, pair)
    stiffness = push * pair.scale * math.log(2.0)
    if pressed == 0.0:
        return px, py, xx, xy, yy, stiffness, jostle
    for k in range(n):
        squared = dx[k] * dx[k] + dy[k] * dy[k]
        limit = near * sums[k]
        if squared >= limit * limit:
            continue
        if squared < _TOUCHING * _TOUCHING:
            # Two at one place step apart along x, the later one to the right.
            dx[k] = _TOUCHING if who[k] > place else -_TOUCHING
            dy[k] = 0.0
            squared = _TOUCHING * _TOUCHING
            fx -= exp2(sums[k] * pair.scale + pair.strength) * dx[k] / _TOUCHING
        d = math.sqrt(squared)
        jostle += max(0.0, constants.stumble_reach * sums[k] - d)
        overlap = sums[k] - d
        if overlap > 0.0:
            ex, ey = dx[k] / d, dy[k] / d
            grip = pair.friction * overlap
            slide = (vs[who[k]] - v) * ex - (us[who[k]] - u) * ey
            fx -= pair.contact * overlap * ex + grip * slide * ey
            fy -= pair.contact * overlap * ey - grip * slide * ex
            xx += grip * ey * ey
            xy -= grip * ex * ey
            yy += grip * ex * ex
            stiffness += pair.contact
    return fx + px, fy + py, xx, xy, yy, stiffness, jostle


@njit(**_STEP)
def move(  # type: ignore[no-untyped-def]
    first, last, positions, velocities, traits, result, step, farthest, walls
):  # fmt: skip
    """Advance `first … last` by `step` seconds: velocity with its drag solved exactly, then position."""
    for i in range(first, last):
        ax, ay = result[i, 0], result[i, 1]
        xx, xy, yy, drag = result[i, 2], result[i, 3], result[i, 4], result[i, 5]
        if xx + yy > 0.0:
            mean, half = 0.5 * (xx + yy), math.sqrt(0.25 * (xx - yy) ** 2 + xy * xy)
            p = -math.expm1(-(drag + mean + half) * step) / (drag + mean + half)
            q = -math.expm1(-(drag + mean - half) * step) / (drag + mean - half)
            tilt = 0.5 * (p - q) / half if half > 1e-12 * mean else 0.0
            both = 0.5 * (p + q)
            u = both * ax + tilt * (0.5 * (xx - yy) * ax + xy * ay)
            v = both * ay + tilt * (xy * ax + 0.5 * (yy - xx) * ay)
        else:
            both = -math.expm1(-drag * step) / drag
            u, v = both * ax, both * ay
        u += velocities[i, 0]
        v += velocities[i, 1]
        pace = math.sqrt(u * u + v * v)
        if not pace * step <= farthest:
            shrink = farthest / (pace * step) if pace < np.inf else 0.0
            u, v = (u * shrink, v * shrink) if shrink > 0.0 else (0.0, 0.0)
        x, y = positions[i, 0] + step * u, positions[i, 1] + step * v
        if walls.grid.rows > 0:
            x, y, u, v = stop_at_walls(
                positions[i, 0], positions[i, 1], x, y, u, v, _HARD_CORE * traits[i, 4], walls
            )
        positions[i, 0] = x
        positions[i, 1] = y
        velocities[i, 0] = u
        velocities[i, 1] = v


@njit(**_STEP)
def nearest(x, y, feature, walls):  # type: ignore[no-untyped-def]
    """Vector from a wall's face or corner to a point and its length; infinite where another one is nearer."""
    features, around = walls.features, walls.around
    dx, dy = x - features[feature, 0], y - features[feature, 1]
    length = features[feature, 4]
    if length >= 0.0:
        along = dx * features[feature, 2] + dy * features[feature, 3]
        if along <= 0.0 or along >= length:
            return 0.0, 0.0, np.inf
        across = dy * features[feature, 2] - dx * features[feature, 3]
        nx, ny, d = -features[feature, 3] * across, features[feature, 2] * across, abs(across)
        if d < _TOUCHING:
            return -features[feature, 3] * _TOUCHING, features[feature, 2] * _TOUCHING, _TOUCHING
        return nx, ny, d
    start = int(features[feature, 5])
    for k in range(start, start + int(features[feature, 6])):
        if dx * around[k, 0] + dy * around[k, 1] > 0.0:
            return 0.0, 0.0, np.inf
    d = math.sqrt(dx * dx + dy * dy)
    if d < _TOUCHING:
        return _TOUCHING, 0.0, _TOUCHING
    return dx, dy, d


@njit(**_STEP)
def cell_of(x, y, grid):  # type: ignore[no-untyped-def]
    """Number of the cell at a position, -1 outside."""
    column, row = math.floor((x - grid.x) / grid.cell), math.floor((y - grid.y) / grid.cell)
    if column < 0 or row < 0 or column >= grid.columns or row >= grid.rows:
        return -1
    return int(row) * grid.columns + int(column)


@njit(**_STEP)
def wall_forces(x, y, u, v, radius, constants, walls):  # type: ignore[no-untyped-def]
    """Force of all faces and corners nearby, friction matrix and stiffness."""
    fx = fy = xx = xy = yy = stiffness = 0.0
    cell = cell_of(x, y, walls.grid)
    if cell < 0:
        return fx, fy, xx, xy, yy, stiffness
    for k in range(walls.starts[cell], walls.starts[cell + 1]):
        nx, ny, d = nearest(x, y, walls.lists[k], walls)
        if d >= constants.walls.reach:
            continue
        nx, ny = nx / d, ny / d
        s = min(1.0, (constants.walls.reach - d) * constants.walls.fade)
        push = s * s * (3.0 - 2.0 * s) * exp2((radius - d) * constants.walls.scale + constants.walls.strength)
        stiffness += push * constants.walls.scale * math.log(2.0)
        overlap = radius - d
        if overlap > 0.0:
            push += constants.walls.contact * overlap
            grip = constants.walls.friction * overlap
            slide = -u * ny + v * nx
            fx += grip * slide * ny
            fy -= grip * slide * nx
            xx += grip * ny * ny
            xy -= grip * nx * ny
            yy += grip * nx * nx
            stiffness += constants.walls.contact
        fx += push * nx
        fy += push * ny
    return fx, fy, xx, xy, yy, stiffness


@njit(**_STEP)
def deepest(x, y, least, walls):  # type: ignore[no-untyped-def]
    """Unit normal and lacking distance of the nearest wall closer than `least`; 0 if there is none."""
    nx = ny = lacking = 0.0
    cell = cell_of(x, y, walls.grid)
    if cell < 0:
        return nx, ny, lacking
    for k in range(walls.starts[cell], walls.starts[cell + 1]):
        a, b, d = nearest(x, y, walls.lists[k], walls)
        if least - d > lacking:
            nx, ny, lacking = a / d, b / d, least - d
    return nx, ny, lacking


@njit(**_STEP)
def stop_at_walls(x0, y0, x, y, u, v, least, walls):  # type: ignore[no-untyped-def]
    """The move from `x0, y0` to `x, y`, stopped where the centre would enter a wall."""
    nx, ny, lacking = deepest(x, y, least, walls)
    if lacking == 0.0:
        return x, y, u, v
    for _ in range(4):
        x, y = x + lacking * nx, y + lacking * ny
        inwards = min(u * nx + v * ny, 0.0)
        u, v = u - inwards * nx, v - inwards * ny
        nx, ny, lacking = deepest(x, y, least, walls)
        if lacking < 1e-9:
            break
    if lacking > 0.5 * least and deepest(x0, y0, least, walls)[2] < lacking:
        return x0, y0, 0.0, 0.0
    cell = cell_of(x0, y0, walls.grid)
    if cell >= 0:
        for k in range(walls.starts[cell], walls.starts[cell + 1]):
            f, features = walls.lists[k], walls.features
            if features[f, 4] < 0.0:
                continue
            before = (y0 - features[f, 1]) * features[f, 2] - (x0 - features[f, 0]) * features[f, 3]
            after = (y - features[f, 1]) * features[f, 2] - (x - features[f, 0]) * features[f, 3]
            if before * after >= 0.0:
                continue
            share = before / (before - after)
            along = (x0 + share * (x - x0) - features[f, 0]) * features[f, 2]
            along += (y0 + share * (y - y0) - features[f, 1]) * features[f, 3]
            if 0.0 <= along <= features[f, 4]:
                return x0, y0, 0.0, 0.0
    return x, y, u, v
