"""Pictures in the scene: a map or the film on the ground, arrows of the flow, the film on a board."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.crowd.footage import Footage
from marey.errors import InputError
from marey.studio.crowd.floor import Floor
from marey.studio.crowd.maps import FlowMaps
from marey.studio.crowd.obstacles import LYING
from marey.studio.desk import Desk

Image = NDArray[np.uint8]

STANDING = (0.0, 1.0, 0.0, 0.0)
# Pixels of the longer side of the film on the board, and frames worth skipping rather than seeking.
FILM_PIXELS, SKIPPED = 640, 12
ARROWS = 26
ARROW = (47, 54, 64)


class Reel:
    """A film that is looked at mostly in order: the next picture costs no seeking."""

    def __init__(self, footage: Footage):
        self.footage = footage
        self._next = -2 * SKIPPED
        self._frames: Iterator[Image] = iter(())
        self._latest: Image | None = None

    def read(self, frame: int) -> Image:
        """A picture, made smaller if it is large."""
        if self._latest is not None and frame == self._next - 1:
            return self._latest
        if not self._next <= frame <= self._next + SKIPPED:
            self._frames = self.footage.open(frame, self.footage.frames, 1)
            self._next = frame
        image = self._latest
        while self._next <= frame:
            image = next(self._frames, image)
            self._next += 1
        if image is None:
            raise InputError(f"{self.footage.name or 'the film'}: picture {frame} cannot be read")
        self._latest = _smaller(image)
        return self._latest


class Pictures:
    """The ground's picture, the board and the arrows; `lay` once for a floor, then assign pictures."""

    def __init__(self, desk: Desk, path: str):
        self._desk, self._path = desk, path
        self.ground: Any = None
        self.board: Any = None
        self.film_below: Any = None
        self.arrows: Any = None
        self._spots = np.zeros((0, 2), int)

    def lay(self, floor: Floor, *, film: Footage | None, maps: FlowMaps | None) -> None:
        """Empty pictures of the right sizes."""
        for node in (self.ground, self.board, self.film_below, self.arrows):
            if node is not None:
                node.remove()
        self.board = self.film_below = self.arrows = None
        scene, path = self._desk.scene, self._path
        width, depth = (float(side) for side in floor.scale * floor.size)
        blank = np.full((2, 2, 3), 250, np.uint8)
        plain: dict[str, Any] = {"cast_shadow": False, "receive_shadow": False}
        self.ground = scene.add_image(
            f"{path}/map", blank, width, depth, wxyz=LYING, position=(0, 0.012, 0), format="png", **plain
        )
        if film is not None:
            self.film_below = scene.add_image(
                f"{path}/below", blank, width, depth, wxyz=LYING, position=(0, 0.012, 0), **plain
            )
            corners = board_corners(floor, film)
            across, tall, _ = (float(side) for side in corners[2] - corners[0])
            behind = tuple(float(x) for x in corners.mean(axis=0))
            self.board = scene.add_image(
                f"{path}/film", blank, across, tall, wxyz=STANDING, position=behind, jpeg_quality=85, **plain
            )
        if maps is not None:
            self._add_arrows(floor, maps)

    def point(self, velocity: NDArray[np.float32], floor: Floor, largest: float) -> None:
        """Arrows of a velocity `(rows, columns, 2)`; the longest nearly touch."""
        if self.arrows is None or not len(self._spots):
            return
        rows, columns = self._spots.T
        moved = velocity[rows, columns] * [1.0, -1.0]
        speed = np.linalg.norm(moved, axis=-1, keepdims=True)
        moved = moved / np.maximum(speed, largest) * self._reach
        # Arrows without length have no direction.
        moved[speed[:, 0] < 0.02 * largest] = [1e-3 * self._reach, 0.0]
        start = self._places - 0.5 * moved
        self.arrows.points = np.stack(
            [floor.to_scene(start, self._height), floor.to_scene(start + moved, self._height)], axis=1
        )

    def _add_arrows(self, floor: Floor, maps: FlowMaps) -> None:
        sheet = maps.sheet
        step = max(max(sheet.rows, sheet.columns) // ARROWS, 1)
        rows, columns = np.mgrid[step // 2 : sheet.rows : step, step // 2 : sheet.columns : step]
        kept = maps.known[rows, columns]
        self._spots = np.stack([rows[kept], columns[kept]], axis=1)
        self._places = (np.stack([columns[kept], rows[kept]], axis=1) + 0.5) * sheet.spacing * [
            1,
            -1,
        ] + np.array([floor.low[0], floor.high[1]])
        self._reach = 0.9 * step * float(sheet.spacing.mean())
        size = self._reach * floor.scale
        self._height = 0.03 + 0.04 * size
        if not len(self._spots):
            return
        there = floor.to_scene(self._places, self._height)
        self.arrows = self._desk.scene.add_arrows(
            f"{self._path}/arrows",
            np.stack([there, there + np.array([1e-3, 0, 0], np.float32)], axis=1),
            ARROW,
            shaft_radius=0.018 * size,
            head_radius=0.075 * size,
            head_length=0.22 * size,
        )


def board_corners(floor: Floor, film: Footage) -> NDArray[np.float64]:
    """The board behind the ground that shows the film, `(4, 3)` in the scene, from its lower left."""
    width, depth = floor.scale * floor.size
    across = max(width, 0.6 * depth)
    low, high = 0.02 * across, (0.02 + film.rows / film.columns) * across
    aside = 0.5 * across * np.array([-1, 1, 1, -1])
    return np.column_stack([aside, [low, low, high, high], np.full(4, -0.5 * depth - 0.04 * across)])


def _smaller(image: Image) -> Image:
    import cv2

    factor = FILM_PIXELS / max(image.shape[:2])
    if factor >= 1:
        return image
    size = (max(round(image.shape[1] * factor), 2), max(round(image.shape[0] * factor), 2))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA))
