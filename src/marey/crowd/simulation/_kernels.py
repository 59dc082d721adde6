"""Compiled parts of a simulation step: neighbours by cells, forces on everybody, the move, goals.

People are sorted by cell each step, so that the neighbours of one are a few runs of memory; every pair is
looked at from both sides, hence results do not depend on how people are shared among threads. Importing
this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.crowd.simulation._pair_kernels import exp2, felt_all_round, perceived

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
# Neighbours looked at in one go; more are taken in turns.
_BATCH = 512
_TOUCHING = 1e-6
# Nobody is pressed nearer to a wall than this share of the radius.
_HARD_CORE = 0.5


class Law(NamedTuple):
    """Parameters as the kernels want them: `scale` = 1 / (b ln 2), `strength` = log2 a, `fade` = 1 / width."""

    scale: float
    strength: float
    reach: float
    fade: float
    contact: float
    friction: float
    wall_scale: float
    wall_strength: float
    wall_reach: float
    wall_fade: float
    wall_contact: float
    wall_friction: float
    perceives: bool
    stumble: float
    stumble_reach: float
    reluctance: float


class Grid(NamedTuple):
    """Square cells from a corner on."""

    x: float
    y: float
    cell: float
    columns: int
    rows: int


@njit(**_OPTIONS)
def directions(positions, goals, vectors, heads, result, first, last):  # type: ignore[no-untyped-def]
    """Unit direction of each person's goal at its place, `(people, 2)`."""
    for i in range(first, last):
        goal = goals[i]
        if goal < 0 or goal >= len(heads):
            result[i, 0] = 0.0
            result[i, 1] = 0.0
            continue
        start, rows, columns = int(heads[goal, 0]), int(heads[goal, 1]), int(heads[goal, 2])
        x = (positions[i, 0] - heads[goal, 3]) / heads[goal, 5]
        y = (positions[i, 1] - heads[goal, 4]) / heads[goal, 5]
        x = min(max(x, 0.0), columns - 1.0)
        y = min(max(y, 0.0), rows - 1.0)
        column, row = min(int(x), max(columns - 2, 0)), min(int(y), max(rows - 2, 0))
        right, above = min(column + 1, columns - 1), min(row + 1, rows - 1)
        u, v = x - column, y - row
        a, b = start + row * columns + column, start + row * columns + right
        c, d = start + above * columns + column, start + above * columns + right
        wx = (1.0 - v) * ((1.0 - u) * vectors[a, 0] + u * vectors[b, 0]) + v * (
            (1.0 - u) * vectors[c, 0] + u * vectors[d, 0]
        )
        wy = (1.0 - v) * ((1.0 - u) * vectors[a, 1] + u * vectors[b, 1]) + v * (
            (1.0 - u) * vectors[c, 1] + u * vectors[d, 1]
        )
        length = math.sqrt(wx * wx + wy * wy)
        if length < 1e-9:
            result[i, 0] = 0.0
            result[i, 1] = 0.0
        else:
            result[i, 0] = wx / length
            result[i, 1] = wy / length


@njit(**_OPTIONS)
def sort_by_cell(positions, velocities, traits, wishes, grid, starts, order, sorted_):  # type: ignore[no-untyped-def]
    """Fill `starts` `(cells + 1,)`, `order` `(people,)` and `sorted_` `(7, people)`: x, y, velocity, radius, wish."""
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
        sorted_[4, place] = traits[i, 3]
        sorted_[5, place] = wishes[i, 0]
        sorted_[6, place] = wishes[i, 1]


