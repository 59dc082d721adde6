"""The direct room: say what a crowd should do, and watch how it comes to do it (Courty 2013, section 7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from marey._arrays import AnyArray, Array
from marey._work import Progress
from marey.crowd.direct.constraints import Constraint, Constraints, Formation, Path, State, Vorticity
from marey.crowd.direct.direct import DirectResult, Preview, direct
from marey.crowd.direct.presets import PRESETS, Scenario, assembled, preset
from marey.crowd.fields import FieldSeries
from marey.crowd.polygons import edges, rectangle
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import pedestrians_of
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.stage.walk.walk import WalkingCrowd
from marey.studio.controls import button, checkbox, choice, entry, number, slider, text
from marey.studio.crowd.floor import Floor
from marey.studio.crowd.obstacles import Walls
from marey.studio.crowd.people import Bodies, People
from marey.studio.crowd.state import Stroke
from marey.studio.exports import files_of, made
from marey.studio.ground_pen import GroundPen
from marey.studio.room import Export, Layer, Room, Samples, Task, Tool, part
from marey.studio.settings import LIMITS, THEME

HEADINGS = {"right": (1, 0), "left": (-1, 0), "away": (0, 1), "here": (0, -1)}
SPACING, MARGIN, CROSS = 1.1, 6.0, 0.35  # metres


@dataclass(frozen=True, eq=False)
class Shown:
    """A crowd and what it should do.

    scenario: scene and people; floor: the ground that is shown
    tracks: how people walk, as far as it is known; asked: what they should do
    found: the directed crowd; bodies: its people as whole bodies
    strokes, captured: nothing, for layers of the crowd room
    """

    scenario: Scenario
    floor: Floor
    tracks: Tracks
    asked: tuple[Constraint, ...] = ()
    found: DirectResult | None = None
    bodies: WalkingCrowd | None = None
    strokes: tuple[Stroke, ...] = ()
    captured: FieldSeries | None = None

    @classmethod
    def of(cls, scenario: Scenario, asked: tuple[Constraint, ...] | None = None) -> Shown:
        """People who walk as they like until something is asked for."""
        model, constraints = scenario.model, scenario.constraints
        free = model.run(np.zeros((round(constraints.horizon / model.dt), model.count, 2)))[0]
        ends = np.concatenate([free[[0, -1]].reshape(-1, 2), [[0.0, 0.0], scenario.scene.size]])
        floor = Floor(ends.min(axis=0) - 1.0, ends.max(axis=0) + 1.0)
        known = constraints.constraints if asked is None else asked
        return cls(scenario, floor, Tracks(free, 1.0 / model.dt), known)

    @property
    def scene(self) -> Scene:
        """Whose walls are drawn."""
        return self.scenario.scene

    @property
    def groups(self) -> AnyArray:
        """Of each person."""
        return np.asarray(self.scenario.people.goal, np.int64)


class AskedLayer(Layer[Shown]):
    """Crosses where people should be, lines along which, and edges of regions."""

    drawn_from = ("asked", "floor")

    def set(self, state: Shown) -> None:
        self.group.clear()
        lines = [line for one in state.asked for line in self._lines(one, state)]
        if lines:
            places = state.floor.to_scene(np.concatenate(lines), 0.04)
            self.group.lines("asked", places, THEME.warm, 0.07 * state.floor.scale)

    def _lines(self, one: Constraint, state: Shown) -> list[Array]:
        """Segments `(n, 2, 2)`."""
        arms = CROSS * np.array([[[-1.0, -1.0], [1.0, 1.0]], [[-1.0, 1.0], [1.0, -1.0]]])
        if isinstance(one, State) and one.pos is not None:
            return [place + arms for place in np.reshape(np.asarray(one.pos, np.float64), (-1, 2))]
        if isinstance(one, Path):
            path = np.asarray(one.pos, np.float64)
            return [np.stack([path[:-1], path[1:]], axis=1)]
        if isinstance(one, Vorticity):
            if isinstance(one.region, str):
                corners = state.scenario.regions[one.region]
            else:
                corners = rectangle(*np.ravel(np.asarray(one.region, np.float64)).tolist())
            return [edges([corners]).reshape(-1, 2, 2)]
        return []


class AskTool(Tool[Shown]):
    """What people should do; some of it is drawn on the ground."""

    room: DirectionRoom
    title, collapsible = "Ask for", False
    drag = choice(
        "Drag", ("off", "meeting point", "path", "vortex", "people"), "Then drag over the ground", on="take"
    )
    first = number("Person", 0, "Who walks a path, or meets another", min=0, step=1)
    second = number("and person", 1, "Who meets the first", min=0, step=1)
    seconds = slider("At (s)", 1.0, 60.0, 0.5, 20.0, "When")
    word = entry("Word", "HI", "That everybody forms")
    height = slider("Height (m)", 3.0, 30.0, 0.5, 8.0, "Of the word")
    columns = slider("Columns", 1, 12, 1, 6, "Of people placed by a drag")
    rows = slider("Rows", 1, 12, 1, 4, "Of people placed by a drag")
    heading = choice("Walking", tuple(HEADINGS), "Where people who are placed want to go")
    report = text()

    def __init__(self, room: DirectionRoom):
        super().__init__(room)
        self.pen = GroundPen(self.workspace, room.group("pen"), self.draw)

    @button("Form the word", "Everybody, at that time", icon="letter-case")
    def form(self) -> Shown:
        """A formation more."""
        return self.asking(
            Formation("all", self.seconds.value, self.word.value, height=float(self.height.value))
        )

    @button("Forget all", "Nothing is asked for", icon="eraser", gray=True)
    def forget(self) -> Shown:
        """People walk as they like."""
        return Shown.of(self.state.scenario, ())

    def take(self) -> None:
        """Draw on the ground, or turn the camera."""
        self.pen.down = self.drag.value != "off" and self.room.history is not None

    def draw(self, points: Array, done: bool) -> None:
        """A stroke on the ground is done: points `(n, 2)`, the scene's x and z in metres."""
        if done:
            self.room.change(self.drawn(self.state.floor.to_ground(points)))

    def drawn(self, path: Array) -> Shown:
        """The state with what a stroke `(n, 2)` on the ground asks for."""
        state, end = self.state, path[-1]
        if self.drag.value == "people":
            return Shown.of(_with_block(state.scenario, self._block(end), HEADINGS[self.heading.value]), ())
        seconds, one = float(self.seconds.value), int(self.first.value)
        if self.drag.value == "meeting point":
            apart = np.array([0.0, 0.4])
            both = [(end - apart).tolist(), (end + apart).tolist()]
            there = [one, int(self.second.value)]
            return self.asking(State(there, seconds, both, [[0.0, 0.0], [0.0, 0.0]], 0.05, 0.05))
        if self.drag.value == "path":
            along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
            times = np.arange(1.0, seconds + 0.5)
            shares = along[-1] * times / times[-1]
            places = np.stack([np.interp(shares, along, path[:, i]) for i in range(2)], axis=1)
            return self.asking(Path([one], times.tolist(), places.tolist()))
        low, high = (path.min(axis=0) - 1.0).tolist(), (path.max(axis=0) + 1.0).tolist()
        return self.asking(Vorticity([*low, *high], [seconds - 1.0, seconds], 0.6, std=0.02))

    def asking(self, one: Constraint) -> Shown:
        """The state with one constraint more."""
        return replace(self.state, asked=(*self.state.asked, one))

    def refresh(self, state: Shown) -> None:
        kinds = [type(one).__name__.lower() for one in state.asked]
        self.report.content = f"{state.tracks.agents} people; asked: {', '.join(kinds) or 'nothing yet'}"

    def _block(self, middle: Array) -> Array:
        column, row = np.meshgrid(np.arange(int(self.columns.value)), np.arange(int(self.rows.value)))
        places = SPACING * np.stack([column, row], axis=-1).reshape(-1, 2)
        return np.asarray(places - places.mean(axis=0) + middle)


