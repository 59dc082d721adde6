"""What can be done with captured surfaces: play them, walk along paths, compare poses, interpolate two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array, BoolArray, Bytes
from marey._work import Progress
from marey.errors import InputError
from marey.studio.controls import band, button, checkbox, choice, choice_buttons, slider, text
from marey.studio.ground_pen import GroundPen
from marey.studio.room import Task, Tool
from marey.studio.settings import THEME
from marey.studio.surface import reports, tasks
from marey.studio.surface.state import STEPS, Shown, State
from marey.studio.surface.tasks import READY, ready_made, stroke

if TYPE_CHECKING:
    from marey.studio.surface.room import SurfaceRoom

SHOWN: dict[str, Shown] = {"Captured": "captured", "New": "animation", "Between": "between"}
ANY = "any"
COMPROMISES = {"True to capture": 0.01, "Balanced": 0.05, "Quick to answer": 0.2}
AS_OPENED = "As in the file"
STRIP = (14, 560)
# What must not have changed while a task was working.
NEEDS = ("library",)


class SequenceTool(Tool[State]):
    """Which sequence is played, and what is known of it."""

    room: SurfaceRoom
    title, collapsible = "Sequence", False
    which = choice("Sequence", ("",), "Which captured sequence to play", on="choose")
    shown = choice_buttons("Show", tuple(SHOWN), "Captured, the new animation, or in-betweens", on="turn_to")
    follow = checkbox("Follow", True, "Keep the body in the middle as it walks", on="toggle_following")
    facts = text()

    def choose(self) -> None:
        """Play another captured sequence."""
        sequence = tuple(self.which.options).index(self.which.value)
        self.room.change(replace(self.state, sequence=sequence, at=0, pair=None, shown="captured"))
        self.room.look()

    def turn_to(self, label: str) -> None:
        """Show captured sequences, the new animation, or in-betweens."""
        state, shown = self.state, SHOWN[label]
        if shown == "animation" and state.animation is None:
            raise InputError("there is no new animation yet: draw a path, or go from one pose to another")
        if shown == "between" and state.between is None:
            raise InputError("there is nothing in between yet: choose two poses and press “Interpolate”")
        if shown != state.shown:
            self.room.change(replace(state, shown=shown, at=0))
            self.room.look()

    def toggle_following(self) -> None:
        """Keep the body in the middle, or let it walk off."""
        self.room.redraw()
        self.room.look()

    def refresh(self, state: State) -> None:
        names = state.library.names if state.library is not None else ("",)
        if tuple(self.which.options) != names:
            self.which.options = names
        self.which.value = names[min(state.sequence, len(names) - 1)]
        self.facts.content = reports.facts(state, self.room.scene.figure.vertices_shown)


class PathTool(Tool[State]):
    """Draw a path on the ground, or take a ready-made one."""

    room: SurfaceRoom
    title, collapsible = "Walk a path", False

    def __init__(self, room: SurfaceRoom):
        super().__init__(room)
        self.pen = GroundPen(self.workspace, room.group("pen"), self.drawn)

    @button("Draw a path", "Then drag over the ground: the body walks where you draw", icon="pencil")
    def draw(self) -> None:
        """Start drawing, or stop."""
        tasks.library_of(self.state)
        if self.pen.down:
            self.stop_drawing()
            self.room.look()
            return
        self.pen.down = True
        self.handles["draw"].label = "Stop drawing"
        self.workspace.timeline.play(False)
        self.room.figures.refresh(self.state)
        self.room.scene.look_down()

    ready = choice("Ready-made", READY, "A path that need not be drawn")
    size = slider("Size (m)", 2.0, 12.0, 0.5, 4.0, "How large that path is")
    behaviour = choice("Behaviour", (ANY,), "What to do along the path")

    @button("Animate along path", "Make an animation along the ready-made path", icon="walk")
    def walk(self) -> None:
        """Make an animation along the ready-made path that is chosen."""
        self.walk_along(ready_made(self.ready.value, float(self.size.value)), look=True)

    strip = band(*STRIP)
    now = text(visible=False)
    report = text()

    def drawn(self, points: Array, finished: bool) -> None:
        """A stroke of the pen: points `(n, 2)`, the scene's x and z in metres."""
        self.room.scene.show_request(points)
        if finished:
            self.stop_drawing()
            with self._no_request_on_failure():
                self.walk_along(stroke(points), look=False)

    def walk_along(self, path: Array, *, look: bool) -> None:
        """Make an animation along a path `(points, 2)`; look: turn the camera to it."""
        state, alpha = self.state, self.room.figures.alpha
        tasks.library_of(state)
        behaviour = "" if self.behaviour.value == ANY else self.behaviour.value

        def work(progress: Progress) -> State:
            with self._no_request_on_failure():
                return tasks.along_path(state, path, behaviour, alpha, progress)

        def play() -> None:
            if look:
                self.room.look()
            self.workspace.timeline.play(True)

        self.room.scene.show_request(path)
        if not self.room.perform(Task("walking the path", work, NEEDS, on_done=play), self.handles["walk"]):
            self._show_request()

    def stop_drawing(self) -> None:
        """Turn the camera again instead."""
        if self.pen.down:
            self.pen.down = False
            self.handles["draw"].label = "Draw a path"
            self.room.figures.refresh(self.state)

    def refresh(self, state: State) -> None:
        self.stop_drawing()
        labels = tuple(sorted(set(state.library.labels))) if state.library is not None else ()
        offered = (ANY, *labels) if len(labels) > 1 else (ANY,)
        if tuple(self.behaviour.options) != offered:
            self.behaviour.options = offered
        self.report.content = reports.of_animation(state)
        self.strip.visible = state.animation is not None
        self.now.visible = state.animation is not None and state.shown == "animation"
        if state.animation is not None:
            self.strip.image = strip(state.animation.provenance.synthetic)

    def frame(self, state: State, frame: int) -> None:
        now = reports.of_frame(state, frame)
        if now != self.now.content:
            self.now.content = now

    @contextmanager
    def _no_request_on_failure(self) -> Iterator[None]:
        """A path that could not be walked, or was cancelled, does not stay on the ground."""
        try:
            yield
        except Exception:
            with self.workspace.lock:
                self._show_request()
            raise

    def _show_request(self) -> None:
        self.room.scene.show_request(self.state.path if self.state.shown == "animation" else None)


