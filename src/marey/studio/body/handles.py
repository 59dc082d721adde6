"""Balls one takes hold of: hands, feet and head, and a target to reach.

The pointer may move faster than poses are solved, so a drag only hands its newest place over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.studio.desk import Desk
from marey.studio.latest import Latest

Array = NDArray[np.float64]
Colour = tuple[int, int, int]

FREE: Colour = (43, 106, 143)
HELD: Colour = (34, 38, 43)
GRABBED: Colour = (200, 85, 61)


@dataclass(frozen=True, eq=False)
class Pull:
    """One moment of a drag.

    drag: number of the drag; end: which ball; place: `(3,)`, where it is pulled to, metres
    over: whether the ball was let go of
    """

    drag: int
    end: int
    place: Array
    over: bool


class Balls:
    """Balls in the scene; `pulled(pull)` is called aside for the newest moment of a drag.

    The end of a drag is never left out: if another begins before it was dealt with, it comes first.
    """

    def __init__(
        self,
        desk: Desk,
        name: str,
        *,
        pulled: Callable[[Pull], None],
        clicked: Callable[[int], None] = lambda end: None,
    ):
        self._desk, self._name = desk, name
        self._pulled, self._clicked = pulled, clicked
        self._handles: list[Any] = []
        self._drags = 0
        self._last: Pull | None = None
        self.newest: Latest[Pull] = Latest(self._follow)

    def add(self, count: int, radius: float, colour: Colour = FREE) -> None:
        """So many balls instead of those that were there; radius in metres."""
        self.clear()
        for end in range(count):
            ball = self._desk.scene.add_icosphere(
                f"{self._name}/{end}", radius, colour, subdivisions=2, cast_shadow=False
            )
            self._listen(ball, end)
            self._handles.append(ball)

    def clear(self) -> None:
        """Take all away."""
        for ball in self._handles:
            ball.remove()
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

    def _listen(self, ball: Any, end: int) -> None:
        offset = np.zeros(3)

        async def dragged(event: Any) -> None:
            nonlocal offset
            if event.phase == "start":
                self._drags += 1
                # Balls have places in the panel's ground, the pointer in the world.
                offset = np.asarray(ball.position) - np.asarray(event.start_position)
            place = np.asarray(event.end_position) + offset
            self.newest.give(Pull(self._drags, end, place, event.phase == "end"))

        ball.on_drag(dragged)
        ball.on_click(self._desk.guard(lambda _: self._clicked(end)))

    def _follow(self, pull: Pull) -> None:
        if self._desk.closed or not np.isfinite(pull.place).all():
            return
        with self._desk.errors_told():
            last, self._last = self._last, None if pull.over else pull
            if last is not None and last.drag != pull.drag:
                self._pulled(Pull(last.drag, last.end, last.place, True))
            self._pulled(pull)
