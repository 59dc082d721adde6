"""The balance room: a character stands by internal forces while it is pulled, pushed and hit by balls.

What happens to it are events in time (Tournier 2011, chapters 14 and 15): pulling a hand or a push at the
moment that is shown lets the character be stepped again from its start, and what came before stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.body.anatomy import anatomy
from marey.body.control.balance import BalanceResult, balance
from marey.body.control.events import SUPPORTS, Event
from marey.body.control.puppet import PuppetResult, puppet
from marey.body.physics.simulate import Ball
from marey.studio.body.pose import Drag, Handles
from marey.studio.controls import button, choice, choice_buttons, slider, text, vector
from marey.studio.layers.figure import Body
from marey.studio.moved import Moved, MovedRoom
from marey.studio.room import Layer, Task, Tool, part
from marey.studio.settings import THEME

if TYPE_CHECKING:
    from viser import IcosphereHandle

FORCE_LENGTH = 0.001  # metres a newton
THROWN_FROM = 0.4  # seconds before it hits


@dataclass(frozen=True, eq=False)
class State(Moved):
    """A clip, and what became of the character that stands from one of its frames on, or follows it.

    start: frame; support: feet it stands on; strength: of the puppet, None for one that balances
    events: what happens, seconds after the start; found: how it then moved
    """

    support: str = "both"
    strength: float | None = None
    events: tuple[Event, ...] = ()
    found: BalanceResult | PuppetResult | None = None

    def step(self, frame: int) -> int:
        """The time step of a frame that is played by one that balances."""
        assert isinstance(self.found, BalanceResult)
        shown = frame / max(self.motion.frames - 1, 1)
        return round(shown * (len(self.found.record.points) - 1))


class FigureLayer(Layer[State]):
    """The character; forces of the floor, the support polygon, its centre and the centre of mass; balls."""

    room: BalanceRoom
    drawn_from = ("motion",)

    def __init__(self, room: BalanceRoom):
        super().__init__(room)
        self.body = Body(self.group)
        self.drawn = room.group("forces")
        self.balls: list[IcosphereHandle] = []

    def set(self, state: State) -> None:
        self.body.build_meshes(state.poses, state.motion, self.room.size)
        thin = 0.006 * self.room.size
        nothing = np.zeros((1, 2, 3))
        self.forces = self.drawn.lines("floor", nothing, THEME.warm, 2 * thin)
        self.polygon = self.drawn.lines("polygon", nothing, THEME.accent, thin)
        self.centres = self.drawn.lines("centres", nothing, THEME.ink, thin)
        for ball in self.balls:
            ball.remove()
        self.balls = [
            self.drawn.scene.add_icosphere(self.room.path(f"forces/ball{i}"), event.ball.radius, THEME.warm)
            for i, event in enumerate(one for one in state.events if one.ball is not None)
            if event.ball is not None
        ]

    def frame(self, state: State, frame: int) -> None:
        self.body.pose(state.motion, frame, state.poses)
        shown = isinstance(state.found, BalanceResult)
        for node in (self.forces, self.polygon, self.centres, *self.balls):
            node.visible = shown
        if not isinstance(state.found, BalanceResult):
            return
        record, step = state.found.record, state.step(frame)
        at = record.points[step]
        self.forces.visible = len(at) > 0
        if len(at):
            self.forces.points = np.stack([at, at + FORCE_LENGTH * record.forces[step]], 1).astype(np.float32)
        ground = at[:, 1].min() if len(at) else 0.0
        corners = _on_floor(record.polygons[step], ground)
        self.polygon.points = np.stack([corners, np.roll(corners, -1, axis=0)], 1).astype(np.float32)
        mass = record.centres[step]
        below, centre = _on_floor(np.array([mass[[0, 2]], record.supports[step]]), ground)
        self.centres.points = np.array([[mass, below], [below, centre]], np.float32)
        for ball, place in zip(self.balls, record.balls[step, :, :3], strict=True):
            ball.position = place


def _on_floor(points: Array, height: float) -> Array:
    """Points `(n, 2)` of the floor as `(n, 3)`, a little above it."""
    return np.insert(points, 1, height + 0.004, axis=1)


class StandTool(Tool[State]):
    """Let the character stand from the frame that is shown, or follow its clip as a puppet."""

    title, collapsible = "Stand", False
    seconds = slider("Seconds", 1.0, 15.0, 0.5, 4.0, "How long it is stepped at least")

    @button("Stand", "By internal forces alone, from the pose that is shown", icon="man")
    def stand(self) -> Task[State]:
        """From the frame of the clip; what happened before is forgotten."""
        start = 0 if self.state.found else self.room.frame
        return self.task(replace(self.state, start=start, strength=None, events=(), found=None), "balancing")

    support = choice_buttons("Foot", SUPPORTS, "What it is to stand on from now on", on="shift")

    def shift(self, name: str) -> Task[State]:
        """Another support at the moment that is shown."""
        return self.happens(Event(self.now, "support", name=name), "shifting")

    strength = slider("Strength", 0.0, 1.0, 0.05, 0.9, "Of the puppet: 0 is a ragdoll, 1 the clip")

    @button("Puppet", "Follow the clip with this strength; hands can be pulled, and pushes given", gray=True)
    def puppet(self) -> Task[State]:
        """The clip as a puppet; what happened to it happens again, if it was one before."""
        events = self.state.events if self.state.strength is not None else ()
        return self.task(
            replace(self.state, start=0, strength=float(self.strength.value), events=events), "playing"
        )

    @property
    def now(self) -> float:
        """Seconds after the start at the frame that is shown."""
        return self.room.frame / self.state.motion.frame_rate if self.state.found else 0.0

    def happens(self, event: Event, label: str) -> Task[State]:
        """One more event; the character stands from the frame that is shown if it does not yet."""
        state = self.state if self.state.found else replace(self.state, start=self.room.frame)
        kept = tuple(one for one in state.events if one.time <= event.time)
        return self.task(replace(state, events=(*kept, event)), label, event.time)

    def task(self, state: State, label: str, at: float = 0.0) -> Task[State]:
        """The character is stepped as the state says, and played from `at` seconds."""
        seconds = at + float(self.seconds.value)

        def work(progress: Progress) -> State:
            found: BalanceResult | PuppetResult
            if state.strength is not None:
                found = puppet(state.clip, strength=state.strength, events=state.events, progress=progress)
            else:
                found = balance(
                    state.clip, frame=state.start, seconds=seconds, support=state.support,
                    events=state.events, progress=progress,
                )  # fmt: skip
            return replace(state, found=found)

        def play() -> None:
            self.workspace.timeline.seek(int(at * self.state.motion.frame_rate))
            self.workspace.timeline.play(True)

        return Task(label, work, needs=("clip",), on_done=play)

    report = text()

    def frame(self, state: State, frame: int) -> None:
        told = ""
        if isinstance(state.found, BalanceResult):
            one = state.found.report
            told = (f"{'Fell after' if one.fell else 'Stood'} {one.stood_seconds:.1f} s; floor "
                    f"{state.found.record.pushes[state.step(frame)]:.0f} N; hidden root wrench "
                    f"{one.root_wrench_max:.0e} of the weight")  # fmt: skip
        elif state.found is not None:
            wrenches = state.found.wrenches
            row = round(frame / max(state.motion.frames - 1, 1) * (len(wrenches) - 1))
            pull = np.linalg.norm(wrenches[row, 3:])
            told = f"{100 * state.found.errors[row]:.1f} cm from the clip; its strings pull with {pull:.0f} N"
        if self.report.content != told:
            self.report.content = told


class PullTool(Tool[State]):
    """Balls at hands and head: where one is let go of, the part is pulled to from now on."""

    room: BalanceRoom
    title, collapsible = "Pull", False
    hint = text("Drag the ball of a hand or of the head.")

    def __init__(self, room: BalanceRoom):
        super().__init__(room)
        self.joints: list[int] = []
        self.balls = Handles(self.workspace, self.group, dragged=self.dragged)

    def opened(self, state: State) -> None:
        parts = anatomy(state.clip.skeleton)
        self.joints = [arm.end for arm in parts.arms] + ([parts.head] if parts.head >= 0 else [])
        self.balls.add(len(self.joints), 0.026 * self.room.size)

    def frame(self, state: State, frame: int) -> None:
        self.balls.place(state.poses.points[frame, self.joints])

    def dragged(self, drag: Drag) -> None:
        """The ball follows the pointer; where it is let go of becomes an event."""
        with self.workspace.lock:
            if self.room.history is None or drag.end >= len(self.joints):
                return
            self.workspace.timeline.play(False)
            places = self.state.poses.points[self.room.frame, self.joints].copy()
            places[drag.end] = drag.place
            self.balls.place(places)
            if drag.over:
                name = self.state.clip.skeleton.names[self.joints[drag.end]]
                event = Event(self.room.stand.now, "handle", name, drag.place)
                self.room.perform(self.room.stand.happens(event, "pulling"))

    @button("Let go", "Pull at nothing from now on", gray=True)
    def let_go(self) -> Task[State] | None:
        """All handles end at the moment that is shown."""
        stand = self.room.stand
        held = {one.joint for one in self.state.events if one.kind == "handle" and one.at is not None}
        if not held:
            return None
        *rest, last = (Event(stand.now, "handle", name) for name in sorted(held))
        state = replace(self.state, events=(*self.state.events, *rest))
        return stand.task(replace(state, events=(*state.events, last)), "letting go", stand.now)


class HitTool(Tool[State]):
    """A push, or a ball, at the moment that is shown."""

    room: BalanceRoom
    title, collapsible = "Push and throw", False
    which = choice("Part", ("",), "Which part is hit")
    impulse = vector("Impulse (N·s)", (12.0, 0.0, 0.0), 1.0, "x, y, z; y is up")

    @button("Push", "Hit the part now", icon="hand-finger")
    def push(self) -> Task[State]:
        """A blow at the present moment."""
        stand = self.room.stand
        return stand.happens(Event(stand.now, "push", self.which.value, self.impulse.value), "pushing")

    velocity = vector("Velocity (m/s)", (-6.0, 0.0, 0.0), 0.5, "Of the ball where it hits")

    @button("Throw a ball", "A ball of 1 kg that hits the part", icon="ball-basketball")
    def throw(self) -> Task[State]:
        """From where it comes to be at the part in a moment."""
        stand, state = self.room.stand, self.state
        target = state.poses.points[self.room.frame, state.clip.skeleton.index(self.which.value)]
        ball = Ball.thrown(target, self.velocity.value, THROWN_FROM, mass=1.0)
        return stand.happens(Event(stand.now, "ball", ball=ball), "throwing")

    def opened(self, state: State) -> None:
        names = state.clip.skeleton.names
        self.which.options = names
        trunk = [name for name, kind in zip(names, anatomy(state.clip.skeleton).segments) if kind == "trunk"]
        self.which.value = trunk[-1] if trunk else names[0]


class BalanceRoom(MovedRoom[State]):
    """Let a character stand: pull its hands, push it, throw balls, and see the forces of the floor."""

    title = "Balance"
    opened = State
    figure = part(FigureLayer)
    stand = part(StandTool)
    pull = part(PullTool)
    hit = part(HitTool)
