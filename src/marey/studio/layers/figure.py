"""Bodies in the scene: a skeleton's mannequin or skin, surfaces in their main colours, slim bones of many.

The page draws a moving mesh in one colour, so bodies are cut into one mesh a colour; borders between parts
are borders of colours, where an edge in the shading is not seen. A frame costs half a millisecond and as many
messages as there are colours. All slim bones (ghosts of other times, variants, alternatives) are instances of
one spindle, so a frame is one message whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, BoolArray, FloatArray, IntArray, Integers
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.colour import to_srgb
from marey.geometry.mesh import face_areas
from marey.studio.layers.group import Group
from marey.studio.settings import LIMITS, THEME, Colour
from marey.surface.decimation import Decimation, texture_colours
from marey.surface.sequence import MeshSequence
from marey.views.mannequin import Figure, figure
from marey.views.mannequin_parts import Poses
from marey.views.shapes import loft

if TYPE_CHECKING:
    from viser import BatchedMeshHandle, MeshHandle


# Heights along the bone and half widths of the spindle.
SPINDLE = ((0.0, 0.0), (0.02, 0.7), (0.18, 1.0), (0.6, 0.75), (0.97, 0.5), (1.0, 0.0))


class Sticks:
    """Figures of one skeleton as slim bones, alone in a group of the scene."""

    def __init__(self, group: Group):
        self._group = group
        self._handle: BatchedMeshHandle | None = None
        self._ends = np.empty((0, 2), dtype=np.int64)
        self._thick = np.empty(0)
        self.figures = 0

    def build_meshes(
        self,
        skeleton: Skeleton,
        size: float,
        colours: Sequence[Colour],
        opacities: Sequence[float] | None = None,
        *,
        stout: float = 1.0,
    ) -> None:
        """Prepare as many figures as there are colours; none clears them all.

        size: of the figure, metres
        stout: how much wider than usual bones are
        """
        self.clear()
        self.figures = len(colours)
        self._ends, lengths = bones(skeleton)
        self._thick = stout * np.minimum(0.008 * size, 0.12 * lengths)
        if not self.figures or not len(self._ends):
            return
        rows = np.array([(height, width, width, 0.0, 0.0) for height, width in SPINDLE])
        spindle = loft(rows, sectors=8)
        count = len(self._ends)
        nowhere = np.zeros((count * self.figures, 3))
        each = np.repeat(np.array(colours, dtype=np.uint8), count, axis=0)
        faded = None if opacities is None else np.repeat(np.array(opacities, dtype=np.float32), count)
        shape = (spindle.vertices, spindle.faces)
        self._handle = self._group.instances("bones", shape, nowhere, nowhere, each, batched_opacities=faded)

    def pose(self, points: ArrayLike) -> None:
        """Draw figures with joints and end sites at `(figures, joints + ends, 3)`; NaN is not drawn."""
        if self._handle is None:
            return
        places, turns, scales = spindles(np.asarray(points, dtype=np.float64), self._ends, self._thick)
        self._handle.batched_positions = places
        self._handle.batched_wxyzs = turns
        self._handle.batched_scales = scales

    def clear(self) -> None:
        """Take all away."""
        self._group.clear()
        self._handle, self.figures = None, 0


def bones(skeleton: Skeleton) -> tuple[Integers, Array]:
    """Pairs of points `(bones, 2)`, joints before end sites, and their lengths at rest `(bones,)`.

    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 1.4, 0], [0.3, 0, 0]], [1], [[0.25, 0, 0]])
    >>> bones(arm)[0].tolist()
    [[0, 1], [1, 2]]
    """
    parents = np.concatenate([skeleton.parents, skeleton.end_parents])
    offsets = np.concatenate([skeleton.offsets, skeleton.end_offsets])
    lengths = np.linalg.norm(offsets, axis=1)
    drawn = np.flatnonzero((parents >= 0) & (lengths > 1e-9))
    return np.stack([parents[drawn], drawn], axis=1), lengths[drawn]


def spindles(
    points: Array, ends: Integers, thick: Array
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Places, turns and scales of the spindles from joint to joint, a row a figure and bone."""
    start, stop = points[:, ends[:, 0]].reshape(-1, 3), points[:, ends[:, 1]].reshape(-1, 3)
    along = stop - start
    lengths = np.linalg.norm(along, axis=1)
    seen = np.isfinite(lengths) & (lengths > 0)
    start = np.where(seen[:, None], start, 0.0)
    along = np.where(seen[:, None], along, [0.0, 0.0, 1.0])
    turns = so3.between(np.broadcast_to([0.0, 0.0, 1.0], along.shape), along)
    wide = np.where(seen, np.tile(thick, len(points)), 0.0)
    scales = np.stack([wide, wide, np.where(seen, lengths, 0.0)], axis=1)
    return start.astype(np.float32), turns.astype(np.float32), scales.astype(np.float32)


