"""The surface panel: captured sequences, their distances and graph, and new motion made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from marey import samples
from marey._work import Progress
from marey.errors import InputError
from marey.statistics.graphs.graph import DistanceMatrix
from marey.studio.desk import Desk
from marey.studio.drawing import GroundPen
from marey.studio.panel import Export, Panel
from marey.studio.surface import making, taking, telling
from marey.studio.surface.controls import ANY, BetweenFolder, PathFolder, PictureFolder, SequenceFolder
from marey.studio.surface.in_betweens import STEPS
from marey.studio.surface.pictures import frame_at, pair_at
from marey.studio.surface.stage import Stage
from marey.studio.surface.state import Made, Shown, State, merged
from marey.studio.surface.trails import ready_made, strip, stroke
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation

Array = NDArray[np.float64]

# Whether matrix and graph are beside the body at first, by what is shown.
WISHES: dict[Shown, bool] = {"captured": True, "animation": False, "between": False}


class SurfacePanel(Panel[State]):
    """Play captured surfaces, compare their poses, walk along drawn paths, go between poses."""

    title = "Surface"

    def __init__(self, desk: Desk):
        super().__init__(desk)
        self._wishes = dict(WISHES)
        self.stage = Stage(desk, self.path(), self._clicked_matrix, self._clicked_graph)
        self.pen = GroundPen(desk, self.path("pen"), self._drawn)
        self.sequence = SequenceFolder(desk, self)
        self.ways = PathFolder(desk, self)
        self.pictures = PictureFolder(desk, self)
        self.between = BetweenFolder(desk, self)

    def accepts(self, thing: Any) -> bool:
        return isinstance(thing, MeshSequence | Library | DistanceMatrix | SurfaceGraph | Animation)

    def samples(self) -> dict[str, Callable[[], Any]]:
        return {"locomotion": samples.mesh_library, "performance": samples.mesh_sequence}

    def open(self, thing: Any, name: str) -> None:
        state = self._opened(thing, name)
        if state.played is not None:
            self.stage.figure.dress(state.played)
        self._wishes = dict(WISHES)
        self.begin(state)
        self.stage.look(state)
        if state.distances is not None:
            self._aside("drawing the pictures", lambda _: making.with_pictures(state), self._pictured)

    def restore(self, state: State) -> None:
        self._put_pen_away()
        self._show_wished(state)
        self.stage.set(state)
        self._set_controls(state)
        self.retime(*state.clock)
        if self.active:
            self.desk.timeline.seek(state.at)

    def show(self, frame: int) -> None:
        state = self.state
        frame = min(frame, state.clock[0] - 1)
        self.stage.draw(state, frame)
        if state.shown == "between":
            way = frame / (STEPS - 1)
            self.between.way.value = round(way, 2)
            self.between.told.content = telling.of_between(state, way)
        now = telling.of_frame(state, frame)
        if now != self.ways.now.content:
            self.ways.now.content = now
        if state.pair is not None or not self.desk.timeline.playing:
            other = self.stage.other_frame(state, frame)
            self.pictures.told.content = telling.of_pictures(state, frame, other)

    def exports(self) -> Sequence[Export]:
        if self.history is None:
            return ()
        played = self.state.played
        name = {"animation": "new-animation", "between": "between"}.get(self.state.shown)
        return taking.exports(self.state, name or (played.name if played is not None else "") or "surface")

    def choose(self, sequence: int) -> None:
        """Play another captured sequence."""
        self.change(replace(self.state, sequence=sequence, at=0, pair=None, shown="captured"))
        self.stage.look(self.state)

    def turn_to(self, shown: str) -> None:
        """Show captured sequences, the new animation, or poses in between."""
        state = self.state
        if shown == "animation" and state.made is None:
            raise InputError("there is no new animation yet: draw a path, or go from one pose to another")
        if shown == "between" and state.between is None:
            raise InputError("there is nothing in between yet: choose two poses and press “Interpolate”")
        if shown != state.shown:
            self.change(replace(state, shown=cast(Shown, shown), at=0))
            self.stage.look(self.state)

    def follow(self, follow: bool) -> None:
        """Keep the body in the middle, or let it walk off."""
        self.stage.follows = follow
        self.show(self.desk.timeline.frame)
        self.stage.look(self.state)

    def draw(self) -> None:
        """Take the pen, or put it away."""
        self._library()
        if self.pen.down:
            self._put_pen_away()
            self.stage.look(self.state)
            return
        self.pen.down = True
        self.ways.draw.label = "Put the pen away"
        self.desk.timeline.play(False)
        self._show_wished(self.state)
        self.stage.look_down()

    def walk_ready_made(self) -> None:
        """Make an animation along the ready-made path that is chosen."""
        self._walk(ready_made(self.ways.ready.value, float(self.ways.size.value)), look=True)

    def compare(self) -> None:
        """Measure how far all poses are apart."""
        state = self.state
        self._library()
        self._aside("comparing poses", lambda p: making.with_distances(state, p), self._with_pictures)

    def build(self) -> None:
        """Find the graph of the best transitions."""
        state, alpha = self.state, self.pictures.alpha
        self._library()
        self._aside("building the graph", lambda p: making.with_graph(state, alpha, p), self._with_pictures)

    def look_at(self, what: str) -> None:
        """Turn the camera to the matrix, the graph, or everything."""
        if self.state.matrix is None and what == "Matrix":
            raise InputError("there is no matrix yet: press “Compare poses”")
        if self.state.graph is None and what == "Graph":
            raise InputError("there is no graph yet: press “Build the graph”")
        self._put_pen_away()
        if what != "All":
            self.show_pictures(True)
        self.stage.look(self.state, what)

    def show_pictures(self, visible: bool) -> None:
        """Show or hide matrix and graph."""
        self._wishes[self.state.shown] = visible
        self._show_wished(self.state)
        self.show(self.desk.timeline.frame)

    def take_end(self, which: int) -> None:
        """Take the captured frame that is shown as the first pose (0) or the last (1) to go between."""
        state = self.state
        here = state.frame_of_library(self.desk.timeline.frame)
        if here is None or state.library is None:
            raise InputError("show a captured sequence first: poses are chosen among captured frames")
        ends = (here, state.ends[1]) if which == 0 else (state.ends[0], here)
        self.change(replace(state, ends=ends, at=self.desk.timeline.frame))

    def interpolate(self) -> None:
        """Make all meshes between the two chosen poses."""
        state, straight = self.state, self.between.method.value == "Straight"
        making.chosen_ends(state)

        def shown(made: State) -> None:
            self.change(made)
            self.stage.look(made)
            self.desk.timeline.seek((STEPS - 1) // 2)

        self._aside("going between two poses", lambda p: making.between_poses(state, straight, p), shown)

    def follow_way(self, way: float) -> None:
        """Show the mesh so far on the way between the two poses, 0…1."""
        if self.state.shown == "between":
            self.desk.timeline.play(False)
            self.desk.timeline.seek(round(way * (STEPS - 1)))

    def choose_method(self, straight: bool) -> None:
        """Go between the poses by turning parts, or along straight lines."""
        state = self.state
        if state.between is not None:
            frame = self.desk.timeline.frame if state.shown == "between" else state.at
            self.change(replace(state, between=state.between.by(straight=straight), at=frame))

    def go(self) -> None:
        """From the first chosen pose to the last by captured motion."""
        state, alpha = self.state, self.pictures.alpha
        making.chosen_ends(state)
        self._aside(
            "going from pose to pose", lambda p: making.through_graph(state, alpha, p), self._new_motion
        )

    def _opened(self, thing: Any, name: str) -> State:
        """The first state of what is opened; sequences of one subject join what is open."""
        library = self.state.library if self.history is not None else None
        if isinstance(thing, SurfaceGraph):
            return State(thing.library, thing.distances, repertoire=thing)
        if isinstance(thing, DistanceMatrix):
            fits = library is not None and np.array_equal(library.starts, thing.starts)
            return State(library if fits else None, thing)
        if isinstance(thing, Animation):
            return State(Library((thing.sequence,)), made=Made(thing), shown="animation")
        if isinstance(thing, Library):
            return State(thing)
        named = thing if thing.name else thing.renamed(name.rpartition(".")[0] or name)
        if library is None or not _same_subject(library, named):
            return State(Library((named,)))
        return State(
            Library((*library.sequences, named), (*library.labels, named.name)), sequence=len(library)
        )

    def _pictured(self, drawn: State) -> None:
        """Add pictures to what was opened, which nobody may take back."""
        state = self.state
        if state.distances is not drawn.distances:
            return
        with_them = replace(state, matrix=drawn.matrix, graph=drawn.graph)
        if self.history is not None and self.history.steps:
            self.change(with_them)
        else:
            self.begin(with_them)
        self.stage.look(with_them)

    def _set_controls(self, state: State) -> None:
        names = state.library.names if state.library is not None else ("",)
        choice = self.sequence.choice
        if tuple(choice.options) != names:
            choice.options = names
        choice.value = names[min(state.sequence, len(names) - 1)]
        labels = tuple(sorted(set(state.library.labels))) if state.library is not None else ()
        offered = (ANY, *labels) if len(labels) > 1 else (ANY,)
        if tuple(self.ways.behaviour.options) != offered:
            self.ways.behaviour.options = offered
        if state.repertoire is not None:
            self.pictures.alpha = state.repertoire.graph.alpha
        self.sequence.facts.content = telling.facts(state, self.stage.figure.vertices_shown)
        self.ways.told.content = telling.of_animation(state)
        self.ways.strip.visible = state.made is not None
        self.ways.now.visible = state.made is not None and state.shown == "animation"
        if state.made is not None:
            self.ways.strip.image = strip(state.made.animation.provenance.synthetic)
        self.between.chosen.content = telling.of_ends(state)
        self.between.way.disabled = state.shown != "between"
        if state.between is not None:
            self.between.method.value = "Straight" if state.between.is_straight else "Turning"
        self.between.told.content = telling.of_between(state, float(self.between.way.value))

    def _clicked_matrix(self, meant: Array) -> None:
        state = self.state
        pair = pair_at(state.distances, meant) if state.distances is not None else None
        if pair is not None:
            self.desk.timeline.play(False)
            self._go_to(pair[0], pair)

    def _clicked_graph(self, meant: Array) -> None:
        state = self.state
        frame = frame_at(state.repertoire.graph, meant) if state.repertoire is not None else None
        if frame is not None:
            self.desk.timeline.play(False)
            self._go_to(frame, None)

    def _go_to(self, frame: int, pair: tuple[int, int] | None) -> None:
        state = self.state
        if state.library is None:
            self.change(replace(state, at=frame, pair=pair))
            return
        sequence, local = state.library.locate(frame)
        self.change(replace(state, shown="captured", sequence=sequence, at=local, pair=pair))

    def _drawn(self, points: Array, finished: bool) -> None:
        self.stage.trails.show_asked(points)
        if finished:
            self._put_pen_away()
            with self._nothing_asked_on_failure():
                self._walk(stroke(points), look=False)

    def _walk(self, path: Array, *, look: bool) -> None:
        state, alpha = self.state, self.pictures.alpha
        self._library()
        behaviour = "" if self.ways.behaviour.value == ANY else self.ways.behaviour.value

        def shown(made: State) -> None:
            self._new_motion(made)
            if look:
                self.stage.look(made)

        def work(progress: Progress) -> State:
            with self._nothing_asked_on_failure():
                return making.along_path(state, path, behaviour, alpha, progress)

        if self._aside("walking the path", work, shown):
            self.stage.trails.show_asked(path)
        else:
            self.stage.show_asked(state)

    @contextmanager
    def _nothing_asked_on_failure(self) -> Iterator[None]:
        """A way that could not be walked, or that nobody wants any more, does not stay on the ground."""
        try:
            yield
        except Exception:
            with self.desk.lock:
                self.stage.show_asked(self.state)
            raise

    def _new_motion(self, made: State) -> None:
        self.change(made)
        if made.path is None:
            self.stage.look(made)
        self.desk.timeline.play(True)

    def _with_pictures(self, made: State) -> None:
        self._wishes[made.shown] = True
        self.change(replace(made, at=self.desk.timeline.frame))
        self.stage.look(made)

    def _aside(self, label: str, work: Callable[[Progress], State], then: Callable[[State], None]) -> bool:
        """Make another state of the present one; false if something else is still being made.

        What people changed in the meantime stays.
        """
        begun = self.state
        self._put_pen_away()

        def finished(made: State) -> None:
            now = self.state
            if now.library is begun.library:
                then(merged(begun, made, now))

        return self.desk.jobs.start(label, work, finished)

    def _put_pen_away(self) -> None:
        if self.pen.down:
            self.pen.down = False
            self.ways.draw.label = "Draw a path"
            self._show_wished(self.state)

    def _show_wished(self, state: State) -> None:
        """Matrix and graph as they are wished for; never in the way of the pen."""
        visible = self._wishes[state.shown] and not self.pen.down
        self.pictures.visible.value = visible
        self.stage.show_pictures(visible)

    def _library(self) -> Library:
        if self.history is None or self.state.library is None:
            raise InputError("open the captured sequences first")
        return self.state.library


def _same_subject(library: Library, other: MeshSequence) -> bool:
    same_rate = np.isclose(library.frame_rate, other.frame_rate)
    return bool(same_rate and np.array_equal(library.faces, other.faces))
