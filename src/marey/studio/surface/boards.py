"""Pictures that stand in the scene and can be clicked, with marks that move over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.geometry import rotations
from marey.studio.desk import Desk
from marey.studio.surface.pictures import Picture

Array = NDArray[np.float64]

MARK = (200, 85, 61)
# How far marks float in front of the picture, of its height.
IN_FRONT = 0.006


class Board:
    """An upright picture; `clicked` is told the coordinates of what was drawn where it was clicked.

    Its frame has x to the right, y down, and looks away from whoever reads it.
    """

    def __init__(self, desk: Desk, path: str, clicked: Callable[[Array], None]):
        self._desk, self._path, self._clicked = desk, path, clicked
        self.picture: Picture | None = None
        self.height = 1.0
        self._frame = desk.scene.add_frame(path, show_axes=False, visible=False)
        self._image: Any = None
        self._marks: Any = None

    @property
    def width(self) -> float:
        """Metres."""
        if self.picture is None:
            return self.height
        rows, columns = self.picture.image.shape[:2]
        return self.height * columns / rows

    @property
    def visible(self) -> bool:
        """Whether it is seen."""
        return bool(self._frame.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._frame.visible = visible and self.picture is not None

    @property
    def position(self) -> Array:
        """Its middle, `(3,)`."""
        return np.asarray(self._frame.position, np.float64)

    @property
    def facing(self) -> Array:
        """Towards whoever reads it, `(3,)`."""
        return rotations.rotate(np.asarray(self._frame.wxyz, np.float64), [0.0, 0.0, -1.0])

    @property
    def corners(self) -> Array:
        """Of the picture in the scene, `(4, 3)`."""
        across = 0.5 * self.width * np.array([-1.0, 1.0, 1.0, -1.0])
        down = 0.5 * self.height * np.array([-1.0, -1.0, 1.0, 1.0])
        local = np.stack([across, down, np.zeros(4)], axis=1)
        return rotations.rotate(np.asarray(self._frame.wxyz, np.float64), local) + self.position

    def put(self, picture: Picture | None, height: float) -> None:
        """Show a picture, so many metres high; or none."""
        if picture is self.picture and height == self.height:
            return
        for old in (self._image, self._marks):
            if old is not None:
                old.remove()
        self._image = self._marks = None
        self.picture, self.height = picture, height
        if picture is None:
            self.visible = False
            return
        self._image = self._desk.scene.add_image(
            f"{self._path}/image",
            picture.image,
            self.width,
            height,
            format="png",
            cast_shadow=False,
            receive_shadow=False,
        )
        self._image.on_click(self._desk.guard(self._pointed))
        self._marks = self._desk.scene.add_line_segments(
            f"{self._path}/marks",
            np.zeros((1, 2, 3), np.float32),
            MARK,
            thickness=2.5,
            thickness_units="screen",
            visible=False,
        )

    def stand(self, middle: ArrayLike, facing: ArrayLike) -> None:
        """Stand with its middle at a place, facing a horizontal direction, both `(3,)`."""
        away = -np.asarray(facing, np.float64) / np.linalg.norm(facing)
        down = np.array([0.0, -1.0, 0.0])
        axes = np.stack([np.cross(down, away), down, away], axis=1)
        self._frame.wxyz = rotations.from_matrix(axes)
        self._frame.position = np.asarray(middle, np.float64)

    def mark(self, lines: Array | None) -> None:
        """Draw lines over the picture, `(lines, 2, 2)` in coordinates of what it draws; None for none."""
        if self._marks is None or self.picture is None:
            return
        self._marks.visible = lines is not None and len(lines) > 0
        if lines is not None and len(lines):
            self._marks.points = self._on_board(lines).astype(np.float32)

    def in_world(self, meant: ArrayLike) -> Array:
        """Where in the scene coordinates of the picture are drawn, `(3,)`."""
        local = self._on_board(np.asarray(meant, np.float64))
        return rotations.rotate(np.asarray(self._frame.wxyz, np.float64), local) + self.position

    def meant(self, origin: ArrayLike, direction: ArrayLike) -> Array | None:
        """The coordinates of the picture that a ray meets, `(2,)`; None if it misses."""
        if self.picture is None:
            return None
        back = rotations.inverse(np.asarray(self._frame.wxyz, np.float64))
        start = rotations.rotate(back, np.asarray(origin, np.float64) - self.position)
        along = rotations.rotate(back, np.asarray(direction, np.float64))
        if abs(along[2]) < 1e-9 or start[2] * along[2] > 0:
            return None
        hit = start - along * start[2] / along[2]
        place = hit[:2] / [self.width, self.height] + 0.5
        return self.picture.meant(place) if (np.abs(place - 0.5) <= 0.5).all() else None

    def _on_board(self, meant: Array) -> Array:
        assert self.picture is not None
        place = (self.picture.place(meant) - 0.5) * [self.width, self.height]
        depth = np.full((*place.shape[:-1], 1), -IN_FRONT * self.height)
        return np.concatenate([place, depth], axis=-1)

    def _pointed(self, event: Any) -> None:
        meant = self.meant(event.ray_origin, event.ray_direction)
        if meant is not None:
            self._clicked(meant)
