"""Figures one can point into: pose distances and graph, with where their frames are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, Bytes, Integers
from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph
from marey.views.figures import surface as figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
