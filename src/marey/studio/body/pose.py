"""Taking hold of hands, feet and head: the body follows within the poses it knows (Tournier 2011, 8.2).

Letting go puts the pose into the clip, faded out around its frame; a target that should be reached at a time
bends the clip around it (Courty 2013, 3.2.3.2). The pointer may move faster than poses are solved, so a drag
only hands its newest place over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.body.ik.drag import SETTINGS, ReachLimits
from marey.body.ik.targets import Reach
from marey.errors import InputError
from marey.studio.body.state import ReachTarget, State
from marey.studio.controls import button, checkbox, choice, several, slider, text, vector
from marey.studio.jobs import LatestOnly
from marey.studio.layers.group import Group
from marey.studio.room import Task, Tool
from marey.studio.settings import THEME, Colour
from marey.studio.workspace import Workspace

if TYPE_CHECKING:
    from viser import IcosphereHandle, LineSegmentsHandle, SceneNodeDragEvent

    from marey.body.ik.solver import PoseResult, PoseSolver
    from marey.body.ik.targets import IKReport
    from marey.studio.body.room import BodyRoom


@dataclass(frozen=True, eq=False)
class Drag:
    """One moment of a drag.

    number: of the drag; end: which ball; place: `(3,)`, where it is dragged to, metres
    over: whether the ball was let go of
    """

    number: int
    end: int
    place: Array
    over: bool


class Handles:
    """Balls in the scene; `dragged(drag)` is called aside for the newest moment of a drag.

    The end of a drag is never left out: if another begins before it was dealt with, it comes first.
    """

    def __init__(
        self,
        workspace: Workspace,
        group: Group,
        *,
        dragged: Callable[[Drag], None],
        clicked: Callable[[int], None] = lambda end: None,
    ):
        self._workspace, self._group = workspace, group
        self._dragged, self._clicked = dragged, clicked
        self._handles: list[IcosphereHandle] = []
        self._drags = 0
        self._last: Drag | None = None
        self.newest: LatestOnly[Drag] = LatestOnly(self._follow)

    def add(self, count: int, radius: float, colour: Colour = THEME.accent) -> None:
        """So many balls instead of those that were there; radius in metres."""
        self.clear()
        for end in range(count):
            ball = self._group.scene.add_icosphere(
                f"{self._group.path}/{end}", radius, colour, subdivisions=2, cast_shadow=False
            )
            self._group.nodes[str(end)] = ball
            self._listen(ball, end)
            self._handles.append(ball)

    def clear(self) -> None:
        """Take all away."""
        self._group.clear()
        self._handles = []

    @property
    def places(self) -> Array:
        """Where the balls are, `(balls, 3)`."""
        return np.array([ball.position for ball in self._handles]).reshape(-1, 3)

    def place(self, points: Array, visible: bool = True) -> None:
        """Put them at `(balls, 3)`."""
        for ball, point in zip(self._handles, points, strict=True):
            if ball.visible != visible:
                ball.visible = visible
            if visible:
                ball.position = point

    def paint(self, end: int, colour: Colour) -> None:
        """Another colour for one of them."""
        if tuple(self._handles[end].color) != colour:
            self._handles[end].color = colour

    def _listen(self, ball: IcosphereHandle, end: int) -> None:
        offset = np.zeros(3)

        async def moved(event: SceneNodeDragEvent[Any]) -> None:
            nonlocal offset
            if event.phase == "start":
                self._drags += 1
                # Balls have places in the room's ground, the pointer in the world.
                offset = np.asarray(ball.position) - np.asarray(event.start_position)
            place = np.asarray(event.end_position) + offset
            self.newest.submit(Drag(self._drags, end, place, event.phase == "end"))

        ball.on_drag(moved)
        ball.on_click(self._workspace.callback(lambda _: self._clicked(end)))

    def _follow(self, drag: Drag) -> None:
        if self._workspace.closed or not np.isfinite(drag.place).all():
            return
        with self._workspace.reporting_errors():
            last, self._last = self._last, None if drag.over else drag
            if last is not None and last.number != drag.number:
                self._dragged(Drag(last.number, last.end, last.place, True))
            self._dragged(drag)


ASK = "Drag a ball; click one to hold it."


@dataclass(frozen=True, eq=False)
class _Grip:
    """A pose being changed: in which state and frame, from where."""

    state: State
    frame: int
    solver: PoseSolver
    places: Array


class PoseTool(Tool[State]):
    """Balls at the ends of the body, which of them stay, how far in time a change reaches."""

    room: BodyRoom
    title, collapsible = "Pose by hand", False
    report_text = text(ASK)
    holds = several(
        [
            checkbox(f"Hold {i}", False, "It stays where it is while others are dragged", visible=False)
            for i in range(5)
        ],
        on="paint_all",
    )
    falloff = slider("Falloff (s)", 0.0, 2.0, 0.05, 0.3, "Time around this frame in which the clip follows")
    which = choice("Part", ("",), "For moving by numbers instead of the mouse")
    shift = vector("By x y z (cm)", (0.0, 10.0, 0.0), 1.0, "Sideways, up, ahead: axes of the ground")

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self._grip: _Grip | None = None
        self._posed: PoseResult | None = None
        self._end = 0
        self._limits: ReachLimits
        self.milliseconds = 0.0
        self.balls = Handles(self.workspace, self.group, dragged=self.dragged, clicked=self._toggle)

    def opened(self, state: State) -> None:
        ends = self.room.ends
        self._limits = ReachLimits.of(ends, self.room.poses)
        self.balls.add(len(ends.labels), 0.026 * self.room.size)
        for box, label, foot in zip(self.holds, ends.labels, ends.feet, strict=False):
            box.label, box.value, box.visible = f"Hold {label}", bool(foot), True
        for box in self.holds[len(ends.labels) :]:
            box.visible = box.value = False
        self.paint_all()
        self.which.options = ends.labels or ("",)
        self.report_text.content = ASK

    def refresh(self, state: State) -> None:
        self._grip = self._posed = None

    def frame(self, state: State, frame: int) -> None:
        self._grip = self._posed = None
        places = self.room.ends.places(self.room.poses, frame)
        self.balls.place(places, self.room.display.handles_shown.value)

    def dragged(self, drag: Drag) -> None:
        """Follow a drag; its end becomes a state."""
        _ = self.state.workable
        # Learned without the lock, so that the page stays free meanwhile.
        self.room.solver.body()
        with self.workspace.lock:
            if self.room.history is None or drag.end >= len(self.room.ends.labels):
                return
            self.follow(drag.end, drag.place)
            if drag.over:
                self.keep()

    def follow(self, end: int, place: Array) -> None:
        """Show the body with an end at a place `(3,)`, metres."""
        began = time.perf_counter()
        grip = self._gripped()
        posed = grip.solver.solve(self._targets(grip, end, place))
        self._posed, self._end = posed, end
        reached = self.room.preview(posed.motion(like=grip.state.motion), dragged=(end, place))
        self.milliseconds = 1e3 * (time.perf_counter() - began)
        # From where it is dragged to, which may be beyond what the body was asked for.
        missed = 100 * float(np.linalg.norm(reached - place))
        self.report_text.content = (
            f"Off by **{missed:.2f} cm** · solved in **{posed.report.milliseconds:.1f} ms**"
        )

    def keep(self) -> None:
        """Put the pose that is shown into the clip."""
        grip, posed = self._grip, self._posed
        if grip is None or posed is None:
            return
        from marey.body.ik.trajectory import blend_pose

        self._grip = self._posed = None
        self.paint_all()
        ends = self.room.ends
        held = [(int(ends.joints[i]), ends.points[i]) for i in self._held(self._end)]
        motion = blend_pose(grip.state.motion, grip.frame, posed, float(self.falloff.value), held=held)
        self.room.change(grip.state.moved(motion))

    @button("Move", "Move the part by these numbers", gray=True)
    def move(self) -> None:
        """Move the chosen part by the numbers given."""
        _ = self.state.workable
        end = self.room.ends.labels.index(self.which.value)
        shift = np.array(self.shift.value, dtype=np.float64) / 100
        if not (np.abs(shift) < 100).all():
            raise InputError("move by less than 100 m")
        # Read before anything is solved, which moves the balls.
        place = self.room.ends.places(self.room.poses, self.room.frame)[end] + shift

        def learn(progress: Progress) -> None:
            self.room.solver.body()

        def follow(_: None) -> None:
            self.follow(end, place)
            self.keep()

        self.workspace.jobs.run("posing", learn, follow, self.handles["move"])

    @property
    def report(self) -> IKReport | None:
        """What the last moment of a drag that is not kept yet missed."""
        return None if self._posed is None else self._posed.report

    def _gripped(self) -> _Grip:
        room = self.room
        grip, frame = self._grip, room.frame
        if grip is None or grip.state is not room.state or grip.frame != frame:
            self.workspace.timeline.play(False)
            frame = room.frame
            start = room.state.motion[frame]
            if start.translations is not None:
                self.workspace.notify("Joints of this clip slide; they are posed with the bones at rest.")
            grip = _Grip(room.state, frame, room.solver.start_at(start), room.ends.places(room.poses, frame))
            self._grip = grip
        return grip

    def _targets(self, grip: _Grip, end: int, place: Array) -> list[Reach]:
        ends = self.room.ends
        held = self._held(end)
        wanted = self._limits.nearest(end, place, start=grip.places, held=held)
        return [
            Reach(ends.names[end], wanted, ends.points[end]),
            *(
                Reach(ends.names[i], grip.places[i], ends.points[i], weight=SETTINGS.held_weight)
                for i in held
            ),
        ]

    def _held(self, end: int) -> list[int]:
        """The ends that stay while one is dragged."""
        return [i for i, box in enumerate(self.holds) if box.value and i != end]

    def _toggle(self, end: int) -> None:
        self.holds[end].value = not self.holds[end].value
        self.paint_all()

    def paint_all(self) -> None:
        """Balls that are held in ink."""
        for end, box in zip(range(len(self.room.ends.labels)), self.holds, strict=False):
            self.balls.paint(end, THEME.ink if box.value else THEME.accent)


class ReachTool(Tool[State]):
    """A target in the scene for an end effector, at a time."""

    room: BodyRoom
    drawn_from = ("motion", "target", "steered")
    title = "Reach at a time"

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self.handles_in_scene = Handles(self.workspace, room.group("target"), dragged=self._dragged)
        self._line: LineSegmentsHandle

    report = text()
    which = choice("Part", ("",), "What should reach the target")

    @button("Place a target", "At this time, to drag", icon="target", gray=True)
    def place(self) -> State:
        """Put a target where the chosen part is now."""
        _ = self.state.workable
        end = self.room.ends.labels.index(self.which.value)
        self.workspace.timeline.play(False)
        frame = self.room.frame
        here = self.room.ends.places(self.room.poses, frame)[end]
        return replace(self.state, target=ReachTarget(end, frame, here), steered=None)

    where = vector("At x y z (m)", (0.0, 0.0, 0.0), 0.01, "Where the target is; y is up", on="typed")

    @button("Reach", "Bend the clip so that the target is met", icon="hand-stop")
    def reach(self) -> Task[State]:
        """Bend the clip."""
        from marey.body.steer import TimedReach, steer

        state, solver, ends = self.state, self.room.solver, self.room.ends
        target = state.target
        if target is None:
            raise InputError("place a target first, and drag it where the hand should be")
        motion = state.workable
        time = target.frame / motion.frame_rate
        request = TimedReach(ends.names[target.end], time, target.place, point=ends.points[target.end])

        def work(progress: Progress) -> State:
            solver.body()
            found = steer(motion, [request], model=solver.model)
            return state.moved(found.motion, steered=found)

        return Task("reaching", work, needs=("motion",), on_done=self._warn)

    def typed(self) -> State:
        """The target at the numbers typed."""
        return self._at(np.array(self.where.value))

    def drag_to(self, place: Array) -> None:
        """Put the target at `(3,)`, metres."""
        self.room.change(self._at(place))

    def opened(self, state: State) -> None:
        labels = self.room.ends.labels
        hands = [label for label in labels if "hand" in label]
        self.which.options = labels or ("",)
        self.which.value = (hands or list(labels) or [""])[-1]

    def set(self, state: State) -> None:
        self.group.clear()
        self.handles_in_scene.clear()
        self.report.content = "Go to a time, place a target, drag it, press Reach."
        if state.steered is not None:
            missed, ratio = max(state.steered.residual_cm), state.steered.peak_acceleration_ratio
            peak = f"at most **{ratio:.2f} times** the clip's largest acceleration"
            self.report.content = f"Off by **{missed:.2f} cm**; {peak}"
        target, size = state.target, self.room.size
        if target is None:
            return
        self.handles_in_scene.add(1, 0.034 * size, THEME.warm)
        self.handles_in_scene.place(target.place[None])
        self.where.value = tuple(round(float(v), 3) for v in target.place)
        start = self.room.ends.places(self.room.poses, target.frame)[target.end]
        line = np.stack([start, target.place])[None]
        self._line = self.group.lines("line", line, THEME.warm, 0.004 * size)

    def _at(self, place: Array) -> State:
        state = self.state
        if state.target is None:
            raise InputError("place a target first")
        if not (np.abs(place) < 1e4).all():
            raise InputError("the target is too far away")
        return replace(state, target=replace(state.target, place=place), steered=None)

    def _warn(self) -> None:
        for line in self.state.steered.lines() if self.state.steered is not None else ():
            self.workspace.notify(line)

    def _dragged(self, drag: Drag) -> None:
        with self.workspace.lock:
            if self.room.history is None or self.state.target is None:
                return
            if drag.over:
                self.drag_to(drag.place)
                return
            self.handles_in_scene.place(drag.place[None])
            points = np.array(self._line.points)
            points[0, 1] = drag.place
            self._line.points = points