@njit(**_OPTIONS)
def forces(  # type: ignore[no-untyped-def]
    first, last, sorted_, order, grid, starts, traits, law, power, powers,
    features, around, wall_grid, wall_starts, wall_lists, farthest, result,
):  # fmt: skip
    """Forces on the people sorted at `first … last`; returns how many steps a second they need.

    traits: `(people, 4)`, mass, response time, desired speed, radius
    result: `(people, 6)`, force x, y, friction matrix xx, xy, yy over the mass, other drag over the mass
    farthest: metres one may move in a step
    """
    xs, ys, us, vs, radii = sorted_[0], sorted_[1], sorted_[2], sorted_[3], sorted_[4]
    dx, dy, sums = np.empty(_BATCH), np.empty(_BATCH), np.empty(_BATCH)
    who = np.empty(_BATCH, dtype=np.int64)
    reach2 = law.reach * law.reach
    fastest = 0.0
    for place in range(first, last):
        i = order[place]
        x, y, u, v, radius = xs[place], ys[place], us[place], vs[place], radii[place]
        wx, wy = sorted_[5, place], sorted_[6, place]
        mass, response, speed = traits[i, 0], traits[i, 1], traits[i, 2]
        fx = fy = xx = xy = yy = stiffness = jostle = 0.0
        lowest = max(int((y - law.reach - grid.y) / grid.cell), 0)
        highest = min(int((y + law.reach - grid.y) / grid.cell), grid.rows - 1)
        count = 0
        for row in range(lowest, highest + 1):
            bottom = grid.y + row * grid.cell
            away = max(bottom - y, y - bottom - grid.cell, 0.0)
            width = math.sqrt(max(reach2 - away * away, 0.0))
            left = max(int((x - width - grid.x) / grid.cell), 0)
            right = min(int((x + width - grid.x) / grid.cell), grid.columns - 1)
            other, end = starts[row * grid.columns + left], starts[row * grid.columns + right + 1]
            while other < end:
                stop = min(end, other + _BATCH - count)
                for j in range(other, stop):
                    a, b = xs[j] - x, ys[j] - y
                    dx[count] = a
                    dy[count] = b
                    sums[count] = radius + radii[j]
                    who[count] = j
                    count += (a * a + b * b < reach2) & (j != place)
                other = stop
                if count == _BATCH:
                    part = neighbours(
                        count, dx, dy, sums, who, place, u, v, us, vs, wx, wy, law, power, powers
                    )
                    fx, fy, xx, xy, yy = fx + part[0], fy + part[1], xx + part[2], xy + part[3], yy + part[4]
                    stiffness, jostle, count = stiffness + part[5], jostle + part[6], 0
        part = neighbours(count, dx, dy, sums, who, place, u, v, us, vs, wx, wy, law, power, powers)
        fx, fy, xx, xy, yy = fx + part[0], fy + part[1], xx + part[2], xy + part[3], yy + part[4]
        stiffness, jostle = stiffness + part[5], jostle + part[6]

        if wall_grid.rows > 0:
            gx, gy, gxx, gxy, gyy, hard = walls(
                x, y, u, v, radius, law, features, around, wall_grid, wall_starts, wall_lists
            )
            fx += gx
            fy += gy
            xx += gxx
            xy += gxy
            yy += gyy
            stiffness += 0.5 * hard

        squared = u * u + v * v
        drag = 1.0 / response + law.stumble * squared * jostle / mass
        if squared > 1e-18:
            drag += law.reluctance / response * max(0.0, -(u * wx + v * wy) / math.sqrt(squared))
        wish = mass * speed / response
        fx += wish * wx - mass * drag * u
        fy += wish * wy - mass * drag * v
        result[i, 0] = fx
        result[i, 1] = fy
        result[i, 2] = xx / mass
        result[i, 3] = xy / mass
        result[i, 4] = yy / mass
        result[i, 5] = drag
        # Stable while half a radian of the stiffest oscillation is a step, and bodies move little.
        pace = math.sqrt(squared)
        moving = (pace + math.sqrt(squared + 4.0 * farthest * math.hypot(fx, fy) / mass)) / (2.0 * farthest)
        fastest = max(fastest, moving, math.sqrt(2.0 * stiffness / mass))
    return fastest