class DirectTool(Tool[Shown]):
    """Let the crowd do it."""

    room: DirectionRoom
    title, collapsible = "Direct", False
    iterations = slider("Iterations", 10, 400, 10, 100, "At most")
    bodies = checkbox("Whole bodies", False, f"Up to {LIMITS.bodies} people", on="change_bodies")
    report = text()

    @button("Direct", "The least control that makes the crowd do it", icon="route")
    def direct(self) -> Task[Shown]:
        """Search aside; what was found so far is shown meanwhile, and stays when it is cancelled."""
        state, most = self.state, int(self.iterations.value)
        last = max(np.max(one.t) for one in state.asked) if state.asked else 0.0  # type: ignore[attr-defined]
        horizon = max(float(last), state.scenario.constraints.horizon)
        asked = replace(state.scenario.constraints, constraints=state.asked, horizon=horizon)
        scenario = replace(state.scenario, constraints=asked)

        def preview(now: Preview) -> None:
            with self.workspace.lock:
                if self.state.scenario is state.scenario and self.workspace.jobs.busy:
                    self.room.change(replace(self.state, tracks=now.tracks, bodies=None), "directing")
                    errors = ", ".join(f"{error:.3g}" for error in now.errors)
                    self.report.content = f"iteration {now.iteration}: cost {now.cost:.4g}, errors {errors}"

        def work(progress: Progress) -> Shown:
            found = direct(scenario, iterations=most, progress=progress, preview=preview)
            return replace(state, found=found, tracks=found.tracks, bodies=None)

        def play() -> None:
            self.workspace.timeline.seek(0)
            self.workspace.timeline.play(True)

        return Task("directing", work, ("scenario", "asked"), "directing", play)

    def change_bodies(self) -> Shown | Task[Shown] | None:
        """People as whole walking bodies, or as figures again."""
        state, wanted = self.state, bool(self.bodies.value)
        if not wanted or state.bodies is not None:
            return replace(state, bodies=None) if state.bodies is not None else None

        def work(progress: Progress) -> Shown:
            from marey.stage import walk

            if state.tracks.agents > LIMITS.bodies:
                raise InputError(f"whole bodies are shown for up to {LIMITS.bodies} people")
            return replace(state, bodies=walk(state.tracks, progress=progress))

        return Task("making bodies walk", work, ("tracks",))

    def refresh(self, state: Shown) -> None:
        self.handles["direct"].disabled = not state.asked
        self.bodies.value = state.bodies is not None
        self.room.people.visible(state.bodies is None, state.bodies is None)
        if state.found is not None:
            report = state.found.report
            errors = [f"{one['type']} {one['error']:.3g} {one['unit']}" for one in report.constraints]
            self.report.content = f"{report.method}, {report.iterations} iterations: {', '.join(errors)}"


