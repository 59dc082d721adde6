"""Balls one takes hold of: at hands, feet and head of a body, and at a target to reach.

The pointer may move faster than poses are solved, so a drag only hands its newest place over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from marey._arrays import Array
from marey.studio.jobs import LatestOnly
from marey.studio.layers.group import Group
from marey.studio.settings import THEME, Colour
from marey.studio.workspace import Workspace

if TYPE_CHECKING:
    from viser import IcosphereHandle, SceneNodeDragEvent


@dataclass(frozen=True, eq=False)
class Drag:
    """One moment of a drag.

    number: of the drag; end: which ball; place: `(3,)`, where it is dragged to, metres
    over: whether the ball was let go of
    """

    number: int
    end: int
    place: Array
    over: bool


class Handles:
    """Balls in the scene; `dragged(drag)` is called aside for the newest moment of a drag.

    The end of a drag is never left out: if another begins before it was dealt with, it comes first.
    """

    def __init__(
        self,
        workspace: Workspace,
        group: Group,
        *,
        dragged: Callable[[Drag], None],
        clicked: Callable[[int], None] = lambda end: None,
    ):
        self._workspace, self._group = workspace, group
        self._dragged, self._clicked = dragged, clicked
        self._handles: list[IcosphereHandle] = []
        self._drags = 0
        self._last: Drag | None = None
        self.newest: LatestOnly[Drag] = LatestOnly(self._follow)

    def add(self, count: int, radius: float, colour: Colour = THEME.accent) -> None:
        """So many balls instead of those that were there; radius in metres."""
        self.clear()
        for end in range(count):
            ball = self._group.scene.add_icosphere(
                f"{self._group.path}/{end}", radius, colour, subdivisions=2, cast_shadow=False
            )
            self._group.nodes[str(end)] = ball
            self._listen(ball, end)
            self._handles.append(ball)

    def clear(self) -> None:
        """Take all away."""
        self._group.clear()
        self._handles = []

    @property
    def places(self) -> Array:
        """Where the balls are, `(balls, 3)`."""
        return np.array([ball.position for ball in self._handles]).reshape(-1, 3)

    def place(self, points: Array, visible: bool = True) -> None:
        """Put them at `(balls, 3)`."""
        for ball, point in zip(self._handles, points, strict=True):
            if ball.visible != visible:
                ball.visible = visible
            if visible:
                ball.position = point

    def paint(self, end: int, colour: Colour) -> None:
        """Another colour for one of them."""
        if tuple(self._handles[end].color) != colour:
            self._handles[end].color = colour

    def _listen(self, ball: IcosphereHandle, end: int) -> None:
        offset = np.zeros(3)

        async def moved(event: SceneNodeDragEvent[Any]) -> None:
            nonlocal offset
            if event.phase == "start":
                self._drags += 1
                # Balls have places in the room's ground, the pointer in the world.
                offset = np.asarray(ball.position) - np.asarray(event.start_position)
            place = np.asarray(event.end_position) + offset
            self.newest.submit(Drag(self._drags, end, place, event.phase == "end"))

        ball.on_drag(moved)
        ball.on_click(self._workspace.callback(lambda _: self._clicked(end)))

    def _follow(self, drag: Drag) -> None:
        if self._workspace.closed or not np.isfinite(drag.place).all():
            return
        with self._workspace.reporting_errors():
            last, self._last = self._last, None if drag.over else drag
            if last is not None and last.number != drag.number:
                self._dragged(Drag(last.number, last.end, last.place, True))
            self._dragged(drag)
