"""Pictures one can point into: pose distances and graph, with where their frames are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

MATRIX_SIZE, GRAPH_SIZE = (820, 720), (820, 720)
# Pictures are seen from afar: letters larger than in a file, and room for them around the circle.
LARGER, ROOM = 1.2, 1.13
# Clicks nearer to the middle of the graph than this are none on a frame.
LEAST_RADIUS = 0.35


@dataclass(frozen=True, eq=False)
class Picture:
    """An image and where it draws what.

    image: `(rows, columns, 3)`, uint8
    matrix: `(2, 3)`, from the coordinates of what is drawn to shares of width and height, 0…1 from the upper
        left
    """

    image: NDArray[np.uint8]
    matrix: Array

    @classmethod
    def of(cls, figure: Figure) -> Picture:
        """Paint a figure; its first axes are what is pointed at.

        >>> from marey.views import style
        >>> figure = style.blank((200, 100))
        >>> axes = figure.subplots()
        >>> drawn = Picture.of(figure)
        >>> drawn.image.shape, bool(np.allclose(drawn.meant(drawn.place([0.3, 0.8])), [0.3, 0.8]))
        ((100, 200, 3), True)
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        width, height = figure.get_size_inches()
        figure.set_size_inches(width / LARGER, height / LARGER)
        figure.set_dpi(LARGER * figure.get_dpi())
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        image = np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
        rows, columns = image.shape[:2]
        corner, right, up = figure.axes[0].transData.transform([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        matrix = np.stack([right - corner, up - corner, corner], axis=1)
        matrix = matrix / np.array([[columns], [rows]])
        matrix[1] = [0.0, 0.0, 1.0] - matrix[1]
        return cls(image, matrix)

    def place(self, meant: Array | list[float]) -> Array:
        """Where in the picture coordinates are drawn, `(..., 2)` shares of width and height."""
        return np.asarray(meant) @ self.matrix[:, :2].T + self.matrix[:, 2]

    def meant(self, place: Array) -> Array:
        """The coordinates drawn at a place, `(..., 2)`."""
        return np.asarray(np.linalg.solve(self.matrix[:, :2], (place - self.matrix[:, 2]).T).T)


def matrix_picture(distances: DistanceMatrix) -> Picture:
    """Pose distances; the coordinates are (column, row)."""
    from marey.views.figures.surface import distance_map

    figure = distance_map(distances, size=MATRIX_SIZE)
    figure.axes[0].set_title("How far poses are apart", loc="left")
    return Picture.of(figure)


def graph_picture(graph: MotionGraph, names: tuple[str, ...]) -> Picture:
    """Frames around a circle of radius 1, and transitions across it."""
    from marey.views import figures

    figure = figures.graph_picture(graph, names, size=GRAPH_SIZE)
    figure.suptitle("Where one motion can go over into another", fontsize=11)
    axes = figure.axes[0]
    axes.set_xlim(*(ROOM * x for x in axes.get_xlim()))
    axes.set_ylim(*(ROOM * y for y in axes.get_ylim()))
    return Picture.of(figure)


def pair_at(distances: DistanceMatrix, meant: Array) -> tuple[int, int] | None:
    """Row and column of the matrix at its coordinates, None beside it.

    >>> apart = DistanceMatrix(np.zeros((4, 4)), np.zeros((4, 4)), [0, 4], ("walk",), "surface")
    >>> pair_at(apart, np.array([2.2, 0.9])), pair_at(apart, np.array([4.0, 1.0]))
    ((1, 2), None)
    """
    column, row = np.rint(meant).astype(np.int64)
    inside = 0 <= column < distances.frames and 0 <= row < distances.frames
    return (int(row), int(column)) if inside else None


def frame_at(graph: MotionGraph, meant: Array) -> int | None:
    """The frame whose place on the circle is nearest, None near the middle or far outside."""
    if not LEAST_RADIUS < np.hypot(*meant) < 1.35:
        return None
    towards = on_circle(graph, np.arange(graph.frames)) @ meant
    return int(towards.argmax())


def on_circle(graph: MotionGraph, frames: int | NDArray[np.int64]) -> Array:
    """Where on the circle frames are, `(..., 2)`."""
    from marey.views.figures.surface import frame_angles

    angles = frame_angles(graph)[frames]
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1)
