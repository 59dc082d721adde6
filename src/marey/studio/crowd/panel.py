"""The crowd panel: a film and its flow, people who walk in it, obstacles, maps, frequencies, places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._work import Progress
from marey.crowd import scenes
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.studio.crowd import actions
from marey.studio.crowd.bodies import Bodies
from marey.studio.crowd.colours import key, map_picture, remark
from marey.studio.crowd.controls import KINDS, METHODS, SIZES, Controls
from marey.studio.crowd.exports import crowd_exports
from marey.studio.crowd.maps import LARGEST_FLOOR, FlowMaps, Kind, PeopleMaps, Scale, Source, scale_of
from marey.studio.crowd.obstacles import Walls
from marey.studio.crowd.people import People
from marey.studio.crowd.pictures import Pictures, Reel, board_corners
from marey.studio.crowd.samples import crowd_samples
from marey.studio.crowd.state import State, Stroke, Tuning
from marey.studio.desk import Desk
from marey.studio.drawing import GroundPen
from marey.studio.latest import Latest
from marey.studio.panel import Export, Panel

Array = NDArray[np.float64]

# Where one looks from, and how much deeper than wide a floor is that is seen from its side.
FROM_ABOVE, FROM_THE_SIDE, FROM_THE_FRONT = (0.12, 0.75, 0.98), (0.98, 0.75, 0.12), (0.12, 0.62, 1.1)
DEEP = 1.4
# Metres, and people a square metre at whom a crowd is crushed (Fruin 1993).
TALL, CROWDED = 1.8, 7.0


class CrowdPanel(Panel[State]):
    """Everything one can do with a crowd."""

    title = "Crowd"

    def __init__(self, desk: Desk):
        super().__init__(desk)
        self.controls = Controls(desk)
        self.people = People(desk, self.path("people"))
        self.bodies = Bodies(desk, self.path("bodies"))
        self.pictures = Pictures(desk, self.path("pictures"))
        self.walls = Walls(desk, self.path("walls"))
        self.pen = GroundPen(desk, self.path("pen"), self.draw)
        self._tuner: Latest[Tuning] = Latest(self._tuned_aside)
        self._drawn: State | None = None
        self._flow_maps: FlowMaps | None = None
        self._people_maps: PeopleMaps | None = None
        self._scales: dict[str, Scale] = {}
        self._reel: Reel | None = None
        # What made the newest step: the same hand at work again replaces its own step.
        self._hand = ""
        self._connect()

    def accepts(self, thing: Any) -> bool:
        return isinstance(thing, Footage | FieldSeries | Tracks | Scene | SimulatedCrowd)

    def open(self, thing: Any, name: str) -> None:
        state = State.of(thing)
        self.controls.map.value = self.controls.best_map(state)
        if isinstance(thing, Scene):
            self.controls.number.value = max(sum(group.people for group in thing.groups), 1)
            self.controls.seconds.value = float(np.clip(round(thing.seconds), 1, 60))
        self.controls.brush.value, self.pen.down, self._hand = "off", False, ""
        self.begin(state)
        if state.note:
            self.desk.say(state.note)

    def samples(self) -> dict[str, Callable[[], Any]]:
        return crowd_samples()

    def activate(self, active: bool) -> None:
        super().activate(active)
        if active and self.history is not None:
            self._look()
        if not active:
            self.pen.down = False
            self.controls.brush.value = "off"

    def restore(self, state: State) -> None:
        before, self._drawn = self._drawn, state
        self._forget(before, state)
        self.controls.follow(state)
        same_floor = before is not None and before.floor is state.floor
        if not same_floor or before is None or before.bodies is not state.bodies:
            self.bodies.set(state.bodies, state.floor)
        if not same_floor or before is None or before.tracks is not state.tracks:
            self.people.set(state)
            if self.people.hidden:
                self.desk.say(f"{self.people.hidden} people too many to show are left out of the scene.")
        if (
            not same_floor
            or before is None
            or before.footage is not state.footage
            or before.flow is not state.flow
        ):
            self.pictures.lay(state.floor, film=state.footage, maps=self._maps_of_flow())
        self.walls.set(state)
        self._see()
        self.retime(*state.clock)

    def show(self, frame: int) -> None:
        state = self.state
        with self.desk.server.atomic():
            self.people.show(frame)
            self.bodies.show(frame / state.clock[1])
            if state.footage is not None and self._reel is not None:
                self._show_film(state.footage, frame)
            self._show_ground(frame)
            if state.flow is not None and self.controls.arrows.value:
                maps = self._maps_of_flow()
                assert maps is not None
                velocity = maps.velocity(state.frame_of(state.flow, frame))
                self.pictures.point(velocity, state.floor, self._scale(maps, "flow").largest)

    def exports(self) -> Sequence[Export]:
        return [] if self.history is None else crowd_exports(self.state)

    def capture(self) -> None:
        """The flow of the film, found aside."""
        state, controls = self.state, self.controls
        method, size = METHODS[controls.method.value], SIZES[controls.size.value]

        def captured(found: State) -> None:
            if self.state.footage is not state.footage:
                return
            controls.map.value = "flow"
            self._step(found, "")
            self._look()
            self.desk.say(found.note or "The flow is captured. Now let people walk in it.")

        self.desk.jobs.start(
            "capturing the flow",
            lambda progress: actions.capture_flow(state, method=method, size=size, progress=progress),
            captured,
        )

    def walk(self, *, hand: str = "") -> None:
        """Let people walk, worked out aside."""
        state, how = self.state, self.controls.how

        def work(progress: Progress) -> State:
            return actions.walk(state, how, progress)

        def walked(found: State) -> None:
            if self.state.floor is not state.floor:
                return
            painted = self.state.strokes
            self._step(replace(found, strokes=painted), hand)
            if how.people > CROWDED * float(np.prod(found.floor.size)):
                self.desk.say(f"That is over {CROWDED:g} people a square metre: more than can stand there.")
            if painted is not state.strokes:
                # Something was painted meanwhile: once more, round it.
                self._hand = "stroke"
                self.walk(hand="stroke")

        self.desk.jobs.start("walking", work, walked)

    def embody(self, wanted: bool) -> None:
        """Show people as whole walking bodies, made aside; or as figures again."""
        state = self.state
        if wanted and state.bodies is None:
            self.controls.bodies.value = False

            def embodied(found: State) -> None:
                if self.state.tracks is state.tracks:
                    self._step(replace(self.state, bodies=found.bodies), "")

            self.desk.jobs.start(
                "making bodies walk", lambda progress: actions.embody(state, progress), embodied
            )
        elif not wanted and state.bodies is not None:
            self._step(replace(state, bodies=None), "")

    def tune(self, tuning: Tuning) -> None:
        """Other gains of the flow's frequencies; the newest wins."""
        self._tuner.give(tuning)

    def go_to(self, name: str, *, panic: bool = False) -> None:
        """One of the known places, without people yet."""
        self.open(scenes.preset(name, panic=panic), name)
        self.name = name
        self._look()

    def set_width(self, metres: float) -> None:
        """Say how wide a picture without a camera is on the ground."""
        if metres > 0 and metres != self.state.width:
            self._step(self.state.scaled_to(metres), "")
            self._look()

    def draw(self, points: Array, done: bool) -> None:
        """A stroke of the brush: points `(n, 2)`, the scene's x and z in metres."""
        state, controls = self.state, self.controls
        ground, radius = state.floor.to_ground(points), float(controls.radius.value)
        erases = controls.brush.value == "erase"
        if not done:
            self.walls.preview(state.floor, ground, radius, erases)
            return
        self.walls.preview(state.floor, None, radius, erases)
        self._step(replace(state, strokes=(*state.strokes, Stroke(ground, radius, erases))), "")
        if state.ours and not self.desk.jobs.busy:
            # People who were made here walk again, round what is in their way now: one step with the stroke.
            self._hand = "stroke"
            self.walk(hand="stroke")

    def _connect(self) -> None:
        controls, guard = self.controls, self._guard
        for control in (controls.map, controls.arrows, controls.people, controls.trails, controls.film):
            control.on_update(guard(lambda _: self._see_again()))
        controls.bodies.on_update(guard(lambda _: self.embody(controls.bodies.value)))
        controls.width.on_update(guard(lambda _: self.set_width(controls.width.value)))
        controls.walk.on_click(guard(lambda _: self.walk()))
        controls.capture.on_click(guard(lambda _: self.capture()))
        controls.brush.on_update(guard(lambda _: self._take_brush()))
        controls.clear.on_click(guard(lambda _: self._clear()))
        for control in (controls.slow, controls.medium, controls.quick, controls.keep):
            control.on_update(guard(lambda _: self.tune(controls.tuning)))
        controls.open_place.on_click(
            self.desk.guard(lambda _: self.go_to(controls.place.value, panic=controls.panic.value))
        )

    def _guard(self, act: Callable[[Any], None]) -> Callable[[Any], None]:
        """A callback of the page that needs something to be open."""

        def when_open(event: Any) -> None:
            if self.history is None:
                raise InputError("there is nothing here yet: open a file or a sample first")
            act(event)

        return self.desk.guard(when_open)

    def _step(self, state: State, hand: str) -> None:
        """A new state; the same hand at work again replaces its own step, so that undo takes back both."""
        if hand and hand == self._hand and self.history is not None and self.history.steps:
            self.history.undo()
        self._hand = hand
        self.change(state)

    def undo(self) -> bool:
        self._hand = ""
        return super().undo()

    def _tuned_aside(self, tuning: Tuning) -> None:
        with self.desk.errors_told():
            tuned, told = actions.tune(self.state, tuning)
            with self.desk.lock:
                # Something else may have been opened meanwhile.
                if tuned.captured is self.state.captured:
                    self.controls.kept.content = remark(told)
                    now = replace(self.state, flow=tuned.flow, tuning=tuning)
                    self._step(now, "tune")

    def _take_brush(self) -> None:
        self.pen.down = self.controls.brush.value != "off" and self.history is not None

    def _clear(self) -> None:
        if self.state.strokes:
            self._step(replace(self.state, strokes=()), "")
            if self.state.ours and not self.desk.jobs.busy:
                self._hand = "stroke"
                self.walk(hand="stroke")

    def _look(self) -> None:
        """Fill the view with the floor, the people on it and the board behind it."""
        floor, film = self.state.floor, self.state.footage
        width, depth = floor.scale * floor.size
        corners = 0.5 * np.array(
            [[-width, 0, -depth], [width, 0, -depth], [width, 0, depth], [-width, 0, depth]]
        )
        if film is not None:
            self.desk.frame(np.concatenate([corners, board_corners(floor, film)]), FROM_THE_FRONT)
            return
        standing = corners + np.array([0.0, TALL * floor.scale, 0.0])
        # A deep floor is seen from its side.
        self.desk.frame(
            np.concatenate([corners, standing]), FROM_THE_SIDE if depth > DEEP * width else FROM_ABOVE
        )

    def _forget(self, before: State | None, state: State) -> None:
        """Drop what was worked out for other flows, people and films."""
        if before is None or before.flow is not state.flow or before.floor is not state.floor:
            self._flow_maps = None
            self._scales = {}
        if before is None or before.tracks is not state.tracks or before.floor is not state.floor:
            self._people_maps = None
            self._scales = {}
        if before is None or before.footage is not state.footage:
            self._reel = None if state.footage is None else Reel(state.footage)
        if before is None or before.captured is not state.captured:
            self.controls.kept.content = ""

    def _maps_of_flow(self) -> FlowMaps | None:
        if self._flow_maps is None and self.state.flow is not None:
            self._flow_maps = FlowMaps(self.state.flow, self.state.floor)
        return self._flow_maps

    def _source(self, kind: Kind) -> Source | None:
        """What a map is made of: the flow if there is one, people for how crowded it is."""
        state = self.state
        if state.tracks is not None and (kind == "density" or state.flow is None):
            if state.floor.size.max() > LARGEST_FLOOR:
                return None
            if self._people_maps is None:
                assert self.people.packed is not None
                self._people_maps = PeopleMaps(self.people.packed.tracks, state.floor, state.scene)
            return self._people_maps
        return self._maps_of_flow()

    def _scale(self, source: Source, kind: Kind) -> Scale:
        if kind not in self._scales:
            self._scales[kind] = scale_of(source, kind)
        return self._scales[kind]

    def _see(self) -> None:
        """Show and hide things, and the key of the map."""
        state, controls = self.state, self.controls
        self.people.visible(controls.people.value and state.bodies is None, controls.trails.value)
        self.bodies.visible(controls.people.value)
        if self.pictures.board is not None:
            self.pictures.board.visible = controls.film.value
        if self.pictures.arrows is not None:
            self.pictures.arrows.visible = controls.arrows.value
        kind = controls.ground
        self.pictures.ground.visible = kind in KINDS
        if self.pictures.film_below is not None:
            self.pictures.film_below.visible = kind == "film"
        if kind in KINDS:
            source = self._source(kind)
            if source is None:
                self.pictures.ground.visible = False
                vast = state.floor.size.max() > LARGEST_FLOOR
                controls.key.content = remark(
                    "The ground is kilometres wide: is the unit of the tracks right?"
                    if vast
                    else "There is no flow yet: press Capture or Walk."
                )
            else:
                about = "guessed scale" if state.guessed and kind != "density" else ""
                controls.key.content = key(self._scale(source, kind), about)
        else:
            missing = kind == "film" and state.footage is None
            controls.key.content = remark("There is no film here.") if missing else ""

    def _see_again(self) -> None:
        self._see()
        self.show(self.desk.timeline.frame)

    def _show_film(self, footage: Footage, frame: int) -> None:
        assert self._reel is not None
        on_ground = self.controls.ground == "film"
        if not (on_ground or self.controls.film.value):
            return
        image = self._reel.read(self.state.frame_of(footage, frame))
        if self.controls.film.value:
            self.pictures.board.image = image
        if on_ground:
            self.pictures.film_below.image = self._on_ground(image)

    def _on_ground(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """A picture of the film as it lies on the ground that the flow's camera sees."""
        fields = self.state.captured
        if fields is None:
            return image
        rows, columns = image.shape[:2]
        grow = np.diag([fields.columns / columns, fields.rows / rows, 1.0])
        grow[:2, 2] = 0.5 * np.diag(grow)[:2] - 0.5
        sheet = self.state.floor.sheet(max(rows, columns))
        return sheet.laid(image, np.asarray(fields.homography) @ grow)

    def _show_ground(self, frame: int) -> None:
        kind = self.controls.ground
        if kind not in KINDS or not self.pictures.ground.visible:
            return
        state = self.state
        source = self._source(kind)
        if source is None:
            return
        of_flow = source is self._flow_maps and state.flow is not None
        at = state.frame_of(state.flow, frame) if of_flow and state.flow is not None else frame
        values, known = source.values(kind, at)
        self.pictures.ground.image = map_picture(values, known, self._scale(source, kind))
