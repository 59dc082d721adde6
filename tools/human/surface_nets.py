"""From a function on a grid to a closed triangle mesh: surface nets (Gibson 1998), then relaxation.

One vertex for every cell that the surface passes through, one quadrilateral for every grid edge that it
crosses. Vectorised; cost linear in the cells. The relaxation evens the triangles out while every vertex
is kept on the surface by Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Integers
from marey.geometry.mesh import unique_edges

# Corners of a cell, and its twelve edges as pairs of corners.
_CORNERS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
_EDGES = [(a, b) for a in range(8) for b in range(a, 8) if np.abs(_CORNERS[a] - _CORNERS[b]).sum() == 1]


def polygonise(value: Array, grid: tuple[Array, Array, Array]) -> tuple[Array, Integers]:
    """Vertices and counter-clockwise quadrilaterals of the surface `value` = 0; negative is inside.

    value: `(len(x), len(y), len(z))`, positive all along the border of the grid
    grid: coordinates along x, y and z, increasing

    >>> axis = np.linspace(-1.2, 1.2, 13)
    >>> x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    >>> vertices, quads = polygonise(np.sqrt(x**2 + y**2 + z**2) - 1, (axis, axis, axis))
    >>> bool((np.abs(np.linalg.norm(vertices, axis=1) - 1) < 0.05).all()), len(vertices) - len(quads)
    (True, 2)
    """
    value = _unambiguous(value)
    inside = value < 0
    cells = tuple(n - 1 for n in value.shape)
    corners = [inside[tuple(slice(o, o + n) for o, n in zip(c, cells, strict=True))] for c in _CORNERS]
    count = np.sum(corners, axis=0, dtype=np.int8)
    crossed = np.argwhere((count > 0) & (count < 8))
    number = np.full(cells, -1, dtype=np.int64)
    number[tuple(crossed.T)] = np.arange(len(crossed))
    return _cell_vertices(value, grid, crossed), _quads(inside, number)


def relaxed(
    vertices: Array, faces: Integers, value: Callable[[Array], Array], *, rounds: int, amount: float = 0.6
) -> Array:
    """Vertices moved towards the mean of their neighbours along the surface, and onto it by Newton steps."""
    edges = unique_edges(faces)
    both = np.concatenate([edges, edges[:, ::-1]])
    degree = np.bincount(both[:, 0], minlength=len(vertices))[:, None]
    for _ in range(rounds):
        mean = np.stack(
            [np.bincount(both[:, 0], vertices[both[:, 1], k], len(vertices)) for k in range(3)], axis=1
        )
        now, slope = _value_and_slope(vertices, value)
        squared = np.einsum("vi,vi->v", slope, slope) + 1e-6
        step = amount * (mean / degree - vertices)
        down = np.einsum("vi,vi->v", step, slope) + np.clip(now, -0.01, 0.01)
        vertices = vertices + step - (down / squared)[:, None] * slope
    return vertices


def triangulated(vertices: Array, quads: Integers) -> Integers:
    """Two triangles for every quadrilateral, cut along its shorter diagonal."""
    a, b, c, d = (vertices[quads[:, k]] for k in range(4))
    first = np.linalg.norm(a - c, axis=1) <= np.linalg.norm(b - d, axis=1)
    order = np.where(first[:, None], [[0, 1, 2, 0, 2, 3]], [[0, 1, 3, 1, 2, 3]])
    return np.take_along_axis(quads, order, axis=1).reshape(-1, 3)


def _unambiguous(value: Array) -> Array:
    """`value` with a few more corners inside, so that the surface is a manifold.

    A face of the grid whose corners are inside and outside in turn, or a cell of which just two opposite
    corners are alike, leaves open what is connected; it happens where the surface grazes the grid. The
    nearest of the corners outside is taken in, and as none ever leaves again, this ends.
    """
    value = value.copy()
    found = True
    while found:
        found = False
        for corners, like_first in _AMBIGUOUS:
            size = np.array(value.shape) - corners.max(axis=0)
            views = [value[tuple(slice(o, o + n) for o, n in zip(c, size))] for c in corners]
            first = views[0] < 0
            wrong = np.logical_and.reduce([((v < 0) == first) == l for v, l in zip(views, like_first)])
            for cell in np.argwhere(wrong):
                at = cell + corners
                outside = np.where(value[tuple(at.T)] < 0, np.inf, value[tuple(at.T)])
                value[tuple(at[outside.argmin()])] = -1e-9
                found = True
    return value


def _ambiguous_patterns() -> list[tuple[Integers, list[bool]]]:
    """Offsets of corners, and whether each is on the same side as the first."""
    patterns = []
    for axis in range(3):
        u, v = np.eye(3, dtype=int)[[(axis + 1) % 3, (axis + 2) % 3]]
        patterns.append((np.stack([0 * u, u, u + v, v]), [True, False, True, False]))
    for corner in _CORNERS[:4]:
        others = [c for c in _CORNERS if not ((c == corner).all() or (c == 1 - corner).all())]
        patterns.append((np.stack([corner, 1 - corner, *others]), [True, True] + 6 * [False]))
    return patterns


_AMBIGUOUS = _ambiguous_patterns()


def _cell_vertices(value: Array, grid: tuple[Array, Array, Array], crossed: Integers) -> Array:
    """Mean of the points where the surface crosses the cell's edges."""
    at = crossed[:, None] + _CORNERS
    values = value[at[..., 0], at[..., 1], at[..., 2]]
    points = np.stack([grid[k][at[..., k]] for k in range(3)], axis=-1)
    total, weight = np.zeros((len(crossed), 3)), np.zeros((len(crossed), 1))
    for a, b in _EDGES:
        va, vb = values[:, a], values[:, b]
        cuts = (va < 0) != (vb < 0)
        t = np.divide(va, va - vb, out=np.zeros_like(va), where=cuts)[:, None]
        total += np.where(cuts[:, None], points[:, a] + t * (points[:, b] - points[:, a]), 0.0)
        weight += cuts[:, None]
    return total / weight


def _quads(inside: NDArray[np.bool_], number: Integers) -> Integers:
    found = []
    for axis in range(3):
        ahead = tuple(slice(1, None) if k == axis else slice(None) for k in range(3))
        behind = tuple(slice(None, -1) if k == axis else slice(None) for k in range(3))
        out, into = inside[behind] & ~inside[ahead], ~inside[behind] & inside[ahead]
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for mask, turn in ((out, 1), (into, -1)):
            at = np.argwhere(mask)
            ring = []
            for du, dv in ((-1, -1), (0, -1), (0, 0), (-1, 0))[::turn]:
                cell = at.copy()
                cell[:, u] += du
                cell[:, v] += dv
                ring.append(number[tuple(cell.T)])
            found.append(np.stack(ring, axis=1))
    return np.concatenate(found)


def _value_and_slope(points: Array, value: Callable[[Array], Array]) -> tuple[Array, Array]:
    h = 1e-4
    now = value(points)
    return now, np.stack([value(points + h * e) - now for e in np.eye(3)], axis=1) / h
