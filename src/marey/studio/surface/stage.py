"""How a state of the surface panel looks in the scene: the body, pale others, pictures beside it, ways."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.geometry.planar import PlanarMotion, centroid
from marey.studio.desk import Desk
from marey.studio.surface.boards import Board
from marey.studio.surface.figure import SurfaceFigure
from marey.studio.surface.pictures import on_circle
from marey.studio.surface.state import State
from marey.studio.surface.trails import Trails
from marey.surface.sequence import MeshSequence

Array = NDArray[np.float64]

# Horizontally, from where one looks at first; and what is to the right then.
FACING = np.array([0.75, 0.0, 1.25]) / np.hypot(0.75, 1.25)
RIGHT = np.array([FACING[2], 0.0, -FACING[0]])
# Frames looked at to find out how far a sequence reaches.
LOOKED_AT = 24
# Of the body's size: height of a picture, and from the body's middle to it.
HIGH, GAP = 1.35, 0.42
# Where one looks from: at the body and pictures, at a way over the ground; and how far away, of its size.
OVERVIEW, OVER_A_WAY, READER = (0.75, 0.3, 1.25), (0.8, 0.75, 1.1), 3.0
# How much of the picture's circle a mark takes.
MARK = 0.075


class Stage:
    """Everything of the surface panel that is in the scene.

    paired: told the coordinates (column, row) of a click on the matrix
    pointed: told those of a click on the graph, whose circle has radius 1
    """

    def __init__(
        self, desk: Desk, path: str, paired: Callable[[Array], None], pointed: Callable[[Array], None]
    ):
        self._desk = desk
        self.figure = SurfaceFigure(desk, path)
        self.trails = Trails(desk, f"{path}/ways")
        self.matrix = Board(desk, f"{path}/matrix", paired)
        self.graph = Board(desk, f"{path}/graph", pointed)
        self.pictures_visible = True
        self.follows = True
        self.size, self._half = 1.7, 0.4
        # Boxes about all that is shown, and about a body that is kept in the middle.
        self._whole = self._around = _corners(np.array([-0.4, 0.0, -0.4]), np.array([0.4, 1.7, 0.4]))
        self._offset = np.zeros(3)

    def set(self, state: State) -> None:
        """Bring everything but the frame in line with a state."""
        shown = state.played
        if shown is None and state.library is not None:
            shown = state.library.sequences[0]
        if shown is None:
            self.figure.hide()
        else:
            self.figure.dress(shown)
            self._measure(shown if state.between is None or state.shown != "between" else None, state)
        self.show_asked(state)
        made = state.made.animation if state.made is not None and state.shown == "animation" else None
        self.trails.show_walked(made, self._offset)
        self.matrix.put(state.matrix, HIGH * self.size)
        self.graph.put(state.graph, HIGH * self.size)
        self._stand_pictures(state)
        self.show_pictures(self.pictures_visible)

    def show_asked(self, state: State) -> None:
        """The way that the motion shown was asked to go, if any."""
        self.trails.show_asked(state.path if state.shown == "animation" else None)

    def show_pictures(self, visible: bool) -> None:
        """Show or hide matrix and graph."""
        self.pictures_visible = visible
        self.matrix.visible = self.graph.visible = visible

    def draw(self, state: State, frame: int) -> None:
        """One frame."""
        with self._desk.server.atomic():
            if state.shown == "between" and state.between is not None:
                self._draw_between(state, frame)
            elif state.played is not None:
                synthetic = False
                if state.shown == "animation" and state.made is not None:
                    synthetic = bool(state.made.animation.provenance.synthetic[frame])
                vertices = state.played.vertices[frame]
                offset = self._offset - self._stood_on(state, vertices)
                self.figure.draw(vertices, offset, synthetic=synthetic)
                self._draw_other(state, frame, offset)
            self._mark(state, frame)

    def look(self, state: State, what: str = "All") -> None:
        """Turn the camera to the body with its pictures, or to one of these."""
        board = {"Matrix": self.matrix, "Graph": self.graph}.get(what)
        if board is not None and board.picture is not None:
            self._desk.frame(board.corners, board.facing)
            return
        body = self._around if self._keeps_in_middle(state) else self._whole
        seen = [body]
        if self._has_pictures(state):
            seen += [each.corners for each in (self.matrix, self.graph) if each.picture is not None]
            if state.library is None:
                del seen[0]
        elif state.shown == "animation" and state.path is not None:
            ground = np.insert(state.path, 1, 0.0, axis=1)
            seen += [ground, ground + np.array([0.0, self.size, 0.0])]
        elif state.shown == "between":
            seen += [body - self._aside, body + self._aside]
        walked = state.shown == "animation" and state.path is not None
        self._desk.frame(np.concatenate(seen), OVER_A_WAY if walked else OVERVIEW)

    def look_down(self) -> None:
        """See enough ground to draw on."""
        reach = 2.5 * self.size
        sheet = [[-reach, 0, -reach], [reach, 0, -reach], [reach, 0, reach], [-reach, 0, reach]]
        self._desk.frame(sheet, (0.35, 1.25, 1.0))

    def _keeps_in_middle(self, state: State) -> bool:
        """Whether the ground moves below the body: between pictures always, not on a path seen whole."""
        return state.shown == "captured" and (self.follows or self._has_pictures(state))

    def _has_pictures(self, state: State) -> bool:
        return self.pictures_visible and (state.matrix is not None or state.graph is not None)

    @property
    def _aside(self) -> Array:
        """From a pose in between to the pale one at its right."""
        return (2 * self._half + 0.15 * self.size) * RIGHT

    def _stood_on(self, state: State, vertices: FloatArray) -> Array:
        """The place `(3,)` of the ground that is brought to the middle, and the grid with it."""
        place = np.zeros(3)
        if self._keeps_in_middle(state):
            place[[0, 2]] = centroid(vertices) + self._offset[[0, 2]]
        self._desk.ground.position = tuple(-place % 1.0)
        return place

    def _stand_pictures(self, state: State) -> None:
        """Matrix to the left, graph to the right, both facing whoever looks at everything."""
        reader = READER * self.size * FACING
        for board, side in ((self.matrix, -1), (self.graph, 1)):
            aside = side * (GAP * self.size + board.width / 2)
            middle = np.array([0, 0.55 * board.height, 0])
            if state.library is not None:
                middle += aside * RIGHT
            board.stand(middle, (reader - middle) * [1, 0, 1])

    def _measure(self, sequence: MeshSequence | None, state: State) -> None:
        """Where to put the meshes: feet on the ground, the middle of the way at the origin."""
        if sequence is not None:
            some = sequence.vertices[:: max(sequence.frames // LOOKED_AT, 1)]
        else:
            assert state.between is not None
            some = np.stack([state.between.first, state.between.second])
        low, high = some.min(axis=(0, 1)), some.max(axis=(0, 1))
        one = some[0] if state.library is None else state.library.vertices(0)
        self.size = float(np.clip(np.ptp(one, axis=0).max(), 1e-3, 1e4))
        self._offset = -np.array([(low[0] + high[0]) / 2, low[1], (low[2] + high[2]) / 2], np.float64)
        if state.shown == "animation" and state.path is not None:
            self._offset[[0, 2]] = 0.0
        self._half = float(np.abs((some + self._offset) @ RIGHT).max())
        self._whole = _corners(low + self._offset, high + self._offset)
        middles = np.insert([centroid(vertices) for vertices in some], 1, -self._offset[1], axis=1)
        standing = some - middles[:, None]
        self._around = _corners(standing.min(axis=(0, 1)), standing.max(axis=(0, 1)))

    def _draw_other(self, state: State, frame: int, offset: Array) -> None:
        """The second frame of a picked pair as a pale body, laid onto the first and playing along."""
        other = self.other_frame(state, frame)
        laid: FloatArray | None = None
        if other is not None and state.library is not None and state.distances is not None:
            here = state.frame_of_library(frame)
            assert here is not None
            first, second = state.library.vertices(here), state.library.vertices(other)
            turn = float(state.distances.yaw_offsets[here, other])
            laid = PlanarMotion.about(centroid(second), turn, centroid(first)).apply(second)
        self.figure.draw_ghost(0, laid, offset)
        self.figure.draw_ghost(1, None, offset)

    def other_frame(self, state: State, frame: int) -> int | None:
        """The frame that is compared with the one shown, if a pair was picked and it lasts so long."""
        here = state.frame_of_library(frame)
        if state.pair is None or here is None or state.shown != "captured" or state.distances is None:
            return None
        starts = state.distances.starts
        first, second = state.pair
        if np.searchsorted(starts, here, side="right") != np.searchsorted(starts, first, side="right"):
            return None
        other = second + here - first
        same = np.searchsorted(starts, second, side="right") == np.searchsorted(starts, other, side="right")
        return int(other) if same and 0 <= other < state.distances.frames else None

    def _draw_between(self, state: State, frame: int) -> None:
        between = state.between
        assert between is not None
        way = frame / (between.clock[0] - 1)
        self.figure.draw(between.at(way), self._offset, synthetic=0 < frame < between.clock[0] - 1)
        self.figure.draw_ghost(0, between.first, self._offset - self._aside)
        self.figure.draw_ghost(1, between.second, self._offset + self._aside)

    def _mark(self, state: State, frame: int) -> None:
        here = state.frame_of_library(frame)
        if here is None:
            self.matrix.mark(None)
            self.graph.mark(None)
            return
        other = self.other_frame(state, frame)
        if state.shown == "animation" and state.made is not None:
            other = int(state.made.animation.provenance.destinations[frame])
        column = here if other is None else other
        if state.distances is not None:
            last = state.distances.frames - 0.5
            cross = [[[-0.5, here], [last, here]], [[column, -0.5], [column, last]]]
            self.matrix.mark(np.array(cross, np.float64))
        if state.repertoire is not None:
            ends = on_circle(state.repertoire.graph, np.array([here, column]))
            needles = np.stack([(1 - MARK) * ends, (1 + MARK) * ends], axis=1)
            lines = [*needles] if here != column else [needles[0]]
            if here != column:
                lines.append((1 - MARK) * ends)
            self.graph.mark(np.array(lines))


def _corners(low: Array, high: Array) -> Array:
    """The corners of a box, `(8, 3)`."""
    return np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(-1, 3)
