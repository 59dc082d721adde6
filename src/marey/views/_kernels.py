"""The compiled heart of the renderer: which face a pixel sees, and what colour it has there.

Kernels release the interpreter lock and work on bands of rows, so that
Python threads share a picture between the cores; the result does not depend on how it is shared.
Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from marey.views import style

Array = NDArray[Any]

_LINEAR = style.from_srgb(np.arange(256) / 255.0)
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def project(points: Array, view: Array, size: tuple[int, int], screen: Array, box: Array) -> None:
    """Points on the screen: column, row, 1 / distance (0 behind the camera), and the box they touch.

    view: camera position, right, up, forward (3 each), focal length and centre in pixels
    box: first and last row, first and last column (exclusive)
    """
    left = up = 1e30
    right = down = -1e30
    for i in range(points.shape[0]):
        x, y, z = points[i, 0] - view[0], points[i, 1] - view[1], points[i, 2] - view[2]
        distance = x * view[9] + y * view[10] + z * view[11]
        screen[i, 2] = 0.0
        if not distance > 1e-6:
            continue
        column = view[13] + view[12] * (x * view[3] + y * view[4] + z * view[5]) / distance
        row = view[14] - view[12] * (x * view[6] + y * view[7] + z * view[8]) / distance
        # Beyond this a pixel number no longer fits an integer, and nothing of it can be seen.
        if not (abs(column) < 1e8 and abs(row) < 1e8):
            continue
        screen[i, 0], screen[i, 1], screen[i, 2] = column, row, 1.0 / distance
        left, right = min(left, column), max(right, column)
        up, down = min(up, row), max(down, row)
    box[:] = 0
    if right >= left:
        box[0] = max(math.floor(up), 0)
        box[1] = min(math.floor(down) + 1, size[1])
        box[2] = max(math.floor(left), 0)
        box[3] = min(math.floor(right) + 1, size[0])


@njit(**_OPTIONS)
def faces_in_bands(screen: Array, faces: Array, closed: int, box: Array, band: int, starts: Array) -> Array:
    """The faces that may be seen in each band of rows, in their order; those of band b from `starts[b]`.

    screen, box: from `project`
    closed: so many faces, the first ones, make closed surfaces; their backs are never seen
    starts: `(bands + 1,)`, filled here
    """
    count = faces.shape[0]
    spans = np.empty((count, 2), dtype=np.int32)
    starts[:] = 0
    for f in range(count):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        spans[f, 0], spans[f, 1] = 1, 0
        if not (screen[a, 2] > 0.0 and screen[b, 2] > 0.0 and screen[c, 2] > 0.0):
            continue
        xa, xb, xc = screen[a, 0], screen[b, 0], screen[c, 0]
        ya, yb, yc = screen[a, 1], screen[b, 1], screen[c, 1]
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        # Rows count downwards: a face that turns its front to the camera has negative area.
        if not abs(area) > 1e-12 or (f < closed and area > 0.0):
            continue
        if max(xa, xb, xc) < box[2] or min(xa, xb, xc) >= box[3]:
            continue
        first = max(math.floor(min(ya, yb, yc)), box[0])
        last = min(math.floor(max(ya, yb, yc)), box[1] - 1)
        if last < first:
            continue
        spans[f, 0], spans[f, 1] = first // band, last // band
        for b_ in range(spans[f, 0], spans[f, 1] + 1):
            starts[b_ + 1] += 1
    for b_ in range(1, starts.shape[0]):
        starts[b_] += starts[b_ - 1]
    order = np.empty(starts[-1], dtype=np.int32)
    filled = starts[:-1].copy()
    for f in range(count):
        for b_ in range(spans[f, 0], spans[f, 1] + 1):
            order[filled[b_]] = f
            filled[b_] += 1
    return order


@njit(**_OPTIONS)
def rasterise(
    screen: Array,
    faces: Array,
    order: Array,
    start: int,
    stop: int,
    offsets: Array,
    box: Array,
    depth: Array,
    owner: Array,
    top: int,
    bottom: int,
) -> None:
    """Which face each sample of each pixel sees, for the rows `top` to `bottom`.

    order: the faces to draw are those from `start` to `stop` of it
    offsets: `(samples, 2)`, where the samples lie around a pixel's centre
    depth: `(rows, columns, samples)`, 1 / distance of the nearest surface
    owner: `(rows, columns, samples)`, its face, -1 for none
    """
    samples = depth.shape[2]
    top, bottom = max(top, box[0]), min(bottom, box[1])
    if top >= bottom:
        return
    depth[top:bottom, box[2] : box[3]] = 0.0
    owner[top:bottom, box[2] : box[3]] = -1
    for i in range(start, stop):
        f = order[i]
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ia, ib, ic = screen[a, 2], screen[b, 2], screen[c, 2]
        xa, xb, xc = screen[a, 0], screen[b, 0], screen[c, 0]
        ya, yb, yc = screen[a, 1], screen[b, 1], screen[c, 1]
        first = max(math.floor(min(ya, yb, yc)), top)
        last = min(math.floor(max(ya, yb, yc)), bottom - 1)
        left = max(math.floor(min(xa, xb, xc)), box[2])
        right = min(math.floor(max(xa, xb, xc)), box[3] - 1)
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        bx, by = (yc - ya) / area, -(xc - xa) / area
        cx, cy = -(yb - ya) / area, (xb - xa) / area
        ax, ay = -bx - cx, -by - cy
        reach_a = 0.5 * (abs(ax) + abs(ay))
        reach_b = 0.5 * (abs(bx) + abs(by))
        reach_c = 0.5 * (abs(cx) + abs(cy))
        slope_x = bx * (ib - ia) + cx * (ic - ia)
        slope_y = by * (ib - ia) + cy * (ic - ia)
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
                    ox, oy = offsets[s, 0], offsets[s, 1]
                    if (
                        wa + ax * ox + ay * oy >= 0.0
                        and wb + bx * ox + by * oy >= 0.0
                        and wc + cx * ox + cy * oy >= 0.0
                    ):
                        here = near + slope_x * ox + slope_y * oy
                        if here > depth[row, column, s]:
                            depth[row, column, s] = here
                            owner[row, column, s] = f


@njit(**_OPTIONS)
def shade(
    image: Array,
    owner: Array,
    box: Array,
    screen: Array,
    faces: Array,
    normals: Array,
    seen: Array,
    colours: Array,
    flat_from: int,
    uv: Array,
    uv_faces: Array,
    layers: Array,
    textures: Array,
    view: Array,
    lamp: Array,
    floor: Array,
    shadow: Array,
    tones: Array,
    top: int,
    bottom: int,
) -> None:
    """Colours of the rows `top` to `bottom`: the surface where samples met it, else the ground.

    colours: `(vertices, 3)` linear; faces from `flat_from` on are not shaded
    textures: `(layers, rows, columns, 3)` sRGB bytes (no layer: none); layers: `(faces,)` which one
    view: camera position, right, up, forward (3 each), focal length and centre in pixels
    lamp: towards the key light
    floor: see `marey.views.scene`
    tones: sRGB bytes of linear light 0…1
    """
    columns, samples = owner.shape[1], owner.shape[2]
    focal, middle_x, middle_y = view[12], view[13], view[14]
    textured = textures.shape[0] > 0
    tone_count = tones.shape[0] - 1
    paper = np.empty((3, columns), dtype=np.float32)
    for row in range(top, bottom):
        _floor(row, image.shape[0], view, floor, shadow, paper)
        left, right = (box[2], box[3]) if box[0] <= row < box[1] else (columns, columns)
        for column in range(columns):
            if column < left or column >= right:
                for i in range(3):
                    image[row, column, i] = tones[int(paper[i, column] * tone_count + 0.5)]
                continue
            su = (column + 0.5 - middle_x) / focal
            sv = -(row + 0.5 - middle_y) / focal
            dx = view[9] + su * view[3] + sv * view[6]
            dy = view[10] + su * view[4] + sv * view[7]
            dz = view[11] + su * view[5] + sv * view[8]
            red = green = blue = 0.0
            bare = 0
            done = 0
            while done < samples:
                f = owner[row, column, done]
                if f < 0:
                    bare += 1
                    done += 1
                    continue
                fresh = True
                for earlier in range(done):
                    if owner[row, column, earlier] == f:
                        fresh = False
                        break
                if not fresh:
                    done += 1
                    continue
                share = 0
                for later in range(done, samples):
                    if owner[row, column, later] == f:
                        share += 1
                done += 1
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
                wa, wb, wc = wa / total, wb / total, wc / total
                if textured and f < flat_from:
                    ta, tb, tc = uv_faces[f, 0], uv_faces[f, 1], uv_faces[f, 2]
                    tu = wa * uv[ta, 0] + wb * uv[tb, 0] + wc * uv[tc, 0]
                    tv = wa * uv[ta, 1] + wb * uv[tb, 1] + wc * uv[tc, 1]
                    r, g, b_ = _texel(textures, layers[f], tu, tv)
                    # The vertex colours carry the fading of earlier poses: 1 keeps, 0 is paper.
                    keep = wa * colours[a, 0] + wb * colours[b, 0] + wc * colours[c, 0]
                    r, g, b_ = (
                        keep * r + (1.0 - keep) * floor[3],
                        keep * g + (1.0 - keep) * floor[4],
                        keep * b_ + (1.0 - keep) * floor[5],
                    )
                else:
                    r = wa * colours[a, 0] + wb * colours[b, 0] + wc * colours[c, 0]
                    g = wa * colours[a, 1] + wb * colours[b, 1] + wc * colours[c, 1]
                    b_ = wa * colours[a, 2] + wb * colours[b, 2] + wc * colours[c, 2]
                if f < flat_from:
                    nx = wa * normals[a, 0] + wb * normals[b, 0] + wc * normals[c, 0]
                    ny = wa * normals[a, 1] + wb * normals[b, 1] + wc * normals[c, 1]
                    nz = wa * normals[a, 2] + wb * normals[b, 2] + wc * normals[c, 2]
                    size = math.sqrt(nx * nx + ny * ny + nz * nz) + 1e-12
                    # Seen from behind.
                    if area > 0.0:
                        size = -size
                    nx, ny, nz = nx / size, ny / size, nz / size
                    key = wa * seen[a, 0] + wb * seen[b, 0] + wc * seen[c, 0]
                    sky = wa * seen[a, 1] + wb * seen[b, 1] + wc * seen[c, 1]
                    away = math.sqrt(dx * dx + dy * dy + dz * dz)
                    light, gloss = _light(nx, ny, nz, dx / away, dy / away, dz / away, lamp, key, sky)
                    r = r * light[0] + gloss
                    g = g * light[1] + gloss
                    b_ = b_ * light[2] + gloss
                red += share * min(r, 1.0)
                green += share * min(g, 1.0)
                blue += share * min(b_, 1.0)
            red += bare * paper[0, column]
            green += bare * paper[1, column]
            blue += bare * paper[2, column]
            image[row, column, 0] = tones[int(red / samples * tone_count + 0.5)]
            image[row, column, 1] = tones[int(green / samples * tone_count + 0.5)]
            image[row, column, 2] = tones[int(blue / samples * tone_count + 0.5)]


@njit(**_OPTIONS)
def _light(
    nx: float,
    ny: float,
    nz: float,
    dx: float,
    dy: float,
    dz: float,
    lamp: Array,
    key: float,
    sky: float,
) -> tuple[tuple[float, float, float], float]:
    """Light of three colours that a surface sends back, and its gloss.

    A warm key light, a cool sky above, a warm bounce off the ground, and a little light from the camera.
    """
    facing = nx * lamp[0] + ny * lamp[1] + nz * lamp[2]
    direct = max((facing + 0.12) / 1.12, 0.0) * key
    above = (0.5 + 0.5 * ny) * sky
    below = (0.5 - 0.5 * ny) * (0.35 + 0.65 * sky)
    towards = max(-(nx * dx + ny * dy + nz * dz), 0.0)
    edge = (1.0 - towards) * (1.0 - towards)
    rim = 0.10 * edge * edge * sky
    fill = 0.10 * towards * (0.5 + 0.5 * sky)
    hx, hy, hz = lamp[0] - dx, lamp[1] - dy, lamp[2] - dz
    size = math.sqrt(hx * hx + hy * hy + hz * hz) + 1e-12
    shine = max((nx * hx + ny * hy + nz * hz) / size, 0.0)
    shine = shine * shine
    shine = shine * shine
    shine = shine * shine
    gloss = 0.05 * shine * shine * shine * key + 0.35 * rim
    light = (
        0.80 * direct + 0.40 * above + 0.24 * below + fill + rim,
        0.77 * direct + 0.42 * above + 0.225 * below + fill + rim,
        0.72 * direct + 0.46 * above + 0.21 * below + fill + rim,
    )
    return light, gloss


@njit(**_OPTIONS)
def _texel(textures: Array, layer: int, u: float, v: float) -> tuple[float, float, float]:
    """Texture colour in linear light, bilinear, repeating."""
    rows, columns = textures.shape[1], textures.shape[2]
    x = (u - math.floor(u)) * columns - 0.5
    y = (1.0 - (v - math.floor(v))) * rows - 0.5
    left, up = math.floor(x), math.floor(y)
    fx, fy = x - left, y - up
    c0, c1 = left % columns, (left + 1) % columns
    r0, r1 = up % rows, (up + 1) % rows
    red = green = blue = 0.0
    for row, column, weight in (
        (r0, c0, (1.0 - fx) * (1.0 - fy)),
        (r0, c1, fx * (1.0 - fy)),
        (r1, c0, (1.0 - fx) * fy),
        (r1, c1, fx * fy),
    ):
        red += weight * _LINEAR[textures[layer, row, column, 0]]
        green += weight * _LINEAR[textures[layer, row, column, 1]]
        blue += weight * _LINEAR[textures[layer, row, column, 2]]
    return red, green, blue


@njit(fastmath={"contract", "nsz", "arcp"}, **_OPTIONS)
def _floor(row: int, rows: int, view: Array, floor: Array, shadow: Array, paper: Array) -> None:
    """One row of the ground, `(3, columns)` linear: a grid that fades away from the subject, and its shadow.

    The camera never rolls, so all pixels of a row are equally far along its axis; what they share is taken
    out of the loops, which the compiler then turns into vector instructions.
    """
    columns = paper.shape[1]
    share = row / rows
    for i in range(3):
        paper[i] = floor[i] + share * (floor[3 + i] - floor[i])
    sv = -(row + 0.5 - view[14]) / view[12]
    dy = view[10] + sv * view[7]
    if dy > -1e-6 or view[1] <= 0.0:
        return
    t = -view[1] / dy
    su = (0.5 - view[13]) / view[12]
    per = t / view[12]
    # The ground point of column 0, its step to the next column, and how far a pixel reaches.
    along_x, along_z = view[9] + sv * view[6], view[11] + sv * view[8]
    x0, z0 = view[0] + t * (along_x + su * view[3]), view[2] + t * (along_z + su * view[5])
    step_x, step_z = per * view[3], per * view[5]
    tilt = view[7] / dy
    reach_x = per * (abs(view[3]) + abs(view[6] - along_x * tilt))
    reach_z = per * (abs(view[5]) + abs(view[8] - along_z * tilt))
    pitch_x, room_x, bold_x, fine_x = _grid(reach_x, floor)
    pitch_z, room_z, bold_z, fine_z = _grid(reach_z, floor)
    scale, middle_x, middle_z = 1.0 / floor[8], floor[6], floor[7]
    ground_r, ground_g, ground_b = floor[12], floor[13], floor[14]
    for column in range(columns):
        x, z = x0 + column * step_x, z0 + column * step_z
        across, along = (x - middle_x) * scale, (z - middle_z) * scale
        near = min(max(1.08 - 1.08 * (across * across + along * along), 0.0), 1.0)
        near = near * near * (3.0 - 2.0 * near)
        at_x, at_z = x * pitch_x, z * pitch_z
        line_x, line_z = math.floor(at_x + 0.5), math.floor(at_z + 0.5)
        cover_x = min(max(1.05 - abs(at_x - line_x) * room_x, 0.0), 1.0)
        cover_z = min(max(1.05 - abs(at_z - line_z) * room_z, 0.0), 1.0)
        cover_x *= bold_x if line_x == 4.0 * math.floor(0.25 * line_x + 0.1) else fine_x
        cover_z *= bold_z if line_z == 4.0 * math.floor(0.25 * line_z + 0.1) else fine_z
        keep = 1.0 - near * max(cover_x, cover_z)
        paper[0, column] = (paper[0, column] + near * (ground_r - paper[0, column])) * keep
        paper[1, column] = (paper[1, column] + near * (ground_g - paper[1, column])) * keep
        paper[2, column] = (paper[2, column] + near * (ground_b - paper[2, column])) * keep
    scale, strength = 1.0 / floor[17], floor[18]
    for column in range(columns):
        u = (x0 + column * step_x - floor[15]) * scale - 0.5
        w = (z0 + column * step_z - floor[16]) * scale - 0.5
        if u >= 0.0 and w >= 0.0 and u < shadow.shape[1] - 1.001 and w < shadow.shape[0] - 1.001:
            c, r = int(u), int(w)
            fu, fw = u - c, w - r
            dark = strength * (
                (1.0 - fw) * ((1.0 - fu) * shadow[r, c] + fu * shadow[r, c + 1])
                + fw * ((1.0 - fu) * shadow[r + 1, c] + fu * shadow[r + 1, c + 1])
            )
            paper[0, column] *= 1.0 - dark
            paper[1, column] *= 1.0 - 0.985 * dark
            paper[2, column] *= 1.0 - 0.955 * dark


@njit(**_OPTIONS)
def _grid(reach: float, floor: Array) -> tuple[float, float, float, float]:
    """Lines per metre, pixels between them, ink of every fourth line and of the others.

    Lines fade where they would crowd; where fine ones have gone, all that remain are bold.
    """
    room = 0.25 * floor[9] / reach
    bold = floor[10] * min(max((4.0 * room - 4.0) / 12.0, 0.0), 1.0)
    fine = floor[11] * min(max((room - 4.0) / 12.0, 0.0), 1.0)
    return 4.0 / floor[9], room, bold, fine
