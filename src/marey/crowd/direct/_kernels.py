"""Compiled parts of the controlled crowd: runs forwards, products with the Jacobian, sweeps backwards.

The model is the smooth set of social forces (Courty 2013, section 7.2.1), as accelerations

    F_i(y, u) / m_i = (v_i W_i(y_i) - u_i) / tau_i + (Σ_j E_ij n_ij + Σ_walls E n) / m_i
    E = a exp((r - d) / b)

with n pointing away. Pairs are found among people sorted by x, which they nearly are after a step. The
Jacobian of the social and wall forces is symmetric, so its product serves tangent and adjoint. Cost: about
0.1 µs a person and step forwards, and as much backwards.
"""

from __future__ import annotations

import math

import numpy as np

from marey._compiling import njit
from marey.crowd.simulation._step_kernels import exp2, nearest

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
# Columns of the traits of a person: 1 / mass, 1 / tau, desired speed, radius, goal, seconds until which the
# person wants to walk.
LIGHTNESS, EAGERNESS, SPEED, RADIUS, GOAL, UNTIL = range(6)
# Square metres; nearer than this two people are at one place.
TOUCHING = 1e-12
DOUBLINGS = 1.4426950408889634
SUMS = {**OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}}


@njit(**OPTIONS)
def will(x, y, goal, heads, vectors, slopes):  # type: ignore[no-untyped-def]
    """Unit direction to a goal at a place, and where `slopes` its derivatives `wx_x, wx_y, wy_x, wy_y`."""
    start, rows, columns, spacing = (
        int(heads[goal, 0]),
        int(heads[goal, 1]),
        int(heads[goal, 2]),
        heads[goal, 5],
    )
    per_node = 1.0 / spacing
    x, y = (x - heads[goal, 3]) * per_node, (y - heads[goal, 4]) * per_node
    inside_x, inside_y = 0.0 < x < columns - 1.0, 0.0 < y < rows - 1.0
    x, y = min(max(x, 0.0), columns - 1.0), min(max(y, 0.0), rows - 1.0)
    column, row = min(int(x), max(columns - 2, 0)), min(int(y), max(rows - 2, 0))
    right, above = min(column + 1, columns - 1), min(row + 1, rows - 1)
    p, q = x - column, y - row
    a, b = vectors[start + row * columns + column], vectors[start + row * columns + right]
    c, d = vectors[start + above * columns + column], vectors[start + above * columns + right]
    wx = (1.0 - q) * ((1.0 - p) * a[0] + p * b[0]) + q * ((1.0 - p) * c[0] + p * d[0])
    wy = (1.0 - q) * ((1.0 - p) * a[1] + p * b[1]) + q * ((1.0 - p) * c[1] + p * d[1])
    length = math.sqrt(wx * wx + wy * wy)
    if length < 1e-9:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    per_length = 1.0 / length
    wx, wy = wx * per_length, wy * per_length
    if not slopes:
        return wx, wy, 0.0, 0.0, 0.0, 0.0
    by_x = inside_x * per_length * per_node
    by_y = inside_y * per_length * per_node
    # Of the vector before it was made a unit; only what is across it turns it.
    ax = by_x * ((1.0 - q) * (b[0] - a[0]) + q * (d[0] - c[0]))
    bx = by_x * ((1.0 - q) * (b[1] - a[1]) + q * (d[1] - c[1]))
    ay = by_y * ((1.0 - p) * (c[0] - a[0]) + p * (d[0] - b[0]))
    by = by_y * ((1.0 - p) * (c[1] - a[1]) + p * (d[1] - b[1]))
    turn_x, turn_y = wx * bx - wy * ax, wx * by - wy * ay
    return wx, wy, -wy * turn_x, -wy * turn_y, wx * turn_x, wx * turn_y


