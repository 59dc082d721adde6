"""People of a crowd as whole walking bodies in the scene, for up to a hundred of them.

All bodies are skinned here and sent as one mesh a colour of cloth, skin or hair: about 10 kB a person and
frame, and some 10 ms a frame for two dozen people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.errors import InputError
from marey.stage.walk.walk import WalkingCrowd
from marey.studio.crowd.floor import Floor
from marey.studio.desk import Desk

Floats = NDArray[np.float32]

MOST = 100
# The studio's pale light bleaches.
DARKER = 0.75
FAR_BELOW = -1000.0


def check_few(people: int) -> None:
    """An error if there are too many to be shown as bodies."""
    if people > MOST:
        raise InputError(
            f"whole bodies are shown for up to {MOST} people, here are {people}; let fewer walk, or shorter, "
            "or export them: bodies (GLB) and bodies (HTML) take thousands"
        )


@dataclass(frozen=True, eq=False)
class _Piece:
    """Everything of one colour: whose it is, which vertices of the body, and the mesh in the scene."""

    people: NDArray[np.int64]
    vertices: NDArray[np.int64]
    node: Any


class Bodies:
    """Walking bodies in the scene; `set` once, then `show` every frame."""

    def __init__(self, desk: Desk, path: str):
        self._desk, self._path = desk, path
        self._crowd: WalkingCrowd | None = None
        self._pieces: list[_Piece] = []

    @property
    def nodes(self) -> list[Any]:
        """The meshes, one a colour."""
        return [piece.node for piece in self._pieces]

    def set(self, crowd: WalkingCrowd | None, floor: Floor) -> None:
        """Other bodies, or none."""
        for piece in self._pieces:
            piece.node.remove()
        self._pieces = []
        self._crowd, self._floor = crowd, floor
        if crowd is None:
            return
        from marey.stage.walk.figure import figure, outfits

        body = figure()
        self._character = body.character
        own, part, faces = body.corners
        colours = np.rint(255 * DARKER * outfits()).astype(np.uint8)[crowd.outfits]
        for number in np.unique(part):
            mine = np.flatnonzero(part == number)
            renumbered = np.full(len(part), -1)
            renumbered[mine] = np.arange(len(mine))
            of_part = renumbered[faces[part[faces[:, 0]] == number]]
            for colour in np.unique(colours[:, number], axis=0):
                people = np.flatnonzero((colours[:, number] == colour).all(axis=1))
                self._add(people, own[mine], of_part, tuple(int(c) for c in colour))

    def visible(self, seen: bool) -> None:
        """Show or hide them."""
        for piece in self._pieces:
            piece.node.visible = seen

    def show(self, seconds: float) -> None:
        """The bodies at a time."""
        if self._crowd is None or not self._pieces or not self._pieces[0].node.visible:
            return
        frame = min(round(seconds * self._crowd.frame_rate), self._crowd.frames - 1)
        vertices = self._skinned(self._crowd, frame)
        for piece in self._pieces:
            piece.node.vertices = vertices[piece.people][:, piece.vertices].reshape(-1, 3)

    def _skinned(self, crowd: WalkingCrowd, frame: int) -> Floats:
        """Everyone's body `(people, vertices, 3)` in the scene; those who are absent lie far below."""
        turns = crowd.rotations[frame].astype(np.float64)
        turns /= np.maximum(np.linalg.norm(turns, axis=-1, keepdims=True), 1e-9)
        # A frame of many people is posed as many frames of one.
        everyone = Motion(crowd.skeleton, turns, np.zeros((crowd.people, 3)), crowd.frame_rate)
        bodies = self._character.pose(everyone, dtype=np.float32).vertices
        sizes = self._floor.scale * crowd.sizes[:, None, None]
        roots = crowd.roots[frame].astype(np.float64)
        places = self._floor.to_scene(roots[:, [0, 2]] * [1, -1]).astype(np.float64)
        places[:, 1] = self._floor.scale * roots[:, 1]
        placed = (sizes * bodies + places[:, None]).astype(np.float32)
        placed[~crowd.present[frame]] = [0.0, FAR_BELOW, 0.0]
        return placed

    def _add(
        self,
        people: NDArray[np.int64],
        vertices: NDArray[np.int64],
        faces: NDArray[np.int64],
        colour: tuple[int, ...],
    ) -> None:
        first = len(vertices) * np.arange(len(people))[:, None, None]
        node = self._desk.scene.add_mesh_simple(
            f"{self._path}/{len(self._pieces)}",
            np.full((len(people) * len(vertices), 3), FAR_BELOW, np.float32),
            (faces[None] + first).reshape(-1, 3).astype(np.uint32),
            color=colour,
            cast_shadow=False,
            receive_shadow=False,
        )
        self._pieces.append(_Piece(people, vertices, node))
