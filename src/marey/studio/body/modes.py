"""The principal modes of the body's poses as sliders, in standard deviations (Tournier 2011, section 8.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.studio.body.section import Section
from marey.studio.body.state import State
from marey.studio.latest import Latest

if TYPE_CHECKING:
    from marey.studio.body.panel import BodyPanel

Array = NDArray[np.float64]

SLIDERS = 8
# Standard deviations to either side.
WIDEST = 3.0
WAIT = "Poses are being learned from the clip…"
SHORT = "This clip is too short to learn modes from; open a pose model (marey body fit) for it."
ASK = "Change the pose along what varies most in the clip."


class Modes(Section):
    """A slider a mode; they show the present pose and change it."""

    def __init__(self, panel: BodyPanel):
        super().__init__(panel)
        gui, guard = self.desk.gui, self.desk.guard
        with self.desk.drawer("Modes"):
            self.text = gui.add_markdown(WAIT)
            self.sliders = [
                gui.add_slider(
                    f"Mode {i + 1}", -WIDEST, WIDEST, 0.05, 0.0, disabled=True,
                    hint=f"{_ORDINALS[i]} way the poses vary most, in standard deviations",
                )
                for i in range(SLIDERS)
            ]  # fmt: skip
            gui.add_button(
                "Reset modes", color="gray", hint="The pose as it was before the sliders"
            ).on_click(guard(lambda _: self.reset()))
        self.newest: Latest[tuple[float, ...]] = Latest(self._slid)
        for slider in self.sliders:
            slider.on_update(guard(lambda _: self.newest.give(tuple(float(s.value) for s in self.sliders))))
        self._shown: tuple[float, ...] = ()

    def restore(self, state: State) -> None:
        model = self.panel.poser.model
        count = 0 if model is None else min(model.modes, SLIDERS)
        for i, slider in enumerate(self.sliders):
            slider.disabled = i >= count
        self.text.content = ASK if count else SHORT if self.panel.poser.ready else WAIT

    def show(self, frame: int) -> None:
        model = self.panel.poser.model
        if model is None or self.desk.timeline.playing:
            return
        deviations = self._deviations(model, self.state.motion[frame])
        values = tuple(float(v) for v in np.clip(deviations, -WIDEST, WIDEST).round(2))
        # A slider that is being moved is not moved back.
        if values != self._shown:
            before = self._shown or (np.inf,) * SLIDERS
            for slider, value, known in zip(self.sliders, values, before, strict=False):
                if value != known:
                    slider.value = value
        self._shown = values

    def set(self, deviations: tuple[float, ...]) -> None:
        """Give the present pose these numbers of standard deviations along the first modes."""
        model = self.panel.poser.model
        if model is None:
            raise InputError(SHORT if self.panel.poser.ready else WAIT)
        from marey.body.ik.trajectory import blend_pose

        self.desk.timeline.play(False)
        frame, state = self.panel.frame, self.state
        # Moving on at the same frame replaces the step before: one undo takes all of it back.
        if state.slid == frame:
            self.panel.step_back()
            state = self.state
        posed = along_modes(model, state.motion[frame], deviations)
        self._shown = tuple(round(float(value), 2) for value in deviations)
        motion = blend_pose(state.motion, frame, posed, float(self.panel.posing.falloff.value))
        self.panel.change(state.moved(motion, slid=frame))

    def reset(self) -> None:
        """The pose of this frame as it was before the sliders were moved."""
        if self.state.slid is not None and self.state.slid == self.panel.frame:
            self._shown = ()
            self.panel.undo()
            self.desk.changed()

    def _slid(self, deviations: tuple[float, ...]) -> None:
        with self.desk.lock, self.desk.errors_told():
            if not self.desk.closed and self.panel.history is not None:
                self.set(deviations)

    def _deviations(self, model: PoseModel, pose: Motion) -> Array:
        spread = np.sqrt(np.maximum(model.geodesics.variances, 1e-12))
        return np.asarray((model.encode(pose)[0] / spread)[:SLIDERS])


def along_modes(model: PoseModel, pose: Motion, deviations: tuple[float, ...]) -> Motion:
    """A pose (a clip of one frame) moved along modes; what the model leaves out of it stays.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> model = PoseModel.fit([walk], modes=5)
    >>> spread = np.sqrt(model.geodesics.variances)
    >>> changed = along_modes(model, walk[3], (1.5,))
    >>> round(float((model.encode(changed)[0] / spread)[0]), 2)
    1.5
    """
    before = model.encode(pose)[0]
    after = before.copy()
    count = min(len(deviations), model.modes)
    spread = np.sqrt(np.maximum(model.geodesics.variances, 1e-12))
    after[:count] = np.asarray(deviations[:count]) * spread[:count]
    old, new = model.decode(np.stack([before, after]))
    rotations = np.array(pose.rotations)
    rotations[0, 1:] = so3.multiply(new[1:], so3.multiply(so3.inverse(old[1:]), rotations[0, 1:]))
    return replace(pose, rotations=so3.normalise(rotations))


_ORDINALS = ("The", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth")
