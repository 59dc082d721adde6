"""In-betweens of two poses, and how far they are from the expected volume and lengths of edges.

Expected is what lies `weight` of the way between both ends' own. Cost: one pass over the faces a mesh.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, Integers
from marey._work import Progress
from marey.geometry import mesh
from marey.surface.interpolation.interpolator import Interpolator, checked_weights, interpolate


@dataclass(frozen=True)
class Distortion:
    """Of one in-between, or the mean over several.

    Attributes:
        volume: deviation from the expected volume, of that volume.
        edges: root mean square over the edges of the deviation from the expected length, of that length.
    """

    volume: float
    edges: float


def distortion(
    between: ArrayLike, first: ArrayLike, second: ArrayLike, faces: ArrayLike, weight: ArrayLike
) -> Distortion:
    """Of in-betweens `(vertices, 3)` at `weight`, or `(n, vertices, 3)` at `(n,)`, of `first` and `second`.

    >>> square = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> found = distortion(1.1 * square, square, square, faces, 0.5)
    >>> round(found.volume, 9), round(found.edges, 9)
    (0.331, 0.1)
    """
    weights = np.atleast_1d(checked_weights(weight))
    meshes = np.asarray(between, np.float64).reshape(len(weights), -1, 3)
    ends = np.stack([np.asarray(first, np.float64), np.asarray(second, np.float64)])
    volumes = _between(mesh.volume(ends, faces), weights)
    off = _strains(meshes, ends, mesh.unique_edges(faces), weights)
    scale = np.where(volumes != 0, np.abs(volumes), 1.0)
    return Distortion(
        float(np.mean(np.abs(mesh.volume(meshes, faces) - volumes) / scale)),
        float(np.mean(np.sqrt(np.mean(off**2, axis=1)))) if off.size else 0.0,
    )


def strains(
    between: ArrayLike, first: ArrayLike, second: ArrayLike, faces: ArrayLike, weight: float
) -> Array:
    """How far the lengths of the edges at each vertex are from the expected, of those, on average.

    Of one in-between `(vertices, 3)`: `(vertices,)`, 0 where all edges are as long as they should be.

    >>> triangle = np.eye(3)
    >>> strains(1.1 * triangle, triangle, triangle, [[0, 1, 2]], 0.5).round(9).tolist()
    [0.1, 0.1, 0.1]
    """
    ends = np.stack([np.asarray(first, np.float64), np.asarray(second, np.float64)])
    edges = mesh.unique_edges(faces)
    meshes = np.asarray(between, np.float64)[None]
    off = np.abs(_strains(meshes, ends, edges, np.atleast_1d(checked_weights(weight)))[0])
    count = ends.shape[1]
    sums = np.bincount(edges.ravel(), np.repeat(off, 2), count)
    return np.asarray(sums / np.maximum(np.bincount(edges.ravel(), minlength=count), 1))


def _strains(meshes: Array, ends: Array, edges: Integers, weights: Array) -> Array:
    """Deviation of every edge of every mesh from its expected length, of that, `(n, edges)`."""
    lengths = _between(_lengths(ends, edges), weights)
    off = _lengths(meshes, edges) - lengths
    return np.divide(off, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _between(ends: Array, weights: Array) -> Array:
    weights = weights.reshape(-1, *(1,) * (ends.ndim - 1))
    return np.asarray((1 - weights) * ends[0] + weights * ends[1])


def _lengths(meshes: Array, edges: Integers) -> Array:
    return np.asarray(np.linalg.norm(meshes[:, edges[:, 0]] - meshes[:, edges[:, 1]], axis=-1))


# Meshes computed at once; the time of one is the least of several, since others waited for something else.
AT_ONCE, REPEATS = 16, 3


class InBetweenMeshes(NamedTuple):
    """In-betweens of two meshes.

    Attributes:
        vertices: `(meshes, vertices, 3)`.
        linear: The same by linear interpolation.
        errors: Mean distortion.
        linear_errors: That of linear interpolation.
        milliseconds: Time of one in-between.
    """

    vertices: FloatArray
    linear: FloatArray
    errors: Distortion
    linear_errors: Distortion
    milliseconds: float


def in_betweens(
    start: FloatArray,
    end: FloatArray,
    faces: Any,
    weights: Array,
    *,
    method: str = "poisson",
    stretch: str = "linear",
    progress: Progress | None = None,
) -> InBetweenMeshes:
    """Interpolate two poses `(vertices, 3)` at weights from 0 to 1; see :func:`interpolate`."""
    shared = Interpolator.prepare(np.stack([start, end]), faces) if method == "poisson" else None
    meshes, lines = (np.empty((len(weights), *start.shape), start.dtype) for _ in range(2))

    def made(which: float | Array) -> FloatArray:
        return interpolate(start, end, faces, which, method=method, stretch=stretch, interpolator=shared)

    for done in range(0, len(weights), AT_ONCE):
        part = slice(done, done + AT_ONCE)
        meshes[part] = made(weights[part])
        lines[part] = interpolate(start, end, faces, weights[part], method="linear")
        if progress is not None:
            progress(min(done + AT_ONCE, len(weights)), len(weights))
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        made(float(weights[0]))
        times.append(time.perf_counter() - began)
    errors, linear = (distortion(kind, start, end, faces, weights) for kind in (meshes, lines))
    return InBetweenMeshes(meshes, lines, errors, linear, 1e3 * min(times))
