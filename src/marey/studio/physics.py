"""The physics room: a character is let go of, pushed and hit by balls (Tournier 2011, chapter 10)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.body.physics.simulate import Push, SimulateResult, SimulationSettings, Throw, simulate
from marey.studio.controls import button, checkbox, choice, curves, fix_axes, slider, vector
from marey.studio.layers.figure import Body
from marey.studio.moved import Moved, MovedRoom
from marey.studio.room import Layer, Task, Tool, part
from marey.studio.settings import THEME
from marey.views.shapes import ball

ARROW_SECONDS, ARROW_LENGTH = 0.3, 0.1  # how long a push is seen; metres a newton second
FLIGHT = 0.4  # seconds until a ball that is thrown is there


@dataclass(frozen=True, eq=False)
class State(Moved):
    """A clip, and what became of the character that was let go of in it.

    clip: as opened; start: its frame at which the character is let go of
    height: metres by which it is lifted first; pushes: on its joints, seconds after the start
    throws: balls
    found: how it then moved
    """

    height: float = 0.0
    pushes: tuple[Push, ...] = ()
    throws: tuple[Throw, ...] = ()
    found: SimulateResult | None = None


class FigureLayer(Layer[State]):
    """The character, the balls, and an arrow for each push while it acts."""

    room: PhysicsRoom
    drawn_from = ("motion", "pushes", "throws")

    def __init__(self, room: PhysicsRoom):
        super().__init__(room)
        self.body = Body(self.group)

    def set(self, state: State) -> None:
        self.body.build_meshes(state.poses, state.motion, self.room.size)
        self.arrows = self.group.lines("pushes", np.zeros((1, 2, 3)), THEME.warm, 0.02 * self.room.size)
        if "balls" in self.group.nodes:
            self.group.nodes.pop("balls").remove()
        if state.found is not None and state.throws:
            radii, shape = [throw.radius for throw in state.throws], ball(1.0)
            form, places = (shape.vertices, shape.faces), np.zeros((len(radii), 3))
            self.balls = self.group.instances("balls", form, places, radii, THEME.accent)

    def frame(self, state: State, frame: int) -> None:
        self.body.pose(state.motion, frame, state.poses)
        now, index = frame / state.motion.frame_rate, state.motion.skeleton.index
        acting = [push for push in state.pushes if 0 <= now - push.time < ARROW_SECONDS]
        self.arrows.visible = bool(acting)
        if acting:
            tips = state.poses.points[frame, [index(push.joint) for push in acting]]
            tails = tips - ARROW_LENGTH * np.array([push.impulse for push in acting])
            self.arrows.points = np.stack([tails, tips], axis=1).astype(np.float32)
        if "balls" in self.group.nodes and state.found is not None:
            path = state.found.trajectory.balls[:, :, :3]
            step = round(frame * (len(path) - 1) / max(state.motion.frames - 1, 1))
            self.balls.batched_positions = path[step].astype(np.float32)


class ReleaseTool(Tool[State]):
    """Let go of the character, lifted before."""

    title, collapsible = "Drop", False
    height = slider("Height (m)", 0.0, 3.0, 0.1, 1.0, "By how much it is lifted before it is dropped")

    @button("Drop", "Let go of it in the pose that is shown", icon="arrow-down")
    def drop(self) -> Task[State]:
        """From the pose of the clip, as fast as it moves there; pushes and balls are forgotten."""
        height = float(self.height.value)
        return self.task(replace(self.released, height=height, pushes=(), throws=()), "dropping")

    seconds = slider("Seconds", 0.5, 10.0, 0.5, 3.0, "How long it moves by itself")
    gravity = checkbox("Gravity", True, "Whether it falls")
    ground = checkbox("Ground", True, "Whether there is one")

    @property
    def released(self) -> State:
        """The state with the character let go of at the frame that is shown, unless it is already."""
        return self.state if self.state.found else replace(self.state, start=self.room.frame)

    def task(self, state: State, label: str, at: float = 0.0) -> Task[State]:
        """The character moves by itself as the state says; it is then played from `at` seconds."""
        settings = SimulationSettings(gravity=self.gravity.value, ground=self.ground.value)
        seconds, start = at + float(self.seconds.value), state.start / state.clip.frame_rate

        def work(progress: Progress) -> State:
            found = simulate(
                state.clip, seconds=seconds, start=start, height=state.height, pushes=state.pushes,
                throws=state.throws, settings=settings, progress=progress,
            )  # fmt: skip
            return replace(state, found=found)

        def play() -> None:
            self.workspace.timeline.seek(int(at * self.state.motion.frame_rate))
            self.workspace.timeline.play(True)

        return Task(label, work, needs=("clip",), on_done=play)


class PushTool(Tool[State]):
    """A blow at the moment that is shown, and balls."""

    room: PhysicsRoom
    title, collapsible = "Push and throw", False
    which = choice("Part", ("",), "Which part is hit")
    impulse = vector("Impulse (N·s)", (0.0, 0.0, 20.0), 1.0, "x, y, z; y is up")

    @button("Push", "Hit the part now; what came before stays", icon="hand-finger")
    def push(self) -> Task[State]:
        """One more blow, at the present moment."""
        state = self.room.release.released
        at = self.room.frame / state.motion.frame_rate if state.found else 0.0
        blow = Push(self.which.value, at, np.array(self.impulse.value))
        return self.room.release.task(replace(state, pushes=(*state.pushes, blow)), "pushing", at)

    velocity = vector("Velocity (m/s)", (0.0, 0.0, -12.0), 1.0, "Of the ball where it hits; y is up")
    mass = slider("Ball (kg)", 0.1, 5.0, 0.1, 1.0, "Its mass")

    @button("Throw", "Throw a ball at the part as it is let go of", icon="ball-basketball")
    def throw(self) -> Task[State]:
        """One more ball, which is there soon after the character is let go of."""
        state, velocity = self.room.release.released, tuple(map(float, self.velocity.value))
        hit = Throw(self.which.value, FLIGHT, velocity, float(self.mass.value))
        return self.room.release.task(replace(state, throws=(*state.throws, hit)), "throwing")

    def opened(self, state: State) -> None:
        self.which.options = state.clip.skeleton.names


class CurvesTool(Tool[State]):
    """Energy and momentum up to the frame that is shown."""

    drawn_from = ("found",)
    title, collapsible = "Energy and momentum", False
    energy = curves("time (s)", "kinetic energy (J)")
    momentum = curves("time (s)", "momentum (N·s)", "angular momentum (N·m·s)")

    def set(self, state: State) -> None:
        self._whole: list[Array] = []
        if state.found is not None:
            path = state.found.trajectory
            seconds = np.linspace(0.0, state.motion.duration, len(path.kinetic))
            sizes = np.linalg.norm([path.linear, path.angular], axis=-1)
            self._whole = [np.stack([seconds, path.kinetic]), np.stack([seconds, *sizes])]
        self.folder.visible = state.found is not None
        for plot, lines in zip((self.energy, self.momentum), self._whole):
            fix_axes(plot, lines)

    def frame(self, state: State, frame: int) -> None:
        for plot, lines in zip((self.energy, self.momentum), self._whole):
            plot.data = tuple(lines[:, lines[0] <= frame / state.motion.frame_rate])


class PhysicsRoom(MovedRoom[State]):
    """Let go of a character: drop, push, throw, and see its energy and momentum."""

    title = "Physics"
    opened = State
    figure = part(FigureLayer)
    release = part(ReleaseTool)
    push = part(PushTool)
    curves = part(CurvesTool)
