"""Compiled parts of a simulation step: neighbours by cells, forces on everybody, the move.

Pedestrians are sorted by cell in each step, so that neighbours lie in a few runs of memory; each pair is
evaluated from both sides, hence results do not depend on the number of threads. Importing this module imports
numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np

from marey._compiling import njit
from marey.crowd.simulation._pair_kernels import anisotropic_force, exp2, isotropic_force
from marey.crowd.simulation._wall_kernels import TOUCHING, stop_at_walls, wall_forces

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
# Neighbours evaluated at once; more are taken in turns.
_BATCH = 512
# Share of the radius that keeps away from walls whatever the force.
_HARD_CORE = 0.5


@njit(**_OPTIONS)
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
        sorted_[0, place] = positions[i, 0]
        sorted_[1, place] = positions[i, 1]
        sorted_[2, place] = velocities[i, 0]
        sorted_[3, place] = velocities[i, 1]
        sorted_[4, place] = traits[i, 4]
        sorted_[5, place] = directions[i, 0]
        sorted_[6, place] = directions[i, 1]


@njit(**_OPTIONS)
def forces(  # type: ignore[no-untyped-def]
    first, last, sorted_, order, grid, starts, traits, law, power, powers,
    walls, result,
):  # fmt: skip
    """Forces on the people sorted at `first … last`; the largest squared speed and acceleration, stiffness.

    traits: `(people, 5)`, mass, its inverse, inverse of the response time, desired speed, radius
    result: `(people, 6)`, acceleration x, y, friction matrix xx, xy, yy and other drag, over the mass
    """
    xs, ys, us, vs, radii = sorted_[0], sorted_[1], sorted_[2], sorted_[3], sorted_[4]
    dx, dy, sums = np.empty(_BATCH), np.empty(_BATCH), np.empty(_BATCH)
    who = np.empty(_BATCH, dtype=np.int64)
    reach = law.people.reach
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
                        count, dx, dy, sums, who, place, u, v, us, vs, wx, wy, law, power, powers
                    )
                    fx, fy, xx, xy, yy = fx + part[0], fy + part[1], xx + part[2], xy + part[3], yy + part[4]
                    stiffness, jostle, count = stiffness + part[5], jostle + part[6], np.int64(0)
        part = neighbours(count, dx, dy, sums, who, place, u, v, us, vs, wx, wy, law, power, powers)
        fx, fy, xx, xy, yy = fx + part[0], fy + part[1], xx + part[2], xy + part[3], yy + part[4]
        stiffness, jostle = stiffness + part[5], jostle + part[6]

        if walls.grid.rows > 0:
            gx, gy, gxx, gxy, gyy, hard = wall_forces(x, y, u, v, radius, law, walls)
            fx += gx
            fy += gy
            xx += gxx
            xy += gxy
            yy += gyy
            stiffness += 0.5 * hard

        squared = u * u + v * v
        drag = eagerness
        if squared > 1e-18:
            drag += law.stumble * squared * jostle * lightness
            backwards = -(u * wx + v * wy)
            if backwards > 0.0:
                drag += law.reluctance * eagerness * backwards / math.sqrt(squared)
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


@njit(**_OPTIONS)
def neighbours(n, dx, dy, sums, who, place, u, v, us, vs, wx, wy, law, power, powers):  # type: ignore[no-untyped-def]
    """What `n` neighbours do: force x, y, friction matrix xx, xy, yy, stiffness, jostling in metres."""
    fx = fy = xx = xy = yy = jostle = 0.0
    pair, near = law.people, max(1.0, law.stumble_reach)
    # A whole number of vectors: the last ones out of reach.
    padded = (n + 7) & ~7
    for k in range(n, padded):
        dx[k] = 2.0 * pair.reach
        dy[k] = 0.0
        sums[k] = 0.0
    if law.perceives:
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
        if squared < TOUCHING * TOUCHING:
            # Two at one place step apart along x, the later one to the right.
            dx[k] = TOUCHING if who[k] > place else -TOUCHING
            dy[k] = 0.0
            squared = TOUCHING * TOUCHING
            fx -= exp2(sums[k] * pair.scale + pair.strength) * dx[k] / TOUCHING
        d = math.sqrt(squared)
        jostle += max(0.0, law.stumble_reach * sums[k] - d)
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


@njit(**_OPTIONS)
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
