"""Strokes on the ground: drawn with the pointer, as points in metres."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.geometry.rotations import rotate
from marey.studio.jobs import LatestOnly
from marey.studio.layers.group import Group
from marey.studio.settings import THEME
from marey.studio.workspace import Workspace

if TYPE_CHECKING:
    from viser import CameraHandle, SceneNodeDragEvent

# Half the side of the sheet one draws on, metres.
REACH = 60.0


class GroundPen:
    """While it is down, dragging on the ground draws instead of turning the camera.

    drawn: called, holding the workspace's lock, with the stroke so far `(points, 2)`, the scene's x and z in
        metres, and whether the pointer was released
    """

    def __init__(self, workspace: Workspace, group: Group, drawn: Callable[[Array, bool], None]):
        self._workspace, self._drawn = workspace, drawn
        self._points: list[Array] = []
        corners = np.array([[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]], dtype=np.float32)
        look = {"opacity": 0.04, "side": "double", "position": (0.0, -0.02, 0.0), "visible": False}
        # Below the grid, which it would hide.
        self._sheet = group.mesh("sheet", REACH * corners, [[0, 1, 2], [0, 2, 3]], THEME.accent, **look)
        self._finished: deque[Array] = deque()
        self._strokes: LatestOnly[Array | None] = LatestOnly(self._hand_over)

        async def dragged(event: SceneNodeDragEvent[Any]) -> None:
            self._follow(event)

        self._sheet.on_drag(dragged)

    @property
    def down(self) -> bool:
        """Whether one draws now."""
        return bool(self._sheet.visible)

    @down.setter
    def down(self, down: bool) -> None:
        self._sheet.visible = down

    def _follow(self, event: SceneNodeDragEvent[Any]) -> None:
        if event.phase == "start":
            self._points = []
            self._add(event.client.camera, event.start_screen_pos)
        self._add(event.client.camera, event.end_screen_pos)
        if not self._points:
            return
        stroke = np.array(self._points)
        if event.phase == "end":
            # Must not be dropped for the start of the next one.
            self._finished.append(stroke)
        self._strokes.submit(None if event.phase == "end" else stroke)

    def _add(self, camera: CameraHandle, screen: tuple[float, float]) -> None:
        place = under_pointer(camera, screen)
        if place is not None and np.abs(place).max() <= REACH:
            self._points.append(place)

    def _hand_over(self, stroke: Array | None) -> None:
        with self._workspace.lock, self._workspace.reporting_errors():
            while self._finished:
                self._drawn(self._finished.popleft(), True)
            if stroke is not None:
                self._drawn(stroke, False)


def under_pointer(camera: CameraHandle, screen: tuple[float, float]) -> Array | None:
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
    return np.asarray((start - along * start[1] / along[1])[[0, 2]])
