"""Compiled loops over people: fourth-order steps through a field, and how fields are mixed in time.

About 0.15 µs a person and step; every loop runs over a part of the people and lets go of the interpreter, so
that threads share the work without changing the result. Importing this module imports numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.geometry._inline_kernels import grid_cell

Array = NDArray[np.float64]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

OUTSIDE, WALKABLE, SOLID = 0, 1, 2


@njit(inline="always", **_OPTIONS)
def _numbers(matrix: Array) -> Any:
    """A homography as a tuple, which stays in registers, with the divisor of a camera from above, or 0."""
    a, b, c = matrix[2, 0], matrix[2, 1], matrix[2, 2]
    even = 1.0 / c if a == 0.0 and b == 0.0 else 0.0
    return (
        matrix[0, 0], matrix[0, 1], matrix[0, 2], matrix[1, 0], matrix[1, 1], matrix[1, 2], a, b, c, even
    )  # fmt: skip


@njit(inline="always", **_OPTIONS)
def _pixel(x: float, y: float, m: Any) -> tuple[float, float]:
    last = m[9] if m[9] != 0.0 else 1.0 / (m[6] * x + m[7] * y + m[8])
    return (m[0] * x + m[1] * y + m[2]) * last, (m[3] * x + m[4] * y + m[5]) * last


@njit(**_OPTIONS)
def region_at(x: float, y: float, to_pixel: Array, region: Any) -> int:
    """What is under a person: OUTSIDE of the picture, WALKABLE or SOLID."""
    return _region_at(x, y, _numbers(to_pixel), region)


@njit(inline="always", **_OPTIONS)
def _region_at(x: float, y: float, to_pixel: Any, region: Any) -> int:
    column, row = _pixel(x, y, to_pixel)
    if not (-0.5 <= column < region.shape[1] - 0.5 and -0.5 <= row < region.shape[0] - 0.5):
        return 0
    return region[math.floor(row + 0.5), math.floor(column + 0.5)]


@njit(inline="always", **_OPTIONS)
def _velocity(
    field: Any, rows: int, columns: int, x: float, y: float, to_pixel: Any, g: Any, rate: float
) -> tuple[float, float]:
    """Metres per second at a place on the ground: bilinear in the picture, then through the camera."""
    column, row = _pixel(x, y, to_pixel)
    c0, a = grid_cell(column, columns)
    r0, b = grid_cell(row, rows)
    # Unsigned places in flat memory: signed ones are looked at for counting from the end, at each access.
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
    vx: float, vy: float, x: float, y: float, clearance: Any, corner: Array, spacing: float, radius: float
) -> tuple[float, float]:
    """A velocity without its part towards an obstacle nearer than `radius`."""
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
    fields: tuple[Any, Any, Any],
    seconds: float,
    rate: float,
    pull: float,
    to_pixel: Array,
    to_ground: Array,
    region: Any,
    clearance: Any,
    corner: Array,
    spacing: float,
    radius: float,
    positions: Array,
    velocities: Array,
    status: Any,
) -> None:
    """Move people `start` to `stop` by one classical Runge–Kutta step, in place.

    fields: at the beginning, the middle and the end of the step, each `(rows, columns, 2)` pixels per frame
    pull: share of the wished velocity taken up in the step; 1 = at once
    region: `(rows, columns)`, what each pixel is; status: `(people,)`, what each person stands on afterwards
    clearance: `(n, m)` metres to the next obstacle, nodes at `corner + spacing (column, row)`; empty = none
    """
    rows, columns = fields[0].shape[0], fields[0].shape[1]
    first, middle, last = fields[0].reshape(-1), fields[1].reshape(-1), fields[2].reshape(-1)
    half = 0.5 * seconds
    seen, ground = _numbers(to_pixel), _numbers(to_ground)
    for i in range(start, stop):
        x, y = positions[i, 0], positions[i, 1]
        if x != x:
            status[i] = 0
            continue
        ax, ay = _velocity(first, rows, columns, x, y, seen, ground, rate)
        ax, ay = _tangential(ax, ay, x, y, clearance, corner, spacing, radius)
        px, py = x + half * ax, y + half * ay
        bx, by = _velocity(middle, rows, columns, px, py, seen, ground, rate)
        bx, by = _tangential(bx, by, px, py, clearance, corner, spacing, radius)
        px, py = x + half * bx, y + half * by
        cx, cy = _velocity(middle, rows, columns, px, py, seen, ground, rate)
        cx, cy = _tangential(cx, cy, px, py, clearance, corner, spacing, radius)
        px, py = x + seconds * cx, y + seconds * cy
        dx, dy = _velocity(last, rows, columns, px, py, seen, ground, rate)
        dx, dy = _tangential(dx, dy, px, py, clearance, corner, spacing, radius)
        vx, vy = (ax + 2 * bx + 2 * cx + dx) / 6, (ay + 2 * by + 2 * cy + dy) / 6
        if pull < 1:
            vx = velocities[i, 0] + pull * (vx - velocities[i, 0])
            vy = velocities[i, 1] + pull * (vy - velocities[i, 1])
            vx, vy = _tangential(vx, vy, x, y, clearance, corner, spacing, radius)
        nx, ny = x + seconds * vx, y + seconds * vy
        under = _region_at(nx, ny, seen, region)
        if under == 2:
            # Along one axis or not at all: nobody walks into what is solid.
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
def mix(before: Any, after: Any, share: float, sources: Any, targets: Any, mixed: Any) -> None:
    """`mixed = (1 - share) before + share after`, `(rows, columns, 2)`; then pixels `targets` copy `sources`.

    sources, targets: `(n,)` numbers of pixels: what lies in obstacles moves as its nearest neighbour outside,
    so that nobody is slowed down by vectors that mean nothing.
    """
    for row in range(before.shape[0]):
        for column in range(before.shape[1]):
            for axis in range(2):
                low = before[row, column, axis]
                mixed[row, column, axis] = low + share * (after[row, column, axis] - low)
    columns = before.shape[1]
    for k in range(targets.shape[0]):
        for axis in range(2):
            mixed[targets[k] // columns, targets[k] % columns, axis] = mixed[
                sources[k] // columns, sources[k] % columns, axis
            ]


@njit(**_OPTIONS)
def look_under(start: int, stop: int, positions: Array, to_pixel: Array, region: Any, status: Any) -> None:
    """What people `start` to `stop` stand on; OUTSIDE for the absent."""
    for i in range(start, stop):
        absent = positions[i, 0] != positions[i, 0]
        status[i] = 0 if absent else region_at(positions[i, 0], positions[i, 1], to_pixel, region)


@njit(**_OPTIONS)
def stay_out(
    start: int,
    stop: int,
    before: Array,
    to_pixel: Array,
    region: Any,
    clearance: Any,
    corner: Array,
    spacing: float,
    radius: float,
    positions: Array,
    aside: Array,
) -> None:
    """Nobody of `start` to `stop` is pushed into what is solid, nor towards it within `radius`."""
    for i in range(start, stop):
        x, y = before[i, 0], before[i, 1]
        nx, ny = positions[i, 0], positions[i, 1]
        if nx != nx:
            continue
        aside[i, 0], aside[i, 1] = _tangential(
            aside[i, 0], aside[i, 1], nx, ny, clearance, corner, spacing, radius
        )
        if region_at(nx, ny, to_pixel, region) != 2:
            continue
        aside[i, 0], aside[i, 1] = 0.0, 0.0
        if region_at(nx, y, to_pixel, region) != 2:
            positions[i, 1] = y
        elif region_at(x, ny, to_pixel, region) != 2:
            positions[i, 0] = x
        else:
            positions[i, 0], positions[i, 1] = x, y


@njit(**_OPTIONS)
def order_by_block(positions: Array, to_pixel: Array, rows: int, columns: int, side: int, order: Any) -> None:
    """Fill `order` `(people,)`: by blocks of `side` pixels, row by row, who is absent or outside last."""
    seen = _numbers(to_pixel)
    across = columns // side + 1
    blocks = (rows // side + 1) * across
    first = np.zeros(blocks + 2, dtype=np.int64)
    block = np.empty(positions.shape[0], dtype=np.int64)
    for i in range(positions.shape[0]):
        column, row = _pixel(positions[i, 0], positions[i, 1], seen)
        block[i] = blocks
        if 0 <= column < columns and 0 <= row < rows:
            block[i] = int(row) // side * across + int(column) // side
        first[block[i] + 1] += 1
    for k in range(blocks + 1):
        first[k + 1] += first[k]
    for i in range(positions.shape[0]):
        order[first[block[i]]] = i
        first[block[i]] += 1
