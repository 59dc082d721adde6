"""Compiled: normals, height maps along directions of light, and what each vertex sees of them.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np

from marey._arrays import AnyArray
from marey._compiling import njit

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

EMPTY = np.float32(-1e30)
"""Height stored in a light map where nothing stands."""


@njit(**_OPTIONS)
def surface_normals(
    vertices: AnyArray, faces: AnyArray, welded: AnyArray, flat: AnyArray, normals: AnyArray
) -> None:
    """Unit normals of the faces (`flat`), and of the vertices by the areas of the faces around them.

    Vertices with the same `welded` index share their normal.
    """
    normals[:] = 0.0
    for f in range(faces.shape[0]):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ux, uy, uz = (
            vertices[b, 0] - vertices[a, 0],
            vertices[b, 1] - vertices[a, 1],
            vertices[b, 2] - vertices[a, 2],
        )
        vx, vy, vz = (
            vertices[c, 0] - vertices[a, 0],
            vertices[c, 1] - vertices[a, 1],
            vertices[c, 2] - vertices[a, 2],
        )
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        size = math.sqrt(nx * nx + ny * ny + nz * nz)
        if size > 0.0:
            flat[f, 0], flat[f, 1], flat[f, 2] = nx / size, ny / size, nz / size
        for corner in (a, b, c):
            w = welded[corner]
            normals[w, 0] += nx
            normals[w, 1] += ny
            normals[w, 2] += nz
    for v in range(vertices.shape[0]):
        if welded[v] == v:
            x, y, z = normals[v, 0], normals[v, 1], normals[v, 2]
            size = math.sqrt(x * x + y * y + z * z)
            if size > 0.0:
                normals[v, 0] = x / size
                normals[v, 1] = y / size
                normals[v, 2] = z / size
    for v in range(vertices.shape[0]):
        w = welded[v]
        if w != v:
            normals[v, 0] = normals[w, 0]
            normals[v, 1] = normals[w, 1]
            normals[v, 2] = normals[w, 2]


@njit(**_OPTIONS)
def height_map(
    vertices: AnyArray,
    faces: AnyArray,
    closed: bool,
    shear_x: float,
    shear_z: float,
    corner: AnyArray,
    texel: float,
    heights: AnyArray,
) -> None:
    """The highest surface over each texel of the ground, seen along a direction of light.

    A point (x, y, z) casts its shadow at (x - y shear_x, z - y shear_z) on the ground y = 0. The
    caller has filled `heights` with `EMPTY` where the shadow may fall.
    """
    rows, columns = heights.shape
    for f in range(faces.shape[0]):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ya, yb, yc = vertices[a, 1], vertices[b, 1], vertices[c, 1]
        xa = (vertices[a, 0] - ya * shear_x - corner[0]) / texel
        xb = (vertices[b, 0] - yb * shear_x - corner[0]) / texel
        xc = (vertices[c, 0] - yc * shear_x - corner[0]) / texel
        za = (vertices[a, 2] - ya * shear_z - corner[1]) / texel
        zb = (vertices[b, 2] - yb * shear_z - corner[1]) / texel
        zc = (vertices[c, 2] - yc * shear_z - corner[1]) / texel
        area = (xb - xa) * (zc - za) - (xc - xa) * (zb - za)
        # Of a closed surface only the faces towards the light matter; seen in (x, z) they turn clockwise.
        if not abs(area) > 1e-12 or (closed and area > 0.0):
            continue
        first = max(math.ceil(min(za, zb, zc) - 0.5), 0)
        last = min(math.floor(max(za, zb, zc) - 0.5), rows - 1)
        left = max(math.ceil(min(xa, xb, xc) - 0.5), 0)
        right = min(math.floor(max(xa, xb, xc) - 0.5), columns - 1)
        bx, bz = (zc - za) / area, -(xc - xa) / area
        cx, cz = -(zb - za) / area, (xb - xa) / area
        for row in range(first, last + 1):
            z = row + 0.5 - za
            for column in range(left, right + 1):
                x = column + 0.5 - xa
                wb = bx * x + bz * z
                wc = cx * x + cz * z
                if wb >= 0.0 and wc >= 0.0 and wb + wc <= 1.0:
                    y = ya + wb * (yb - ya) + wc * (yc - ya)
                    if y > heights[row, column]:
                        heights[row, column] = y


@njit(**_OPTIONS)
def cast(
    maps: AnyArray, boxes: AnyArray, weights: AnyArray, high: float, crisp: AnyArray, blurred: AnyArray
) -> None:
    """Shares of the light that the ground misses, sorted by how high what is in between stands."""
    for d in range(maps.shape[0]):
        for row in range(boxes[d, 0], boxes[d, 1]):
            for column in range(boxes[d, 2], boxes[d, 3]):
                height = maps[d, row, column]
                if height > 0.0:
                    up = min(height / high, 1.0)
                    crisp[row, column] += weights[d] * (1.0 - up)
                    blurred[row, column] += weights[d] * up


@njit(**_OPTIONS)
def visibility(
    vertices: AnyArray,
    normals: AnyArray,
    directions: AnyArray,
    key: AnyArray,
    boxes: AnyArray,
    maps: AnyArray,
    corner: AnyArray,
    texel: float,
    seen: AnyArray,
    start: int,
    stop: int,
) -> None:
    """How much of the key light and of the sky each vertex sees, `(vertices, 2)`.

    Each vertex is first moved off its surface along the normal, by more than the maps can resolve.
    """
    count = directions.shape[0]
    for v in range(start, stop):
        nx, ny, nz = normals[v, 0], normals[v, 1], normals[v, 2]
        x = vertices[v, 0] + 1.8 * texel * nx
        y = vertices[v, 1] + 1.8 * texel * ny
        z = vertices[v, 2] + 1.8 * texel * nz
        key_seen = key_all = sky_seen = sky_all = 0.0
        if not (x == x and y == y and z == z):
            continue
        for d in range(count):
            dx, dy, dz = directions[d, 0], directions[d, 1], directions[d, 2]
            u = (x - y * dx / dy - corner[0]) / texel - 0.5
            w = (z - y * dz / dy - corner[1]) / texel - 0.5
            column, row = math.floor(u), math.floor(w)
            fu, fw = u - column, w - row
            hidden = 0.0
            limit = y + texel
            if (
                row >= boxes[d, 0]
                and row + 1 < boxes[d, 1]
                and column >= boxes[d, 2]
                and column + 1 < boxes[d, 3]
            ):
                if maps[d, row, column] > limit:
                    hidden += (1.0 - fu) * (1.0 - fw)
                if maps[d, row, column + 1] > limit:
                    hidden += fu * (1.0 - fw)
                if maps[d, row + 1, column] > limit:
                    hidden += (1.0 - fu) * fw
                if maps[d, row + 1, column + 1] > limit:
                    hidden += fu * fw
            facing = max(nx * dx + ny * dy + nz * dz, 0.0) + 0.15
            if key[d] > 0.0:
                key_all += 1.0
                key_seen += 1.0 - hidden
            sky_all += facing
            sky_seen += facing * (1.0 - hidden)
        seen[v, 0] = key_seen / key_all if key_all > 0.0 else 1.0
        seen[v, 1] = sky_seen / sky_all
