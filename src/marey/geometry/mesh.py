"""Operators on triangle meshes: normals, areas, volume, bounds, edges (Botsch et al. 2010, chapter 3).

Vertices may carry leading axes, `(..., vertices, 3)`, so a whole sequence goes through one call; faces are
shared, `(faces, 3)`, counter-clockwise seen from outside. Each costs one pass over the faces. float32
vertices give float32 vectors; sums are taken in float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import FloatArray, IntArray
from marey.errors import InputError


def fans(counts: IntArray) -> IntArray:
    """Polygons of so many corners as triangles `(triangles, 3)` of their corners, counted through.

    >>> fans(np.array([3, 4])).tolist()
    [[0, 1, 2], [3, 4, 5], [3, 5, 6]]
    """
    starts = np.cumsum(counts) - counts
    cut = np.maximum(counts - 2, 0)
    first = np.repeat(starts, cut)
    number = np.arange(cut.sum()) - np.repeat(np.cumsum(cut) - cut, cut)
    return np.stack([first, first + number + 1, first + number + 2], axis=1)


def face_normals(vertices: ArrayLike, faces: ArrayLike) -> FloatArray:
    """Unit normals `(..., faces, 3)`, pointing outwards; zero where a face has no area.

    >>> face_normals([[0, 0, 0], [2, 0, 0], [0, 3, 0]], [[0, 1, 2]])
    array([[0., 0., 1.]])
    """
    return _unit(area_vectors(vertices, faces))


def vertex_normals(vertices: ArrayLike, faces: ArrayLike) -> FloatArray:
    """Unit normals `(..., vertices, 3)`: of the faces around a vertex, weighted by their areas.

    Zero at vertices without a face.

    >>> vertex_normals([[0, 0, 0], [2, 0, 0], [0, 3, 0]], [[0, 1, 2]])[1]
    array([0., 0., 1.])
    """
    points, triangles = _checked(vertices, faces)
    vectors = area_vectors(points, triangles)
    count = points.shape[-2]
    corners = triangles.ravel()
    sums = np.empty(points.shape)
    for mesh in np.ndindex(points.shape[:-2]):
        for axis in range(3):
            at_corners = np.repeat(vectors[(*mesh, slice(None), axis)], 3)
            sums[(*mesh, slice(None), axis)] = np.bincount(corners, at_corners, minlength=count)
    return _unit(sums).astype(points.dtype, copy=False)


def face_areas(vertices: ArrayLike, faces: ArrayLike) -> FloatArray:
    """Areas `(..., faces)`, square metres.

    >>> face_areas([[0, 0, 0], [2, 0, 0], [0, 3, 0]], [[0, 1, 2]])
    array([3.])
    """
    return _lengths(area_vectors(vertices, faces))


def area(vertices: ArrayLike, faces: ArrayLike) -> NDArray[np.float64]:
    """Total area `(...)`, square metres.

    >>> float(area([[0, 0, 0], [2, 0, 0], [0, 3, 0]], [[0, 1, 2]]))
    3.0
    """
    return np.asarray(face_areas(vertices, faces).sum(axis=-1, dtype=np.float64))


def volume(vertices: ArrayLike, faces: ArrayLike) -> NDArray[np.float64]:
    """Enclosed volume `(...)`, cubic metres; negative if the faces are clockwise.

    The sum of signed tetrahedra over a point amid the vertices, so that an open mesh far from the origin
    is still measured sensibly.

    >>> corner = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> round(float(volume(corner, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])), 12)
    0.166666666667
    """
    points, triangles = _checked(vertices, faces)
    points = points.astype(np.float64, copy=False)
    if points.shape[-2]:
        points = points - points.mean(axis=-2, keepdims=True)
    a, b, c = _corners(points, triangles)
    return np.asarray(np.einsum("...fi,...fi->...", a, np.cross(b, c)) / 6.0)


def bounding_box(vertices: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest coordinates over all vertices and leading axes, `(3,)` each.

    >>> bounding_box([[0, 0, 5], [2, -1, 0]])
    (array([ 0., -1.,  0.]), array([2., 0., 5.]))
    """
    points = _floats(vertices)
    if not points.size:
        raise InputError("vertices: there is none, so there is no bounding box")
    others = tuple(range(points.ndim - 1))
    return points.min(axis=others), points.max(axis=others)


def unique_edges(faces: ArrayLike) -> NDArray[np.int64]:
    """Every edge once, `(edges, 2)`, smaller index first, in ascending order.

    >>> unique_edges([[0, 1, 2], [2, 1, 3]]).tolist()
    [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    """
    triangles = _triangles(faces).astype(np.int64, copy=False)
    pairs = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    # One integer an edge sorts far quicker than rows do.
    base = int(pairs.max(initial=0)) + 1
    keys = np.unique(pairs[:, 0] * base + pairs[:, 1])
    return np.stack([keys // base, keys % base], axis=1)


def area_vectors(vertices: ArrayLike, faces: ArrayLike) -> FloatArray:
    """Normals `(..., faces, 3)` as long as the face's area.

    >>> area_vectors([[0, 0, 0], [2, 0, 0], [0, 3, 0]], [[0, 1, 2]])
    array([[0., 0., 3.]])
    """
    a, b, c = _corners(*_checked(vertices, faces))
    return np.cross(b - a, c - a) / 2


def _corners(points: FloatArray, triangles: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    return points[..., triangles[:, 0], :], points[..., triangles[:, 1], :], points[..., triangles[:, 2], :]


def _checked(vertices: ArrayLike, faces: ArrayLike) -> tuple[FloatArray, IntArray]:
    points, triangles = _floats(vertices), _triangles(faces)
    if triangles.size and not 0 <= triangles.min() <= triangles.max() < points.shape[-2]:
        raise InputError(f"faces: indices must lie in 0…{points.shape[-2] - 1}")
    return points, triangles


def _triangles(faces: ArrayLike) -> IntArray:
    triangles = np.asarray(faces)
    if triangles.size == 0:
        return np.empty((0, 3), dtype=np.int64)
    if triangles.ndim != 2 or triangles.shape[-1] != 3 or triangles.dtype.kind not in "iu":
        raise InputError(f"faces: expected whole numbers of shape (faces, 3), got {triangles.shape}")
    return triangles


def _floats(vertices: ArrayLike) -> FloatArray:
    array = np.asarray(vertices)
    array = array.astype(np.float32 if array.dtype == np.float32 else np.float64, copy=False)
    if array.ndim < 2 or array.shape[-1] != 3:
        raise InputError(f"vertices: expected shape (..., vertices, 3), got {array.shape}")
    return array


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = _lengths(vectors)[..., None]
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)


def _lengths(vectors: FloatArray) -> FloatArray:
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
