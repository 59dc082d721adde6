"""A hand that should be somewhere at some time; the clip is bent around it (Courty 2013, 3.2.3.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.errors import InputError
from marey.studio.body.handles import Drag, Handles
from marey.studio.body.state import ReachTarget, State
from marey.studio.controls import button, choice, text, vector
from marey.studio.room import Task, Tool
from marey.studio.settings import THEME

if TYPE_CHECKING:
    from viser import LineSegmentsHandle

    from marey.studio.body.room import BodyRoom


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