class DirectionRoom(Room[Shown]):
    """A crowd that does what one says."""

    title = "Direct"
    accepts = (Scenario, Scene, Tracks)
    people = part(People)
    bodies = part(Bodies)
    walls = part(Walls)
    asked = part(AskedLayer)
    ask = part(AskTool)
    direct = part(DirectTool)

    def samples(self) -> Samples:
        return {f"{name} (directed)": partial(preset, name) for name in PRESETS}

    def clock(self, state: Shown) -> tuple[int, float, int]:
        return state.tracks.frames, state.tracks.frame_rate, 0

    def exports(self, state: Shown) -> Sequence[Export]:
        found: list[Export] = files_of("people", state.tracks, self.stem)

        def bodies(progress: Progress) -> object:
            from marey.stage import walk

            return walk(state.tracks, progress=progress)

        return [*found, made("bodies", "bodies.glb", bodies)]

    def open(self, data: Scenario | Scene | Tracks, name: str) -> None:
        if isinstance(data, Tracks):
            data = _of_tracks(data, name)
        if isinstance(data, Scene):
            people = pedestrians_of(data, 0, "control")
            data = Scenario(data, people, None, Constraints(data.seconds, ()))
        self.ask.drag.value, self.ask.pen.down = "off", False
        self.begin(Shown.of(data))

    def look(self) -> None:
        floor = self.state.floor
        width, depth = 0.5 * floor.scale * floor.size
        corners = np.array([[-width, 0, -depth], [width, 0, -depth], [width, 0, depth], [-width, 0, depth]])
        self.workspace.frame(corners, (0.12, 0.75, 0.98))


def _with_block(scenario: Scenario, places: Array, way: tuple[int, int]) -> Scenario:
    """One group more."""
    if scenario.directions is None:
        raise InputError("people are placed in open scenes: open one of the samples of this room")
    goals = np.asarray(scenario.people.goal)
    blocks = [np.asarray(scenario.people.positions)[goals == k] for k in range(len(scenario.directions))]
    ways = [(round(x), round(y)) for x, y in scenario.directions.tolist()]
    return assembled(
        scenario.scene.name, scenario.scene.size, [*blocks, places], [*ways, way], scenario.constraints,
        np.random.default_rng(0), scenario.scene.obstacles, scenario.regions,
    )  # fmt: skip


def _of_tracks(tracks: Tracks, name: str) -> Scenario:
    """The people of the first frame, who go on in the nearest of four directions; on open ground."""
    here = tracks.present[0]
    if not here.any():
        raise InputError(f"{name}: nobody is there in the first frame")
    first = np.asarray(tracks.positions[0][here], np.float64)
    seen = np.maximum(tracks.present[:, here].sum(axis=0) - 1, 0)
    moved = np.asarray(tracks.positions[seen, np.flatnonzero(here)], np.float64) - first
    ways = np.array(list(HEADINGS.values()))
    nearest = (np.nan_to_num(moved) @ ways.T).argmax(axis=1)
    low = first.min(axis=0) - MARGIN
    used = np.unique(nearest)
    size = (np.ptp(first, axis=0) + 2 * MARGIN).tolist()
    return assembled(
        name, (size[0], size[1]), [first[nearest == k] - low for k in used], [tuple(ways[k]) for k in used],
        Constraints(20.0, ()), np.random.default_rng(0),
    )  # fmt: skip
