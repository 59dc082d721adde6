"""A hand that should be somewhere at some time; the clip is bent around it (Courty 2013, 3.2.3.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from marey._work import Progress
from marey.errors import InputError
from marey.studio.body.handles import GRABBED, Balls, Pull
from marey.studio.body.section import Section, workable
from marey.studio.body.state import Aim, State

if TYPE_CHECKING:
    from marey.body.steer import SteerResult, TimedReach
    from marey.studio.body.panel import BodyPanel

# Of the figure's size.
RADIUS = 0.034
ASK = "Go to a time, place a target, drag it, press Reach."


class Reaching(Section):
    """A target in the scene for an end of the figure, at a time."""

    def __init__(self, panel: BodyPanel):
        super().__init__(panel)
        gui, guard = self.desk.gui, self.desk.guard
        with self.desk.drawer("Reach at a time"):
            self.text = gui.add_markdown(ASK)
            self.which = gui.add_dropdown("Part", ("",), hint="What should reach the target")
            gui.add_button(
                "Place a target", icon="target", color="gray", hint="At this time, to drag"
            ).on_click(guard(lambda _: self.place()))
            self.where = gui.add_vector3(
                "At x y z (m)", (0.0, 0.0, 0.0), step=0.01, hint="Where the target is; y is up"
            )
            gui.add_button("Reach", icon="hand-stop", hint="Bend the clip so that it is met").on_click(
                guard(lambda _: self.reach())
            )
        self.where.on_update(guard(lambda _: self.drag_to(np.array(self.where.value))))
        self.balls = Balls(self.desk, panel.path("target"), pulled=self._pulled)
        self._line: Any = None

    def opened(self, state: State) -> None:
        labels = self.panel.ends.labels
        hands = [label for label in labels if "hand" in label]
        self.which.options = labels or ("",)
        self.which.value = (hands or list(labels) or [""])[-1]

    def restore(self, state: State) -> None:
        self._erase()
        self.text.content = ASK
        if state.steered is not None:
            missed, calm = max(state.steered.residual_cm), state.steered.peak_acceleration_ratio
            self.text.content = (
                f"Off by **{missed:.2f} cm**; at most **{calm:.2f} times** the clip's largest acceleration"
            )
        if state.aim is None:
            return
        self.balls.add(1, RADIUS * self.panel.size, GRABBED)
        self.balls.place(state.aim.place[None])
        self.where.value = tuple(round(float(v), 3) for v in state.aim.place)
        start = self.panel.ends.places(self.panel.poses, state.aim.frame)[state.aim.end]
        self._line = self.desk.scene.add_line_segments(
            self.panel.path("target_line"),
            np.stack([start, state.aim.place])[None].astype(np.float32),
            GRABBED,
            thickness=0.004 * self.panel.size,
        )

    def place(self) -> None:
        """Put a target where the chosen part is now."""
        workable(self.state.motion)
        end = self.panel.ends.labels.index(self.which.value)
        self.desk.timeline.play(False)
        frame = self.panel.frame
        here = self.panel.ends.places(self.panel.poses, frame)[end]
        self.panel.change(replace(self.state, aim=Aim(end, frame, here), steered=None))

    def drag_to(self, place: np.ndarray) -> None:
        """Put the target at `(3,)`, metres."""
        state = self.state
        if state.aim is None:
            raise InputError("place a target first")
        if not (np.abs(place) < 1e4).all():
            raise InputError("the target is too far away")
        self.panel.change(replace(state, aim=replace(state.aim, place=place), steered=None))

    def reach(self) -> None:
        """Bend the clip aside."""
        from marey.body.steer import steer

        state = self.state
        if state.aim is None:
            raise InputError("place a target first, and drag it where the hand should be")
        motion, request = workable(state.motion), self._request(state)
        model = self.panel.poser

        def work(progress: Progress) -> SteerResult:
            poses = model.body()
            return steer(motion, [request], model=model.model if poses is model.model else None)

        def then(found: SteerResult) -> None:
            if self.state.motion is not motion:
                raise InputError("the clip has changed meanwhile; press Reach again")
            self.panel.change(self.state.moved(found.motion, steered=found))
            for line in found.lines():
                self.desk.say(line)

        self.desk.jobs.start("reaching", work, then)

    def _request(self, state: State) -> TimedReach:
        from marey.body.steer import TimedReach

        aim, ends = state.aim, self.panel.ends
        assert aim is not None
        time = aim.frame / state.motion.frame_rate
        return TimedReach(ends.names[aim.end], time, aim.place, point=ends.points[aim.end])

    def _pulled(self, pull: Pull) -> None:
        with self.desk.lock:
            if self.panel.history is None or self.state.aim is None:
                return
            if pull.over:
                self.drag_to(pull.place)
            else:
                self.balls.place(pull.place[None])
                if self._line is not None:
                    points = np.array(self._line.points)
                    points[0, 1] = pull.place
                    self._line.points = points

    def _erase(self) -> None:
        if self._line is not None:
            self._line.remove()
            self._line = None
        self.balls.clear()
