"""In-between meshes of two poses, and how far they are from the expected volume and lengths of edges.

Expected is what lies at `weight` between both ends' own. Cost: one pass over the faces a mesh.
"""

from __future__ import annotations

import timeit
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, Integers
from marey._report import Report, Result
from marey._work import Progress
from marey.errors import InputError
from marey.geometry import mesh
from marey.surface.interpolation.interpolator import Interpolator, checked_weights
from marey.surface.interpolation.interpolator import interpolate as blended
from marey.surface.sequence import MeshSequence

# Meshes, and vertices of all together: half a gigabyte.
MAX_MESHES, MAX_VERTICES = 10_000, 40_000_000
# Meshes computed at once; the time of one is the least of several, since others waited for something else.
AT_ONCE, REPEATS = 16, 3


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


@dataclass(frozen=True)
class InBetweenReport(Report):
    """Of all in-betweens, beside linear interpolation.

    Attributes:
        frames: How many.
        milliseconds: Time of one.
        volume_error, edge_error: Deviation from the expected volume and lengths of edges.
        linear_volume_error, linear_edge_error: The same of linear interpolation.
    """

    frames: int
    milliseconds: float
    volume_error: float
    edge_error: float
    linear_volume_error: float
    linear_edge_error: float


@dataclass(frozen=True, eq=False)
class InBetweenResult(Result):
    """In-betweens of two poses.

    Attributes:
        sequence: The meshes.
        linear: The same by linear interpolation.
        weights: `(meshes,)`, how far along each is.
        report: What was measured.
    """

    sequence: MeshSequence
    linear: MeshSequence
    weights: Array
    report: InBetweenReport


def interpolate(
    first: MeshSequence,
    second: MeshSequence,
    *,
    at: Sequence[float] | None = None,
    count: int | None = None,
    method: str = "poisson",
    stretch: str = "linear",
    progress: Progress | None = None,
) -> InBetweenResult:
    """In-between meshes of two poses that keep lengths and volumes.

    Args:
        first: A pose: the first frame of a sequence.
        second: Another of the same faces.
        at: How far along, from 0 (first) to 1 (second); halfway if None.
        count: That many from the first to the second, both included, instead of `at`.
        method: "poisson", "two-sided" (Boukhayma 2017, eq. 2.49) or "linear".
        stretch: How faces stretch, "linear" or "geometric".

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> interpolate(walk[0], walk[20], count=3).sequence.frames
    3
    """
    if at is not None and count is not None:
        raise InputError("give `at` or `count`, not both")
    weights = np.array([0.5] if at is None else at, dtype=np.float64)
    if count is not None and count > 1:
        weights = np.linspace(0.0, 1.0, count)
    if not ((weights >= 0) & (weights <= 1)).all() or len(weights) > MAX_MESHES:
        raise InputError("at: write numbers from 0 to 1 with commas between, e.g. 0.25,0.5,0.75")
    if not len(first.faces):
        raise InputError("first: it has points but no faces; in-betweens need a surface")
    sizes = [(one.vertices.shape[1], len(one.faces)) for one in (first, second)]
    if sizes[0] != sizes[1] or not np.array_equal(first.faces, second.faces):
        raise InputError(
            f"second: its connectivity is not that of `first` ({sizes[1][0]} and {sizes[0][0]} vertices, "
            f"{sizes[1][1]} and {sizes[0][1]} faces); in-betweens need two poses of one mesh"
        )
    most = max(MAX_VERTICES // sizes[0][0], 1)
    if len(weights) > most:
        raise InputError(
            f"{len(weights)} meshes of {sizes[0][0]} vertices are too many at once: ask for at most {most}"
        )
    here, there, faces = first.vertices[0], second.vertices[0], first.faces
    shared = Interpolator.prepare(np.stack([here, there]), faces) if method == "poisson" else None
    meshes, lines = (np.empty((len(weights), *here.shape), here.dtype) for _ in range(2))

    def made(which: float | Array) -> FloatArray:
        return blended(here, there, faces, which, method=method, stretch=stretch, interpolator=shared)

    for done in range(0, len(weights), AT_ONCE):
        part = slice(done, done + AT_ONCE)
        meshes[part] = made(weights[part])
        lines[part] = blended(here, there, faces, weights[part], method="linear")
        if progress is not None:
            progress(min(done + AT_ONCE, len(weights)), len(weights))
    seconds = min(timeit.repeat(lambda: made(float(weights[0])), number=1, repeat=REPEATS))
    ours, straight = (distortion(kind, here, there, faces, weights) for kind in (meshes, lines))
    report = InBetweenReport(
        len(weights), round(1e3 * seconds, 3), ours.volume, ours.edges, straight.volume, straight.edges
    )
    result = replace(first[0], vertices=meshes, frame_rate=first.frame_rate)
    return InBetweenResult(result, replace(result, vertices=lines), weights, report)
