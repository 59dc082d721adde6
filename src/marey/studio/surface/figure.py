"""The body in the scene: a surface in its main colours, and pale others beside or behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, IntArray
from marey.errors import InputError
from marey.studio.desk import Desk
from marey.studio.surface.paint import Part, mixed, parts
from marey.surface.decimation import Decimation
from marey.surface.sequence import MeshSequence

# Vertices of a mesh that are sent as they are, those kept of a larger one, and the largest.
MOST_VERTICES, KEPT, LARGEST = 20_000, 10_000, 200_000
SYNTHETIC = (222, 110, 84)
PALE = (122, 146, 163)
# Share of the colour that marks synthetic frames.
TINT = 0.8
GHOSTS = 2


class SurfaceFigure:
    """One moving body and two pale ones of the same subject.

    Only vertices and colours are sent for a frame; larger meshes are shown by some of their vertices.
    """

    def __init__(self, desk: Desk, path: str):
        self._desk, self._path = desk, path
        self._faces: IntArray | None = None
        self._proxy: Decimation | None = None
        self._parts: list[Part] = []
        self._meshes: list[Any] = []
        self._ghosts: list[Any] = []
        self._synthetic = False

    @property
    def vertices_shown(self) -> int:
        """How many vertices are drawn."""
        return len(np.unique(np.concatenate([part.vertices for part in self._parts]))) if self._parts else 0

    @property
    def visible(self) -> bool:
        """Whether the body is drawn."""
        return any(mesh.visible for mesh in self._meshes)

    def dress(self, sequence: MeshSequence) -> None:
        """Take on the connectivity and colours of a sequence; nothing happens if they are the same."""
        if self._faces is not None and np.array_equal(self._faces, sequence.faces):
            return
        count = sequence.vertices.shape[1]
        if count > LARGEST:
            raise InputError(
                f"{sequence.name or 'the mesh'} has {count:,} vertices; the studio shows up to {LARGEST:,}: "
                "decimate it first (marey.surface.decimate)"
            )
        if not len(sequence.faces):
            raise InputError(f"{sequence.name or 'the mesh'} has no faces, only points: there is no surface")
        self._clear()
        one = sequence[:: max(sequence.frames // 8, 1)]
        self._proxy = Decimation.of(one, vertices=KEPT) if count > MOST_VERTICES else None
        shown = one[0] if self._proxy is None else self._proxy.apply(one[0])
        self._faces = sequence.faces
        self._parts = parts(shown)
        points = np.asarray(shown.vertices[0], np.float32)
        scene = self._desk.scene
        for k, part in enumerate(self._parts):
            self._meshes.append(
                scene.add_mesh_simple(
                    f"{self._path}/body/{k}",
                    points[part.vertices],
                    part.faces,
                    color=part.colour,
                    side="double",
                    visible=False,
                )
            )
        for k in range(GHOSTS):
            self._ghosts.append(
                scene.add_mesh_simple(
                    f"{self._path}/ghost/{k}",
                    points,
                    shown.faces,
                    color=PALE,
                    opacity=0.3,
                    side="double",
                    cast_shadow=False,
                    receive_shadow=False,
                    visible=False,
                )
            )

    def draw(self, vertices: FloatArray, offset: FloatArray, *, synthetic: bool = False) -> None:
        """Show the body: vertices `(vertices, 3)` moved by `offset` `(3,)`, marked if synthetic."""
        points = self._sent(vertices, offset)
        for mesh, part in zip(self._meshes, self._parts, strict=True):
            mesh.vertices = points[part.vertices]
            mesh.visible = True
            if synthetic != self._synthetic:
                mesh.color = mixed(part.colour, SYNTHETIC, TINT) if synthetic else part.colour
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
        for mesh in (*self._meshes, *self._ghosts):
            mesh.visible = False

    def _sent(self, vertices: FloatArray, offset: FloatArray) -> NDArray[np.float32]:
        kept = vertices if self._proxy is None else vertices[self._proxy.kept]
        return np.asarray(kept + offset, np.float32)

    def _clear(self) -> None:
        for mesh in (*self._meshes, *self._ghosts):
            mesh.remove()
        self._meshes, self._ghosts, self._parts, self._faces = [], [], [], None
        self._synthetic = False
