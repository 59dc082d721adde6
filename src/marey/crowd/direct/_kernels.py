"""Compiled parts of the controlled crowd: runs forwards, products with the Jacobian, sweeps backwards.

The model is the smooth set of social forces (Courty 2013, section 7.2.1), as accelerations

    F_i(y, u) / m_i = (v_i W_i(y_i) - u_i) / tau_i + (Σ_j E_ij n_ij + Σ_walls E n) / m_i
    E = a exp((r - d) / b)

with n pointing away. Pairs are found among people sorted by x. The Jacobian of the social and wall forces is
symmetric, so its product serves tangent and adjoint. Cost: about 15 ns a pair nearer than the reach.
"""

from __future__ import annotations

import math

import numpy as np

from marey._compiling import njit
from marey.crowd.simulation._step_kernels import cell_of, nearest

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Columns of the traits of a person: 1 / mass, 1 / tau, desired speed, radius, goal, seconds until which the
# person wants to walk.
LIGHTNESS, EAGERNESS, SPEED, RADIUS, GOAL, UNTIL = range(6)
# Metres; two people nearer than this repel along x.
TOUCHING = 1e-6


@njit(**OPTIONS)
def will(x, y, goal, heads, vectors, slopes):  # type: ignore[no-untyped-def]
    """Unit direction to a goal at a place, and where `slopes` its derivatives `wx_x, wx_y, wy_x, wy_y`."""
    start, rows, columns, spacing = (
        int(heads[goal, 0]),
        int(heads[goal, 1]),
        int(heads[goal, 2]),
        heads[goal, 5],
    )
    x, y = (x - heads[goal, 3]) / spacing, (y - heads[goal, 4]) / spacing
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
    wx, wy = wx / length, wy / length
    if not slopes:
        return wx, wy, 0.0, 0.0, 0.0, 0.0
    by_x = inside_x / (length * spacing)
    by_y = inside_y / (length * spacing)
    # Of the vector before it was made a unit; only what is across it turns it.
    ax = by_x * ((1.0 - q) * (b[0] - a[0]) + q * (d[0] - c[0]))
    bx = by_x * ((1.0 - q) * (b[1] - a[1]) + q * (d[1] - c[1]))
    ay = by_y * ((1.0 - p) * (c[0] - a[0]) + p * (d[0] - b[0]))
    by = by_y * ((1.0 - p) * (c[1] - a[1]) + p * (d[1] - b[1]))
    turn_x, turn_y = wx * bx - wy * ax, wx * by - wy * ay
    return wx, wy, -wy * turn_x, -wy * turn_y, wx * turn_x, wx * turn_y


@njit(**OPTIONS)
def accelerations(y, time, traits, goals, constants, walls, result):  # type: ignore[no-untyped-def]
    """Fill `(people, 2)` with the model's accelerations but for the friction -u / tau."""
    strength, scale, reach = constants
    heads, vectors = goals
    for i in range(len(y)):
        result[i, 0] = 0.0
        result[i, 1] = 0.0
    order = np.argsort(y[:, 0])
    for first in range(len(order)):
        i = order[first]
        for second in range(first + 1, len(order)):
            j = order[second]
            dx, dy = y[i, 0] - y[j, 0], y[i, 1] - y[j, 1]
            if -dx >= reach:
                break
            squared = dx * dx + dy * dy
            if squared >= reach * reach:
                continue
            if squared < TOUCHING * TOUCHING:
                dx, squared = -TOUCHING, TOUCHING * TOUCHING
            d = math.sqrt(squared)
            push = strength * math.exp((traits[i, RADIUS] + traits[j, RADIUS] - d) / scale) / d
            result[i, 0] += push * dx
            result[i, 1] += push * dy
            result[j, 0] -= push * dx
            result[j, 1] -= push * dy
    for i in range(len(y)):
        cell = cell_of(y[i, 0], y[i, 1], walls.grid) if walls.grid.rows > 0 else -1
        if cell >= 0:
            for k in range(walls.starts[cell], walls.starts[cell + 1]):
                nx, ny, d = nearest(y[i, 0], y[i, 1], walls.lists[k], walls)
                if d < reach:
                    push = strength * math.exp((traits[i, RADIUS] - d) / scale) / d
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
def jacobian_product(y, time, traits, goals, constants, walls, z, transposed, result):  # type: ignore[no-untyped-def]
    """Fill `(people, 2)` with the derivative of :func:`accelerations` by y, or its transpose, times z."""
    strength, scale, reach = constants
    heads, vectors = goals
    scaled = np.empty_like(z)
    for i in range(len(y)):
        share = traits[i, LIGHTNESS] if transposed else 1.0
        scaled[i, 0], scaled[i, 1] = share * z[i, 0], share * z[i, 1]
        result[i, 0] = 0.0
        result[i, 1] = 0.0
    order = np.argsort(y[:, 0])
    for first in range(len(order)):
        i = order[first]
        for second in range(first + 1, len(order)):
            j = order[second]
            dx, dy = y[i, 0] - y[j, 0], y[i, 1] - y[j, 1]
            if -dx >= reach:
                break
            squared = dx * dx + dy * dy
            if squared >= reach * reach:
                continue
            if squared < TOUCHING * TOUCHING:
                dx, squared = -TOUCHING, TOUCHING * TOUCHING
            d = math.sqrt(squared)
            push = strength * math.exp((traits[i, RADIUS] + traits[j, RADIUS] - d) / scale)
            zx, zy = scaled[i, 0] - scaled[j, 0], scaled[i, 1] - scaled[j, 1]
            along = (dx * zx + dy * zy) / squared * (push / scale + push / d)
            px, py = push / d * zx - along * dx, push / d * zy - along * dy
            result[i, 0] += px
            result[i, 1] += py
            result[j, 0] -= px
            result[j, 1] -= py
    for i in range(len(y)):
        cell = cell_of(y[i, 0], y[i, 1], walls.grid) if walls.grid.rows > 0 else -1
        if cell >= 0:
            for k in range(walls.starts[cell], walls.starts[cell + 1]):
                nx, ny, d = nearest(y[i, 0], y[i, 1], walls.lists[k], walls)
                if d < reach:
                    push = strength * math.exp((traits[i, RADIUS] - d) / scale)
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
def run(positions, velocities, controls, dt, traits, goals, constants, walls):  # type: ignore[no-untyped-def]
    """Fill positions and velocities `(steps + 1, people, 2)` from their first rows, under `controls`."""
    force = np.empty_like(positions[0])
    for n in range(len(controls)):
        accelerations(positions[n], n * dt, traits, goals, constants, walls, force)
        for i in range(len(force)):
            for c in range(2):
                u = velocities[n, i, c]
                u += dt * (force[i, c] - traits[i, EAGERNESS] * u + controls[n, i, c])
                velocities[n + 1, i, c] = u
                positions[n + 1, i, c] = positions[n, i, c] + dt * u