@njit(**SUMS)
def find_pairs(y, traits, constants, order, found):  # type: ignore[no-untyped-def]
    """Pairs nearer than the reach: who `(pairs, 2)`, E / d, scratch, and how many there are.

    Args:
        y: `(people, 2)`.
        order: People sorted by x at about this time; sorted again here.
        found: What this gave before, whose memory is used again.
    """
    strength, scale, reach, _ = constants
    who, push, sums, _ = found
    people = len(y)
    xs, ys, radii = np.empty(people), np.empty(people), np.empty(people)
    for k in range(people):
        i, at = order[k], k
        x = y[i, 0]
        while at > 0 and xs[at - 1] > x:
            order[at], xs[at] = order[at - 1], xs[at - 1]
            at -= 1
        order[at], xs[at] = i, x
    for k in range(people):
        ys[k], radii[k] = y[order[k], 1], traits[order[k], RADIUS]
    count = np.uint64(0)
    for a in range(people):
        if count + np.uint64(people) > np.uint64(len(push)):
            push, sums = np.concatenate((push, push)), np.concatenate((sums, sums))
            who = np.concatenate((who, who))
        x, across, radius, i = xs[a], ys[a], radii[a], order[a]
        for b in range(a + 1, people):
            dx = xs[b] - x
            if dx >= reach:
                break
            dy = ys[b] - across
            squared = dx * dx + dy * dy
            who[count, 0], who[count, 1] = i, order[b]
            push[count], sums[count] = squared, radius + radii[b]
            count += np.uint64(squared < reach * reach)
    per_scale = DOUBLINGS / scale
    for k in range(count):
        d = math.sqrt(max(push[k], TOUCHING))
        push[k] = strength * exp2((sums[k] - d) * per_scale) / d
    return who, push, sums, count


@njit(**OPTIONS)
def no_pairs(people):  # type: ignore[no-untyped-def]
    """For :func:`find_pairs`: people in some order, and memory."""
    memory = 16 * people + 16
    nobody = np.empty((memory, 2), dtype=np.uint32)
    return np.arange(people).astype(np.uint32), (nobody, np.empty(memory), np.empty(memory), np.uint64(0))


@njit(**OPTIONS)
def cell_at(x, y, grid):  # type: ignore[no-untyped-def]
    """Number of the cell of walls at a place, -1 outside."""
    x, y = x - grid.x, y - grid.y
    if not (0.0 <= x < grid.columns * grid.cell and 0.0 <= y < grid.rows * grid.cell):
        return -1
    per_cell = 1.0 / grid.cell
    return min(int(y * per_cell), grid.rows - 1) * grid.columns + min(int(x * per_cell), grid.columns - 1)


@njit(**OPTIONS)
def accelerations(y, time, traits, goals, constants, walls, pairs, result):  # type: ignore[no-untyped-def]
    """Fill `(people, 2)` with the model's accelerations but for the friction -u / tau."""
    strength, scale, _, reach = constants
    heads, vectors = goals
    who, pushes, _, count = pairs
    result[:] = 0.0
    per_scale = DOUBLINGS / scale
    for k in range(count):
        i, j, push = who[k, 0], who[k, 1], pushes[k]
        px, py = push * (y[i, 0] - y[j, 0]), push * (y[i, 1] - y[j, 1])
        result[i, 0] += px
        result[i, 1] += py
        result[j, 0] -= px
        result[j, 1] -= py
    for i in range(len(y)):
        cell = cell_at(y[i, 0], y[i, 1], walls.grid)
        if cell >= 0:
            for k in range(walls.starts[cell], walls.starts[cell + 1]):
                nx, ny, d = nearest(y[i, 0], y[i, 1], walls.lists[k], walls)
                if d < reach:
                    push = strength * exp2((traits[i, RADIUS] - d) * per_scale) / d
                    result[i, 0] += push * nx
                    result[i, 1] += push * ny
        result[i, 0] *= traits[i, LIGHTNESS]
        result[i, 1] *= traits[i, LIGHTNESS]
        goal = int(traits[i, GOAL])
        if goal >= 0 and time < traits[i, UNTIL]:
            wx, wy, _, _, _, _ = will(y[i, 0], y[i, 1], goal, heads, vectors, False)
            wanted = traits[i, EAGERNESS] * traits[i, SPEED]
            result[i, 0] += wanted * wx
            result[i, 1] += wanted * wy


