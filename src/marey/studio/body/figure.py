"""The body itself, solid: the mannequin of the views, a skin if there is one, bones if they are many.

A mesh has one colour on this page, so the mannequin is cut into one mesh a colour. A frame costs half a
millisecond and as many messages as there are colours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.character import Character
from marey.geometry.colour import to_srgb
from marey.studio.body.sticks import Colour, Sticks
from marey.views import style
from marey.views.mannequin import Figure, figure
from marey.views.mannequin_parts import Poses

Array = NDArray[np.float64]

# Joints of a figure beyond which bones are drawn instead of limbs.
MOST_JOINTS = 150
# Metres: what is farther away has a wrong unit or is damaged.
FARTHEST = 1e6


class Body:
    """One body in the scene, in the pose of a frame of its clip or in any other."""

    def __init__(self, scene: Any, name: str, *, tint: Colour | None = None, opacity: float | None = None):
        self._scene, self._name = scene, name
        self._tint, self._opacity = tint, opacity
        self._parts: list[tuple[Any, NDArray[np.int64]]] = []
        self._sticks = Sticks(scene, f"{name}/bones")
        self._skin: Any = None
        self._figure: Figure | None = None
        self._character: Character | None = None

    @property
    def parts(self) -> int:
        """How many meshes it is made of."""
        return len(self._parts) + (self._skin is not None) + (self._sticks.figures > 0)

    def dress(self, poses: Poses, motion: Motion, size: float, character: Character | None = None) -> None:
        """Make the meshes for a clip's skeleton, or for the skin of a character."""
        self.clear()
        self._character = character
        if character is not None and len(character.skin.faces):
            faces = np.asarray(character.skin.faces)
            self._skin = self._mesh("skin", np.zeros((len(character.skin.vertices), 3)), faces, SKIN)
        elif motion.joints > MOST_JOINTS:
            self._sticks.dress(motion.skeleton, size, [self._tint or LIMBS], stout=2.0)
        else:
            self._figure = figure(motion, poses)
            self._cut(self._figure)

    def pose(self, motion: Motion, frame: int, poses: Poses) -> None:
        """Draw a frame of a clip."""
        if self._skin is not None and self._character is not None:
            posed = self._character.pose(motion, frame, dtype=np.float32)
            self._skin.vertices = np.asarray(posed.vertices[0], dtype=np.float32)
        elif self._figure is not None:
            vertices = self._figure.vertices(poses.points[frame], poses.matrices(frame)).astype(np.float32)
            for handle, which in self._parts:
                handle.vertices = vertices[which]
        else:
            self._sticks.pose(poses.points[frame][None])

    def clear(self) -> None:
        """Take it away."""
        for handle, _ in self._parts:
            handle.remove()
        if self._skin is not None:
            self._skin.remove()
        self._sticks.clear()
        self._parts, self._skin, self._figure, self._character = [], None, None, None

    def _cut(self, body: Figure) -> None:
        colours, which = np.unique(body.colours.round(4), axis=0, return_inverse=True)
        # A face across two colours takes that of its first corner.
        owner = which.reshape(-1)[body.faces[:, 0]]
        if self._tint is not None:
            owner = np.zeros_like(owner)
        for number in np.unique(owner):
            faces = body.faces[owner == number]
            used, corners = np.unique(faces, return_inverse=True)
            colour = _rgb(colours[number])
            mesh = self._mesh(f"part{number}", np.zeros((len(used), 3)), corners.reshape(-1, 3), colour)
            self._parts.append((mesh, used.astype(np.int64)))

    def _mesh(self, name: str, vertices: Array, faces: NDArray[Any], colour: Colour) -> Any:
        return self._scene.add_mesh_simple(
            f"{self._name}/{name}",
            vertices.astype(np.float32),
            faces.astype(np.uint32),
            color=self._tint or colour,
            opacity=self._opacity,
            side="double" if self._character is not None else "front",
            cast_shadow=self._opacity is None,
            receive_shadow=False,
        )


def seen(poses: Poses) -> bool:
    """Whether all points of a clip are somewhere a camera can look."""
    return bool(np.isfinite(poses.points).all() and np.abs(poses.points).max(initial=0.0) < FARTHEST)


def _rgb(linear: Array) -> Colour:
    red, green, blue = (round(255 * float(value)) for value in to_srgb(linear))
    return red, green, blue


LIMBS = _rgb(style.linear(style.CLAY))
SKIN = _rgb(style.linear(style.CLAY))
