"""What is drawn around the body: ghosts of the past and the future, its path over the ground, handles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array
from marey.studio.body.state import State
from marey.studio.controls import checkbox, slider
from marey.studio.layers.figure import Sticks
from marey.studio.layers.group import segments
from marey.studio.room import Tool
from marey.studio.settings import THEME

if TYPE_CHECKING:
    from marey.studio.body.room import BodyRoom


class DisplayTool(Tool[State]):
    """Onion skins, the path over the ground, whether handles and skin are shown."""

    room: BodyRoom
    drawn_from = ("motion",)
    title, collapsible = "Display", False
    ghosts = slider("Ghosts", 0, 8, 1, 3, "Poses before (blue) and after (red) the present one", on="redraw")
    spacing = slider("Ghost spacing (s)", 0.02, 1.0, 0.02, 0.2, "Time between two ghosts", on="redraw")
    path = checkbox("Path", True, "The path of the body over the ground", on="redraw")
    follow = checkbox("Follow", True, "Keep the body in the middle as it walks", on="toggle_following")
    handles_shown = checkbox("Handles", True, "Balls to take hold of the body", on="redraw")
    skin = checkbox("Skin", True, "The character's mesh instead of a mannequin", on="redress", visible=False)

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self.sticks = Sticks(room.group("ghosts"))
        self._followed, self._at = np.zeros((1, 2)), np.zeros(2)

    def redress(self) -> None:
        """The skin, or the mannequin."""
        self.room.redraw(*self.room.layers)

    def toggle_following(self) -> None:
        """Keep the body in the middle, or let it walk off."""
        if not self.follow.value:
            self._centre_on(np.zeros(2))
        self.room.redraw()
        self.room.look()

    def opened(self, state: State) -> None:
        self.skin.visible = state.character is not None
        self._followed = smoothed_path(self.room.poses.body, state.motion.frame_rate)
        self._at = np.full(2, np.inf)
        self._centre_on(self._followed[0] if self.follow.value else np.zeros(2))

    def set(self, state: State) -> None:
        body, size = self.room.poses.body, self.room.size
        self._followed = smoothed_path(body, state.motion.frame_rate)
        count = int(self.ghosts.value) if len(body) > 1 else 0
        fade = [0.55 * (1 - i / (count + 1)) for i in range(count)]
        colours = [THEME.accent] * count + [THEME.warm] * count
        self.sticks.build_meshes(state.motion.skeleton, size, colours, fade + fade)
        self.group.clear()
        if self.path.value and len(body) > 1:
            some = np.array(body[:: max(len(body) // 600, 1)])
            some[:, 1] = 0.0025 * size
            self.group.lines("path", segments(some), THEME.path, 0.007 * size)

    def frame(self, state: State, frame: int) -> None:
        if self.follow.value:
            self._centre_on(self._followed[frame])
        count = self.sticks.figures // 2
        if not count:
            return
        poses, step = self.room.poses, float(self.spacing.value) * state.motion.frame_rate
        away = np.concatenate([-np.arange(1, count + 1), np.arange(1, count + 1)])
        frames = frame + np.round(away * max(step, 1.0)).astype(np.int64)
        inside = (frames >= 0) & (frames < len(poses))
        points = poses.points[np.clip(frames, 0, len(poses) - 1)]
        self.sticks.pose(np.where(inside[:, None, None], points, np.nan))

    def _centre_on(self, place: Array) -> None:
        """Let a place `(2,)` of the ground be below the camera's eye: the ground moves, not the camera, so
        that users can turn it meanwhile."""
        # Two millimetres are not worth a step.
        if np.abs(place - self._at).max() > 0.002:
            self._at = place
            self.room.root.position = (-place[0], 0.0, -place[1])
            self.workspace.ground.position = (-place[0] % 1.0, 0.0, -place[1] % 1.0)


def smoothed_path(body: Array, frame_rate: float) -> Array:
    """Where on the ground, `(frames, 2)`, a camera looks that follows a body `(frames, 3)` calmly: its mean
    over a second.

    >>> smoothed_path(np.array([[0.0, 1.0, 0.0], [3.0, 1.1, 0.0]]), 2.0).round(9).tolist()
    [[1.0, 0.0], [2.0, 0.0]]
    """
    half = int(0.5 * frame_rate)
    padded = np.pad(body[:, [0, 2]], ((half + 1, half), (0, 0)), mode="edge")
    sums = np.cumsum(padded, axis=0)
    width = 2 * half + 1
    return np.asarray((sums[width:] - sums[:-width]) / width)
