"""What is drawn around the body: ghosts of the past and the future, its way over the ground, handles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey.studio.body.section import Section
from marey.studio.body.state import State
from marey.studio.body.sticks import Colour, Sticks

if TYPE_CHECKING:
    from marey.studio.body.panel import BodyPanel

PAST: Colour = (43, 106, 143)
FUTURE: Colour = (200, 85, 61)
PATH: Colour = (143, 163, 176)
# Points of the way over the ground; how far it is above it and how wide, of the figure's size.
MOST_POINTS, ABOVE, WIDE = 600, 0.0025, 0.007
# Seconds over which the way is smoothed that is followed, and metres that are not worth a step.
SMOOTH, STILL = 1.0, 0.002


class Seeing(Section):
    """Onion skins, the way over the ground, whether handles and skin are shown."""

    def __init__(self, panel: BodyPanel):
        super().__init__(panel)
        gui, guard = self.desk.gui, self.desk.guard
        with gui.add_folder("See"):
            self.ghosts = gui.add_slider(
                "Ghosts", 0, 8, 1, 3, hint="Poses before (blue) and after (red) the present one, so many each"
            )
            self.apart = gui.add_slider("Apart (s)", 0.02, 1.0, 0.02, 0.2, hint="Time between two ghosts")
            self.way = gui.add_checkbox("Path", True, hint="The way of the body over the ground")
            self.follow = gui.add_checkbox("Follow", True, hint="Keep the body in the middle as it walks")
            self.handles = gui.add_checkbox("Handles", True, hint="Balls to take hold of the body")
            self.skin = gui.add_checkbox(
                "Skin", True, hint="The character's mesh instead of a mannequin", visible=False
            )
        self._sticks = Sticks(self.desk.scene, panel.path("ghosts"))
        self._line: Any = None
        self._course = np.zeros((1, 2))
        self._at = np.zeros(2)
        self.ghosts.on_update(guard(lambda _: self._dress()))
        self.apart.on_update(guard(lambda _: self.panel.redraw()))
        self.handles.on_update(guard(lambda _: self.panel.redraw()))
        self.way.on_update(guard(lambda _: self._draw_way()))
        self.follow.on_update(guard(lambda _: self._toggle_following()))
        self.skin.on_update(guard(lambda _: self.panel.redress()))

    def opened(self, state: State) -> None:
        self.skin.visible = state.character is not None
        self._course = course(self.panel.poses.body, state.motion.frame_rate)
        self._at = np.full(2, np.inf)
        self._stand_on(self._course[0] if self.follow.value else np.zeros(2))

    def restore(self, state: State) -> None:
        self._course = course(self.panel.poses.body, state.motion.frame_rate)
        self._dress(redraw=False)
        self._draw_way()

    def show(self, frame: int) -> None:
        if self.follow.value:
            self._stand_on(self._course[frame])
        self._show_ghosts(frame)

    def _stand_on(self, place: NDArray[np.float64]) -> None:
        """Let a place `(2,)` of the ground be below the camera's eye: the ground moves, not the camera, so
        that people can turn it meanwhile."""
        if np.abs(place - self._at).max() > STILL:
            self._at = place
            self.panel.root.position = (-place[0], 0.0, -place[1])
            ground = self.desk.scene.get_handle_by_name("/ground")
            if ground is not None:
                ground.position = (-place[0] % 1.0, 0.0, -place[1] % 1.0)

    def _toggle_following(self) -> None:
        if not self.follow.value:
            self._stand_on(np.zeros(2))
        self.panel.redraw()
        self.panel.look()

    def _show_ghosts(self, frame: int) -> None:
        count = self._sticks.figures // 2
        if not count:
            return
        poses, step = self.panel.poses, float(self.apart.value) * self.state.motion.frame_rate
        away = np.concatenate([-np.arange(1, count + 1), np.arange(1, count + 1)])
        frames = frame + np.round(away * max(step, 1.0)).astype(np.int64)
        inside = (frames >= 0) & (frames < len(poses))
        points = poses.points[np.clip(frames, 0, len(poses) - 1)]
        self._sticks.pose(np.where(inside[:, None, None], points, np.nan))

    def _dress(self, *, redraw: bool = True) -> None:
        count = int(self.ghosts.value) if len(self.panel.poses) > 1 else 0
        fade = [0.55 * (1 - i / (count + 1)) for i in range(count)]
        self._sticks.dress(
            self.state.motion.skeleton, self.panel.size, [PAST] * count + [FUTURE] * count, fade + fade
        )
        if redraw:
            self.panel.redraw()

    def _draw_way(self) -> None:
        if self._line is not None:
            self._line.remove()
            self._line = None
        body = self.panel.poses.body
        if not self.way.value or len(body) < 2:
            return
        some = body[:: max(len(body) // MOST_POINTS, 1)].astype(np.float32)
        some[:, 1] = ABOVE * self.panel.size
        self._line = self.desk.scene.add_line_segments(
            self.panel.path("way"),
            np.stack([some[:-1], some[1:]], axis=1),
            PATH,
            thickness=WIDE * self.panel.size,
        )


def course(body: NDArray[np.float64], frame_rate: float) -> NDArray[np.float64]:
    """Where on the ground, `(frames, 2)`, a camera looks that follows a body `(frames, 3)` calmly.

    >>> course(np.array([[0.0, 1.0, 0.0], [3.0, 1.1, 0.0]]), 2.0).round(9).tolist()
    [[1.0, 0.0], [2.0, 0.0]]
    """
    half = int(0.5 * SMOOTH * frame_rate)
    padded = np.pad(body[:, [0, 2]], ((half + 1, half), (0, 0)), mode="edge")
    sums = np.cumsum(padded, axis=0)
    width = 2 * half + 1
    return np.asarray((sums[width:] - sums[:-width]) / width)
