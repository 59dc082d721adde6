"""Taking hold of hands, feet and head: the body follows within the poses it knows (Tournier 2011, 8.2).

Letting go puts the pose into the clip, faded out around its frame.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.body.ik.drag import SETTINGS, ReachLimits
from marey.body.ik.targets import Reach
from marey.errors import InputError
from marey.studio.body.handles import Drag, Handles
from marey.studio.body.state import State
from marey.studio.controls import button, checkbox, choice, several, slider, text, vector
from marey.studio.room import Tool
from marey.studio.settings import THEME

if TYPE_CHECKING:
    from marey.body.ik.solver import PoseResult, PoseSolver
    from marey.body.ik.targets import IKReport
    from marey.studio.body.room import BodyRoom

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