@dataclass(frozen=True, eq=False)
class Part:
    """Faces of one colour.

    vertices: `(n,)`, which vertices of the surface it uses; faces: `(faces, 3)`, indices into those
    """

    vertices: Integers
    faces: Integers
    colour: Colour

    @classmethod
    def of(cls, faces: IntArray, chosen: BoolArray | Integers, colour: Array | Colour) -> Part:
        """The chosen ones of a surface's faces; a colour's parts are 0…255."""
        used, local = np.unique(faces[chosen], return_inverse=True)
        red, green, blue = np.rint(colour).astype(int).tolist()
        return cls(used.astype(np.int64), local.reshape(-1, 3), (red, green, blue))


class Body:
    """One body of a skeleton in the scene, in the pose of a frame of its clip or in any other."""

    def __init__(self, group: Group, *, tint: Colour | None = None, opacity: float | None = None):
        self._group, self._tint, self._opacity = group, tint, opacity
        self._sticks = Sticks(group)
        self.meshes: list[tuple[MeshHandle, Part]] = []
        self._shape: Figure | Character | None = None

    @property
    def parts(self) -> int:
        """How many meshes it is made of."""
        return len(self._group.nodes)

    def build_meshes(
        self, poses: Poses, motion: Motion, size: float, character: Character | None = None
    ) -> None:
        """Make the meshes for a clip's skeleton, or for the skin of a character."""
        self.clear()
        if character is not None and len(character.skin.faces):
            self._shape, faces, side = character, character.skin.faces, "double"
            cut = [Part.of(faces, np.arange(len(faces)), THEME.clay)]
        elif motion.joints > LIMITS.drawn_joints:
            self._sticks.build_meshes(motion.skeleton, size, [self._tint or THEME.clay], stout=2.0)
            return
        else:
            self._shape, side = figure(motion, poses), "front"
            cut = self._cut(self._shape)
        look = {"opacity": self._opacity, "side": side, "cast_shadow": self._opacity is None}
        for k, part in enumerate(cut):
            rest, colour = np.zeros((len(part.vertices), 3)), self._tint or part.colour
            self.meshes.append((self._group.mesh(f"part{k}", rest, part.faces, colour, **look), part))

    def pose(self, motion: Motion, frame: int, poses: Poses) -> None:
        """Draw a frame of a clip."""
        if self._shape is None:
            self._sticks.pose(poses.points[frame][None])
            return
        if isinstance(self._shape, Character):
            vertices = self._shape.pose(motion, frame, dtype=np.float32).vertices[0]
        else:
            vertices = self._shape.vertices(poses.points[frame], poses.matrices(frame))
        vertices = np.asarray(vertices, np.float32)
        for handle, part in self.meshes:
            handle.vertices = vertices[part.vertices]

    def clear(self) -> None:
        """Take it away."""
        self._sticks.clear()
        self.meshes, self._shape = [], None

    def _cut(self, body: Figure) -> list[Part]:
        colours, which = np.unique(body.colours.round(4), axis=0, return_inverse=True)
        # A face across two colours takes that of its first corner.
        owner = which.reshape(-1)[body.faces[:, 0]]
        if self._tint is not None:
            owner = np.zeros_like(owner)
        return [Part.of(body.faces, owner == k, 255 * to_srgb(colours[k])) for k in np.unique(owner)]


def visible(poses: Poses) -> bool:
    """Whether all points of a clip are somewhere a camera can look: not 1,000 km away."""
    return bool(np.isfinite(poses.points).all() and np.abs(poses.points).max(initial=0.0) < 1e6)


