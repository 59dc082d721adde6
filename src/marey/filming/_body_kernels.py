"""Compiled: people posed, gathered into one mesh, and projected.

The world has y up: (x, height, -y of the ground plan). Importing this module imports numba: do so inside
functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[Any]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_FAST = {**_OPTIONS, "fastmath": {"contract", "nsz", "arcp"}}


@njit(**_FAST)
def pose(
    tables: Array,
    rest: Array,
    rest_normals: Array,
    joints: Array,
    bones: Array,
    weights: Array,
    looks: Array,
    statures: Array,
    state: Array,
    start: int,
    stop: int,
    vertices: Array,
    normals: Array,
) -> None:
    """Vertices and normals of the people `start` to `stop`, `(people, figure's vertices, 3)`.

    tables: see `gaits.pose_tables`
    rest, rest_normals: `(looks, figure's vertices, 3)`; joints: `(looks, bones, 3)`
    bones, weights: of the figure's vertices; looks: `(people,)` which look everyone has
    state: `(people, 7)`: x, z of the world, heading, phase, walking, pace, idle phase; see `gaits.Gait`
    """
    phases, count = tables.shape[1], tables.shape[2]
    frames = np.empty((count, 12))
    fastest = tables.shape[0] - 1
    for person in range(start, stop):
        look, stature = looks[person], statures[person]
        walking, pace = state[person, 4], min(max(state[person, 5], 0.0), float(fastest))
        lower = min(int(pace), fastest - 1)
        share = pace - lower
        at = (state[person, 3] - math.floor(state[person, 3])) * phases
        before = int(at) % phases
        after, between = (before + 1) % phases, at - int(at)
        rest_at = (state[person, 6] - math.floor(state[person, 6])) * phases
        idle_before = int(rest_at) % phases
        idle_after, idle_between = (idle_before + 1) % phases, rest_at - int(rest_at)
        for b in range(count):
            for k in range(12):
                idle = (
                    tables[0, idle_before, b, k] * (1 - idle_between)
                    + tables[0, idle_after, b, k] * idle_between
                )
                if lower == 0:
                    slow = idle
                else:
                    slow = tables[lower, before, b, k] * (1 - between) + tables[lower, after, b, k] * between
                fast = (
                    tables[lower + 1, before, b, k] * (1 - between) + tables[lower + 1, after, b, k] * between
                )
                frames[b, k] = (1 - walking) * idle + walking * ((1 - share) * slow + share * fast)
            for k in range(9, 12):
                frames[b, k] *= stature
        turn = state[person, 2] + 0.5 * math.pi
        c, s = math.cos(turn), math.sin(turn)
        for v in range(bones.shape[0]):
            x = y = z = nx = ny = nz = 0.0
            for which in range(2):
                weight = weights[v] if which == 0 else 1.0 - weights[v]
                if weight == 0.0:
                    continue
                b = bones[v, which]
                lx = rest[look, v, 0] - joints[look, b, 0]
                ly = rest[look, v, 1] - joints[look, b, 1]
                lz = rest[look, v, 2] - joints[look, b, 2]
                mx, my, mz = rest_normals[look, v, 0], rest_normals[look, v, 1], rest_normals[look, v, 2]
                f = frames[b]
                x += weight * (f[0] * lx + f[1] * ly + f[2] * lz + f[9])
                y += weight * (f[3] * lx + f[4] * ly + f[5] * lz + f[10])
                z += weight * (f[6] * lx + f[7] * ly + f[8] * lz + f[11])
                nx += weight * (f[0] * mx + f[1] * my + f[2] * mz)
                ny += weight * (f[3] * mx + f[4] * my + f[5] * mz)
                nz += weight * (f[6] * mx + f[7] * my + f[8] * mz)
            vertices[person, v, 0] = state[person, 0] + c * x + s * z
            vertices[person, v, 1] = y
            vertices[person, v, 2] = state[person, 1] - s * x + c * z
            normals[person, v, 0] = c * nx + s * nz
            normals[person, v, 1] = ny
            normals[person, v, 2] = c * nz - s * nx


@njit(**_OPTIONS)
def gather(
    look_faces: Array,
    look_starts: Array,
    template: Array,
    looks: Array,
    per_person: int,
    faces: Array,
    origin: Array,
) -> int:
    """Faces of everyone, those each one's look wears; which person and template face each is; how many."""
    total = 0
    for person in range(looks.shape[0]):
        base = person * per_person
        for i in range(look_starts[looks[person]], look_starts[looks[person] + 1]):
            f = look_faces[i]
            faces[total, 0] = template[f, 0] + base
            faces[total, 1] = template[f, 1] + base
            faces[total, 2] = template[f, 2] + base
            origin[total, 0], origin[total, 1] = person, f
            total += 1
    return total


@njit(**_FAST)
def project(points: Array, matrix: Array, screen: Array) -> None:
    """Column + ½, row + ½ and 1 / depth (0 behind the camera) of world points `(points, 3)`."""
    for i in range(points.shape[0]):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        depth = matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] * z + matrix[2, 3]
        screen[i, 2] = 0.0
        if not depth > 0.05:
            continue
        near = 1.0 / depth
        screen[i, 0] = (matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2] * z + matrix[0, 3]) * near + 0.5
        screen[i, 1] = (matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2] * z + matrix[1, 3]) * near + 0.5
        screen[i, 2] = near


@njit(**_OPTIONS)
def boxes(screen: Array, faces: Array, origin: Array, count: int, box: Array) -> None:
    """Of each person `(people, 4)`: left, top, right, bottom of the body in pixels; none: left > right."""
    box[:, 0], box[:, 1], box[:, 2], box[:, 3] = 1e9, 1e9, -1e9, -1e9
    for f in range(count):
        person = origin[f, 0]
        for k in range(3):
            v = faces[f, k]
            if screen[v, 2] > 0.0:
                box[person, 0] = min(box[person, 0], screen[v, 0] - 0.5)
                box[person, 1] = min(box[person, 1], screen[v, 1] - 0.5)
                box[person, 2] = max(box[person, 2], screen[v, 0] - 0.5)
                box[person, 3] = max(box[person, 3], screen[v, 1] - 0.5)
