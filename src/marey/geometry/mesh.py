"""Triangle meshes: normals, areas, volume, edges (Botsch et al. 2010, chapter 3) and the Laplacian.

Vertices may carry leading axes, `(..., vertices, 3)`, so a whole sequence goes through one call; faces are
shared, `(faces, 3)`, counter-clockwise seen from outside. Each costs one pass over the faces. float32
vertices give float32 vectors; sums are taken in float64.

The Laplacian is sparse (Boukhayma 2017, section 2.4.2, eqs 2.24-2.44): Gᵀ D G with G the gradient of
functions that have one value a vertex and are linear on each face, positive semi-definite (minus the
analyst's Laplacian, summed over areas). Faces without area weigh nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, IntArray, Integers
from marey.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


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
    return np.asarray(np.sqrt(np.einsum("...i,...i->...", vectors, vectors)))


# Of the square of the longest edge of a face: below, its area is taken to be this, so that cotangents stay
# finite; and of the square of the mesh's diagonal: below, the face counts as a point or a line.
THINNEST, SMALLEST = 1e-6, 1e-12
# Of the mesh's extent: vertices this near are one, doubled along a texture seam.
WELDED = 1e-6


def laplacian(vertices: ArrayLike, faces: ArrayLike) -> csr_matrix:
    """`(vertices, vertices)`: Gᵀ D G, which is the cotangent matrix; symmetric, its rows sum to zero.

    >>> corner = laplacian([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).toarray()
    >>> corner.tolist()
    [[1.0, -0.5, -0.5], [-0.5, 0.5, 0.0], [-0.5, 0.0, 0.5]]
    """
    points = np.asarray(vertices, np.float64)
    return assembled(couplings(points, faces), faces, len(points))


def couplings(vertices: ArrayLike, faces: ArrayLike) -> Array:
    """Half the cotangent at each corner, `(faces, 3)`: how strongly the face ties the edge opposite to it.

    Several poses, `(poses, vertices, 3)`, give the cotangents of the mean metric: of the triangles whose
    scalar products of edges are the mean over the poses, which exist for any poses. Zero without area.

    >>> couplings([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).tolist()
    [[0.0, 0.5, 0.5]]
    """
    points, triangles = np.asarray(vertices, np.float64), np.asarray(faces)
    poses = points.reshape(-1, *points.shape[-2:])
    # Scalar products of the edges that leave each corner, and of each edge with itself.
    corners, squares = np.zeros((len(triangles), 3)), np.zeros((len(triangles), 3))
    for pose in poses:
        edges = opposite_edges(pose, triangles)
        corners -= np.einsum("fci,fci->fc", edges[:, [1, 2, 0]], edges[:, [2, 0, 1]])
        squares += np.einsum("fci,fci->fc", edges, edges)
    corners, squares = corners / len(poses), squares / len(poses)
    twice = np.sqrt(np.maximum(squares[:, 0] * squares[:, 1] - corners[:, 2] ** 2, 0.0))
    floor = THINNEST * squares.max(axis=1, initial=0.0)
    solid = (twice > 2 * SMALLEST * _diagonal(poses) ** 2) & (floor > 0)
    height = 2 * np.maximum(twice, floor)
    return np.asarray(np.divide(corners, height[:, None], out=np.zeros_like(corners), where=solid[:, None]))


def assembled(weights: Array, faces: ArrayLike, count: int) -> csr_matrix:
    """The Laplacian `(count, count)` of couplings `(faces, 3)`."""
    from scipy.sparse import csr_matrix

    triangles = np.asarray(faces)
    start, end = triangles[:, [1, 2, 0]].ravel(), triangles[:, [2, 0, 1]].ravel()
    ties = weights.ravel()
    rows, columns = np.concatenate([start, end, start, end]), np.concatenate([end, start, start, end])
    values = np.concatenate([-ties, -ties, ties, ties])
    return csr_matrix((values, (rows, columns)), shape=(count, count))


def components(faces: ArrayLike, count: int) -> NDArray[np.int64]:
    """Which connected piece of the surface each of `count` vertices belongs to; alone, if it has no face.

    >>> components([[0, 1, 2], [2, 1, 3]], 5).tolist()
    [0, 0, 0, 0, 1]
    """
    triangles = np.asarray(faces).reshape(-1, 3)
    return connected_sets(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]]]), count)


def connected_sets(links: ArrayLike, count: int) -> NDArray[np.int64]:
    """Which connected set each of `count` things belongs to, of pairs that are connected, `(links, 2)`.

    >>> connected_sets([[0, 2], [2, 3]], 4).tolist()
    [0, 1, 0, 0]
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ends = np.asarray(links).reshape(-1, 2)
    graph = coo_matrix((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def face_links(faces: ArrayLike) -> NDArray[np.int64]:
    """Pairs of faces that share an edge, `(links, 2)`.

    >>> face_links([[0, 1, 2], [2, 1, 3]]).tolist()
    [[0, 1]]
    """
    triangles = np.asarray(faces).astype(np.int64, copy=False).reshape(-1, 3)
    ends = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    keys = ends[:, 0] * (int(ends.max(initial=0)) + 1) + ends[:, 1]
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    return np.stack([order[:-1][same], order[1:][same]], axis=1) // 3


def is_closed(faces: ArrayLike) -> bool:
    """Whether every edge is run once in each direction: the faces then enclose a volume.

    >>> is_closed([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]), is_closed([[0, 1, 2]])
    (True, False)
    """
    triangles = np.asarray(faces).astype(np.int64, copy=False).reshape(-1, 3)
    start, end = triangles.ravel(), triangles[:, [1, 2, 0]].ravel()
    count = int(triangles.max(initial=0)) + 1
    forwards, backwards = np.sort(start * count + end), np.sort(end * count + start)
    return bool(np.array_equal(forwards, backwards) and (np.diff(forwards) > 0).all())


def boundary_edges(faces: ArrayLike) -> NDArray[np.int64]:
    """Edges of faces `(faces, 3)` that one face alone has, `(edges, 2)`: the boundary.

    >>> boundary_edges([[0, 1, 2], [2, 1, 3]]).tolist()
    [[0, 1], [1, 3], [2, 0], [3, 2]]
    """
    triangles = np.asarray(faces).astype(np.int64, copy=False).reshape(-1, 3)
    start, end = triangles.ravel(), triangles[:, [1, 2, 0]].ravel()
    count = int(triangles.max(initial=0)) + 1
    alone = np.setdiff1d(start * count + end, end * count + start)
    return np.column_stack(np.divmod(alone, count))


def hole_fans(faces: ArrayLike) -> NDArray[np.int64]:
    """Faces that close the holes of a surface, `(caps, 3)`: each a fan over the hole's first vertex.

    >>> hole_fans([[0, 1, 3], [0, 3, 2], [1, 2, 3]]).tolist()
    [[2, 1, 0]]
    """
    edges = boundary_edges(faces)
    if not len(edges):
        return np.zeros((0, 3), np.int64)
    hole = connected_sets(edges, int(edges.max()) + 1)
    apex = np.unique(hole, return_index=True)[1][hole[edges[:, 0]]]
    fans = np.column_stack([edges[:, ::-1], apex])
    return np.asarray(fans[(edges != apex[:, None]).all(axis=1)])


def merge_doubles(vertices: ArrayLike) -> NDArray[np.int64]:
    """For each vertex the first one at the same place (in every pose of `(poses, vertices, 3)`).

    Files double vertices along texture seams; an operator must not see a cut there.

    >>> merge_doubles([[0, 0, 0], [1, 0, 0], [0, 0, 0]]).tolist()
    [0, 1, 0]
    """
    points = np.asarray(vertices, np.float64)
    poses = points.reshape(-1, *points.shape[-2:])
    step = WELDED * max(float(np.ptp(poses, axis=(0, 1)).max(initial=0.0)), 1e-9)
    same = np.zeros(poses.shape[1], np.int64)
    for pose in poses:
        cells = np.column_stack([same, np.rint((pose - pose.mean(axis=0)) / step).astype(np.int64)])
        _, first, inverse = np.unique(cells, axis=0, return_index=True, return_inverse=True)
        same = first[inverse.ravel()]
    return same


def opposite_edges(vertices: Array, faces: IntArray) -> Array:
    """The edge that faces each corner, `(faces, 3, 3)`, running counter-clockwise."""
    corners = vertices[faces]
    return np.asarray(corners[:, [2, 0, 1]] - corners[:, [1, 2, 0]])


def _diagonal(points: Array) -> float:
    flat = points.reshape(-1, 3)
    return float(np.linalg.norm(np.ptp(flat, axis=0))) if len(flat) else 0.0


@dataclass(frozen=True, eq=False)
class FaceAdjacency:
    """Which faces share an edge.

    Attributes:
        links: `(links, 2)`, pairs of faces.
        starts: `(faces + 1,)`.
        neighbours: the faces beside face m are `neighbours[starts[m] : starts[m + 1]]`.
        islands: `(faces,)`, which connected set of faces each belongs to.
    """

    links: Integers
    starts: Integers
    neighbours: Integers
    islands: Integers

    @classmethod
    def of(cls, faces: IntArray) -> FaceAdjacency:
        """Of faces `(faces, 3)`."""
        links = face_links(faces)
        both = np.concatenate([links, links[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=len(faces)))])
        islands = connected_sets(links, len(faces))
        return cls(links, starts.astype(np.int64), np.ascontiguousarray(both[order, 1]), islands)
