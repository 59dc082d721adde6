"""The clip run forward by control inputs, each with a slider for its gain (Courty 2013, section 2.3.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey._work import Progress
from marey.body.dynamics import MotionModel
from marey.errors import InputError
from marey.studio.body.state import State
from marey.studio.controls import button, several, slider, text
from marey.studio.room import Task, Tool

if TYPE_CHECKING:
    from marey.studio.body.room import BodyRoom

MOST = 8


class DriveTool(Tool[State]):
    """A button that learns the inputs of the clip, and their gains."""

    room: BodyRoom
    drawn_from = ("control",)
    title = "Inputs"
    count = slider("Number of inputs", 1, MOST, 1, 4, "With more, their gains at 1 come nearer to the clip")

    @button("Learn inputs", "Which inputs drive the clip", icon="adjustments")
    def learn(self) -> Task[State]:
        """Learn the inputs and show the clip that they drive."""
        from marey.body.drive import drive

        state, motion, count = self.state, self.state.workable, int(self.count.value)

        def work(progress: Progress) -> State:
            model = MotionModel.fit(motion, inputs=count)
            return replace(state.moved(drive(model).motion), control=model)

        return Task("learning inputs", work, needs=("motion",))

    report = text()
    gains = several(
        [
            slider(f"Input {i + 1}", -1.0, 3.0, 0.05, 1.0, "Its gain: 0 leaves it out", disabled=True)
            for i in range(MOST)
        ],
        on="drive",
        live=True,
    )

    def drive(self, gains: tuple[float, ...]) -> None:
        """Run the clip forward by the inputs with these gains."""
        from marey.body.drive import drive, driven_by

        model = self.state.control
        if model is None:
            raise InputError("the clip has no inputs yet: press Learn inputs")
        state, inputs = self.room.before("inputs"), driven_by(model).inputs
        motion = drive(model, inputs * np.array(gains[: inputs.shape[1]])).motion
        self.room.change(replace(state.moved(motion), control=model), "inputs")

    def set(self, state: State) -> None:
        control = None if state.control is None else state.control.control
        for i, each in enumerate(self.gains):
            each.disabled = control is None or i >= control.dimensions
            if control is None:
                each.value = 1.0
        error = "" if control is None else f"{100 * control.open_loop_error:.0f} %"
        self.report.content = f"With all gains at 1, **{error}** off the clip." if error else ""
