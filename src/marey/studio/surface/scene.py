"""How a state of the surface room looks: the body, pale others, figures beside it, paths on the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array, FloatArray
from marey.geometry.colour import from_srgb
from marey.geometry.planar import PlanarMotion, centroid
from marey.studio.layers.figure import SurfaceFigure
from marey.studio.layers.group import segments
from marey.studio.room import Layer
from marey.studio.settings import THEME
from marey.studio.surface.billboard import Billboard, frame_at, on_circle, pair_at
from marey.studio.surface.state import STEPS, State
from marey.surface.synthesis.animation import Animation

if TYPE_CHECKING:
    from marey.studio.surface.room import SurfaceRoom

# Horizontally, from where one looks at first; and what is to the right then.
FACING = np.array([0.75, 0.0, 1.25]) / np.hypot(0.75, 1.25)
RIGHT = np.array([FACING[2], 0.0, -FACING[0]])


class SurfaceScene(Layer[State]):
    """Everything of the surface room that is in the scene."""

    room: SurfaceRoom
    drawn_from = ("library", "played", "shown", "between", "path", "matrix", "graph")

    def __init__(self, room: SurfaceRoom):
        super().__init__(room)
        self.figure = SurfaceFigure(room.group("body"))
        self.matrix = Billboard(self.workspace, room.group("matrix"), self._clicked_matrix)
        self.graph = Billboard(self.workspace, room.group("graph"), self._clicked_graph)
        nothing = np.zeros((1, 2, 3))
        lines = {"pixels": True, "visible": False}
        self.requested = self.group.lines("requested", nothing, THEME.request, 2.0, **lines)
        self.walked = self.group.lines("walked", nothing, nothing.astype(np.uint8), 4.0, **lines)
        self.size, self._half = 1.7, 0.4
        # Boxes about all that is shown, and about a body that is kept in the middle.
        self._whole = self._around = _corners(np.array([-0.4, 0.0, -0.4]), np.array([0.4, 1.7, 0.4]))
        self._offset = np.zeros(3)

    def set(self, state: State) -> None:
        shown = state.played
        if shown is None and state.library is not None:
            shown = state.library.sequences[0]
        if shown is None:
            self.figure.hide()
        else:
            self.figure.build_meshes(shown)
            self._measure(state)
        self.show_request(state.path if state.shown == "animation" else None)
        self._show_walked(state.animation if state.shown == "animation" else None)
        self.matrix.put(state.matrix, 1.35 * self.size)
        self.graph.put(state.graph, 1.35 * self.size)
        self._stand_figures(state)

    def frame(self, state: State, frame: int) -> None:
        if state.shown == "between" and state.between is not None:
            weight = frame / (STEPS - 1)
            self.figure.draw(state.between.at(weight), self._offset, synthetic=0 < weight < 1)
            self.figure.draw_ghost(0, state.between.first, self._offset - self._aside)
            self.figure.draw_ghost(1, state.between.second, self._offset + self._aside)
        elif state.played is not None:
            new = state.animation if state.shown == "animation" else None
            vertices = state.played.vertices[frame]
            offset = self._offset - self._stood_on(state, vertices)
            self.figure.draw(
                vertices, offset, synthetic=new is not None and bool(new.provenance.synthetic[frame])
            )
            self.figure.draw_ghost(0, self._compared(state, frame), offset)
            self.figure.draw_ghost(1, None, offset)
        self._mark(state, frame)

    def show_request(self, path: Array | None) -> None:
        """The path to walk, `(points, 2)`; None for none."""
        self.requested.visible = path is not None and len(path) > 1
        if path is not None and len(path) > 1:
            self.requested.points = segments(np.insert(path, 1, 0.008, axis=1)).astype(np.float32)

    def show_figures(self, visible: bool) -> None:
        """Show or hide matrix and graph."""
        self.matrix.visible = self.graph.visible = visible

    def look(self, state: State, what: str = "All") -> None:
        """Turn the camera to the body with its figures, or to one of these."""
        board = {"Matrix": self.matrix, "Graph": self.graph}.get(what)
        if board is not None and board.figure is not None:
            self.workspace.frame(board.corners, board.facing)
            return
        boards = [each.corners for each in (self.matrix, self.graph) if each.visible]
        body = self._around if self._keeps_in_middle(state) else self._whole
        seen = [body] if state.library is not None or not boards else []
        on_path = state.shown == "animation" and state.path is not None
        if boards:
            seen += boards
        elif on_path:
            ground = np.insert(np.asarray(state.path), 1, 0.0, axis=1)
            seen += [ground, ground + np.array([0.0, self.size, 0.0])]
        elif state.shown == "between":
            seen += [body - self._aside, body + self._aside]
        self.workspace.frame(np.concatenate(seen), (0.8, 0.75, 1.1) if on_path else (0.75, 0.3, 1.25))

    def look_down(self) -> None:
        """See enough ground to draw on."""
        reach = 2.5 * self.size
        sheet = [[-reach, 0, -reach], [reach, 0, -reach], [reach, 0, reach], [-reach, 0, reach]]
        self.workspace.frame(sheet, (0.35, 1.25, 1.0))

    def _show_walked(self, animation: Animation | None) -> None:
        """The path of the body's middle, blue where frames are captured, warm where they are synthetic."""
        self.walked.visible = animation is not None and animation.sequence.frames > 1
        if animation is None or not self.walked.visible:
            return
        middles = np.array([centroid(vertices) for vertices in animation.sequence.vertices])
        on_ground = np.insert(middles + self._offset[[0, 2]], 1, 0.012, axis=1)
        # The page takes colours that vary along a line for linear light.
        captured, synthetic = 255 * from_srgb(np.array([THEME.accent, THEME.warm]) / 255)
        colours = np.where(animation.provenance.synthetic[1:, None], synthetic, captured)
        self.walked.points = segments(on_ground).astype(np.float32)
        self.walked.colors = np.stack([colours, colours], axis=1).astype(np.uint8)

    def _keeps_in_middle(self, state: State) -> bool:
        """Whether the ground moves below the body: between figures always, not on a path seen whole."""
        boards = self.matrix.visible or self.graph.visible
        return state.shown == "captured" and (self.room.sequence.follow.value or boards)

    @property
    def _aside(self) -> Array:
        """From an in-between to the pale pose at its right."""
        return (2 * self._half + 0.15 * self.size) * RIGHT

    def _stood_on(self, state: State, vertices: FloatArray) -> Array:
        """The place `(3,)` of the ground that is brought to the middle, and the grid with it."""
        place = np.zeros(3)
        if self._keeps_in_middle(state):
            place[[0, 2]] = centroid(vertices) + self._offset[[0, 2]]
        self.workspace.ground.position = tuple(-place % 1.0)
        return place

    def _stand_figures(self, state: State) -> None:
        """Matrix to the left, graph to the right, both facing a reader who looks at everything."""
        reader = 3.0 * self.size * FACING
        for board, side in ((self.matrix, -1), (self.graph, 1)):
            middle = np.array([0, 0.55 * board.height, 0])
            if state.library is not None:
                middle += side * (0.42 * self.size + board.width / 2) * RIGHT
            board.stand(middle, (reader - middle) * [1, 0, 1])

    def _measure(self, state: State) -> None:
        """Where to put the meshes: feet on the ground, the middle of all frames at the origin."""
        if state.shown == "between" and state.between is not None:
            some: FloatArray = np.stack([state.between.first, state.between.second])
        else:
            assert state.played is not None
            some = state.played.vertices[:: max(state.played.frames // 24, 1)]
        low, high = some.min(axis=(0, 1)), some.max(axis=(0, 1))
        one = some[0] if state.library is None else state.library.vertices(0)
        self.size = float(np.clip(np.ptp(one, axis=0).max(), 1e-3, 1e4))
        self._offset = -np.array([(low[0] + high[0]) / 2, low[1], (low[2] + high[2]) / 2], np.float64)
        if state.shown == "animation" and state.path is not None:
            self._offset[[0, 2]] = 0.0
        self._half = float(np.abs((some + self._offset) @ RIGHT).max())
        self._whole = _corners(low + self._offset, high + self._offset)
        middles = np.insert([centroid(vertices) for vertices in some], 1, -self._offset[1], axis=1)
        centred = some - middles[:, None]
        self._around = _corners(centred.min(axis=(0, 1)), centred.max(axis=(0, 1)))

    def _compared(self, state: State, frame: int) -> FloatArray | None:
        """The second frame of a picked pair `(vertices, 3)`, laid onto the first and playing along."""
        here, other = state.frame_of_library(frame), state.other_frame(frame)
        if here is None or other is None or state.library is None or state.distances is None:
            return None
        first, second = state.library.vertices(here), state.library.vertices(other)
        turn = float(state.distances.yaw_offsets[here, other])
        return PlanarMotion.about(centroid(second), turn, centroid(first)).apply(second)

    def _mark(self, state: State, frame: int) -> None:
        """The frame that is shown in matrix and graph, and the one it is compared with or blended into."""
        here, other = state.frame_of_library(frame), state.other_frame(frame)
        if here is None:
            self.matrix.mark(None)
            self.graph.mark(None)
            return
        if state.shown == "animation" and state.animation is not None:
            other = int(state.animation.provenance.destinations[frame])
        column = here if other is None else other
        if state.distances is not None:
            last = state.distances.frames - 0.5
            self.matrix.mark(np.array([[[-0.5, here], [last, here]], [[column, -0.5], [column, last]]]))
        if state.repertoire is not None:
            ends = on_circle(state.repertoire.graph, np.array([here, column]))
            needles = np.stack([0.925 * ends, 1.075 * ends], axis=1)
            chord = 0.925 * ends
            self.graph.mark(needles[:1] if here == column else np.array([*needles, chord]))

    def _clicked_matrix(self, data: Array) -> None:
        state = self.room.state
        pair = pair_at(state.distances, data) if state.distances is not None else None
        if pair is not None:
            self.room.go_to(pair[0], pair)

    def _clicked_graph(self, data: Array) -> None:
        state = self.room.state
        frame = frame_at(state.repertoire.graph, data) if state.repertoire is not None else None
        if frame is not None:
            self.room.go_to(frame, None)


def _corners(low: Array, high: Array) -> Array:
    """The corners of a box, `(8, 3)`."""
    return np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(-1, 3)
