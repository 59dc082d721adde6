"""Differential operators as sparse matrices (Boukhayma 2017, section 2.4.2, eqs 2.24-2.44), for comparison.

Functions on the surface have one value a vertex and are linear on each face; their gradients have one vector
a face. `marey.geometry.mesh.laplacian` is Gᵀ D G. Faces without area weigh nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, diags

from marey._arrays import Array, FloatArray
from marey.geometry import mesh


def gradient(vertices: ArrayLike, faces: ArrayLike) -> csr_matrix:
    """`(3 · faces, vertices)`: rows 3m … 3m+2 give the gradient on face m; zero on faces without area.

    Vertices are `(vertices, 3)`, faces `(faces, 3)`.

    >>> flat = [[0, 0, 0], [2, 0, 0], [0, 1, 0]]
    >>> (gradient(flat, [[0, 1, 2]]) @ [0.0, 4.0, 0.0]).tolist()
    [2.0, 0.0, 0.0]
    """
    points, triangles = np.asarray(vertices, np.float64), np.asarray(faces)
    vectors = mesh.area_vectors(points, triangles)
    twice = 2 * np.linalg.norm(vectors, axis=1)
    solid = is_solid(points, twice / 2)
    scale = np.divide(1.0, twice, out=np.zeros_like(twice), where=solid)
    normals = 2 * vectors * scale[:, None]
    # ∇φ of a corner: the opposite edge, turned a quarter within the face, over twice the area.
    fields = np.cross(normals[:, None], mesh.opposite_edges(points, triangles)) * scale[:, None, None]
    rows = np.repeat(np.arange(3 * len(triangles)), 3)
    columns = np.repeat(triangles[:, None, :], 3, axis=1).ravel()
    shape = (3 * len(triangles), len(points))
    return csr_matrix((fields.transpose(0, 2, 1).ravel(), (rows, columns)), shape=shape)


def area_weights(vertices: ArrayLike, faces: ArrayLike) -> csr_matrix:
    """`(3 · faces, 3 · faces)`, diagonal: the area of each face, three times.

    >>> area_weights([[0, 0, 0], [2, 0, 0], [0, 1, 0]], [[0, 1, 2]]).diagonal().tolist()
    [1.0, 1.0, 1.0]
    """
    return diags(np.repeat(np.asarray(mesh.face_areas(vertices, faces), np.float64), 3)).tocsr()


def divergence(vertices: ArrayLike, faces: ArrayLike) -> csr_matrix:
    """`(vertices, 3 · faces)`: Gᵀ D, what flows out of each vertex, summed over its share of the area.

    >>> field = np.array([1.0, 0.0, 0.0])
    >>> (divergence([[0, 0, 0], [2, 0, 0], [0, 1, 0]], [[0, 1, 2]]) @ field).tolist()
    [-0.5, 0.5, 0.0]
    """
    return (gradient(vertices, faces).T @ area_weights(vertices, faces)).tocsr()


def is_solid(points: Array, areas: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(areas > mesh.SMALLEST * float(np.linalg.norm(np.ptp(points, axis=0))) ** 2)
