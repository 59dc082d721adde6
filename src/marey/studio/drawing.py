"""Strokes on the ground: drawn with the pointer, as points in metres."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.geometry.rotations import rotate
from marey.studio.desk import Desk
from marey.studio.latest import Latest

Array = NDArray[np.float64]

# Half the side of the sheet one draws on, metres, and its height: below the grid, which it would hide.
REACH, HEIGHT = 60.0, -0.02


class GroundPen:
    """While it is down, dragging on the ground draws instead of turning the camera.

    drawn: called, holding the desk's lock, with the stroke so far `(points, 2)`, the scene's x and z in
        metres, and whether the pointer was released
    """

    def __init__(self, desk: Desk, path: str, drawn: Callable[[Array, bool], None]):
        self._desk, self._drawn = desk, drawn
        self._points: list[Array] = []
        corners = np.array([[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]], dtype=np.float32)
        self._sheet = desk.scene.add_mesh_simple(
            path,
            REACH * corners,
            np.array([[0, 1, 2], [0, 2, 3]]),
            color=(43, 106, 143),
            opacity=0.04,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
            position=(0.0, HEIGHT, 0.0),
            visible=False,
        )
        self._finished: deque[Array] = deque()
        self._strokes: Latest[Array | None] = Latest(self._tell)

        async def dragged(event: Any) -> None:
            self._follow(event)

        self._sheet.on_drag(dragged)

    @property
    def down(self) -> bool:
        """Whether one draws now."""
        return bool(self._sheet.visible)

    @down.setter
    def down(self, down: bool) -> None:
        self._sheet.visible = down

    def _follow(self, event: Any) -> None:
        if event.phase == "start":
            self._points = []
            self._add(event.client.camera, event.start_screen_pos)
        self._add(event.client.camera, event.end_screen_pos)
        if not self._points:
            return
        stroke = np.array(self._points)
        if event.phase == "end":
            # Must not be dropped for the beginning of the next one.
            self._finished.append(stroke)
        self._strokes.give(None if event.phase == "end" else stroke)

    def _add(self, camera: Any, screen: tuple[float, float]) -> None:
        place = under_pointer(camera, screen)
        if place is not None and np.abs(place).max() <= REACH:
            self._points.append(place)

    def _tell(self, stroke: Array | None) -> None:
        with self._desk.lock, self._desk.errors_told():
            while self._finished:
                self._drawn(self._finished.popleft(), True)
            if stroke is not None:
                self._drawn(stroke, False)


def under_pointer(camera: Any, screen: tuple[float, float]) -> Array | None:
    """The ground's `(x, z)` seen at a place of the screen, 0…1 from its upper left; None in the sky."""
    slope = np.tan(camera.fov / 2)
    along = np.array([(2 * screen[0] - 1) * slope * camera.aspect, (2 * screen[1] - 1) * slope, 1.0])
    return on_ground(camera.position, rotate(np.asarray(camera.wxyz, dtype=np.float64), along))


def on_ground(origin: ArrayLike, direction: ArrayLike) -> Array | None:
    """The `(x, z)` where a ray meets the ground, None if it does not.

    >>> on_ground([0, 2, 0], [1, -1, 0]).tolist()
    [2.0, 0.0]
    """
    start, along = np.asarray(origin, dtype=np.float64), np.asarray(direction, dtype=np.float64)
    if along[1] * start[1] >= 0:
        return None
    return (start - along * start[1] / along[1])[[0, 2]]