@njit(**_OPTIONS)
def neighbours(n, dx, dy, sums, who, place, u, v, us, vs, wx, wy, law, power, powers):  # type: ignore[no-untyped-def]
    """What `n` neighbours do: force x, y, friction matrix xx, xy, yy, stiffness, nearness that makes stumble."""
    fx = fy = xx = xy = yy = stiffness = jostle = 0.0
    near = max(1.0, law.stumble_reach)
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
        d = math.sqrt(squared)
        jostle += max(0.0, law.stumble_reach * sums[k] - d)
        overlap = sums[k] - d
        if overlap > 0.0:
            ex, ey = dx[k] / d, dy[k] / d
            grip = law.friction * overlap
            slide = (vs[who[k]] - v) * ex - (us[who[k]] - u) * ey
            fx -= law.contact * overlap * ex + grip * slide * ey
            fy -= law.contact * overlap * ey - grip * slide * ex
            xx += grip * ey * ey
            xy -= grip * ex * ey
            yy += grip * ex * ex
            stiffness += law.contact
    if law.perceives:
        px, py, push = perceived(
            n, dx, dy, sums, wx, wy, law.scale, law.strength, law.reach, law.fade, power, powers
        )
    else:
        px, py, push = felt_all_round(n, dx, dy, sums, law.scale, law.strength, law.reach, law.fade)
    return fx + px, fy + py, xx, xy, yy, stiffness + push * law.scale * math.log(2.0), jostle


@njit(**_OPTIONS)
def nearest(x, y, feature, features, around):  # type: ignore[no-untyped-def]
    """Vector from a wall's face or corner to a point and its length; infinite where another one is nearer.

    features: `(features, 7)`: x, y, direction x, y and length of a face, or a corner (length -1) and the
        first and number of the directions `around` `(directions, 2)` of the faces that meet there
    """
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


@njit(**_OPTIONS)
def cell_of(x, y, grid):  # type: ignore[no-untyped-def]
    """Number of the cell at a place, -1 outside."""
    column, row = math.floor((x - grid.x) / grid.cell), math.floor((y - grid.y) / grid.cell)
    if column < 0 or row < 0 or column >= grid.columns or row >= grid.rows:
        return -1
    return int(row) * grid.columns + int(column)


@njit(**_OPTIONS)
def walls(x, y, u, v, radius, law, features, around, grid, starts, lists):  # type: ignore[no-untyped-def]
    """Force of all faces and corners near one, friction matrix and stiffness."""
    fx = fy = xx = xy = yy = stiffness = 0.0
    cell = cell_of(x, y, grid)
    if cell < 0:
        return fx, fy, xx, xy, yy, stiffness
    for k in range(starts[cell], starts[cell + 1]):
        nx, ny, d = nearest(x, y, lists[k], features, around)
        if d >= law.wall_reach:
            continue
        nx, ny = nx / d, ny / d
        s = min(1.0, (law.wall_reach - d) * law.wall_fade)
        push = s * s * (3.0 - 2.0 * s) * exp2((radius - d) * law.wall_scale + law.wall_strength)
        stiffness += push * law.wall_scale * math.log(2.0)
        overlap = radius - d
        if overlap > 0.0:
            push += law.wall_contact * overlap
            grip = law.wall_friction * overlap
            slide = -u * ny + v * nx
            fx += grip * slide * ny
            fy -= grip * slide * nx
            xx += grip * ny * ny
            xy -= grip * nx * ny
            yy += grip * nx * nx
            stiffness += law.wall_contact
        fx += push * nx
        fy += push * ny
    return fx, fy, xx, xy, yy, stiffness


@njit(**_OPTIONS)
def move(  # type: ignore[no-untyped-def]
    first, last, positions, velocities, traits, result, step, farthest,
    features, around, grid, starts, lists,
):  # fmt: skip
    """Advance `first … last` by `step` seconds: velocity with its drag solved exactly, then position."""
    for i in range(first, last):
        ax, ay = result[i, 0] / traits[i, 0], result[i, 1] / traits[i, 0]
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
        if grid.rows > 0:
            x, y, u, v = kept_out(
                positions[i, 0], positions[i, 1], x, y, u, v, _HARD_CORE * traits[i, 3],
                features, around, grid, starts, lists,
            )  # fmt: skip
        positions[i, 0] = x
        positions[i, 1] = y
        velocities[i, 0] = u
        velocities[i, 1] = v


