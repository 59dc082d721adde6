"""The compiled heart of the renderer: which face a pixel sees, and what colour it has there.

Kernels release the interpreter lock and work on bands of rows, so that
Python threads share an image between the cores; the result does not depend on how it is shared.
Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marey._arrays import AnyArray
from marey._compiling import njit
from marey.geometry.colour import from_srgb

_LINEAR = from_srgb(np.arange(256) / 255.0)
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


class Surface(NamedTuple):
    """What is drawn.

    screen: of the vertices, see `project`; faces: `(faces, 3)`; flat, normals: of faces and vertices
    seen: `(vertices, 2)`, what they see of key light and sky; colours: `(vertices, 3)`, linear
    flat_from: faces from this one on are not shaded
    uv, uv_faces: texture coordinates; layers: `(faces,)`, which texture a face wears
    textures: `(layers, rows, columns, 3)` sRGB bytes (no layer: none)
    """

    screen: AnyArray
    faces: AnyArray
    flat: AnyArray
    normals: AnyArray
    seen: AnyArray
    colours: AnyArray
    flat_from: int
    uv: AnyArray
    uv_faces: AnyArray
    layers: AnyArray
    textures: AnyArray


@njit(**_OPTIONS)
def project(points: AnyArray, view: AnyArray, size: tuple[int, int], screen: AnyArray, box: AnyArray) -> None:
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
def faces_in_bands(
    screen: AnyArray, faces: AnyArray, closed: int, box: AnyArray, rows: int, bands: AnyArray
) -> AnyArray:
    """The faces that may be seen in each band of so many rows, band after band, each in their order.

    screen, box: from `project`
    closed: so many faces, the first ones, make closed surfaces; their backs are never seen
    bands: `(bands, 4)`, filled here: where a band's faces start and stop in the result, and the first and
        last column (exclusive) they touch
    """
    count = faces.shape[0]
    spans = np.empty((count, 2), dtype=np.int32)
    bands[:] = 0
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
        left = max(math.floor(min(xa, xb, xc)), box[2])
        right = min(math.floor(max(xa, xb, xc)) + 1, box[3])
        first = max(math.floor(min(ya, yb, yc)), box[0])
        last = min(math.floor(max(ya, yb, yc)), box[1] - 1)
        if last < first or right <= left:
            continue
        spans[f, 0], spans[f, 1] = first // rows, last // rows
        for band in range(spans[f, 0], spans[f, 1] + 1):
            if bands[band, 1] == 0:
                bands[band, 2], bands[band, 3] = left, right
            bands[band, 1] += 1
            bands[band, 2], bands[band, 3] = min(bands[band, 2], left), max(bands[band, 3], right)
    total = 0
    for band in range(bands.shape[0]):
        bands[band, 0] = total
        total += bands[band, 1]
        bands[band, 1] = bands[band, 0]
    order = np.empty(total, dtype=np.int32)
    for f in range(count):
        for band in range(spans[f, 0], spans[f, 1] + 1):
            order[bands[band, 1]] = f
            bands[band, 1] += 1
    return order


@njit(**_OPTIONS)
def rasterise(
    screen: AnyArray,
    faces: AnyArray,
    order: AnyArray,
    band: AnyArray,
    offsets: AnyArray,
    background: AnyArray,
    depth: AnyArray,
    owner: AnyArray,
    covered: AnyArray,
    top: int,
    bottom: int,
) -> None:
    """Which face each sample of each pixel sees, for the band of rows `top` to `bottom`.

    order, band: from `faces_in_bands`; only the columns that the band's faces touch are written
    offsets: `(samples, 2)`, where the samples lie around a pixel's centre
    background: `(rows, columns, samples)`, its 1 / distance, which may hide faces; without rows: none
    depth: `(rows of a band, columns, samples)`, 1 / distance of the nearest surface
    owner: likewise, its face, -1 for none
    covered: `(bodies,)`, of equally many faces each: adds the pixels whose last sample each one covers,
        hidden or not; without bodies: nothing is counted
    """
    samples = depth.shape[2]
    steps = np.empty((4, samples))
    for row in range(depth.shape[0]):
        behind = background.shape[0] > 0 and row < bottom - top
        for column in range(band[2], band[3]):
            for s in range(samples):
                depth[row, column, s] = background[top + row, column, s] if behind else 0.0
                owner[row, column, s] = -1
    bodies = covered.shape[0]
    body_faces = faces.shape[0] // max(bodies, 1)
    latest = np.full((bottom - top, depth.shape[1]) if bodies else (0, 0), -1, dtype=np.int32)
    body = 0
    for i in range(band[0], band[1]):
        f = order[i]
        if bodies:
            body = f // body_faces
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
        reach_a = 0.5 * (abs(ax) + abs(ay))
        reach_b = 0.5 * (abs(bx) + abs(by))
        reach_c = 0.5 * (abs(cx) + abs(cy))
        slope_x = bx * (ib - ia) + cx * (ic - ia)
        slope_y = by * (ib - ia) + cy * (ic - ia)
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
                if bodies and latest[row - top, column] != body:
                    last_sample = samples - 1
                    if (
                        min(
                            wa + steps[0, last_sample],
                            wb + steps[1, last_sample],
                            wc + steps[2, last_sample],
                        )
                        >= 0.0
                    ):
                        latest[row - top, column] = body
                        covered[body] += 1
                for s in range(samples):
                    inside = min(wa + steps[0, s], wb + steps[1, s], wc + steps[2, s]) >= 0.0
                    if inside:
                        here = near + steps[3, s]
                        if here > depth[row - top, column, s]:
                            depth[row - top, column, s] = here
                            owner[row - top, column, s] = f


@njit(**_OPTIONS)
def shade(
    image: AnyArray,
    owner: AnyArray,
    band: AnyArray,
    surface: Surface,
    view: AnyArray,
    lamp: AnyArray,
    floor: AnyArray,
    shadow: AnyArray,
    tones: AnyArray,
    top: int,
    bottom: int,
) -> None:
    """Colours of the rows `top` to `bottom`: the surface where samples met it, else the ground.

    view: camera position, right, up, forward (3 each), focal length and centre in pixels
    lamp: towards the key light
    floor: see `_floor`
    tones: sRGB bytes of linear light 0…1
    """
    columns, samples = owner.shape[1], owner.shape[2]
    paper = np.empty((3, columns), dtype=np.float32)
    for row in range(top, bottom):
        _floor(row, image.shape[0], view, floor, shadow, paper)
        for column in range(columns):
            bare = samples
            if band[2] <= column < band[3]:
                bare = 0
                for s in range(samples):
                    if owner[row - top, column, s] < 0:
                        bare += 1
            if bare == samples:
                set_pixel(image[row, column], paper[0, column], paper[1, column], paper[2, column], tones)
                continue
            ray = _ray(row, column, view)
            red, green, blue = bare * paper[0, column], bare * paper[1, column], bare * paper[2, column]
            for s in range(samples):
                f, share = owner[row - top, column, s], samples_of(owner[row - top, column], s)
                if share == 0:
                    continue
                r, g, b = _surface(row, column, f, surface, ray, lamp, floor)
                red += share * min(r, 1.0)
                green += share * min(g, 1.0)
                blue += share * min(b, 1.0)
            set_pixel(image[row, column], red / samples, green / samples, blue / samples, tones)


@njit(**_OPTIONS)
def set_pixel(pixel: AnyArray, red: float, green: float, blue: float, tones: AnyArray) -> None:
    """The bytes of a pixel `(3,)` for linear light."""
    pixel[0], pixel[1], pixel[2] = tone(red, tones), tone(green, tones), tone(blue, tones)


@njit(**_OPTIONS)
def samples_of(owner: AnyArray, s: int) -> int:
    """How many samples of a pixel see the face that sample `s` sees, 0 if an earlier one stands for it: each
    face is shaded once."""
    count = 0
    if owner[s] >= 0:
        for other in range(owner.shape[0]):
            if owner[other] == owner[s]:
                if other < s:
                    return 0
                count += 1
    return count


@njit(**_OPTIONS)
def tone(light: float, tones: AnyArray) -> int:
    """The byte for linear light; black for what is not a number, which must not be used as an index."""
    if not light > 0.0:
        return tones[0]
    return tones[int(min(light, 1.0) * (tones.shape[0] - 1) + 0.5)]


@njit(**_OPTIONS)
def _ray(row: int, column: int, view: AnyArray) -> tuple[float, float, float]:
    """Unit vector from the camera through a pixel."""
    x = (column + 0.5 - view[13]) / view[12]
    y = -(row + 0.5 - view[14]) / view[12]
    size = math.sqrt(1.0 + x * x + y * y)
    return (
        (view[9] + x * view[3] + y * view[6]) / size,
        (view[10] + x * view[4] + y * view[7]) / size,
        (view[11] + x * view[5] + y * view[8]) / size,
    )


@njit(**_OPTIONS)
def corner_weights(
    row: int, column: int, f: int, screen: AnyArray, faces: AnyArray
) -> tuple[float, float, float, float]:
    """Perspective weights of a face's corners at a pixel's centre, or the nearest point of it, and its area.

    The area is twice that on the screen, positive if the face is seen from behind.
    """
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
    return wa / total, wb / total, wc / total, area


@njit(**_OPTIONS)
def _surface(
    row: int,
    column: int,
    f: int,
    surface: Surface,
    ray: tuple[float, float, float],
    lamp: AnyArray,
    floor: AnyArray,
) -> tuple[float, float, float]:
    """Linear light that comes from a face through a pixel; see `shade`."""
    screen, faces, flat, normals, seen, colours, flat_from, uv, uv_faces, layers, textures = surface
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    wa, wb, wc, area = corner_weights(row, column, f, screen, faces)
    red = wa * colours[a, 0] + wb * colours[b, 0] + wc * colours[c, 0]
    green = wa * colours[a, 1] + wb * colours[b, 1] + wc * colours[c, 1]
    blue = wa * colours[a, 2] + wb * colours[b, 2] + wc * colours[c, 2]
    if f >= flat_from:
        return red, green, blue
    if textures.shape[0] > 0:
        ta, tb, tc = uv_faces[f, 0], uv_faces[f, 1], uv_faces[f, 2]
        u = wa * uv[ta, 0] + wb * uv[tb, 0] + wc * uv[tc, 0]
        v = wa * uv[ta, 1] + wb * uv[tb, 1] + wc * uv[tc, 1]
        # The vertex colours then carry the fading of earlier poses: 1 keeps, 0 is paper.
        keep = red
        red, green, blue = _texel(textures, layers[f], u, v)
        red += (1.0 - keep) * (floor[3] - red)
        green += (1.0 - keep) * (floor[4] - green)
        blue += (1.0 - keep) * (floor[5] - blue)
    ka, kb, kc = _smooth(f, a, flat, normals), _smooth(f, b, flat, normals), _smooth(f, c, flat, normals)
    edge = wa * (1.0 - ka) + wb * (1.0 - kb) + wc * (1.0 - kc)
    ka, kb, kc = wa * ka, wb * kb, wc * kc
    nx = edge * flat[f, 0] + ka * normals[a, 0] + kb * normals[b, 0] + kc * normals[c, 0]
    ny = edge * flat[f, 1] + ka * normals[a, 1] + kb * normals[b, 1] + kc * normals[c, 1]
    nz = edge * flat[f, 2] + ka * normals[a, 2] + kb * normals[b, 2] + kc * normals[c, 2]
    size = math.sqrt(nx * nx + ny * ny + nz * nz) + 1e-12
    # Seen from behind.
    if area > 0.0:
        size = -size
    key = wa * seen[a, 0] + wb * seen[b, 0] + wc * seen[c, 0]
    sky = wa * seen[a, 1] + wb * seen[b, 1] + wc * seen[c, 1]
    sent, gloss = _light(nx / size, ny / size, nz / size, ray[0], ray[1], ray[2], lamp, key, sky)
    return red * sent[0] + gloss, green * sent[1] + gloss, blue * sent[2] + gloss


@njit(**_OPTIONS)
def _smooth(f: int, vertex: int, flat: AnyArray, normals: AnyArray) -> float:
    """1 where a face rounds off towards its neighbours at a vertex, 0 at a sharp edge (above 48 degrees)."""
    together = (
        flat[f, 0] * normals[vertex, 0] + flat[f, 1] * normals[vertex, 1] + flat[f, 2] * normals[vertex, 2]
    )
    return 1.0 if together > 0.67 else 0.0


@njit(**_OPTIONS)
def _light(
    nx: float,
    ny: float,
    nz: float,
    dx: float,
    dy: float,
    dz: float,
    lamp: AnyArray,
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
def _texel(textures: AnyArray, layer: int, u: float, v: float) -> tuple[float, float, float]:
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
def _floor(row: int, rows: int, view: AnyArray, floor: AnyArray, shadow: AnyArray, paper: AnyArray) -> None:
    """One row of the ground, `(3, columns)` linear: a grid that fades away from the subject, and its shadow.

    The camera never rolls, so all pixels of a row are equally far along its axis; what they share is taken
    out of the loops, which the compiler then turns into vector instructions.

    floor: backdrop at the top (0-2) and the bottom (3-5) of the image, middle of the ground x, z (6, 7),
        its reach (8), spacing of the grid (9), ink of its bold and fine lines (10, 11), colour of the
        ground (12-14), corner of the shadow map x, z (15, 16), its texel (17), strength of the shadow (18)
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
def _grid(reach: float, floor: AnyArray) -> tuple[float, float, float, float]:
    """Lines per metre, pixels between them, ink of every fourth line and of the others.

    Lines fade where they would crowd; where fine ones have gone, all that remain are bold.
    """
    room = 0.25 * floor[9] / reach
    bold = floor[10] * min(max((4.0 * room - 4.0) / 12.0, 0.0), 1.0)
    fine = floor[11] * min(max((room - 4.0) / 12.0, 0.0), 1.0)
    return 4.0 / floor[9], room, bold, fine
