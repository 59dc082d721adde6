"""The pose from which all others are measured: rotation and stretch of its triangles in every frame.

Two poses are then compared by what took the reference to each, which costs nothing like a decomposition for
every pair (Boukhayma 2017, section 2.3.2). Cost: about 0.2 µs a triangle and frame on one core. The map that
takes the edges and the unit normal of a triangle onto those of its other pose (eqs 2.6-2.12) acts in the
triangle's plane only, so its polar factors come from a 2x2 matrix in closed form.

Relative headings come from the same rotations. Footprints, by which Boukhayma 2017 aligns poses (eq. 2.3),
mislead where the legs of two poses are crossed: those of a walk half a cycle apart match best at a wrong
heading. The turn about the vertical that brings the rotations of all triangles nearest, in least squares, has
a closed form too, a product of matrices for all pairs, and is within some degrees of the one of the least
surface distance. Cost: seconds for 2,600 frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import Array, BoolArray, FloatArray, IntArray, Integers
from marey.errors import InputError
from marey.geometry import mesh, rotations
from marey.surface.sequence import Library

SAMPLE = 1000
"""Triangles that say how much a surface stretches and where it faces."""


@dataclass(frozen=True, eq=False)
class ReferencePose:
    """The triangles that are compared, what each counts, and the pose from which they are measured.

    A captured frame, since in the mean of many poses the limbs that move are shrunken.

    Attributes:
        vertices: `(vertices, 3)`.
        faces: `(triangles, 3)`, all or the sampled ones.
        areas: `(triangles,)`, square metres that each stands for; zero if it has no area.
    """

    vertices: Array
    faces: NDArray[np.int32]
    areas: Array

    @classmethod
    def of(cls, vertices: ArrayLike, faces: IntArray, *, triangles: int | None = None) -> ReferencePose:
        """A pose as the reference, with all its faces or about `triangles` of them."""
        pose = np.asarray(vertices, np.float64)
        if len(faces) == 0:
            raise InputError("surface metric: the mesh has no faces; the euclidean metric needs none")
        chosen, areas = sample_triangles(pose, faces, len(faces) if triangles is None else triangles)
        kept = np.asarray(faces[chosen], np.int32)
        return cls(pose, kept, np.where(tangent_frames(pose, kept)[2], 0.0, areas))

    def part(self, start: int, stop: int) -> ReferencePose:
        """Some of the triangles."""
        return ReferencePose(self.vertices, self.faces[start:stop], self.areas[start:stop])


def sample_triangles(vertices: FloatArray, faces: IntArray, count: int) -> tuple[Integers, Array]:
    """At most `count` triangles that stand for all, and the area of which each does.

    Triangles are sorted along a curve that fills space (Morton 1966), in the surface's principal axes so that
    its pose alone decides, and cut into runs of equal area; the triangle in its middle represents a run.

    Returns:
        Indices of faces, increasing, and areas in square metres.

    >>> import marey
    >>> human = marey.samples.mesh_sequence()[0]
    >>> chosen, areas = sample_triangles(human.vertices[0], human.faces, 500)
    >>> len(chosen), bool(np.isclose(areas.sum(), mesh.area(human.vertices[0], human.faces)))
    (500, True)
    """
    areas = np.asarray(mesh.face_areas(vertices, faces), np.float64)
    if count >= len(faces):
        return np.arange(len(faces)), areas
    order = np.argsort(_morton(np.asarray(vertices, np.float64)[faces].mean(axis=1)), kind="stable")
    sorted_areas = areas[order]
    reached = np.cumsum(sorted_areas) - 0.5 * sorted_areas
    runs = (reached * (count / max(float(areas.sum()), np.finfo(float).tiny))).astype(np.int64)
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    chosen = order[(starts + np.append(starts[1:], len(order))) // 2]
    by_number = np.argsort(chosen)
    return chosen[by_number], np.add.reduceat(sorted_areas, starts)[by_number]


def _morton(points: Array) -> Integers:
    """Places `(n,)` of points `(n, 3)` on a curve through 64 cells along their longest axis."""
    centred = points - points.mean(axis=0)
    axes = centred @ np.linalg.eigh(centred.T @ centred)[1]
    axes *= np.where((axes**3).sum(axis=0) < 0, -1, 1)
    cells = ((axes - axes.min(axis=0)) * (63 / max(np.ptp(axes, axis=0).max(), 1e-300))).astype(np.int64)
    bits = (cells[:, :, None] >> np.arange(6)) & 1
    return np.asarray((bits << (3 * np.arange(6) + np.arange(3)[:, None])).sum(axis=(1, 2)))


def deformation_features(
    library: Library, reference: ReferencePose, *, exact: bool = False, scale: float = 1.0
) -> tuple[FloatArray, Array]:
    """What the comparison of a pair needs of every frame.

    Args:
        library: of which all frames are measured.
        reference: from which they are.
        exact: tangent axes as quaternions and edges in them, instead of the two below.
        scale: of the stretch.

    Returns:
        `(frames, 7, triangles)`: the rotation from the reference as a quaternion, then the three entries of
        `scale` times the logarithm of the stretch; areas `(triangles,)`, zero where a frame has none.
    """
    from marey.surface.distances import _kernels

    axes, edges, flat = tangent_frames(reference.vertices, reference.faces)
    shape = (library.frames, 7, len(reference.faces))
    out: FloatArray = np.empty(shape, np.float64 if exact else np.float32)

    def measure(block: tuple[int, int]) -> None:
        number, first = block
        poses = np.array(library.sequences[number].vertices[first : first + 16], np.float64, order="C")
        least = least_area(poses)
        start = int(library.starts[number]) + first
        rows = out[start : start + len(poses)]
        if exact:
            _kernels.tangent_features(poses, reference.faces, least, rows, flat)
        else:
            _kernels.features(poses, reference.faces, axes, edges, least, scale, rows, flat)

    _work.map(
        measure, [(n, first) for n, one in enumerate(library.sequences) for first in range(0, one.frames, 16)]
    )
    return out, np.where(flat, 0.0, reference.areas)


def mean_strain(library: Library, reference: ReferencePose | None = None) -> float:
    """By how much triangles are longer or shorter than in the reference; 0.1 is a tenth.

    The mean over the surface and over the frames of each triangle's largest strain. Without a reference it
    is that of some triangles of the first frame.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> round(mean_strain(Library((walk,))), 2)
    0.04
    """
    if reference is None:
        reference = ReferencePose.of(library.vertices(0), library.faces, triangles=SAMPLE)
    found, areas = deformation_features(library, reference)
    strain = (np.abs(found[:, 4]) + np.hypot(found[:, 5], found[:, 6])).mean(axis=0, dtype=np.float64)
    return float(np.average(strain, weights=np.maximum(areas, 1e-300)))


def yaw_between(
    onto: FloatArray, moving: FloatArray, faces: IntArray, *, areas: FloatArray | None = None
) -> float:
    """Radians by which `moving` `(vertices, 3)` turns about the vertical to face as `onto` does.

    Args:
        onto: `(vertices, 3)`.
        moving: `(vertices, 3)`.
        faces: `(faces, 3)`.
        areas: `(faces,)`, what each triangle counts; its mean area in both poses, if None.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> turned = walk.transform(rotation=[0.8, 0, 0.6, 0])
    >>> round(float(np.rad2deg(yaw_between(walk.vertices[0], turned.vertices[0], walk.faces))), 3)
    -73.74
    """
    from marey.surface.distances import _kernels

    if areas is None:
        areas = (mesh.face_areas(onto, faces) + mesh.face_areas(moving, faces)) / 2
    poses = np.stack([onto, moving]).astype(np.float64)
    triangles = np.ascontiguousarray(faces, np.int32)
    return float(_kernels.yaw(poses, triangles, least_area(poses), np.array(areas, np.float64)))


def yaw_offsets(library: Library, reference: ReferencePose) -> NDArray[np.float32]:
    """The turn of each frame (column) to face as each other (row) does, `(frames, frames)`, antisymmetric."""
    found, areas = deformation_features(library, reference)
    frames = library.frames
    root = np.sqrt(areas / max(areas.sum(), np.finfo(float).tiny))
    matrices = rotations.to_matrix(np.moveaxis(found[:, :4], 1, 2)) * root[:, None, None]
    x, z = matrices[:, :, 0].reshape(frames, -1), matrices[:, :, 2].reshape(frames, -1)
    turns = np.zeros((frames, frames), np.float32)
    for start in range(0, frames, 128):
        rows, rest = slice(start, start + 128), slice(start, None)
        along = x[rows] @ x[rest].T + z[rows] @ z[rest].T
        across = x[rows] @ z[rest].T - z[rows] @ x[rest].T
        turns[rows, rest] = np.arctan2(across, along)
    turns = np.triu(turns, 1)
    return turns - turns.T


def tangent_frames(vertices: Array, faces: IntArray) -> tuple[Array, Array, BoolArray]:
    """Axes of each triangle's plane and its edges in them.

    Returns:
        The axes as columns `(..., faces, 3, 3)`: along the edge from the third corner to the first, across
        it, and the normal. The edges from the third corner to the first, `(x, 0)`, and to the second,
        `(y, z)`, as `(..., faces, 3)` x, y, z. Which triangles have no area: identity, edges of length 1.
    """
    a, b, c = (vertices[..., faces[:, corner], :] for corner in range(3))
    first, second = a - c, b - c
    normal = np.cross(first, second)
    length, area = np.linalg.norm(first, axis=-1), np.linalg.norm(normal, axis=-1)
    degenerate = ~(area > 2 * least_area(vertices)[..., None])
    length, area = np.where(degenerate, 1, length), np.where(degenerate, 1, area)
    along, up = first / length[..., None], normal / area[..., None]
    axes = np.stack([along, np.cross(up, along), up], axis=-1)
    edges = np.stack([length, (along * second).sum(axis=-1), area / length], axis=-1)
    axes[degenerate], edges[degenerate] = np.eye(3), (1, 0, 1)
    return axes, edges, degenerate


def least_area(vertices: FloatArray) -> Array:
    """Up to which area `(...)` a triangle has none: 1e-12 of the squared diagonal of `(..., vertices, 3)`."""
    extent = np.asarray(vertices.max(axis=-2) - vertices.min(axis=-2), np.float64)
    return np.asarray(1e-12 * np.einsum("...i,...i->...", extent, extent))
