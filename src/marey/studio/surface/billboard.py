"""Figures that stand in the scene and can be pointed at: pose distances and graph, with marks over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, Bytes, Integers
from marey.geometry import rotations
from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph
from marey.studio.layers.group import Group
from marey.studio.settings import THEME
from marey.studio.workspace import Workspace
from marey.views.figures import surface as figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from viser import ImageHandle, LineSegmentsHandle, SceneNodePointerEvent


SIZE = (820, 720)


@dataclass(frozen=True, eq=False)
class FigureImage:
    """A figure as an image, and where it draws what.

    image: `(rows, columns, 3)`, uint8
    matrix: `(2, 3)`, from data coordinates to shares of width and height, 0…1 from the upper left
    """

    image: Bytes
    matrix: Array

    @classmethod
    def of(cls, figure: Figure) -> FigureImage:
        """Paint a figure; its first axes are what is pointed at.

        >>> from marey.views import style
        >>> figure = style.blank((200, 100))
        >>> axes = figure.subplots()
        >>> drawn = FigureImage.of(figure)
        >>> drawn.image.shape, bool(np.allclose(drawn.to_data(drawn.to_image([0.3, 0.8])), [0.3, 0.8]))
        ((100, 200, 3), True)
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        # Seen from afar: letters larger than in a file.
        larger = 1.2
        figure.set_size_inches(*(figure.get_size_inches() / larger))
        figure.set_dpi(larger * figure.get_dpi())
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        image = np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
        rows, columns = image.shape[:2]
        corner, right, up = figure.axes[0].transData.transform([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        matrix = np.stack([right - corner, up - corner, corner], axis=1)
        matrix = matrix / np.array([[columns], [rows]])
        matrix[1] = [0.0, 0.0, 1.0] - matrix[1]
        return cls(image, matrix)

    def to_image(self, data: ArrayLike) -> Array:
        """Where in the image data coordinates `(..., 2)` are drawn: shares of width and height."""
        return np.asarray(data) @ self.matrix[:, :2].T + self.matrix[:, 2]

    def to_data(self, place: Array) -> Array:
        """The data coordinates `(..., 2)` drawn at a place of the image."""
        return np.asarray(np.linalg.solve(self.matrix[:, :2], (place - self.matrix[:, 2]).T).T)


def matrix_figure(distances: DistanceMatrix) -> FigureImage:
    """Pose distances; the coordinates are (column, row)."""
    figure = figures.distance_map(distances, size=SIZE)
    figure.axes[0].set_title("How far poses are apart", loc="left")
    return FigureImage.of(figure)


def graph_figure(graph: MotionGraph, names: tuple[str, ...]) -> FigureImage:
    """Frames around a circle of radius 1, and transitions across it."""
    figure = figures.graph_picture(graph, names, size=SIZE)
    figure.suptitle("Where one motion can go over into another", fontsize=11)
    axes = figure.axes[0]
    # Larger letters need more space around the circle.
    axes.set_xlim(*(1.13 * x for x in axes.get_xlim()))
    axes.set_ylim(*(1.13 * y for y in axes.get_ylim()))
    return FigureImage.of(figure)


def pair_at(distances: DistanceMatrix, data: Array) -> tuple[int, int] | None:
    """Row and column of the matrix at its coordinates `(2,)`, None beside it.

    >>> apart = DistanceMatrix(np.zeros((4, 4)), np.zeros((4, 4)), [0, 4], ("walk",), "surface")
    >>> pair_at(apart, np.array([2.2, 0.9])), pair_at(apart, np.array([4.0, 1.0]))
    ((1, 2), None)
    """
    column, row = np.rint(data).astype(np.int64)
    inside = 0 <= column < distances.frames and 0 <= row < distances.frames
    return (int(row), int(column)) if inside else None


def frame_at(graph: MotionGraph, data: Array) -> int | None:
    """The frame whose place on the circle is nearest, None near the middle or far outside."""
    if not 0.35 < np.hypot(*data) < 1.35:
        return None
    return int((on_circle(graph, np.arange(graph.frames)) @ data).argmax())


def on_circle(graph: MotionGraph, frames: int | Integers) -> Array:
    """Where on the circle frames are, `(..., 2)`."""
    angles = figures.frame_angles(graph)[frames]
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1)


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