class SurfaceFigure:
    """One moving surface and two pale ones of the same subject.

    Only vertices and colours are sent for a frame; larger meshes are shown by some of their vertices.
    """

    def __init__(self, group: Group):
        self._group = group
        self._faces: IntArray | None = None
        self._proxy: Decimation | None = None
        self._meshes: list[tuple[MeshHandle, Part]] = []
        self._ghosts: list[MeshHandle] = []
        self._synthetic = False

    @property
    def vertices_shown(self) -> int:
        """How many vertices are drawn."""
        used = [part.vertices for _, part in self._meshes]
        return len(np.unique(np.concatenate(used))) if used else 0

    @property
    def visible(self) -> bool:
        """Whether the body is drawn."""
        return any(mesh.visible for mesh, _ in self._meshes)

    def build_meshes(self, sequence: MeshSequence) -> None:
        """Take on the connectivity and colours of a sequence; nothing happens if they are the same."""
        if self._faces is not None and np.array_equal(self._faces, sequence.faces):
            return
        count, name = sequence.vertices.shape[1], sequence.name or "the mesh"
        if count > LIMITS.mesh_vertices:
            raise InputError(
                f"{name} has {count:,} vertices; the studio shows up to {LIMITS.mesh_vertices:,}: "
                "decimate it first (marey.surface.decimate)"
            )
        if not len(sequence.faces):
            raise InputError(f"{name} has no faces, only points: there is no surface")
        self._group.clear()
        some = sequence[:: max(sequence.frames // 8, 1)]
        large = count > LIMITS.skin_vertices
        self._proxy = Decimation.of(some, vertices=LIMITS.skin_vertices // 2) if large else None
        shown = some[0] if self._proxy is None else self._proxy.apply(some[0])
        self._faces, self._synthetic = sequence.faces, False
        points, add = np.asarray(shown.vertices[0], np.float32), self._group.mesh
        look = {"side": "double", "visible": False}
        shadow = {"cast_shadow": True, "receive_shadow": True}
        self._meshes = [
            (add(f"part{k}", points[part.vertices], part.faces, part.colour, **look, **shadow), part)
            for k, part in enumerate(parts(shown))
        ]
        self._ghosts = [
            add(f"ghost{k}", points, shown.faces, THEME.pale, opacity=0.3, **look) for k in range(2)
        ]

    def draw(self, vertices: FloatArray, offset: FloatArray, *, synthetic: bool = False) -> None:
        """Show the body: vertices `(vertices, 3)` moved by `offset` `(3,)`, marked if synthetic."""
        points = self._sent(vertices, offset)
        for mesh, part in self._meshes:
            mesh.vertices = points[part.vertices]
            mesh.visible = True
            if synthetic != self._synthetic:
                mesh.color = mixed(part.colour, (222, 110, 84), 0.8) if synthetic else part.colour
        self._synthetic = synthetic

    def draw_ghost(self, which: int, vertices: FloatArray | None, offset: FloatArray) -> None:
        """Show a pale body, or none."""
        if not self._ghosts:
            return
        ghost = self._ghosts[which]
        if vertices is not None:
            ghost.vertices = self._sent(vertices, offset)
        ghost.visible = vertices is not None

    def hide(self) -> None:
        """Show no body at all."""
        for mesh in (*(mesh for mesh, _ in self._meshes), *self._ghosts):
            mesh.visible = False

    def _sent(self, vertices: FloatArray, offset: FloatArray) -> NDArray[np.float32]:
        kept = vertices if self._proxy is None else vertices[self._proxy.kept]
        return np.asarray(kept + offset, np.float32)


def parts(sequence: MeshSequence, most: int = 12) -> list[Part]:
    """A sequence's surface in at most `most` parts of one colour; one grey part if it has no colours.

    >>> square = [[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]]
    >>> red_and_blue = [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]]
    >>> plain = MeshSequence(square, [[0, 1, 2], [0, 2, 3]], 30)
    >>> painted = MeshSequence(square, [[0, 1, 2], [0, 2, 3]], 30, colours=red_and_blue)
    >>> len(parts(plain)), [part.colour for part in parts(painted)]
    (1, [(85, 0, 170), (170, 0, 85)])
    """
    colours = face_colours(sequence)
    if colours is None or not len(colours):
        return [Part.of(sequence.faces, np.arange(len(sequence.faces)), THEME.plain)]
    areas = face_areas(sequence.vertices[0], sequence.faces)
    mains, nearest = _main_colours(colours, areas, most)
    return [Part.of(sequence.faces, nearest == k, mains[k]) for k in np.unique(nearest)]


def face_colours(sequence: MeshSequence) -> Array | None:
    """Colours `(faces, 3)`, 0…255, from the colours of the vertices or else the first texture."""
    if sequence.colours is not None:
        return np.asarray(255.0 * np.clip(sequence.colours, 0, 1)[sequence.faces].mean(axis=1))
    texture = sequence.texture(0)
    if texture is None or sequence.uv is None or sequence.uv_faces is None:
        return None
    return 255.0 * texture_colours(texture.read(), sequence.uv[sequence.uv_faces].mean(axis=1))


def mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """A colour with a share of another.

    >>> mixed((0, 0, 0), (100, 50, 10), 0.5)
    (50, 25, 5)
    """
    red, green, blue = ((1 - share) * np.array(colour) + share * np.array(other)).astype(int).tolist()
    return red, green, blue


def _main_colours(colours: Array, areas: FloatArray, most: int) -> tuple[Array, Integers]:
    """Colours that cover most of the surface, `(colours, 3)`, and which of them each face belongs to.

    They are first counted in cells of 32 steps, then moved by k-means.
    """
    from scipy.cluster.vq import kmeans2

    cells = (colours // 32).astype(np.int64) @ np.array([64, 8, 1])
    _, cell = np.unique(cells, return_inverse=True)
    largest = np.argsort(-np.bincount(cell, areas), kind="stable")[:most]
    means = np.stack([np.bincount(cell, shade) / np.bincount(cell) for shade in colours.T], axis=1)
    mains, nearest = kmeans2(colours, means[largest], iter=5, minit="matrix")
    return np.asarray(mains), np.asarray(nearest, np.int64)
