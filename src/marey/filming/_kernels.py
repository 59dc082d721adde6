"""Compiled: colour, identity and motion of the pixels of a crowd, and its shadows on the background.

The world has y up: (x, height, -y of the ground plan). Kernels release the interpreter lock and work on
bands of rows; the result does not depend on how they are shared. Importing this module imports numba: do so
inside functions.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from marey._compiling import njit
from marey.filming._background_kernels import fade, noise
from marey.filming.background import Light
from marey.filming.pedestrians import Bodies
from marey.geometry._inline_kernels import grid_cell
from marey.views._kernels import corner_weights, tone

Array = NDArray[Any]

_FAST = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz", "arcp"}}
# Part of the figure whose colour hardly varies.
_SKIN = 3


@njit(**_FAST)
def resolve(
    image: Array,
    instance_ids: Array,
    flow: Array,
    seen: Array,
    owner: Array,
    band: Array,
    screen: Array,
    bodies: Bodies,
    matrix: Array,
    table: Array,
    shaded: bool,
    light: Light,
    heights: Array,
    background: Array,
    tones: Array,
    labels: Array,
    top: int,
    bottom: int,
) -> None:
    """Colour, identity and motion of the rows `top` to `bottom`.

    Args:
        image: result `(rows, columns, 3)` bytes.
        instance_ids: result `(rows, columns)`, of the pixels' centres; 0 for nobody.
        flow: result `(rows, columns, 2)`, pixels until the next frame, of the pixels' centres.
        seen: `(people,)`, adds the centres in which each one is seen.
        owner, band: from `views._kernels.rasterise` and `faces_in_bands`; the last sample is the centre.
        screen: projected vertices.
        bodies: posed bodies of all people.
        matrix: `(3, 4)` of the camera.
        table: see `_background_kernels.noise`.
        heights: the shadow map, see `views._light_kernels.height_map`.
        background: `(rows, columns, 3)` linear, with the shadows of this frame.
        labels: `(people,)`, instance ids.
    """
    columns, samples = owner.shape[1], owner.shape[2] - 1
    faces, following = bodies.faces, bodies.following
    body_faces = bodies.parts.shape[0]
    for row in range(top, bottom):
        for column in range(columns):
            bare = samples
            instance_ids[row, column] = 0
            flow[row, column, 0] = flow[row, column, 1] = 0.0
            if band[2] <= column < band[3]:
                bare = 0
                for s in range(samples):
                    if owner[row - top, column, s] < 0:
                        bare += 1
                f = owner[row - top, column, samples]
                if f >= 0:
                    instance_ids[row, column] = labels[f // body_faces]
                    seen[f // body_faces] += 1
                    wa, wb, wc, _ = corner_weights(row, column, f, screen, faces)
                    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
                    x = wa * following[a, 0] + wb * following[b, 0] + wc * following[c, 0]
                    y = wa * following[a, 1] + wb * following[b, 1] + wc * following[c, 1]
                    z = wa * following[a, 2] + wb * following[b, 2] + wc * following[c, 2]
                    deep = matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] * z + matrix[2, 3]
                    if deep > 0.05:
                        u = matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2] * z + matrix[0, 3]
                        v = matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2] * z + matrix[1, 3]
                        flow[row, column, 0] = u / deep - column
                        flow[row, column, 1] = v / deep - row
            red = bare * background[row, column, 0]
            green = bare * background[row, column, 1]
            blue = bare * background[row, column, 2]
            if bare < samples:
                for s in range(samples):
                    # Each face is shaded once, for all samples that see it.
                    f = owner[row - top, column, s]
                    earlier = 0
                    while earlier < s and owner[row - top, column, earlier] != f:
                        earlier += 1
                    if f < 0 or earlier < s:
                        continue
                    share = 1
                    for later in range(s + 1, samples):
                        if owner[row - top, column, later] == f:
                            share += 1
                    r, g, b = _surface(row, column, f, screen, bodies, table, shaded, light, heights)
                    red += share * min(r, 1.0)
                    green += share * min(g, 1.0)
                    blue += share * min(b, 1.0)
            image[row, column, 0] = tone(red / samples, tones)
            image[row, column, 1] = tone(green / samples, tones)
            image[row, column, 2] = tone(blue / samples, tones)


@njit(**_FAST)
def _surface(
    row: int,
    column: int,
    f: int,
    screen: Array,
    bodies: Bodies,
    table: Array,
    shaded: bool,
    light: Light,
    heights: Array,
) -> tuple[float, float, float]:
    """Linear light that a face sends through a pixel."""
    faces, points, normals, rest = bodies.faces, bodies.points, bodies.normals, bodies.rest
    wa, wb, wc, _ = corner_weights(row, column, f, screen, faces)
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    person, part = f // bodies.parts.shape[0], bodies.parts[f % bodies.parts.shape[0]]
    colour = bodies.colours[bodies.looks[person], part]
    # Metres across a pixel; the camera has square pixels.
    pixel = 1.0 / ((wa * screen[a, 2] + wb * screen[b, 2] + wc * screen[c, 2]) * bodies.focal)
    ra, rb, rc = a % rest.shape[0], b % rest.shape[0], c % rest.shape[0]
    x = wa * rest[ra, 0] + wb * rest[rb, 0] + wc * rest[rc, 0] + bodies.looks[person]
    y = wa * rest[ra, 1] + wb * rest[rb, 1] + wc * rest[rc, 1]
    z = wa * rest[ra, 2] + wb * rest[rb, 2] + wc * rest[rc, 2]
    grain = 0.20 * fade(0.12, pixel) * noise(table, 8.0 * x, 8.0 * y, 8.0 * z)
    grain += 0.16 * fade(0.04, pixel) * noise(table, 27.0 * x, 27.0 * y, 27.0 * z)
    grain = 1.0 + (0.35 * grain if part == _SKIN else grain)
    red, green, blue = grain * colour[0], grain * colour[1], grain * colour[2]
    if not shaded:
        return red, green, blue
    nx = wa * normals[a, 0] + wb * normals[b, 0] + wc * normals[c, 0]
    ny = wa * normals[a, 1] + wb * normals[b, 1] + wc * normals[c, 1]
    nz = wa * normals[a, 2] + wb * normals[b, 2] + wc * normals[c, 2]
    size = math.sqrt(nx * nx + ny * ny + nz * nz) + 1e-12
    nx, ny, nz = nx / size, ny / size, nz / size
    x = wa * points[a, 0] + wb * points[b, 0] + wc * points[c, 0]
    y = wa * points[a, 1] + wb * points[b, 1] + wc * points[c, 1]
    z = wa * points[a, 2] + wb * points[b, 2] + wc * points[c, 2]
    facing = max(nx * light.direction[0] + ny * light.direction[1] + nz * light.direction[2], 0.0)
    if facing > 0.0:
        facing *= 1.0 - sun_occlusion(x + 0.05 * nx, y + 0.05 * ny + 0.03, z + 0.05 * nz, light, heights)
    # Nearer the ground one sees less of the sky, and more of the ground's reflection.
    sky = (0.55 + 0.45 * ny) * (0.5 + 0.5 * min(max(y / 1.4, 0.0), 1.0))
    bounce = 0.14 * (0.5 - 0.5 * ny)
    return (
        red * (facing * light.sun[0] + sky * light.sky[0] + bounce),
        green * (facing * light.sun[1] + sky * light.sky[1] + 0.96 * bounce),
        blue * (facing * light.sun[2] + sky * light.sky[2] + 0.90 * bounce),
    )


@njit(**_FAST)
def sun_occlusion(x: float, y: float, z: float, light: Light, heights: Array) -> float:
    """Share of the sun, 0 … 1, that something higher along its light hides from a point."""
    u = (x - y * light.direction[0] / light.direction[1] - light.corner[0]) / light.texel - 0.5
    w = (z - y * light.direction[2] / light.direction[1] - light.corner[1]) / light.texel - 0.5
    if not (u >= 0.0 and w >= 0.0 and u < heights.shape[1] - 1.001 and w < heights.shape[0] - 1.001):
        return 0.0
    column, row = int(u), int(w)
    fu, fw = u - column, w - row
    dark = 0.0
    if heights[row, column] > y:
        dark += (1 - fu) * (1 - fw)
    if heights[row, column + 1] > y:
        dark += fu * (1 - fw)
    if heights[row + 1, column] > y:
        dark += (1 - fu) * fw
    if heights[row + 1, column + 1] > y:
        dark += fu * fw
    return dark


@njit(**_FAST)
def light_background(
    sun: Array,
    sky: Array,
    points: Array,
    light: Light,
    heights: Array,
    shadow: Array,
    contact: Array,
    result: Array,
    top: int,
    bottom: int,
) -> None:
    """The empty scene with the shadows of a frame, `result` `(rows, columns, 3)`.

    Args:
        sun, sky: `(rows, columns, 3)`, light that it reflects of either.
        points: `(rows, columns, 3)`, positions of the pixels.
        heights: the shadow map.
        shadow: share of the sun, and
        contact: share of the sky that people hide from the ground, on the grid of the shadow map.
        top, bottom: first and last row (exclusive).
    """
    for row in range(top, bottom):
        for column in range(result.shape[1]):
            x, y, z = points[row, column, 0], points[row, column, 1], points[row, column, 2]
            dark = near = 0.0
            if y < 0.01:
                u = (x - light.corner[0]) / light.texel - 0.5
                w = (z - light.corner[1]) / light.texel - 0.5
                if u >= 0.0 and w >= 0.0 and u < shadow.shape[1] - 1.001 and w < shadow.shape[0] - 1.001:
                    dark, near = _bilinear(shadow, u, w), _bilinear(contact, u, w)
            else:
                dark = sun_occlusion(x, y + 0.05, z, light, heights)
            for k in range(3):
                result[row, column, k] = sun[row, column, k] * (1 - dark) + sky[row, column, k] * (1 - near)


@njit(**_FAST)
def _bilinear(values: Array, column: float, row: float) -> float:
    c, u = grid_cell(column, values.shape[1])
    r, v = grid_cell(row, values.shape[0])
    return (1 - v) * ((1 - u) * values[r, c] + u * values[r, c + 1]) + v * (
        (1 - u) * values[r + 1, c] + u * values[r + 1, c + 1]
    )
