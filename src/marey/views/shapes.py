"""Small closed meshes that figures are put together from: lofts, balls, capsules, ribbons, blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array
from marey.crowd.polygons import Region

Faces = NDArray[np.int32]


@dataclass(frozen=True)
class Shape:
    """A closed triangle mesh: vertices `(vertices, 3)`, faces `(faces, 3)` counter-clockwise from outside."""

    vertices: Array
    faces: Faces


def loft(rings: ArrayLike, *, sectors: int = 14, squareness: float = 0.0) -> Shape:
    """A skin over elliptic rings along z, closed by a point at either end.

    rings: `(rings, 5)`: height z, half-width along x, half-width along y, middle x, middle y; the first and
        the last are shrunk to points
    squareness: 0 for ellipses, towards 1 for boxes with round corners

    >>> ball = loft([[-1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [1, 0, 0, 0, 0]], sectors=4)
    >>> len(ball.vertices), len(ball.faces)
    (6, 8)
    """
    heights, wide, deep, middle_x, middle_y = np.asarray(rings, dtype=np.float64).T
    turn = np.arange(sectors) * 2 * np.pi / sectors
    cosine, sine = np.cos(turn), np.sin(turn)
    corner = (np.abs(cosine) ** 4 + np.abs(sine) ** 4) ** -0.25
    radius = 1.0 + squareness * (corner - 1.0)
    inner = slice(1, -1)
    x = middle_x[inner, None] + wide[inner, None] * radius * cosine
    y = middle_y[inner, None] + deep[inner, None] * radius * sine
    z = np.broadcast_to(heights[inner, None], x.shape)
    body = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    poles = np.stack([middle_x, middle_y, heights], axis=1)[[0, -1]]
    vertices = np.concatenate([poles[:1], body, poles[1:]])
    return Shape(vertices, _loft_faces(len(heights) - 2, sectors))


def refined(rings: ArrayLike) -> Array:
    """Rings with one more between each two, along a smooth curve (the four-point rule of Dyn et al. 1987).

    >>> refined([[0.0], [1.0], [2.0]]).ravel().tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    given = np.asarray(rings, dtype=np.float64)
    padded = np.concatenate([2 * given[:1] - given[1:2], given, 2 * given[-1:] - given[-2:-1]])
    between = (9 * (padded[1:-2] + padded[2:-1]) - padded[:-3] - padded[3:]) / 16
    out = np.empty((2 * len(given) - 1, given.shape[1]))
    out[::2], out[1::2] = given, between
    return out


def _loft_faces(rings: int, sectors: int) -> Faces:
    ring = 1 + np.arange(rings)[:, None] * sectors + np.arange(sectors)
    following = np.roll(ring, -1, axis=1)
    last = 1 + rings * sectors
    bottom = np.stack([np.zeros(sectors, int), following[0], ring[0]], axis=1)
    top = np.stack([ring[-1], following[-1], np.full(sectors, last)], axis=1)
    a, b, c, d = ring[:-1], following[:-1], following[1:], ring[1:]
    side = np.concatenate(
        [np.stack([a, b, c], axis=-1).reshape(-1, 3), np.stack([a, c, d], axis=-1).reshape(-1, 3)]
    )
    return np.concatenate([bottom, side, top]).astype(np.int32)


def ball(radius: float = 1.0, *, rings: int = 7, sectors: int = 12) -> Shape:
    """A sphere about the origin."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, rings + 2)
    round_ = radius * np.cos(angle)
    flat = np.zeros_like(angle)
    return loft(np.stack([radius * np.sin(angle), round_, round_, flat, flat], axis=1), sectors=sectors)


def limb(
    length: float,
    profile: Sequence[tuple[float, float]],
    *,
    hem: float | None = None,
    sectors: int = 14,
    coarse: bool = False,
) -> Shape:
    """A rounded limb along z from 0 to `length`.

    profile: (share of the length, radius) pairs from 0 to 1; ends are closed by half balls
    hem: share of the length at which two rings lie close together, so that colours can change there
    coarse: no more rings than the profile has
    """
    shares, radii = np.array(profile).T
    along = shares if coarse else np.linspace(0.0, 1.0, max(2 * len(shares) - 1, 5))
    smooth = np.interp(along, shares, radii)
    if not coarse:
        smooth[1:-1] = 0.25 * smooth[:-2] + 0.5 * smooth[1:-1] + 0.25 * smooth[2:]
    rings = along if hem is None else np.sort(np.append(along, [hem - 0.004, hem + 0.004]))
    wide = np.interp(rings, along, smooth)
    cap = np.radians([0.0] if coarse else [0.0, 30.0, 60.0])
    start, end = wide[0], wide[-1]
    heights = np.concatenate([-start * np.cos(cap), rings * length, length + (end * np.cos(cap))[::-1]])
    widths = np.concatenate([start * np.sin(cap), wide, (end * np.sin(cap))[::-1]])
    flat = np.zeros_like(heights)
    return loft(np.stack([heights, widths, widths, flat, flat], axis=1), sectors=sectors)


def ribbon(path: Array, width: float) -> tuple[Array, Faces]:
    """A flat strip along a path on the ground, `(points, 3)`: vertices and faces.

    >>> vertices, faces = ribbon(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 1]]), 0.1)
    >>> vertices.shape, faces.shape
    ((6, 3), (4, 3))
    """
    path = _without_repeats(path, 0.25 * width)
    if len(path) < 2:
        return np.zeros((0, 3)), np.zeros((0, 3), np.int32)
    along = np.gradient(path, axis=0)
    size = np.linalg.norm(along, axis=1, keepdims=True)
    along /= np.where(size > 0, size, 1.0)
    side = 0.5 * width * np.stack([along[:, 2], np.zeros(len(path)), -along[:, 0]], axis=1)
    vertices = np.stack([path - side, path + side], axis=1).reshape(-1, 3)
    i = 2 * np.arange(len(path) - 1)
    faces = np.concatenate([np.stack([i, i + 1, i + 2], axis=1), np.stack([i + 1, i + 3, i + 2], axis=1)])
    return vertices, faces.astype(np.int32)


def blocks(regions: Sequence[Region], height: float) -> Shape:
    """Outlines with holes on the ground (x to the right, y away from the viewer) set up to `height`.

    Every side has corners of its own, so that edges stay sharp; there is no floor.

    >>> cube = blocks([(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]), ())], 1.0)
    >>> cube.vertices.shape, cube.faces.shape
    ((22, 3), (10, 3))
    """
    import shapely

    whole = shapely.orient_polygons([shapely.Polygon(outline, holes) for outline, holes in regions])
    top = shapely.orient_polygons(shapely.get_parts(shapely.constrained_delaunay_triangles(whole)))
    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(whole)]
    low, ahead = (np.concatenate([ring[part] for ring in rings]) for part in (np.s_[:-1], np.s_[1:]))
    plan = np.concatenate([
        shapely.get_coordinates(top).reshape(-1, 4, 2)[:, :3].reshape(-1, 2),
        np.stack([low, ahead, ahead, low], axis=1).reshape(-1, 2),
    ])  # fmt: skip
    count = 3 * len(top)
    up = np.concatenate([np.full(count, height), np.tile([0.0, 0.0, height, height], len(low))])
    first = count + 4 * np.arange(len(low))[:, None]
    faces = [np.arange(count).reshape(-1, 3), first + np.array([0, 1, 2]), first + np.array([0, 2, 3])]
    vertices = np.stack([plan[:, 0], up, -plan[:, 1]], axis=1)
    return Shape(vertices, np.concatenate(faces).astype(np.int32))


def _without_repeats(path: Array, step: float) -> Array:
    """Points at least `step` of path length apart, the last one included."""
    travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    _, first = np.unique(np.floor(travelled / step) if step > 0 else travelled, return_index=True)
    return np.asarray(path[np.unique(np.append(first, len(path) - 1))])


def merged(shapes: Sequence[Shape]) -> tuple[Array, Faces, NDArray[Any]]:
    """All shapes as one mesh: vertices, faces, and which shape each vertex belongs to."""
    counts = [len(shape.vertices) for shape in shapes]
    starts = np.cumsum([0, *counts[:-1]])
    vertices = np.concatenate([shape.vertices for shape in shapes])
    faces = np.concatenate([shape.faces + start for shape, start in zip(shapes, starts, strict=True)])
    return vertices, faces.astype(np.int32), np.repeat(np.arange(len(shapes)), counts)
