"""What rooms share in which a character moves by physics from a frame of a clip on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from marey import samples
from marey.body.control.balance import BalanceResult
from marey.body.control.puppet import PuppetResult
from marey.body.motion import Motion
from marey.body.physics.simulate import SimulateResult
from marey.errors import InputError
from marey.studio.exports import files_of
from marey.studio.layers.figure import visible
from marey.studio.room import Export, Room, Samples
from marey.studio.settings import LIMITS
from marey.views.mannequin_parts import Poses

S = TypeVar("S", bound="Moved")


@dataclass(frozen=True, eq=False)
class Moved:
    """A clip, and how its character then moved.

    start: frame from which on it moves by physics; found: how, if it has
    """

    clip: Motion
    start: int = 0
    found: SimulateResult | BalanceResult | PuppetResult | None = None

    @property
    def motion(self) -> Motion:
        """What is played."""
        return self.clip if self.found is None else self.found.motion

    @cached_property
    def poses(self) -> Poses:
        """The poses of what is played, in the world."""
        return Poses(self.motion)


class MovedRoom(Room[S], Generic[S]):
    """A room for one clip whose character is let go of."""

    accepts = (Motion,)
    size = 1.7
    opened: type[S]

    def samples(self) -> Samples:
        return {"walking body": samples.walk}

    def clock(self, state: S) -> tuple[int, float, int]:
        return state.motion.frames, state.motion.frame_rate, 0 if state.found else state.clip.first_frame

    def exports(self, state: S) -> Sequence[Export]:
        return files_of("motion", state.motion, self.stem)

    def open(self, data: Motion, name: str) -> None:
        state = self.opened(data)
        if not visible(state.poses) or data.joints > LIMITS.joints:
            raise InputError(f"{name}: simulated are up to {LIMITS.joints} joints within 1,000 km")
        self.size = max(float(np.ptp(state.poses.points[0], axis=0).max()), 1e-3)
        self.begin(state)

    def look(self) -> None:
        self.workspace.look(self.state.poses.points[0].mean(axis=0), 1.6 * self.size)