@njit(**_OPTIONS)
def deepest(x, y, least, features, around, grid, starts, lists):  # type: ignore[no-untyped-def]
    """Unit normal and lacking distance of the nearest wall closer than `least`; 0 if there is none."""
    nx = ny = lacking = 0.0
    cell = cell_of(x, y, grid)
    if cell < 0:
        return nx, ny, lacking
    for k in range(starts[cell], starts[cell + 1]):
        a, b, d = nearest(x, y, lists[k], features, around)
        if least - d > lacking:
            nx, ny, lacking = a / d, b / d, least - d
    return nx, ny, lacking


@njit(**_OPTIONS)
def kept_out(x0, y0, x, y, u, v, least, features, around, grid, starts, lists):  # type: ignore[no-untyped-def]
    """The move from `x0, y0` to `x, y`, stopped where it would press the centre into a wall."""
    nx, ny, lacking = deepest(x, y, least, features, around, grid, starts, lists)
    if lacking == 0.0:
        return x, y, u, v
    for _ in range(4):
        x, y = x + lacking * nx, y + lacking * ny
        inwards = min(u * nx + v * ny, 0.0)
        u, v = u - inwards * nx, v - inwards * ny
        nx, ny, lacking = deepest(x, y, least, features, around, grid, starts, lists)
        if lacking < 1e-9:
            break
    if lacking > 0.5 * least and deepest(x0, y0, least, features, around, grid, starts, lists)[2] < lacking:
        return x0, y0, 0.0, 0.0
    cell = cell_of(x0, y0, grid)
    if cell >= 0:
        for k in range(starts[cell], starts[cell + 1]):
            f = lists[k]
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


@njit(**_OPTIONS)
def inside(positions, goals, corners, starts, result):  # type: ignore[no-untyped-def]
    """Who stands in the area of its goal: `(people,)`; corners `(corners, 2)` of area g from `starts[g]` on."""
    for i in range(len(positions)):
        result[i] = False
        goal = goals[i]
        if goal < 0 or goal >= len(starts) - 1:
            continue
        x, y, odd = positions[i, 0], positions[i, 1], False
        k = starts[goal + 1] - 1
        for j in range(starts[goal], starts[goal + 1]):
            if (corners[j, 1] > y) != (corners[k, 1] > y):
                crossing = (corners[k, 0] - corners[j, 0]) * (y - corners[j, 1])
                if x < crossing / (corners[k, 1] - corners[j, 1]) + corners[j, 0]:
                    odd = not odd
            k = j
        result[i] = odd


@njit(**_OPTIONS)
def scattered(candidates, spacing, cell_size, columns, rows, x0, y0, count, chosen):  # type: ignore[no-untyped-def]
    """Take candidates `(candidates, 2)` in turn unless nearer than `spacing` to one taken; returns how many."""
    heads = np.full(columns * rows, -1, dtype=np.int64)
    taken = 0
    for c in range(len(candidates)):
        x, y = candidates[c, 0], candidates[c, 1]
        column, row = int((x - x0) / cell_size), int((y - y0) / cell_size)
        free = True
        for r in range(max(row - 2, 0), min(row + 3, rows)):
            for k in range(max(column - 2, 0), min(column + 3, columns)):
                other = heads[r * columns + k]
                if other >= 0:
                    a, b = candidates[other, 0] - x, candidates[other, 1] - y
                    if a * a + b * b < spacing * spacing:
                        free = False
        if free:
            heads[row * columns + column] = c
            chosen[taken] = c
            taken += 1
            if taken == count:
                break
    return taken