class FigureTool(Tool[State]):
    """Pose distances and graph as figures beside the body."""

    room: SurfaceRoom
    drawn_from = ("repertoire",)
    title = "Matrix and graph"

    def __init__(self, room: SurfaceRoom):
        super().__init__(room)
        self._opened_alpha = next(iter(COMPROMISES.values()))
        self._wanted: dict[Shown, bool] = {}

    @button("Compare poses", "How far every pose is from every other", icon="grid-dots")
    def compare(self) -> Task[State]:
        """Measure how far all poses are apart."""
        state = self.state
        tasks.library_of(state)
        return Task("comparing poses", partial(tasks.with_distances, state), NEEDS, on_done=self._show)

    compromise = choice(
        "Transitions", tuple(COMPROMISES), "Keep close to what was captured, or get anywhere soon"
    )

    @button("Build the graph", "Find where one sequence can go over into another", icon="share")
    def build(self) -> Task[State]:
        """Find the graph of the best transitions."""
        state, alpha = self.state, self.alpha
        tasks.library_of(state)
        return Task("building the graph", partial(tasks.with_graph, state, alpha), NEEDS, on_done=self._show)

    shown = checkbox("Figures", True, "Show matrix and graph beside the body", on="show_or_hide")
    target = choice_buttons("Look at", ("All", "Matrix", "Graph"), "Turn the camera there", on="look_at")
    report = text()

    @property
    def alpha(self) -> float:
        """The compromise between realism and time that is chosen."""
        return COMPROMISES.get(self.compromise.value, self._opened_alpha)

    def look_at(self, what: str) -> None:
        """Turn the camera to the matrix, the graph, or everything."""
        if self.state.matrix is None and what == "Matrix":
            raise InputError("there is no matrix yet: press “Compare poses”")
        if self.state.graph is None and what == "Graph":
            raise InputError("there is no graph yet: press “Build the graph”")
        self.room.walk.stop_drawing()
        if what != "All":
            self.shown.value = True
            self.show_or_hide()
        self.room.look(what)

    def show_or_hide(self) -> None:
        """Show or hide matrix and graph."""
        self._wanted[self.state.shown] = self.shown.value
        self.refresh(self.state)
        self.room.redraw()

    def opened(self, state: State) -> None:
        self._wanted = {"captured": True, "animation": False, "between": False}

    def refresh(self, state: State) -> None:
        self.shown.value = self._wanted[state.shown] and not self.room.walk.pen.down
        self.room.scene.show_figures(self.shown.value)

    def set(self, state: State) -> None:
        if state.repertoire is None:
            return
        alpha = self._opened_alpha = state.repertoire.graph.alpha
        known = {value: name for name, value in COMPROMISES.items()}
        self.compromise.options = (*COMPROMISES, *(() if alpha in known else (AS_OPENED,)))
        self.compromise.value = known.get(alpha, AS_OPENED)

    def frame(self, state: State, frame: int) -> None:
        if state.pair is not None or not self.workspace.timeline.playing:
            self.report.content = reports.of_figures(state, frame)

    def _show(self) -> None:
        self._wanted[self.state.shown] = True
        self.refresh(self.state)
        self.room.redraw()
        self.room.look()


