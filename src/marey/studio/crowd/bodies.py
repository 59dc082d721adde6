"""People of a crowd as whole walking bodies in the scene, for up to a hundred of them.

All bodies are skinned here and sent as one mesh a colour of cloth, skin or hair: about 10 kB a person and
frame, and some 10 ms a frame for two dozen people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Integers
from marey.body.motion import Motion
from marey.stage.walk.walk import WalkingCrowd
from marey.studio.crowd.state import State
from marey.studio.layers.figure import Part
from marey.studio.room import Layer
from marey.studio.settings import Colour

if TYPE_CHECKING:
    from viser import MeshHandle

    from marey.studio.crowd.room import CrowdRoom

Floats = NDArray[np.float32]

FAR_BELOW = -1000.0


class _Piece(NamedTuple):
    """Everything of one colour: whose it is, which vertices of the body, and the mesh in the scene."""

    people: Integers
    vertices: Integers
    node: MeshHandle


class Bodies(Layer[State]):
    """Walking bodies in the scene."""

    drawn_from = ("floor", "bodies")

    def __init__(self, room: CrowdRoom):
        super().__init__(room)
        self._pieces: list[_Piece] = []

    @property
    def nodes(self) -> list[MeshHandle]:
        """The meshes, one a colour."""
        return [piece.node for piece in self._pieces]

    def set(self, state: State) -> None:
        self.group.clear()
        self._pieces = []
        crowd, self._floor = state.bodies, state.floor
        if crowd is None:
            return
        from marey.stage.walk.figure import figure, outfits

        body = figure()
        self._character = body.character
        own, part, faces = body.corners
        # The studio's pale light bleaches.
        colours = np.rint(255 * 0.75 * outfits()).astype(np.uint8)[crowd.outfits]
        for number in np.unique(part):
            for colour in np.unique(colours[:, number], axis=0):
                people = np.flatnonzero((colours[:, number] == colour).all(axis=1))
                piece = Part.of(faces, part[faces[:, 0]] == number, colour)
                self._add(people, own[piece.vertices], piece.faces, piece.colour)

    def visible(self, seen: bool) -> None:
        """Show or hide them."""
        for piece in self._pieces:
            piece.node.visible = seen

    def frame(self, state: State, frame: int) -> None:
        crowd = state.bodies
        if crowd is None or not self._pieces or not self._pieces[0].node.visible:
            return
        seconds = frame / state.clock[1]
        vertices = self._skinned(crowd, min(round(seconds * crowd.frame_rate), crowd.frames - 1))
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

    def _add(self, people: Integers, vertices: Integers, faces: Integers, colour: Colour) -> None:
        first = len(vertices) * np.arange(len(people))[:, None, None]
        below = np.full((len(people) * len(vertices), 3), FAR_BELOW)
        corners = (faces[None] + first).reshape(-1, 3)
        node = self.group.mesh(str(len(self._pieces)), below, corners, colour)
        self._pieces.append(_Piece(people, vertices, node))
