"""Proxies of constant connectivity: fewer vertices, all of them vertices of the mesh they stand for.

Quadric edge collapse (Garland and Heckbert 1997, "Surface simplification using quadric error metrics") onto
existing vertices: one decimation serves all frames of a subject, its skin weights and its colours. Errors are
summed over a few spread poses, so that joints keep the vertices they bend with; the surface keeps its
topology and no face turns over. Cost: about 0.5 s for 13,000 vertices in five poses, linear times logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, BoolArray, FloatArray, IntArray, Integers, read_only
from marey.errors import InputError
from marey.surface.sequence import Library, MeshSequence, Texture
from marey.surface.skinning import SkinnedMesh


@dataclass(frozen=True, eq=False)
class Decimation:
    """Which vertices of a mesh a proxy keeps, and the faces between them.

    Attributes:
        kept: `(vertices,)`, indices into the mesh's vertices, increasing.
        faces: `(faces, 3)`, indices into `kept`.
        into: `(all vertices,)`, for each vertex of the mesh the one of `kept` that it collapsed onto.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence(marey.samples.walk(seconds=0.5, frame_rate=10))
    >>> proxy = Decimation.of(walk, vertices=500)
    >>> proxy.apply(walk).vertices.shape
    (5, 500, 3)
    >>> bool((proxy.apply(walk).vertices[3] == walk.vertices[3, proxy.kept]).all())
    True
    """

    kept: Integers
    faces: IntArray
    into: Integers

    @classmethod
    def of(
        cls, thing: MeshSequence | Library | SkinnedMesh, *, vertices: int, poses: ArrayLike | None = None
    ) -> Decimation:
        """The decimation of a sequence, a library or a skinned mesh to at most `vertices` vertices.

        A surface that cannot be brought so far without changing its topology keeps some more.

        Args:
            thing: what is decimated.
            vertices: at least 4.
            poses: `(poses, vertices, 3)` over which errors are summed; if None, a few of the frames that
                differ most, and of a skinned mesh the rest pose.
        """
        if poses is not None:
            given: FloatArray = np.asarray(poses, np.float64)
        else:
            given = thing.vertices[None] if isinstance(thing, SkinnedMesh) else diverse_poses(thing)
        count = _vertex_count(thing)
        if given.ndim != 3 or given.shape[1:] != (count, 3) or not len(given):
            raise InputError(f"poses: expected shape (poses, {count}, 3), got {given.shape}")
        if vertices < 4:
            raise InputError(f"vertices: a proxy has at least 4, not {vertices}")
        if vertices >= count:
            return cls(np.arange(count), np.asarray(thing.faces), np.arange(count))
        from marey.surface import _decimation_kernels as kernels

        points = np.ascontiguousarray(given, dtype=np.float64)
        points = points - points.mean(axis=1, keepdims=True)
        faces = np.array(thing.faces, dtype=np.int32)
        quadrics, areas, border = _quadrics(points, faces)
        into, here, alive = kernels.collapse(points, faces, quadrics, areas, border, int(vertices))
        kept = np.flatnonzero(here)
        number = np.zeros(count, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        return cls(kept, number[faces[alive]], number[into])

    @overload
    def apply(self, thing: MeshSequence) -> MeshSequence: ...
    @overload
    def apply(self, thing: Library) -> Library: ...
    @overload
    def apply(self, thing: SkinnedMesh) -> SkinnedMesh: ...
    def apply(self, thing: MeshSequence | Library | SkinnedMesh) -> MeshSequence | Library | SkinnedMesh:
        """The proxy of a thing of this connectivity.

        Texture coordinates are dropped; a texture becomes a colour for each vertex.
        """
        if isinstance(thing, Library):
            return Library(tuple(self.apply(sequence) for sequence in thing.sequences), thing.labels)
        if len(self.into) != _vertex_count(thing):
            raise InputError(
                f"decimation: made for {len(self.into)} vertices, this mesh has {_vertex_count(thing)}"
            )
        if isinstance(thing, SkinnedMesh):
            return replace(
                thing,
                vertices=thing.vertices[self.kept],
                faces=self.faces,
                influences=thing.influences[self.kept],
                weights=thing.weights[self.kept],
                uv=None,
                uv_faces=None,
                colours=self._colours(thing, thing.texture),
                texture=None,
            )
        return replace(
            thing,
            vertices=read_only(np.ascontiguousarray(thing.vertices[:, self.kept])),
            faces=self.faces,
            uv=None,
            uv_faces=None,
            colours=self._colours(thing, thing.texture(0)),
            textures=(),
        )

    def _colours(self, thing: MeshSequence | SkinnedMesh, texture: Texture | None) -> FloatArray | None:
        if thing.colours is not None:
            return thing.colours[self.kept]
        if texture is None or thing.uv is None or thing.uv_faces is None:
            return None
        # The mean of the faces whose corners collapsed onto the vertex: patterns too fine for it blur.
        middles = texture_colours(texture.read(), thing.uv[thing.uv_faces].mean(axis=1))
        owner = self.into[thing.faces.ravel()]
        times = np.maximum(np.bincount(owner, minlength=len(self.kept)), 1)
        sums = [np.bincount(owner, np.repeat(shade, 3), len(self.kept)) for shade in middles.T]
        return np.stack(sums, axis=1) / times[:, None]


@overload
def decimate(thing: MeshSequence, *, vertices: int, poses: ArrayLike | None = None) -> MeshSequence: ...
@overload
def decimate(thing: Library, *, vertices: int, poses: ArrayLike | None = None) -> Library: ...
@overload
def decimate(thing: SkinnedMesh, *, vertices: int, poses: ArrayLike | None = None) -> SkinnedMesh: ...
def decimate(
    thing: MeshSequence | Library | SkinnedMesh, *, vertices: int, poses: ArrayLike | None = None
) -> MeshSequence | Library | SkinnedMesh:
    """A sequence, library or skinned mesh with at most `vertices` vertices, all of them its own.

    Args:
        thing: what is decimated.
        vertices: as in :meth:`Decimation.of`, which also says which vertices are kept.
        poses: as in :meth:`Decimation.of`.

    >>> import marey
    >>> skin = decimate(marey.samples.human().skin, vertices=800)
    >>> len(skin.vertices), len(skin.faces)
    (800, 1596)
    """
    return Decimation.of(thing, vertices=vertices, poses=poses).apply(thing)


def diverse_poses(thing: MeshSequence | Library, *, count: int = 5) -> Array:
    """A few frames, `(poses, vertices, 3)`, that bend the surface differently.

    Each is the frame, of some 48, whose edge lengths differ most from those of the frames chosen before it.
    """
    library = thing if isinstance(thing, Library) else Library((thing,))
    frames = np.unique(np.linspace(0, library.frames - 1, min(48, library.frames)).astype(np.int64))
    edges = np.asarray(thing.faces)[:: max(1, len(thing.faces) // 4000)][:, :2]
    poses = [library.vertices(int(frame)) for frame in frames]
    lengths = np.stack([_edge_lengths(pose, edges) for pose in poses])
    chosen = [0]
    gap = np.linalg.norm(lengths - lengths[0], axis=1)
    while len(chosen) < min(count, len(poses)) and gap.max() > 0:
        chosen.append(int(gap.argmax()))
        gap = np.minimum(gap, np.linalg.norm(lengths - lengths[chosen[-1]], axis=1))
    return np.stack([np.asarray(poses[c], np.float64) for c in chosen])


def texture_colours(image: NDArray[np.uint8], uv: FloatArray) -> Array:
    """Colours `(points, 3)` in 0…1 of a texture at texture coordinates."""
    column = ((uv[:, 0] % 1.0) * image.shape[1]).astype(np.int64)
    row = ((-uv[:, 1] % 1.0) * image.shape[0]).astype(np.int64)
    last = np.array(image.shape[:2]) - 1
    return np.asarray(image[np.minimum(row, last[0]), np.minimum(column, last[1])] / 255.0)


def _edge_lengths(points: FloatArray, edges: IntArray) -> Array:
    return np.asarray(np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1), np.float64)


def _vertex_count(thing: MeshSequence | Library | SkinnedMesh) -> int:
    if isinstance(thing, Library):
        return int(thing.sequences[0].vertices.shape[1])
    return int(thing.vertices.shape[-2])


def _quadrics(points: Array, faces: NDArray[np.int32]) -> tuple[Array, Array, BoolArray]:
    """Quadrics `(vertices, poses, 10)`, areas `(vertices,)` and which vertices lie on a border."""
    poses, count = points.shape[:2]
    quadrics, areas = np.zeros((count, poses, 10)), np.zeros(count)
    rim, face_of = _border_edges(faces)
    border = np.zeros(count, dtype=bool)
    border[rim] = True
    for pose in range(poses):
        corners = points[pose][faces]
        vector = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        double = np.linalg.norm(vector, axis=1)
        unit = vector / np.maximum(double, 1e-300)[:, None]
        plane = _plane(unit, corners[:, 0], double / 2)
        for k in range(3):
            areas += np.bincount(faces[:, k], double / (6 * poses), count)
            for term in range(10):
                quadrics[:, pose, term] += np.bincount(faces[:, k], plane[:, term], count)
        if len(rim):
            start, along = points[pose][rim[:, 0]], points[pose][rim[:, 1]] - points[pose][rim[:, 0]]
            wall = np.cross(along, unit[face_of])
            length = np.linalg.norm(wall, axis=1)
            # A border counts ten times the faces along it.
            upright = _plane(wall / np.maximum(length, 1e-300)[:, None], start, 10.0 * length**2)
            for k in range(2):
                np.add.at(quadrics[:, pose], rim[:, k], upright)
    return quadrics, areas, border


def _plane(normal: Array, through: Array, weight: Array) -> Array:
    """The quadrics `(planes, 10)` of planes, times their weights."""
    n = np.concatenate([normal, -np.einsum("pi,pi->p", normal, through)[:, None]], axis=1)
    rows, columns = np.triu_indices(4)
    return np.asarray(weight[:, None] * n[:, rows] * n[:, columns])


def _border_edges(faces: NDArray[np.int32]) -> tuple[NDArray[np.int32], Integers]:
    """Edges of one face alone, `(edges, 2)`, and that face."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    _, first, times = np.unique(np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True)
    lone = first[times == 1]
    return edges[lone], lone % len(faces)
