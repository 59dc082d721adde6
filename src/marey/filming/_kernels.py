"""Compiled: the empty scene ray by ray with its shadows, and colour, identity and motion of a crowd's pixels.

Colours are functions of position, in linear light; patterns fade where a pixel no longer resolves them. The
world has y up: (x, height, -y of the ground plan). Kernels release the interpreter lock and work on bands of
rows; the result does not depend on how they are shared. Imports numba: import it inside functions.
"""

from __future__ import annotations

import math

from marey._arrays import AnyArray as Array
from marey._compiling import njit
from marey.filming.pedestrians import Bodies
from marey.filming.renderer import Light
from marey.geometry._inline_kernels import grid_cell, in_polygon
from marey.views._kernels import corner_weights, samples_of, set_pixel

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
        instance_ids: result `(rows, columns)`, of the pixels' centres; 0 for none.
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
                    f, share = owner[row - top, column, s], samples_of(owner[row - top, column], s)
                    if share == 0:
                        continue
                    r, g, b = _surface(row, column, f, screen, bodies, table, shaded, light, heights)
                    red += share * min(r, 1.0)
                    green += share * min(g, 1.0)
                    blue += share * min(b, 1.0)
            set_pixel(image[row, column], red / samples, green / samples, blue / samples, tones)


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
