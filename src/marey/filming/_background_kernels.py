"""Compiled: colour and depth of the empty scene ray by ray, and the shadows of its walls.

Colours are functions of position, in linear light; patterns fade where a pixel no longer resolves them. The
world has y up: (x, height, -y of the ground plan). Importing this module imports numba: do so inside
functions.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from marey._compiling import njit
from marey.geometry._inline_kernels import in_polygon

Array = NDArray[Any]

GROUND, FACADE, ROOF, SKY = range(4)

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_FAST = {**_OPTIONS, "fastmath": {"contract", "nsz", "arcp"}}


@njit(**_OPTIONS)
def cast_rays(
    eye: Array,
    rays: Array,
    corners: Array,
    starts: Array,
    wall_height: float,
    offset_column: float,
    offset_row: float,
    first_row: int,
    last_row: int,
    depth: Array,
    kind: Array,
    point: Array,
    normal: Array,
) -> None:
    """Fill 1 / depth, kind of surface, position and normal of each pixel, shifted by an offset.

    Args:
        rays: `(3, 3)`, pixel (column, row, 1) to a world direction of depth 1.
        corners: `(corners, 2)` of all obstacles in the ground plan.
        starts: `(obstacles + 1,)`, first corner of each.
        depth, kind: `(rows, columns)`.
        point, normal: `(rows, columns, 3)`.
    """
    for row in range(first_row, last_row):
        for column in range(depth.shape[1]):
            u, v = column + offset_column, row + offset_row
            dx = rays[0, 0] * u + rays[0, 1] * v + rays[0, 2]
            dy = rays[1, 0] * u + rays[1, 1] * v + rays[1, 2]
            dz = rays[2, 0] * u + rays[2, 1] * v + rays[2, 2]
            best, what = 1e30, SKY
            nx, ny, nz = 0.0, 1.0, 0.0
            if dy < -1e-9 and eye[1] > 0.0:
                best, what = -eye[1] / dy, GROUND
            for o in range(starts.shape[0] - 1):
                first, last = starts[o], starts[o + 1]
                if dy < -1e-9 and eye[1] > wall_height:
                    t = (wall_height - eye[1]) / dy
                    if t < best and in_polygon(eye[0] + t * dx, -(eye[2] + t * dz), corners, first, last):
                        best, what = t, ROOF
                        nx, ny, nz = 0.0, 1.0, 0.0
                for i in range(first, last):
                    j = i + 1 if i + 1 < last else first
                    ax, az = corners[i, 0], -corners[i, 1]
                    ex, ez = corners[j, 0] - ax, -corners[j, 1] - az
                    bottom = dx * ez - dz * ex
                    if abs(bottom) < 1e-12:
                        continue
                    t = ((ax - eye[0]) * ez - (az - eye[2]) * ex) / bottom
                    if t <= 1e-6 or t >= best:
                        continue
                    s = ((ax - eye[0]) * dz - (az - eye[2]) * dx) / bottom
                    height = eye[1] + t * dy
                    if s < 0.0 or s > 1.0 or height < 0.0 or height > wall_height:
                        continue
                    best, what = t, FACADE
                    size = math.sqrt(ex * ex + ez * ez)
                    side = -1.0 if dx * ez - dz * ex > 0.0 else 1.0
                    nx, ny, nz = side * ez / size, 0.0, -side * ex / size
            kind[row, column] = what
            depth[row, column] = 0.0 if what == SKY else 1.0 / best
            reach = min(best, 1e4)
            point[row, column, 0] = eye[0] + reach * dx
            point[row, column, 1] = 0.0 if what == GROUND else eye[1] + reach * dy
            point[row, column, 2] = eye[2] + reach * dz
            normal[row, column, 0], normal[row, column, 1], normal[row, column, 2] = nx, ny, nz


@njit(**_OPTIONS)
def paint(
    depth: Array, kind: Array, point: Array, normal: Array, table: Array, focal: float, albedo: Array
) -> None:
    """Add the linear colours of the surfaces that `cast_rays` found to `albedo` `(rows, columns, 3)`."""
    for row in range(kind.shape[0]):
        for column in range(kind.shape[1]):
            x, y, z = point[row, column, 0], point[row, column, 1], point[row, column, 2]
            what = kind[row, column]
            if what == SKY:
                red, green, blue = 0.55, 0.68, 0.86
            else:
                pixel = 1.0 / (max(depth[row, column], 1e-6) * focal)
                if what == GROUND:
                    red, green, blue = paving(x, -z, table, pixel)
                elif what == ROOF:
                    red, green, blue = walling(x, z, True, table, pixel)
                else:
                    along = normal[row, column, 2] * x - normal[row, column, 0] * z
                    red, green, blue = walling(along, y, False, table, pixel)
            albedo[row, column, 0] += red
            albedo[row, column, 1] += green
            albedo[row, column, 2] += blue


@njit(**_OPTIONS)
def wall_shadows(
    corners: Array,
    starts: Array,
    wall_height: float,
    shears: Array,
    corner: Array,
    texel: float,
    heights: Array,
) -> None:
    """Height up to which walls shade each texel of the shadow map, along the light.

    The texel's light passes the points (x + h shear_x, h, z + h shear_z); the highest one inside an obstacle
    counts.
    """
    steps = 12
    for row in range(heights.shape[0]):
        for column in range(heights.shape[1]):
            x = corner[0] + (column + 0.5) * texel
            z = corner[1] + (row + 0.5) * texel
            for step in range(steps):
                h = wall_height * (1.0 - step / steps)
                found = False
                for o in range(starts.shape[0] - 1):
                    if in_polygon(x + h * shears[0], -(z + h * shears[1]), corners, starts[o], starts[o + 1]):
                        found = True
                        break
                if found:
                    heights[row, column] = h
                    break


@njit(**_FAST)
def noise(table: Array, x: float, y: float, z: float) -> float:
    """Smooth noise in -1 … 1 with features of size 1, periodic with `table` `(32, 32, 32)`."""
    i, j, k = math.floor(x), math.floor(y), math.floor(z)
    a, b, c = x - i, y - j, z - k
    a, b, c = a * a * (3 - 2 * a), b * b * (3 - 2 * b), c * c * (3 - 2 * c)
    i0, j0, k0 = int(i) & 31, int(j) & 31, int(k) & 31
    i1, j1, k1 = (i0 + 1) & 31, (j0 + 1) & 31, (k0 + 1) & 31
    low = (1 - b) * ((1 - a) * table[i0, j0, k0] + a * table[i1, j0, k0]) + b * (
        (1 - a) * table[i0, j1, k0] + a * table[i1, j1, k0]
    )
    high = (1 - b) * ((1 - a) * table[i0, j0, k1] + a * table[i1, j0, k1]) + b * (
        (1 - a) * table[i0, j1, k1] + a * table[i1, j1, k1]
    )
    return (1 - c) * low + c * high


@njit(**_FAST)
def fade(size: float, pixel: float) -> float:
    """Contrast, 0 … 1, of a detail of some size in pixels of some size."""
    return min(max(0.5 * size / pixel - 0.5, 0.0), 1.0)


@njit(**_FAST)
def paving(x: float, y: float, table: Array, pixel: float) -> tuple[float, float, float]:
    """Colour of slabs of 60 × 40 cm in rows with their own tones, joints, stains and grain."""
    row = math.floor(y / 0.4)
    shift = 0.3 * (row - 2 * math.floor(row / 2))
    column = math.floor((x + shift) / 0.6)
    tone = table[int(column) & 31, int(row) & 31, 7]
    warm = table[int(row) & 31, int(column) & 31, 19]
    value = 0.36 + 0.07 * tone
    value *= 1.0 + 0.16 * noise(table, 0.23 * x, 0.23 * y, 3.3)
    value *= 1.0 + 0.16 * noise(table, 1.3 * x, 1.3 * y, 9.1)
    value *= 1.0 + 0.22 * fade(0.12, pixel) * noise(table, 9.0 * x, 9.0 * y, 14.2)
    value *= 1.0 + 0.30 * fade(0.03, pixel) * noise(table, 37.0 * x, 37.0 * y, 21.7)
    u, v = x + shift - 0.6 * column, y - 0.4 * row
    edge = min(u, 0.6 - u, v, 0.4 - v)
    if edge < 0.009:
        value *= 0.45
    return value * (1.0 + 0.04 * warm), value * 0.965, value * (0.90 - 0.04 * warm)


@njit(**_FAST)
def walling(
    along: float, height: float, roof: bool, table: Array, pixel: float
) -> tuple[float, float, float]:
    """Colour of rendered walls with a plinth and streaks; roofs are plain concrete."""
    value = 0.46 * (1.0 + 0.14 * noise(table, 0.5 * along, 0.7 * height, 5.5))
    value *= 1.0 + 0.18 * fade(0.2, pixel) * noise(table, 5.0 * along, 5.0 * height, 11.3)
    value *= 1.0 + 0.24 * fade(0.05, pixel) * noise(table, 21.0 * along, 21.0 * height, 25.9)
    if roof:
        return 0.80 * value, 0.79 * value, 0.78 * value
    value *= 1.0 + 0.20 * noise(table, 4.0 * along, 0.35 * height, 17.0)
    if height < 0.35:
        return 0.48 * value, 0.47 * value, 0.47 * value
    panel = along - 2.0 * math.floor(0.5 * along)
    if panel < 0.03 or abs(height - 1.4) < 0.012:
        value *= 0.6
    return value, 0.90 * value, 0.76 * value
