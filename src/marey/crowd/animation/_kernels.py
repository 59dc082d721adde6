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

Array = NDArray[np.float64]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

OUTSIDE, WALKABLE, SOLID = 0, 1, 2


@njit(inline="always", **_OPTIONS)
def _pixel(x: float, y: float, to_pixel: Array) -> tuple[float, float]:
    last = 1.0 / (to_pixel[2, 0] * x + to_pixel[2, 1] * y + to_pixel[2, 2])
    column = (to_pixel[0, 0] * x + to_pixel[0, 1] * y + to_pixel[0, 2]) * last
    row = (to_pixel[1, 0] * x + to_pixel[1, 1] * y + to_pixel[1, 2]) * last
    return column, row


@njit(**_OPTIONS)
def region_at(x: float, y: float, to_pixel: Array, region: Any) -> int:
    """What is under a person: OUTSIDE of the picture, WALKABLE or SOLID."""
    column, row = _pixel(x, y, to_pixel)
    if not (-0.5 <= column < region.shape[1] - 0.5 and -0.5 <= row < region.shape[0] - 0.5):
        return 0
    return region[math.floor(row + 0.5), math.floor(column + 0.5)]


@njit(inline="always", **_OPTIONS)
def _velocity(
    field: Any, x: float, y: float, to_pixel: Array, to_ground: Array, rate: float
) -> tuple[float, float]:
    """Metres per second at a place on the ground: bilinear in the picture, then through the camera."""
    column, row = _pixel(x, y, to_pixel)
    rows, columns = field.shape[0], field.shape[1]
    # Written so that NaN, on the horizon, ends up at 0 and not at an index out of bounds.
    c = min(column if column > 0.0 else 0.0, columns - 1.0)
    r = min(row if row > 0.0 else 0.0, rows - 1.0)
    c0 = min(int(c), max(columns - 2, 0))
    r0 = min(int(r), max(rows - 2, 0))
    c1, r1 = min(c0 + 1, columns - 1), min(r0 + 1, rows - 1)
    a, b = c - c0, r - r0
    w00, w01, w10, w11 = (1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b
    u = w00 * field[r0, c0, 0] + w01 * field[r0, c1, 0] + w10 * field[r1, c0, 0] + w11 * field[r1, c1, 0]
    v = w00 * field[r0, c0, 1] + w01 * field[r0, c1, 1] + w10 * field[r1, c0, 1] + w11 * field[r1, c1, 1]
    scale = rate / (to_ground[2, 0] * column + to_ground[2, 1] * row + to_ground[2, 2])
    vx = scale * ((to_ground[0, 0] - x * to_ground[2, 0]) * u + (to_ground[0, 1] - x * to_ground[2, 1]) * v)
    vy = scale * ((to_ground[1, 0] - y * to_ground[2, 0]) * u + (to_ground[1, 1] - y * to_ground[2, 1]) * v)
    return vx, vy


@njit(inline="always", **_OPTIONS)
def _tangential(
    vx: float, vy: float, x: float, y: float, clearance: Any, corner: Array, spacing: float, radius: float
) -> tuple[float, float]:
    """A velocity without its part towards an obstacle nearer than `radius`."""
    rows, columns = clearance.shape
    if rows < 2:
        return vx, vy
    c, r = (x - corner[0]) / spacing, (y - corner[1]) / spacing
    c = min(c if c > 0.0 else 0.0, columns - 1.0)
    r = min(r if r > 0.0 else 0.0, rows - 1.0)
    c0, r0 = min(int(c), columns - 2), min(int(r), rows - 2)
    a, b = c - c0, r - r0
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
    first, middle, last = fields
    half = 0.5 * seconds
    for i in range(start, stop):
        x, y = positions[i, 0], positions[i, 1]
        if x != x:
            status[i] = 0
            continue
        ax, ay = _velocity(first, x, y, to_pixel, to_ground, rate)
        ax, ay = _tangential(ax, ay, x, y, clearance, corner, spacing, radius)
        px, py = x + half * ax, y + half * ay
        bx, by = _velocity(middle, px, py, to_pixel, to_ground, rate)
        bx, by = _tangential(bx, by, px, py, clearance, corner, spacing, radius)
        px, py = x + half * bx, y + half * by
        cx, cy = _velocity(middle, px, py, to_pixel, to_ground, rate)
        cx, cy = _tangential(cx, cy, px, py, clearance, corner, spacing, radius)
        px, py = x + seconds * cx, y + seconds * cy
        dx, dy = _velocity(last, px, py, to_pixel, to_ground, rate)
        dx, dy = _tangential(dx, dy, px, py, clearance, corner, spacing, radius)
        vx, vy = (ax + 2 * bx + 2 * cx + dx) / 6, (ay + 2 * by + 2 * cy + dy) / 6
        if pull < 1:
            vx = velocities[i, 0] + pull * (vx - velocities[i, 0])
            vy = velocities[i, 1] + pull * (vy - velocities[i, 1])
            vx, vy = _tangential(vx, vy, x, y, clearance, corner, spacing, radius)
        nx, ny = x + seconds * vx, y + seconds * vy
        under = region_at(nx, ny, to_pixel, region)
        if under == 2:
            # Along one axis or not at all: nobody walks into what is solid.
            if region_at(nx, y, to_pixel, region) == 1:
                ny, vy = y, 0.0
            elif region_at(x, ny, to_pixel, region) == 1:
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
