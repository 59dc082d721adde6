"""Unwrapping by body part: each part is rolled off like a cylinder, its ends are laid flat beside it.

A chart is measured in metres, so that one texel covers about the same area everywhere; charts are packed
on shelves. The seam runs along the back of each part: a triangle across it is drawn whole on one side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, FloatArray, Integers
from marey.geometry.mesh import face_normals

PADDING = 0.006
"""Free border of each chart, as a share of the atlas."""

STEEP, NEAR_END = 0.7, 0.22


@dataclass(frozen=True)
class Part:
    """A piece of the surface and the line it is rolled off about.

    start, end: `(3,)`, the line
    back: `(3,)`, where the seam lies
    enlarged: how much larger than life it is drawn
    """

    start: Array
    end: Array
    back: Array
    enlarged: float = 1.0


def unwrap(
    vertices: Array, faces: Integers, part_of_face: Integers, parts: Sequence[Part]
) -> tuple[Array, Integers]:
    """Texture coordinates `(corners, 2)` in 0…1 and, for each face, its three of them.

    part_of_face: `(faces,)`, index into `parts`
    """
    normals = face_normals(vertices, faces)
    flat = np.empty((len(faces), 3, 2))
    chart = np.empty(len(faces), dtype=np.int64)
    turn = np.zeros((len(faces), 3), dtype=np.int64)
    for index, part in enumerate(parts):
        mine = np.flatnonzero(part_of_face == index)
        if mine.size:
            drawn, kind, turns = _rolled_off(vertices[faces[mine]], normals[mine], part)
            flat[mine], chart[mine], turn[mine] = drawn, 3 * index + kind, turns
    used, chart = np.unique(chart, return_inverse=True)
    corners = np.column_stack([faces.ravel(), np.repeat(chart, 3), turn.ravel()])
    _, first, uv_faces = np.unique(corners, axis=0, return_index=True, return_inverse=True)
    points, of_chart = flat.reshape(-1, 2)[first], corners[first, 1]
    low = np.stack([points[of_chart == c].min(axis=0) for c in range(len(used))])
    size = np.stack([points[of_chart == c].max(axis=0) for c in range(len(used))]) - low
    origin, scale = _packed(size)
    return (points - low[of_chart]) * scale + origin[of_chart], uv_faces.reshape(-1, 3)


def baked_points(
    vertices: Array, faces: Integers, uv: Array, uv_faces: Integers, pixels: int
) -> tuple[NDArray[np.bool_], Array, Integers]:
    """What the texels of a square texture show.

    Returns which texels show something, `(pixels, pixels)`, row 0 at the top (v = 1); and for those, the
    points of the surface `(texels, 3)` and the faces `(texels,)` they show. A texel that a triangle only
    touches lies a little outside it, in the triangle's plane.
    """
    import cv2

    at = uv[uv_faces] * [pixels, -pixels] + [-0.5, pixels - 0.5]
    drawn = np.zeros((pixels, pixels), dtype=np.int32)
    for number, corners in enumerate(np.round(at * 16).astype(np.int32), start=1):
        cv2.fillConvexPoly(drawn, corners, number, lineType=cv2.LINE_8, shift=4)
    row, column = np.nonzero(drawn)
    face = drawn[row, column].astype(np.int64) - 1
    a, b, c = at[:, 0], at[:, 1], at[:, 2]
    area = _cross(b - a, c - a)
    area = np.where(np.abs(area) < 1e-9, 1e-9, area)[face]
    p = np.column_stack([column, row])
    share = np.stack([_cross((c - b)[face], p - b[face]), _cross((a - c)[face], p - c[face])], axis=1)
    share /= area[:, None]
    share = np.clip(np.column_stack([share, 1 - share.sum(axis=1)]), -0.3, 1.3)
    share /= share.sum(axis=1, keepdims=True)
    points = np.einsum("tk,tki->ti", share, vertices[faces[face]])
    return drawn > 0, points, face


def _rolled_off(corners: Array, normals: FloatArray, part: Part) -> tuple[Array, Integers, Integers]:
    """In metres, `(faces, 3, 2)`; 0 for the side, 1 and 2 for the ends; turns about the line per corner."""
    along = (part.end - part.start) / np.linalg.norm(part.end - part.start)
    front = -(part.back - (part.back @ along) * along)
    front /= np.linalg.norm(front)
    across = np.cross(along, front)
    local = (corners - part.start) @ np.stack([across, along, front]).T
    angle = np.arctan2(local[..., 0], local[..., 2])
    middle = local.mean(axis=1)
    towards = np.arctan2(middle[:, 0], middle[:, 2])[:, None]
    turns = np.round((towards - angle) / (2 * np.pi)).astype(np.int64)
    radius = np.hypot(local[..., 0], local[..., 2]).mean()
    side = np.stack([(angle + 2 * np.pi * turns) * radius, local[..., 1]], axis=-1)
    low, high = local[..., 1].min(), local[..., 1].max()
    share, facing = (middle[:, 1] - low) / (high - low), normals @ along
    kind = np.where(
        (facing > STEEP) & (share > 1 - NEAR_END), 1, np.where((facing < -STEEP) & (share < NEAR_END), 2, 0)
    )
    # Seen from outside, so that no chart is mirrored.
    ahead = np.where((kind == 1)[:, None], -1.0, 1.0) * local[..., 2]
    end = np.stack([local[..., 0], ahead], axis=-1)
    drawn = np.where((kind == 0)[:, None, None], side, end)
    return part.enlarged * drawn, kind, np.where((kind == 0)[:, None], turns, 0)


def _packed(size: Array) -> tuple[Array, float]:
    """Lower left corners of the charts in the unit square, and how much smaller than life they are."""
    order = np.argsort(-size[:, 1], kind="stable")
    scale = 1.0 / np.sqrt((size[:, 0] * size[:, 1]).sum())
    while True:
        origin = np.empty_like(size)
        x = y = shelf = 0.0
        for c in order:
            width, height = size[c] * scale + 2 * PADDING
            if x + width > 1:
                x, y, shelf = 0.0, y + shelf, 0.0
            origin[c] = x + PADDING, y + PADDING
            x, shelf = x + width, max(shelf, height)
        if y + shelf <= 1 and (size[:, 0].max() * scale + 2 * PADDING) <= 1:
            return origin, float(scale)
        scale *= 0.98


def _cross(a: Array, b: Array) -> Array:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