@njit(**OPTIONS)
def tangent(positions, dy, du, controls, dt, traits, goals, constants, walls):  # type: ignore[no-untyped-def]
    """Fill changes of positions and velocities, as :func:`run` does, under small `controls`."""
    force = np.empty_like(dy[0])
    for n in range(len(controls)):
        jacobian_product(positions[n], n * dt, traits, goals, constants, walls, dy[n], False, force)
        for i in range(len(force)):
            for c in range(2):
                u = du[n, i, c]
                u += dt * (force[i, c] - traits[i, EAGERNESS] * u + controls[n, i, c])
                du[n + 1, i, c] = u
                dy[n + 1, i, c] = dy[n, i, c] + dt * u


@njit(**OPTIONS)
def sweep(positions, by_y, by_u, dt, traits, goals, constants, walls, result):  # type: ignore[no-untyped-def]
    """Derivatives by the controls `(steps, people, 2)` from those by positions and velocities.

    The latter, `(steps + 1, people, 2)`, become the derivatives with all that follows from them.
    """
    force = np.empty_like(by_y[0])
    for n in range(len(result) - 1, -1, -1):
        for i in range(len(force)):
            for c in range(2):
                result[n, i, c] = dt * (by_u[n + 1, i, c] + dt * by_y[n + 1, i, c])
        jacobian_product(positions[n], n * dt, traits, goals, constants, walls, result[n], True, force)
        for i in range(len(force)):
            for c in range(2):
                by_y[n, i, c] += by_y[n + 1, i, c] + force[i, c]
                by_u[n, i, c] += result[n, i, c] / dt - traits[i, EAGERNESS] * result[n, i, c]


@njit(**OPTIONS)
def needed_controls(positions, wanted, first, last, dt, traits, goals, constants, walls, result):  # type: ignore[no-untyped-def]
    """Fill frames `first … last` of `wanted` accelerations (friction apart) less those of the model."""
    for n in range(first, last):
        accelerations(positions[n], n * dt, traits, goals, constants, walls, result[n])
        for i in range(result.shape[1]):
            result[n, i, 0] = wanted[n, i, 0] - result[n, i, 0]
            result[n, i, 1] = wanted[n, i, 1] - result[n, i, 1]


@njit(**OPTIONS)
def pull_frames(positions, by_controls, first, last, dt, traits, goals, constants, walls, by_y):  # type: ignore[no-untyped-def]
    """Add to `by_y` what derivatives by :func:`needed_controls` are by the positions of the frames."""
    force = np.empty_like(by_controls[0])
    for n in range(first, last):
        jacobian_product(positions[n], n * dt, traits, goals, constants, walls, by_controls[n], True, force)
        for i in range(len(force)):
            by_y[n, i, 0] -= force[i, 0]
            by_y[n, i, 1] -= force[i, 1]
