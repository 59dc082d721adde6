"""Figures that stand in the scene and can be clicked, with marks that move over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.geometry import rotations
from marey.studio.layers.group import Group
from marey.studio.settings import THEME
from marey.studio.surface.figures import FigureImage
from marey.studio.workspace import Workspace

if TYPE_CHECKING:
    from viser import ImageHandle, LineSegmentsHandle, SceneNodePointerEvent


class Billboard:
    """An upright figure; `clicked` is called with the data coordinates at which it was clicked.

    Its frame has x to the right, y down, and looks away from its reader.
    """

    def __init__(self, workspace: Workspace, group: Group, clicked: Callable[[Array], None]):
        self._workspace, self._group, self._clicked = workspace, group, clicked
        self.figure: FigureImage | None = None
        self.height = 1.0
        self._frame = workspace.scene.add_frame(group.path, show_axes=False, visible=False)
        self._marks: LineSegmentsHandle

    @property
    def width(self) -> float:
        """Metres."""
        if self.figure is None:
            return self.height
        rows, columns = self.figure.image.shape[:2]
        return float(self.height * columns / rows)

    @property
    def visible(self) -> bool:
        """Whether it is seen."""
        return bool(self._frame.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._frame.visible = visible and self.figure is not None

    @property
    def position(self) -> Array:
        """Its middle, `(3,)`."""
        return np.asarray(self._frame.position, np.float64)

    @property
    def facing(self) -> Array:
        """Towards its reader, `(3,)`."""
        return self._turned([0.0, 0.0, -1.0])

    @property
    def corners(self) -> Array:
        """Of the figure in the scene, `(4, 3)`."""
        corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
        return self._turned(0.5 * corners * [self.width, self.height, 0.0]) + self.position

    def put(self, figure: FigureImage | None, height: float) -> None:
        """Show a figure, so many metres high; or none."""
        if figure is self.figure and height == self.height:
            return
        self._group.clear()
        self.figure, self.height = figure, height
        if figure is None:
            self.visible = False
            return
        image: ImageHandle = self._group.image("image", figure.image, (self.width, height), format="png")
        image.on_click(self._workspace.callback(self._pointed))
        nothing = np.zeros((1, 2, 3))
        self._marks = self._group.lines("marks", nothing, THEME.warm, 2.5, pixels=True, visible=False)

    def stand(self, middle: ArrayLike, facing: ArrayLike) -> None:
        """Stand with its middle at a place, facing a horizontal direction, both `(3,)`."""
        away = -np.asarray(facing, np.float64) / np.linalg.norm(facing)
        down = np.array([0.0, -1.0, 0.0])
        axes = np.stack([np.cross(down, away), down, away], axis=1)
        self._frame.wxyz = rotations.from_matrix(axes)
        self._frame.position = np.asarray(middle, np.float64)

    def mark(self, lines: Array | None) -> None:
        """Draw lines over the figure, `(lines, 2, 2)` in data coordinates; None for none."""
        if self.figure is None:
            return
        self._marks.visible = lines is not None
        if lines is not None:
            self._marks.points = self._on_board(lines).astype(np.float32)

    def to_scene(self, data: ArrayLike) -> Array:
        """Where in the scene data coordinates are drawn, `(3,)`."""
        return self._turned(self._on_board(np.asarray(data, np.float64))) + self.position

    def to_data(self, origin: ArrayLike, direction: ArrayLike) -> Array | None:
        """The data coordinates `(2,)` that a ray meets; None if it misses."""
        if self.figure is None:
            return None
        back = rotations.inverse(np.asarray(self._frame.wxyz, np.float64))
        start = rotations.rotate(back, np.asarray(origin, np.float64) - self.position)
        along = rotations.rotate(back, np.asarray(direction, np.float64))
        if abs(along[2]) < 1e-9 or start[2] * along[2] > 0:
            return None
        hit = start - along * start[2] / along[2]
        place = hit[:2] / [self.width, self.height] + 0.5
        return self.figure.to_data(place) if (np.abs(place - 0.5) <= 0.5).all() else None

    def _turned(self, local: ArrayLike) -> Array:
        return rotations.rotate(np.asarray(self._frame.wxyz, np.float64), local)

    def _on_board(self, data: Array) -> Array:
        """Data coordinates `(..., 2)` in its frame `(..., 3)`, a little in front of the figure."""
        assert self.figure is not None
        place = (self.figure.to_image(data) - 0.5) * [self.width, self.height]
        return np.concatenate([place, np.full((*place.shape[:-1], 1), -0.006 * self.height)], axis=-1)

    def _pointed(self, event: SceneNodePointerEvent[ImageHandle]) -> None:
        if event.ray_origin is not None and event.ray_direction is not None:
            data = self.to_data(event.ray_origin, event.ray_direction)
            if data is not None:
                self._clicked(data)
