"""Compiled loops over agents: fourth-order steps through a field, fields mixed in time.

About 0.15 µs an agent and step; loops run over a part of the agents without Python's lock, so that threads
share the work without changing the result. `ground` is :attr:`.ground.WalkableGround.arrays`: `to_pixel` and
`to_ground` `(3, 3)`, `region` `(rows, columns)`, and the clearance: metres to the next obstacle `(n, m)`, its
first node, the spacing of its nodes; empty = no obstacle. Importing this module imports numba.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._arrays import AnyArray, Array, Bytes, Integers
from marey._compiling import njit
from marey.geometry._inline_kernels import grid_cell

Homography = tuple[float, float, float, float, float, float, float, float, float, float]
Clearance = tuple[NDArray[np.float32], Array, float]
Ground = tuple[Array, Array, Bytes, Clearance]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(inline="always", **_OPTIONS)
def _numbers(matrix: Array) -> Homography:
    """A homography as a tuple, which stays in registers, with the divisor of a camera from above, or 0."""
    a, b, c = matrix[2, 0], matrix[2, 1], matrix[2, 2]
    even = 1.0 / c if a == 0.0 and b == 0.0 else 0.0
    return (
        matrix[0, 0], matrix[0, 1], matrix[0, 2], matrix[1, 0], matrix[1, 1], matrix[1, 2], a, b, c, even
    )  # fmt: skip


@njit(inline="always", **_OPTIONS)
def _pixel(x: float, y: float, m: Homography) -> tuple[float, float]:
    last = m[9] if m[9] != 0.0 else 1.0 / (m[6] * x + m[7] * y + m[8])
    return (m[0] * x + m[1] * y + m[2]) * last, (m[3] * x + m[4] * y + m[5]) * last


@njit(inline="always", **_OPTIONS)
def _region_at(x: float, y: float, to_pixel: Homography, region: Bytes) -> int:
    """What is under an agent: 0 outside of the image, 1 walkable, 2 solid."""
    column, row = _pixel(x, y, to_pixel)
    if not (-0.5 <= column < region.shape[1] - 0.5 and -0.5 <= row < region.shape[0] - 0.5):
        return 0
    return region[math.floor(row + 0.5), math.floor(column + 0.5)]


@njit(inline="always", **_OPTIONS)
def _velocity(
    field: AnyArray,
    rows: int,
    columns: int,
    x: float,
    y: float,
    to_pixel: Homography,
    g: Homography,
    rate: float,
) -> tuple[float, float]:
    """Metres per second at a place on the ground: bilinear in the image, then through the camera."""
    column, row = _pixel(x, y, to_pixel)
    c0, a = grid_cell(column, columns)
    r0, b = grid_cell(row, rows)
    # Unsigned places in flat memory: signed ones are checked for counting from the end, at each access.
    place = np.uint64(2 * (r0 * columns + c0))
    right = np.uint64(2 if columns > 1 else 0)
    below = np.uint64(2 * columns if rows > 1 else 0)
    one = np.uint64(1)
    w00, w01, w10, w11 = (1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b
    p01, p10 = place + right, place + below
    p11 = p10 + right
    u = w00 * field[place] + w01 * field[p01] + w10 * field[p10] + w11 * field[p11]
    v = w00 * field[place + one] + w01 * field[p01 + one] + w10 * field[p10 + one] + w11 * field[p11 + one]
    if g[9] != 0.0:
        scale = rate * g[9]
        return scale * (g[0] * u + g[1] * v), scale * (g[3] * u + g[4] * v)
    scale = rate / (g[6] * column + g[7] * row + g[8])
    vx = scale * ((g[0] - x * g[6]) * u + (g[1] - x * g[7]) * v)
    vy = scale * ((g[3] - y * g[6]) * u + (g[4] - y * g[7]) * v)
    return vx, vy


@njit(inline="always", **_OPTIONS)
def _tangential(
    vx: float, vy: float, x: float, y: float, walls: Clearance, radius: float
) -> tuple[float, float]:
    """A velocity without its part towards an obstacle nearer than `radius`."""
    clearance, corner, spacing = walls
    rows, columns = clearance.shape
    if rows < 2:
        return vx, vy
    c0, a = grid_cell((x - corner[0]) / spacing, columns)
    r0, b = grid_cell((y - corner[1]) / spacing, rows)
    d00, d01 = clearance[r0, c0], clearance[r0, c0 + 1]
    d10, d11 = clearance[r0 + 1, c0], clearance[r0 + 1, c0 + 1]
    if (1 - b) * ((1 - a) * d00 + a * d01) + b * ((1 - a) * d10 + a * d11) >= radius:
        return vx, vy
    nx = (1 - b) * (d01 - d00) + b * (d11 - d10)
    ny = (1 - a) * (d10 - d00) + a * (d11 - d01)
    size = nx * nx + ny * ny
    along = vx * nx + vy * ny
    if size < 1e-12 or along >= 0:
        return vx, vy
    return vx - along * nx / size, vy - along * ny / size


@njit(**_OPTIONS)
def step(
    start: int,
    stop: int,
    fields: tuple[AnyArray, AnyArray, AnyArray],
    seconds: float,
    rate: float,
    pull: float,
    ground: Ground,
    radius: float,
    positions: Array,
    velocities: Array,
    status: Bytes,
) -> None:
    """Move agents `start` to `stop` by one classical Runge–Kutta step, in place.

    Args:
        start: First agent.
        stop: One past the last agent.
        fields: At the start, the middle and the end of the step, each `(rows, columns, 2)` px/frame.
        seconds: Length of the step.
        rate: Frames per second of the fields.
        pull: Share of the field's velocity taken up in the step; 1 = at once.
        ground: See the module.
        radius: Metres from obstacles within which no agent moves towards them.
        positions: `(agents, 2)`.
        velocities: `(agents, 2)`.
        status: `(agents,)`, filled with what each agent stands on afterwards.
    """
    to_pixel, to_ground, region, walls = ground
    rows, columns = fields[0].shape[0], fields[0].shape[1]
    first, middle, last = fields[0].reshape(-1), fields[1].reshape(-1), fields[2].reshape(-1)
    half = 0.5 * seconds
    seen, camera = _numbers(to_pixel), _numbers(to_ground)
    for i in range(start, stop):
        x, y = positions[i, 0], positions[i, 1]
        if x != x:
            status[i] = 0
            continue
        ax, ay = _velocity(first, rows, columns, x, y, seen, camera, rate)
        ax, ay = _tangential(ax, ay, x, y, walls, radius)
        px, py = x + half * ax, y + half * ay
        bx, by = _velocity(middle, rows, columns, px, py, seen, camera, rate)
        bx, by = _tangential(bx, by, px, py, walls, radius)
        px, py = x + half * bx, y + half * by
        cx, cy = _velocity(middle, rows, columns, px, py, seen, camera, rate)
        cx, cy = _tangential(cx, cy, px, py, walls, radius)
        px, py = x + seconds * cx, y + seconds * cy
        dx, dy = _velocity(last, rows, columns, px, py, seen, camera, rate)
        dx, dy = _tangential(dx, dy, px, py, walls, radius)
        vx, vy = (ax + 2 * bx + 2 * cx + dx) / 6, (ay + 2 * by + 2 * cy + dy) / 6
        if pull < 1:
            vx = velocities[i, 0] + pull * (vx - velocities[i, 0])
            vy = velocities[i, 1] + pull * (vy - velocities[i, 1])
            vx, vy = _tangential(vx, vy, x, y, walls, radius)
        nx, ny = x + seconds * vx, y + seconds * vy
        under = _region_at(nx, ny, seen, region)
        if under == 2:
            # Along one axis or not at all: no agent walks into what is solid.
            if _region_at(nx, y, seen, region) == 1:
                ny, vy = y, 0.0
            elif _region_at(x, ny, seen, region) == 1:
                nx, vx = x, 0.0
            else:
                nx, ny, vx, vy = x, y, 0.0, 0.0
            under = 1
        positions[i, 0], positions[i, 1] = nx, ny
        velocities[i, 0], velocities[i, 1] = vx, vy
        status[i] = under


@njit(**_OPTIONS)
def block_walls(
    start: int,
    stop: int,
    before: Array,
    ground: Ground,
    radius: float,
    positions: Array,
    avoidance: Array,
    status: Bytes,
) -> None:
    """Undo motion of agents `start` to `stop` into solid ground, and avoidance towards it within `radius`."""
    to_pixel, _, region, walls = ground
    seen = _numbers(to_pixel)
    for i in range(start, stop):
        x, y = before[i, 0], before[i, 1]
        nx, ny = positions[i, 0], positions[i, 1]
        if nx != nx:
            status[i] = 0
            continue
        avoidance[i, 0], avoidance[i, 1] = _tangential(
            avoidance[i, 0], avoidance[i, 1], nx, ny, walls, radius
        )
        if _region_at(nx, ny, seen, region) == 2:
            avoidance[i, 0], avoidance[i, 1] = 0.0, 0.0
            if _region_at(nx, y, seen, region) != 2:
                ny = y
            elif _region_at(x, ny, seen, region) != 2:
                nx = x
            else:
                nx, ny = x, y
            positions[i, 0], positions[i, 1] = nx, ny
        status[i] = _region_at(nx, ny, seen, region)


@njit(**_OPTIONS)
def mix(
    before: AnyArray, after: AnyArray, share: float, sources: Integers, targets: Integers, mixed: AnyArray
) -> None:
    """`mixed = (1 - share) before + share after`, `(rows, columns, 2)`; then pixels `targets` copy `sources`.

    Pixels `(n,)` of obstacles move as their nearest neighbour outside, so that vectors that mean nothing slow
    no agent down.
    """
    for row in range(before.shape[0]):
        for column in range(before.shape[1]):
            for axis in range(2):
                low = before[row, column, axis]
                mixed[row, column, axis] = low + share * (after[row, column, axis] - low)
    flat = mixed.reshape(-1, 2)
    for k in range(targets.shape[0]):
        flat[targets[k], 0], flat[targets[k], 1] = flat[sources[k], 0], flat[sources[k], 1]
