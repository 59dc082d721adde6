"""Taking hold of hands, feet and head: the body follows within the poses it knows (Tournier 2011, 8.2).

A moment of a drag is solved from the one before in a fraction of a millisecond; letting go puts the pose into
the clip, faded out around its frame.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError
from marey.studio.body.handles import FREE, HELD, Balls, Pull
from marey.studio.body.reach import Reachable
from marey.studio.body.section import Section, workable
from marey.studio.body.state import State

if TYPE_CHECKING:
    from marey.body.ik.solver import PoseResult, PoseSolver
    from marey.body.ik.targets import IKReport
    from marey.studio.body.panel import BodyPanel

Array = NDArray[np.float64]

MOST_ENDS = 5
# How much more a held end counts than the one that is dragged: who reaches too far stays on the ground.
HELD_FIRMLY = 30.0
# Of the figure's size.
RADIUS = 0.026
FALLOFF = 0.3
ASK = "Drag a ball; click one to hold it."


@dataclass(frozen=True, eq=False)
class _Grip:
    """A pose being changed: in which state and frame, from where."""

    state: State
    frame: int
    solver: PoseSolver
    places: Array


class Posing(Section):
    """Balls at the ends of the body, which of them stay, how far in time a change reaches."""

    def __init__(self, panel: BodyPanel):
        super().__init__(panel)
        gui, guard = self.desk.gui, self.desk.guard
        self._grip: _Grip | None = None
        self._posed: PoseResult | None = None
        self._end = 0
        self._reachable: Reachable
        self._milliseconds = 0.0
        with gui.add_folder("Pose by hand"):
            self.text = gui.add_markdown(ASK)
            self.holds = [
                gui.add_checkbox(
                    f"Hold {i}", False, visible=False, hint="It stays where it is while others are dragged"
                )
                for i in range(MOST_ENDS)
            ]
            self.falloff = gui.add_slider(
                "Falloff (s)",
                0.0,
                2.0,
                0.05,
                FALLOFF,
                hint="Time around this frame in which the clip follows",
            )
            self.which = gui.add_dropdown("Part", ("",), hint="For moving by numbers instead of the mouse")
            self.shift = gui.add_vector3(
                "By x y z (cm)", (0.0, 10.0, 0.0), step=1.0, hint="Sideways, up, ahead: axes of the ground"
            )
            gui.add_button("Move it", color="gray", hint="Move the part by these numbers").on_click(
                guard(lambda _: self.move())
            )
        for box in self.holds:
            box.on_update(guard(lambda _: self._paint_all()))
        self.balls = Balls(self.desk, panel.path("handles"), pulled=self.pulled, clicked=self._toggle)

    def opened(self, state: State) -> None:
        ends = self.panel.ends
        self._reachable = Reachable.of(ends, self.panel.poses)
        self.balls.add(len(ends.labels), RADIUS * self.panel.size)
        for box, label, foot in zip(self.holds, ends.labels, ends.feet, strict=False):
            box.label, box.value, box.visible = f"Hold {label}", bool(foot), True
        for box in self.holds[len(ends.labels) :]:
            box.visible = box.value = False
        self._paint_all()
        self.which.options = ends.labels or ("",)
        self.text.content = ASK

    def restore(self, state: State) -> None:
        self._grip = self._posed = None

    def show(self, frame: int) -> None:
        self._grip = self._posed = None
        self.balls.place(self.panel.ends.places(self.panel.poses, frame), self.panel.seeing.handles.value)

    def pulled(self, pull: Pull) -> None:
        """Follow a drag; its end becomes a state."""
        # Learned without the lock, so that the page stays free meanwhile.
        self.panel.poser.body()
        with self.desk.lock:
            if self.panel.history is None or pull.end >= len(self.panel.ends.labels):
                return
            self.follow(pull.end, pull.place)
            if pull.over:
                self.keep()

    def follow(self, end: int, place: Array) -> None:
        """Show the body with an end at a place `(3,)`, metres."""
        began = time.perf_counter()
        grip = self._gripped()
        posed = grip.solver.solve(self._targets(grip, end, place))
        self._posed, self._end = posed, end
        reached = self.panel.preview(posed.motion(like=grip.state.motion), dragged=(end, place))
        self._milliseconds = 1e3 * (time.perf_counter() - began)
        # From where it is pulled to, which may be beyond what the body was asked for.
        missed = 100 * float(np.linalg.norm(reached - place))
        self.text.content = f"Off by **{missed:.2f} cm** · solved in **{posed.report.milliseconds:.1f} ms**"

    def keep(self) -> None:
        """Put the pose that is shown into the clip."""
        grip, posed = self._grip, self._posed
        if grip is None or posed is None:
            return
        from marey.body.ik.trajectory import blend_pose

        self._grip = self._posed = None
        self._paint_all()
        ends = self.panel.ends
        held = [(int(ends.joints[i]), ends.points[i]) for i in self._held(self._end)]
        motion = blend_pose(grip.state.motion, grip.frame, posed, float(self.falloff.value), held=held)
        self.panel.change(grip.state.moved(motion))

    def move(self) -> None:
        """Move the chosen part by the numbers given."""
        workable(self.state.motion)
        end = self.panel.ends.labels.index(self.which.value)
        shift = np.array(self.shift.value, dtype=np.float64) / 100
        if not (np.abs(shift) < 100).all():
            raise InputError("move by less than 100 m")
        # Read before anything is solved, which moves the balls.
        place = self.panel.ends.places(self.panel.poses, self.panel.frame)[end] + shift

        def work(progress: Any) -> None:
            self.panel.poser.body()

        def then(_: None) -> None:
            self.follow(end, place)
            self.keep()

        self.desk.jobs.start("posing", work, then)

    @property
    def report(self) -> IKReport | None:
        """What the last moment of a drag that is not kept yet missed."""
        return None if self._posed is None else self._posed.report

    @property
    def milliseconds(self) -> float:
        """How long the last moment of a drag took: solving, and sending what changed to the page."""
        return self._milliseconds

    def _gripped(self) -> _Grip:
        panel = self.panel
        grip, frame = self._grip, panel.frame
        if grip is None or grip.state is not panel.state or grip.frame != frame:
            self.desk.timeline.play(False)
            frame = panel.frame
            start = panel.state.motion[frame]
            if start.translations is not None:
                self.desk.say("Joints of this clip slide; they are posed with the bones at rest.")
            grip = _Grip(panel.state, frame, panel.poser.solver(start), panel.ends.places(panel.poses, frame))
            self._grip = grip
        return grip

    def _targets(self, grip: _Grip, end: int, place: Array) -> list[Any]:
        from marey.body.ik.targets import Reach

        ends = self.panel.ends
        held = self._held(end)
        wanted = self._reachable.nearest(end, place, start=grip.places, held=held)
        return [
            Reach(ends.names[end], wanted, ends.points[end]),
            *(Reach(ends.names[i], grip.places[i], ends.points[i], weight=HELD_FIRMLY) for i in held),
        ]

    def _held(self, end: int) -> list[int]:
        """The ends that stay while one is dragged."""
        return [i for i, box in enumerate(self.holds) if box.value and i != end]

    def _toggle(self, end: int) -> None:
        self.holds[end].value = not self.holds[end].value
        self._paint_all()

    def _paint_all(self) -> None:
        for end, box in zip(range(len(self.panel.ends.labels)), self.holds, strict=False):
            self.balls.paint(end, HELD if box.value else FREE)