@njit(**OPTIONS)
def jacobian_product(y, time, traits, goals, constants, walls, pairs, z, transposed, result):  # type: ignore[no-untyped-def]
    """Fill `(people, 2)` with the derivative of :func:`accelerations` by y, or its transpose, times z."""
    strength, scale, _, reach = constants
    heads, vectors = goals
    who, pushes, _, count = pairs
    scaled = np.empty_like(z)
    for i in range(len(y)):
        share = traits[i, LIGHTNESS] if transposed else 1.0
        scaled[i, 0], scaled[i, 1] = share * z[i, 0], share * z[i, 1]
    result[:] = 0.0
    per_scale = 1.0 / scale
    for k in range(count):
        i, j, push = who[k, 0], who[k, 1], pushes[k]
        dx, dy = y[i, 0] - y[j, 0], y[i, 1] - y[j, 1]
        squared = max(dx * dx + dy * dy, TOUCHING)
        zx, zy = scaled[i, 0] - scaled[j, 0], scaled[i, 1] - scaled[j, 1]
        along = push * (dx * zx + dy * zy) * (math.sqrt(squared) * per_scale + 1.0) / squared
        px, py = push * zx - along * dx, push * zy - along * dy
        result[i, 0] += px
        result[i, 1] += py
        result[j, 0] -= px
        result[j, 1] -= py
    for i in range(len(y)):
        cell = cell_at(y[i, 0], y[i, 1], walls.grid)
        if cell >= 0:
            for k in range(walls.starts[cell], walls.starts[cell + 1]):
                nx, ny, d = nearest(y[i, 0], y[i, 1], walls.lists[k], walls)
                if d < reach:
                    push = strength * exp2((traits[i, RADIUS] - d) * DOUBLINGS / scale)
                    # A face gives way along itself, a corner does not.
                    round_ = push / d if walls.features[walls.lists[k], 4] < 0.0 else 0.0
                    along = (nx * scaled[i, 0] + ny * scaled[i, 1]) / (d * d) * (push / scale + round_)
                    result[i, 0] += round_ * scaled[i, 0] - along * nx
                    result[i, 1] += round_ * scaled[i, 1] - along * ny
        if not transposed:
            result[i, 0] *= traits[i, LIGHTNESS]
            result[i, 1] *= traits[i, LIGHTNESS]
        goal = int(traits[i, GOAL])
        if goal >= 0 and time < traits[i, UNTIL]:
            _, _, xx, xy, yx, yy = will(y[i, 0], y[i, 1], goal, heads, vectors, True)
            if transposed:
                xy, yx = yx, xy
            wanted = traits[i, EAGERNESS] * traits[i, SPEED]
            result[i, 0] += wanted * (xx * z[i, 0] + xy * z[i, 1])
            result[i, 1] += wanted * (yx * z[i, 0] + yy * z[i, 1])


@njit(**OPTIONS)
def run(positions, velocities, controls, kept, dt, traits, goals, constants, walls):  # type: ignore[no-untyped-def]
    """Fill positions and velocities `(steps + 1, people, 2)` from their first rows, under `controls`.

    Gives the pairs of all steps and where those of each begin, if there is memory `kept` for them.
    """
    force = np.empty_like(positions[0])
    order, pairs = no_pairs(len(force))
    who, push, starts = kept
    for n in range(len(controls)):
        pairs = find_pairs(positions[n], traits, constants, order, pairs)
        if len(starts) > 0:
            first, last = starts[n], starts[n] + np.int64(pairs[3])
            while last > len(push):
                who, push = np.concatenate((who, pairs[0], who)), np.concatenate((push, pairs[1], push))
            for k in range(pairs[3]):
                at = np.uint64(first) + k
                who[at, 0], who[at, 1], push[at] = pairs[0][k, 0], pairs[0][k, 1], pairs[1][k]
            starts[n + 1] = last
        accelerations(positions[n], n * dt, traits, goals, constants, walls, pairs, force)
        for i in range(len(force)):
            for c in range(2):
                u = velocities[n, i, c]
                u += dt * (force[i, c] - traits[i, EAGERNESS] * u + controls[n, i, c])
                velocities[n + 1, i, c] = u
                positions[n + 1, i, c] = positions[n, i, c] + dt * u
    return who, push, starts


@njit(**OPTIONS)
def tangent(positions, dy, du, controls, dt, traits, goals, constants, walls):  # type: ignore[no-untyped-def]
    """Fill changes of positions and velocities, as :func:`run` does, under small `controls`."""
    force = np.empty_like(dy[0])
    order, pairs = no_pairs(len(force))
    for n in range(len(controls)):
        pairs = find_pairs(positions[n], traits, constants, order, pairs)
        jacobian_product(positions[n], n * dt, traits, goals, constants, walls, pairs, dy[n], False, force)
        for i in range(len(force)):
            for c in range(2):
                u = du[n, i, c]
                u += dt * (force[i, c] - traits[i, EAGERNESS] * u + controls[n, i, c])
                du[n + 1, i, c] = u
                dy[n + 1, i, c] = dy[n, i, c] + dt * u


