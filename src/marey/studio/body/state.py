"""What the body room shows: a clip, what was made of it, what users marked in it; and how it is opened."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import Array
from marey.body.clean import clean
from marey.body.codec.clip import CompressedMotion
from marey.body.compare import JointError
from marey.body.dynamics import MotionModel
from marey.body.fill import FillResult
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.root_motion import moving_root
from marey.body.steer import SteerResult
from marey.character import Character
from marey.errors import InputError, MareyError
from marey.studio.settings import LIMITS

Opened = Motion | Character | CompressedMotion | PoseModel | MotionModel


@dataclass(frozen=True, eq=False)
class Compressed:
    """The clip compressed: the bytes, what they decode to, how far off that is."""

    clip: CompressedMotion
    motion: Motion
    error: JointError


@dataclass(frozen=True, eq=False)
class ReachTarget:
    """Where an end effector should be at a frame; `place` `(3,)`, metres."""

    end: int
    frame: int
    place: Array


@dataclass(frozen=True, eq=False)
class State:
    """What is shown.

    motion: the clip as it is now
    character: the mesh that follows it, if there is one
    pins: frames whose pose variants keep
    variants: other versions of the clip to choose from; deviation_cm: how far they are from it on average
    gap: first and last frame of a marked gap
    filling: how the gap was filled, while that is shown
    compressed: the clip compressed, while that is shown
    target: what an end effector should reach, and `steered` how it did
    control: the model whose inputs drive the clip, while they do
    """

    motion: Motion
    character: Character | None = None
    pins: tuple[int, ...] = ()
    variants: tuple[Motion, ...] = ()
    deviation_cm: float = 0.0
    gap: tuple[int, int] | None = None
    filling: FillResult | None = None
    compressed: Compressed | None = None
    target: ReachTarget | None = None
    steered: SteerResult | None = None
    control: MotionModel | None = None

    def moved(
        self, motion: Motion, filling: FillResult | None = None, steered: SteerResult | None = None
    ) -> State:
        """The state with another clip; what was made of the one before is no longer shown."""
        found = replace(self, motion=motion, variants=(), compressed=None, control=None)
        return replace(found, filling=filling, steered=steered)

    @property
    def workable(self) -> Motion:
        """The clip, if it is small enough to learn from while a user waits."""
        if self.motion.joints > LIMITS.joints:
            raise InputError(
                f"this figure has {self.motion.joints} joints; the studio works with up to {LIMITS.joints}. "
                "Leave some out (marey convert), or use the command line."
            )
        return self.motion


def opened(data: Opened) -> tuple[State, list[str]]:
    """The first state of something that was loaded, and what users should know about it."""
    if isinstance(data, Character):
        return _character(data)
    if isinstance(data, CompressedMotion):
        data = data.decode()
    elif isinstance(data, MotionModel):
        frames = round(8.0 * data.frame_rate)
        return State(data.sample(frames, rng=0)), ["this is a new motion, drawn from the model"]
    elif isinstance(data, PoseModel):
        mean = np.zeros((1, data.modes))
        return State(data.decode_motion(mean, 30.0, name="mean pose")), ["this is the model's mean pose"]
    return _clip(data)


def _clip(motion: Motion) -> tuple[State, list[str]]:
    notes = []
    if top := moving_root(motion):
        names = motion.skeleton.names
        notes.append(f"left out {', '.join(names[:top])}: {names[top]} below travels by itself")
        motion = motion.subtree(names[top])
    if motion.frames > 2:
        motion, report = clean(motion)
        notes += replace(report, still=(), jumps=()).lines() if report.changed else []
    return State(motion), notes


def _character(data: Character) -> tuple[State, list[str]]:
    state, notes = _clip(data.motion)
    if len(data.motions) > 1:
        notes.append(f"the first of {len(data.motions)} clips is shown")
    try:
        return State(state.motion, data.with_motion(state.motion)), notes
    except MareyError:
        # The skin hangs on a joint that was left out.
        return State(data.motion, data.with_motion(data.motion)), notes[-1:]
