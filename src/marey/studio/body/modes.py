"""The principal modes of the body's poses as sliders, in standard deviations (Tournier 2011, section 8.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marey.errors import InputError
from marey.studio.body.state import State
from marey.studio.controls import button, several, slider, text
from marey.studio.room import Tool

if TYPE_CHECKING:
    from marey.studio.body.room import BodyRoom

# Standard deviations to either side.
WIDEST = 3.0
WAIT = "Poses are being learned from the clip…"
SHORT = "This clip is too short to learn modes from; open a pose model (marey body fit) for it."
UNIT = ", in standard deviations"
ORDINALS = ("Largest", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth")


class ModesTool(Tool[State]):
    """A slider a mode; they show the present pose and change it."""

    room: BodyRoom
    title = "Modes"
    report = text(WAIT)

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self._shown: tuple[float, ...] = ()

    sliders = several(
        [
            slider(f"Mode {i + 1}", -WIDEST, WIDEST, 0.05, 0.0, f"{nth} variation{UNIT}", disabled=True)
            for i, nth in enumerate(ORDINALS)
        ],
        on="set_modes",
        live=True,
    )

    @button("Reset modes", "The pose as it was before the sliders", gray=True)
    def reset(self) -> None:
        """The pose of this frame as it was before the sliders were moved."""
        if self.room.gesture == self._gesture():
            self._shown = ()
            self.room.undo()

    def set_modes(self, deviations: tuple[float, ...]) -> None:
        """Give the present pose these numbers of standard deviations along the first modes."""
        model = self.room.solver.model
        if model is None:
            raise InputError(SHORT if self.room.solver.ready else WAIT)
        from marey.body.ik.trajectory import blend_pose

        self.workspace.timeline.play(False)
        frame, gesture = self.room.frame, self._gesture()
        state = self.room.before(gesture)
        posed = model.with_deviations(state.motion[frame], deviations)
        self._shown = tuple(round(float(value), 2) for value in deviations)
        motion = blend_pose(state.motion, frame, posed, float(self.room.pose.falloff.value))
        self.room.change(state.moved(motion), gesture)

    def refresh(self, state: State) -> None:
        solver = self.room.solver
        count = 0 if solver.model is None else min(solver.model.modes, len(self.sliders))
        for i, each in enumerate(self.sliders):
            each.disabled = i >= count
        known = "Change the pose along what varies most in the clip."
        self.report.content = known if count else SHORT if solver.ready else WAIT

    def frame(self, state: State, frame: int) -> None:
        model = self.room.solver.model
        if model is None or self.workspace.timeline.playing:
            return
        found = (model.encode(state.motion[frame])[0] / model.deviations)[: len(self.sliders)]
        values = tuple(float(v) for v in np.clip(found, -WIDEST, WIDEST).round(2))
        # A slider that is being moved is not moved back.
        if values != self._shown:
            before = self._shown or (np.inf,) * len(self.sliders)
            for each, value, known in zip(self.sliders, values, before, strict=False):
                if value != known:
                    each.value = value
        self._shown = values

    def _gesture(self) -> str:
        """Moving on at the same frame is one gesture."""
        return f"modes at {self.room.frame}"
