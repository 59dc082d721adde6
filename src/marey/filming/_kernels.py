"""Compiled: people rasterised over the empty place, shaded, and told where they go next.

The world has y up: (x, height, -y of the ground plan). Kernels release the interpreter lock and work on
bands of rows; the result does not depend on how they are shared. Importing this module imports numba: do so
inside functions. It uses `_paint_kernels`: touch this file when that one changes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.filming._paint_kernels import cloth

Array = NDArray[Any]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_FAST = {**_OPTIONS, "fastmath": {"contract", "nsz", "arcp"}}


@njit(**_OPTIONS)
def rasterise(
    screen: Array,
    faces: Array,
    origin: Array,
    order: Array,
    band: Array,
    offsets: Array,
    empty: Array,
    depth: Array,
    owner: Array,
    stamp: Array,
    alone: Array,
    top: int,
    bottom: int,
) -> None:
    """Which face each sample sees of the rows `top` to `bottom`; the last sample is the pixel's centre.

    order, band: from `views._kernels.faces_in_bands`
    empty: `(rows, columns, samples)`, 1 / depth of the empty place
    depth, owner: `(rows of a band, columns, samples)`, filled here
    stamp: `(rows of a band, columns)`, scratch; alone: `(people,)`, counts centres that each one covers
    """
    samples = offsets.shape[0]
    centre = samples - 1
    steps = np.empty((4, samples))
    for row in range(top, bottom):
        for column in range(band[2], band[3]):
            stamp[row - top, column] = -1
            for s in range(samples):
                depth[row - top, column, s] = empty[row, column, s]
                owner[row - top, column, s] = -1
    for i in range(band[0], band[1]):
        f = order[i]
        person = origin[f, 0]
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ia, ib, ic = screen[a, 2], screen[b, 2], screen[c, 2]
        xa, xb, xc = screen[a, 0], screen[b, 0], screen[c, 0]
        ya, yb, yc = screen[a, 1], screen[b, 1], screen[c, 1]
        first = max(math.floor(min(ya, yb, yc)), top)
        last = min(math.floor(max(ya, yb, yc)), bottom - 1)
        left = max(math.floor(min(xa, xb, xc)), band[2])
        right = min(math.floor(max(xa, xb, xc)), band[3] - 1)
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        bx, by = (yc - ya) / area, -(xc - xa) / area
        cx, cy = -(yb - ya) / area, (xb - xa) / area
        ax, ay = -bx - cx, -by - cy
        slope_x = bx * (ib - ia) + cx * (ic - ia)
        slope_y = by * (ib - ia) + cy * (ic - ia)
        reach_a = 0.5 * (abs(ax) + abs(ay))
        reach_b = 0.5 * (abs(bx) + abs(by))
        reach_c = 0.5 * (abs(cx) + abs(cy))
        for s in range(samples):
            ox, oy = offsets[s, 0], offsets[s, 1]
            steps[0, s] = ax * ox + ay * oy
            steps[1, s] = bx * ox + by * oy
            steps[2, s] = cx * ox + cy * oy
            steps[3, s] = slope_x * ox + slope_y * oy
        for row in range(first, last + 1):
            y = row + 0.5 - ya
            for column in range(left, right + 1):
                x = column + 0.5 - xa
                wb = bx * x + by * y
                wc = cx * x + cy * y
                wa = 1.0 - wb - wc
                if wa < -reach_a or wb < -reach_b or wc < -reach_c:
                    continue
                near = ia + wb * (ib - ia) + wc * (ic - ia)
                for s in range(samples):
                    if min(wa + steps[0, s], wb + steps[1, s], wc + steps[2, s]) < 0.0:
                        continue
                    if s == centre and stamp[row - top, column] != person:
                        stamp[row - top, column] = person
                        alone[person] += 1
                    here = near + steps[3, s]
                    if here > depth[row - top, column, s]:
                        depth[row - top, column, s] = here
                        owner[row - top, column, s] = f


@njit(**_FAST)
def resolve(
    image: Array,
    numbers: Array,
    flow: Array,
    seen: Array,
    owner: Array,
    band: Array,
    screen: Array,
    faces: Array,
    origin: Array,
    vertices: Array,
    normals: Array,
    following: Array,
    matrix: Array,
    template: Array,
    parts: Array,
    resting: Array,
    looks: Array,
    clothes: Array,
    table: Array,
    focal: float,
    shaded: bool,
    light: Array,
    paper: Array,
    heights: Array,
    tones: Array,
    labels: Array,
    top: int,
    bottom: int,
) -> None:
    """Colours of the rows `top` to `bottom`, who is seen at each pixel's centre, and where that point goes.

    image: `(rows, columns, 3)` bytes; numbers: `(rows, columns)`, 0 for nobody; flow: `(rows, columns, 2)`
    seen: `(people,)`, counts centres in which each one is seen
    vertices, following: of this and the next frame, `(vertices, 3)`; matrix: `(3, 4)` of the camera
    template, parts, resting: faces, parts of faces and vertices of the figure
    clothes: `(looks, columns)`, see `_paint_kernels`
    light: towards the sun (3), colours of sun (3) and sky (3), corner of the light's map (2), its texel
    paper: `(rows, columns, 3)` linear, the empty place as it is lit in this frame
    heights: the light's map, see `views._light_kernels.height_map`
    labels: `(people,)`, number of each one
    """
    columns, samples = owner.shape[1], owner.shape[2] - 1
    for row in range(top, bottom):
        for column in range(columns):
            bare = samples
            numbers[row, column] = 0
            flow[row, column, 0] = flow[row, column, 1] = 0.0
            touched = band[2] <= column < band[3]
            if touched:
                bare = 0
                for s in range(samples):
                    if owner[row - top, column, s] < 0:
                        bare += 1
                centre = owner[row - top, column, samples]
                if centre >= 0:
                    person = origin[centre, 0]
                    numbers[row, column] = labels[person]
                    seen[person] += 1
                    wa, wb, wc = _shares(row, column, centre, screen, faces)
                    a, b, c = faces[centre, 0], faces[centre, 1], faces[centre, 2]
                    x = wa * following[a, 0] + wb * following[b, 0] + wc * following[c, 0]
                    y = wa * following[a, 1] + wb * following[b, 1] + wc * following[c, 1]
                    z = wa * following[a, 2] + wb * following[b, 2] + wc * following[c, 2]
                    deep = matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] * z + matrix[2, 3]
                    if deep > 0.05:
                        u = matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2] * z + matrix[0, 3]
                        v = matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2] * z + matrix[1, 3]
                        flow[row, column, 0] = u / deep - column
                        flow[row, column, 1] = v / deep - row
            red = bare * paper[row, column, 0]
            green = bare * paper[row, column, 1]
            blue = bare * paper[row, column, 2]
            if bare < samples:
                for s in range(samples):
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
                    r, g, b = _surface(
                        row, column, f, screen, faces, origin, vertices, normals, template, parts, resting,
                        looks, clothes, table, focal, shaded, light, heights,
                    )  # fmt: skip
                    red += share * min(r, 1.0)
                    green += share * min(g, 1.0)
                    blue += share * min(b, 1.0)
            image[row, column, 0] = _tone(red / samples, tones)
            image[row, column, 1] = _tone(green / samples, tones)
            image[row, column, 2] = _tone(blue / samples, tones)


@njit(**_OPTIONS)
def _tone(value: float, tones: Array) -> int:
    if not value > 0.0:
        return tones[0]
    return tones[int(min(value, 1.0) * (tones.shape[0] - 1) + 0.5)]


@njit(**_FAST)
def _shares(row: int, column: int, f: int, screen: Array, faces: Array) -> tuple[float, float, float]:
    """Weights of a face's corners at a pixel's centre, right in perspective; the nearest point beside it."""
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    xa, ya = screen[a, 0], screen[a, 1]
    ex, ey = screen[b, 0] - xa, screen[b, 1] - ya
    gx, gy = screen[c, 0] - xa, screen[c, 1] - ya
    area = ex * gy - gx * ey
    x, y = column + 0.5 - xa, row + 0.5 - ya
    wb = max((x * gy - gx * y) / area, 0.0)
    wc = max((ex * y - x * ey) / area, 0.0)
    wa = max(1.0 - wb - wc, 0.0)
    wa, wb, wc = wa * screen[a, 2], wb * screen[b, 2], wc * screen[c, 2]
    total = wa + wb + wc
    return wa / total, wb / total, wc / total


@njit(**_FAST)
def _surface(
    row: int,
    column: int,
    f: int,
    screen: Array,
    faces: Array,
    origin: Array,
    vertices: Array,
    normals: Array,
    template: Array,
    parts: Array,
    resting: Array,
    looks: Array,
    clothes: Array,
    table: Array,
    focal: float,
    shaded: bool,
    light: Array,
    heights: Array,
) -> tuple[float, float, float]:
    """Linear light that a face sends through a pixel."""
    wa, wb, wc = _shares(row, column, f, screen, faces)
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    t = origin[f, 1]
    ta, tb, tc = template[t, 0], template[t, 1], template[t, 2]
    near = wa * screen[a, 2] + wb * screen[b, 2] + wc * screen[c, 2]
    red, green, blue = cloth(
        parts[t],
        wa * resting[ta, 0] + wb * resting[tb, 0] + wc * resting[tc, 0],
        wa * resting[ta, 1] + wb * resting[tb, 1] + wc * resting[tc, 1],
        wa * resting[ta, 2] + wb * resting[tb, 2] + wc * resting[tc, 2],
        clothes[looks[origin[f, 0]]],
        table,
        1.0 / (near * focal),
    )
    if not shaded:
        return red, green, blue
    nx = wa * normals[a, 0] + wb * normals[b, 0] + wc * normals[c, 0]
    ny = wa * normals[a, 1] + wb * normals[b, 1] + wc * normals[c, 1]
    nz = wa * normals[a, 2] + wb * normals[b, 2] + wc * normals[c, 2]
    size = math.sqrt(nx * nx + ny * ny + nz * nz) + 1e-12
    nx, ny, nz = nx / size, ny / size, nz / size
    x = wa * vertices[a, 0] + wb * vertices[b, 0] + wc * vertices[c, 0]
    y = wa * vertices[a, 1] + wb * vertices[b, 1] + wc * vertices[c, 1]
    z = wa * vertices[a, 2] + wb * vertices[b, 2] + wc * vertices[c, 2]
    facing = max(nx * light[0] + ny * light[1] + nz * light[2], 0.0)
    if facing > 0.0:
        facing *= 1.0 - hidden(x + 0.05 * nx, y + 0.05 * ny + 0.03, z + 0.05 * nz, light, heights)
    # Nearer the ground one sees less of the sky, and more of the ground's reflection.
    sky = (0.55 + 0.45 * ny) * (0.5 + 0.5 * min(max(y / 1.4, 0.0), 1.0))
    bounce = 0.14 * (0.5 - 0.5 * ny)
    return (
        red * (facing * light[3] + sky * light[6] + bounce),
        green * (facing * light[4] + sky * light[7] + 0.96 * bounce),
        blue * (facing * light[5] + sky * light[8] + 0.90 * bounce),
    )


@njit(**_FAST)
def hidden(x: float, y: float, z: float, light: Array, heights: Array) -> float:
    """Share of the sun that something higher along its light takes away at a place, 0…1."""
    u = (x - y * light[0] / light[1] - light[9]) / light[11] - 0.5
    w = (z - y * light[2] / light[1] - light[10]) / light[11] - 0.5
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
def light_place(
    sun: Array, sky: Array, point: Array, light: Array, heights: Array, soft: Array, contact: Array,
    paper: Array, top: int, bottom: int,
) -> None:  # fmt: skip
    """The empty place in the light of a frame: `paper` = sun without what people hide + sky likewise.

    sun, sky: `(rows, columns, 3)`, what it sends back of either; point: where each pixel lies
    soft: the shadow on the ground, `(rows, columns)` of the light's map; contact: what people hide of the sky
    """
    for row in range(top, bottom):
        for column in range(paper.shape[1]):
            x, y, z = point[row, column, 0], point[row, column, 1], point[row, column, 2]
            if y < 0.01:
                u = (x - light[9]) / light[11] - 0.5
                w = (z - light[10]) / light[11] - 0.5
                dark = near = 0.0
                if u >= 0.0 and w >= 0.0 and u < soft.shape[1] - 1.001 and w < soft.shape[0] - 1.001:
                    c, r = int(u), int(w)
                    fu, fw = u - c, w - r
                    dark = (1 - fw) * ((1 - fu) * soft[r, c] + fu * soft[r, c + 1]) + fw * (
                        (1 - fu) * soft[r + 1, c] + fu * soft[r + 1, c + 1]
                    )
                    near = (1 - fw) * ((1 - fu) * contact[r, c] + fu * contact[r, c + 1]) + fw * (
                        (1 - fu) * contact[r + 1, c] + fu * contact[r + 1, c + 1]
                    )
            else:
                dark, near = hidden(x, y + 0.05, z, light, heights), 0.0
            for k in range(3):
                paper[row, column, k] = sun[row, column, k] * (1 - dark) + sky[row, column, k] * (1 - near)