class InBetweenTool(Tool[State]):
    """Two poses, and the meshes between them."""

    room: SurfaceRoom
    title = "Between two poses"
    ends = choice_buttons(
        "Pose", ("From here", "To here"), "Take the frame shown as the first or last pose", on="take_end"
    )
    chosen = text()

    @button("Interpolate", "Make all meshes between the two poses", icon="arrows-horizontal")
    def interpolate(self) -> Task[State]:
        """Make all meshes between the two chosen poses."""
        state, straight = self.state, self.method.value == "Straight"
        tasks.chosen_ends(state)

        def show_middle() -> None:
            self.room.look()
            self.workspace.timeline.seek((STEPS - 1) // 2)

        work = partial(tasks.between_poses, state, straight)
        return Task("interpolating two poses", work, NEEDS, on_done=show_middle)

    weight = slider(
        "Weight", 0.0, 1.0, 0.01, 0.0, "0 is the first pose, 1 the last", on="go_to", live=True, disabled=True
    )
    method = choice(
        "Method", ("Turning", "Straight"), "Limbs turn, or points move straight", on="choose_method"
    )
    report = text()

    @button("Go by the graph", "From the first pose to the last by captured motion", icon="route")
    def go(self) -> Task[State]:
        """From the first chosen pose to the last by captured motion."""
        state, alpha = self.state, self.room.figures.alpha
        tasks.chosen_ends(state)

        def play() -> None:
            self.room.look()
            self.workspace.timeline.play(True)

        work = partial(tasks.through_graph, state, alpha)
        return Task("going from pose to pose", work, NEEDS, on_done=play)

    def take_end(self, which: str) -> State:
        """Take the captured frame that is shown as the first pose or the last to interpolate."""
        state = self.state
        here = state.frame_of_library(self.room.frame)
        if here is None or state.library is None:
            raise InputError("show a captured sequence first: poses are chosen among captured frames")
        return replace(state, ends=(here, state.ends[1]) if which == "From here" else (state.ends[0], here))

    def go_to(self, weight: float) -> None:
        """Show the in-between at a weight of the second pose, 0…1."""
        if self.state.shown == "between":
            self.workspace.timeline.play(False)
            self.workspace.timeline.seek(round(weight * (STEPS - 1)))

    def choose_method(self) -> State | None:
        """Interpolate by turning parts, or along straight lines."""
        state, straight = self.state, self.method.value == "Straight"
        if state.between is None:
            return None
        return replace(state, between=replace(state.between, is_straight=straight))

    def refresh(self, state: State) -> None:
        self.chosen.content = reports.of_ends(state)
        self.weight.disabled = state.shown != "between"
        if state.between is not None:
            self.method.value = "Straight" if state.between.is_straight else "Turning"
        if state.shown != "between":
            self.report.content = ""

    def frame(self, state: State, frame: int) -> None:
        if state.shown == "between":
            self.weight.value = round(frame / (STEPS - 1), 2)
            self.report.content = reports.of_between(state, frame / (STEPS - 1))


def strip(synthetic: BoolArray) -> Bytes:
    """Captured and synthetic frames along time as a band of two colours.

    >>> image = strip(np.array([False, True]))
    >>> image[0, 0].tolist(), image[0, -1].tolist()
    ([43, 106, 143], [200, 85, 61])
    """
    rows, columns = STRIP
    frames = np.arange(columns) * len(synthetic) // columns
    colours = np.where(synthetic[frames][:, None], THEME.warm, THEME.accent).astype(np.uint8)
    return np.broadcast_to(colours, (rows, columns, 3)).copy()
