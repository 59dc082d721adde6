"""A part of the body panel: a folder of controls about one thing that can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marey.body.motion import Motion
from marey.errors import InputError
from marey.studio.body.state import State

if TYPE_CHECKING:
    from marey.studio.body.panel import BodyPanel

# Joints of figures that methods still learn from while somebody waits: their cost grows with the cube.
MOST_JOINTS = 300


class Section:
    """Controls about one thing; what they do goes through the panel's state."""

    def __init__(self, panel: BodyPanel):
        self.panel = panel
        self.desk = panel.desk

    @property
    def state(self) -> State:
        """What the panel shows."""
        if self.panel.history is None:
            raise InputError("open a file or a sample first")
        return self.panel.state

    def opened(self, state: State) -> None:
        """Something else was opened."""

    def restore(self, state: State) -> None:
        """Bring the controls and what is drawn in line with a state."""

    def show(self, frame: int) -> None:
        """Draw what changes from frame to frame."""


def workable(motion: Motion) -> Motion:
    """The clip, if it is small enough to learn from while somebody waits."""
    if motion.joints > MOST_JOINTS:
        raise InputError(
            f"this figure has {motion.joints} joints; the studio works with up to {MOST_JOINTS}. "
            "Leave some out (marey convert), or use the command line."
        )
    return motion