@njit(**OPTIONS)
def sweep(positions, by_y, by_u, kept, dt, traits, goals, constants, walls, result):  # type: ignore[no-untyped-def]
    """Derivatives by the controls `(steps, people, 2)` from those by positions and velocities.

    The latter, `(steps + 1, people, 2)`, become the derivatives with all that follows from them. `kept` are
    the pairs that :func:`run` kept; without any they are found again.
    """
    force = np.empty_like(by_y[0])
    order, pairs = no_pairs(len(force))
    who, push, starts = kept
    for n in range(len(result) - 1, -1, -1):
        for i in range(len(force)):
            for c in range(2):
                result[n, i, c] = dt * (by_u[n + 1, i, c] + dt * by_y[n + 1, i, c])
        if len(starts) > 0:
            first, last = starts[n], starts[n + 1]
            pairs = (who[first:last], push[first:last], pairs[2], np.uint64(last - first))
        else:
            pairs = find_pairs(positions[n], traits, constants, order, pairs)
        jacobian_product(positions[n], n * dt, traits, goals, constants, walls, pairs, result[n], True, force)
        for i in range(len(force)):
            for c in range(2):
                by_y[n, i, c] += by_y[n + 1, i, c] + force[i, c]
                by_u[n, i, c] += result[n, i, c] / dt - traits[i, EAGERNESS] * result[n, i, c]


@njit(**OPTIONS)
def lacking(positions, wanted, first, last, gain, dt, traits, goals, constants, walls, result, by_y):  # type: ignore[no-untyped-def]
    """Fill frames `first … last` with `wanted` accelerations (friction apart) less those of the model.

    To `by_y` is added what half of `gain` times their square is by the positions of the frames.
    """
    force = np.empty_like(result[0])
    order, pairs = no_pairs(len(force))
    for n in range(first, last):
        pairs = find_pairs(positions[n], traits, constants, order, pairs)
        accelerations(positions[n], n * dt, traits, goals, constants, walls, pairs, force)
        for i in range(len(force)):
            for c in range(2):
                result[n, i, c] = wanted[n, i, c] - force[i, c]
        if gain > 0.0:
            jacobian_product(
                positions[n], n * dt, traits, goals, constants, walls, pairs, result[n], True, force
            )
            for i in range(len(force)):
                for c in range(2):
                    by_y[n, i, c] -= gain * force[i, c]


@njit(**OPTIONS)
def glide(positions, velocities, wanted, dt, traits):  # type: ignore[no-untyped-def]
    """As :func:`run`, of `wanted` accelerations in the place of forces: linear in them."""
    for n in range(len(wanted)):
        for i in range(wanted.shape[1]):
            for c in range(2):
                u = velocities[n, i, c] + dt * (wanted[n, i, c] - traits[i, EAGERNESS] * velocities[n, i, c])
                velocities[n + 1, i, c] = u
                positions[n + 1, i, c] = positions[n, i, c] + dt * u


@njit(**OPTIONS)
def pull_glide(by_y, by_u, dt, traits, result):  # type: ignore[no-untyped-def]
    """The transpose of :func:`glide`; derivatives by positions and velocities are used up."""
    for n in range(len(result) - 1, -1, -1):
        for i in range(result.shape[1]):
            for c in range(2):
                pulled = by_u[n + 1, i, c] + dt * by_y[n + 1, i, c]
                result[n, i, c] = dt * pulled
                by_u[n, i, c] += (1.0 - dt * traits[i, EAGERNESS]) * pulled
                by_y[n, i, c] += by_y[n + 1, i, c]


@njit(**OPTIONS)
def squeeze(positions, traits, slack, weight, by_y):  # type: ignore[no-untyped-def]
    """Half of `weight` times the squares by which bodies overlap more than `slack`; adds what it is by y."""
    order, pairs = no_pairs(positions.shape[1])
    widest, cost = 2.0 * traits[:, RADIUS].max(), 0.0
    for n in range(1, len(positions)):
        y = positions[n]
        pairs = find_pairs(y, traits, (1.0, 1.0, widest, widest), order, pairs)
        for k in range(pairs[3]):
            i, j = pairs[0][k, 0], pairs[0][k, 1]
            dx, dy = y[i, 0] - y[j, 0], y[i, 1] - y[j, 1]
            d = math.sqrt(max(dx * dx + dy * dy, TOUCHING))
            over = traits[i, RADIUS] + traits[j, RADIUS] - slack - d
            if over > 0.0:
                cost += 0.5 * weight * over * over
                by_y[n, i, 0] -= weight * over * dx / d
                by_y[n, i, 1] -= weight * over * dy / d
                by_y[n, j, 0] += weight * over * dx / d
                by_y[n, j, 1] += weight * over * dy / d
    return cost
