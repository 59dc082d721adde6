"""Compiled: what a camera sees of the empty place, ray by ray, and the shadow its walls throw.

The world has y up: (x, height, -y of the ground plan). Importing this module imports numba: do so inside
functions. It uses `_paint_kernels`: touch this file when that one changes.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from marey._compiling import njit
from marey.filming._paint_kernels import FACADE, GROUND, ROOF, SKY, paving, walling

Array = NDArray[Any]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def look(
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
    """Of each pixel, shifted by an offset: 1 / depth, what is seen, where, and its normal.

    rays: `(3, 3)`, pixel (column, row, 1) to a world direction of depth 1
    corners: `(corners, 2)` of all obstacles in the ground plan; starts: `(obstacles + 1,)`
    depth, kind: `(rows, columns)`; point, normal: `(rows, columns, 3)`
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
                    if t < best and _inside(eye[0] + t * dx, -(eye[2] + t * dz), corners, first, last):
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
    """Add the colours of what `look` saw to `albedo` `(rows, columns, 3)`, linear."""
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
    """How high the shadow of the walls reaches over each texel of the light's map, along the light.

    The texel's light comes down through the points (x + h shear_x, h, z + h shear_z): the highest of them
    inside an obstacle counts.
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
                    if _inside(x + h * shears[0], -(z + h * shears[1]), corners, starts[o], starts[o + 1]):
                        found = True
                        break
                if found:
                    heights[row, column] = h
                    break


@njit(**_OPTIONS)
def _inside(x: float, y: float, corners: Array, first: int, last: int) -> bool:
    within = False
    j = last - 1
    for i in range(first, last):
        if (corners[i, 1] > y) != (corners[j, 1] > y):
            t = (y - corners[i, 1]) / (corners[j, 1] - corners[i, 1])
            if x < corners[i, 0] + t * (corners[j, 0] - corners[i, 0]):
                within = not within
        j = i
    return within
