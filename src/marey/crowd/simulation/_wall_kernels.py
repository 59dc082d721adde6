"""Compiled loops over the walls near a pedestrian: their force, and the stop of a move into one.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np

from marey._compiling import njit
from marey.crowd.simulation._pair_kernels import exp2

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
# Nearer than this is at the same place.
TOUCHING = 1e-6


@njit(**_OPTIONS)
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
        if d < TOUCHING:
            return -features[feature, 3] * TOUCHING, features[feature, 2] * TOUCHING, TOUCHING
        return nx, ny, d
    start = int(features[feature, 5])
    for k in range(start, start + int(features[feature, 6])):
        if dx * around[k, 0] + dy * around[k, 1] > 0.0:
            return 0.0, 0.0, np.inf
    d = math.sqrt(dx * dx + dy * dy)
    if d < TOUCHING:
        return TOUCHING, 0.0, TOUCHING
    return dx, dy, d


@njit(**_OPTIONS)
def cell_of(x, y, grid):  # type: ignore[no-untyped-def]
    """Number of the cell at a position, -1 outside."""
    column, row = math.floor((x - grid.x) / grid.cell), math.floor((y - grid.y) / grid.cell)
    if column < 0 or row < 0 or column >= grid.columns or row >= grid.rows:
        return -1
    return int(row) * grid.columns + int(column)


@njit(**_OPTIONS)
def wall_forces(x, y, u, v, radius, law, walls):  # type: ignore[no-untyped-def]
    """Force of all faces and corners nearby, friction matrix and stiffness."""
    fx = fy = xx = xy = yy = stiffness = 0.0
    cell = cell_of(x, y, walls.grid)
    if cell < 0:
        return fx, fy, xx, xy, yy, stiffness
    for k in range(walls.starts[cell], walls.starts[cell + 1]):
        nx, ny, d = nearest(x, y, walls.lists[k], walls)
        if d >= law.walls.reach:
            continue
        nx, ny = nx / d, ny / d
        s = min(1.0, (law.walls.reach - d) * law.walls.fade)
        push = s * s * (3.0 - 2.0 * s) * exp2((radius - d) * law.walls.scale + law.walls.strength)
        stiffness += push * law.walls.scale * math.log(2.0)
        overlap = radius - d
        if overlap > 0.0:
            push += law.walls.contact * overlap
            grip = law.walls.friction * overlap
            slide = -u * ny + v * nx
            fx += grip * slide * ny
            fy -= grip * slide * nx
            xx += grip * ny * ny
            xy -= grip * nx * ny
            yy += grip * nx * nx
            stiffness += law.walls.contact
        fx += push * nx
        fy += push * ny
    return fx, fy, xx, xy, yy, stiffness


@njit(**_OPTIONS)
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


@njit(**_OPTIONS)
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
