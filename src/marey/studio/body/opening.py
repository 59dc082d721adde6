"""What the body panel can open, as a clip that can be worked on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey.body.clean import clean
from marey.body.codec.clip import CompressedMotion
from marey.body.dynamics import MotionModel
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.root_motion import moving_root
from marey.character import Character
from marey.errors import MareyError
from marey.studio.body.state import State

KINDS = (Motion, Character, CompressedMotion, PoseModel, MotionModel)
Opened = Motion | Character | CompressedMotion | PoseModel | MotionModel

# Seconds of new motion that a model of dynamics shows, and frames a second of a single pose.
SECONDS, RATE = 8.0, 30.0


def opened(thing: Opened) -> tuple[State, list[str]]:
    """The first state of something that was loaded, and what people should know about it."""
    if isinstance(thing, Character):
        return _character(thing)
    if isinstance(thing, CompressedMotion):
        thing = thing.decode()
    elif isinstance(thing, MotionModel):
        frames = round(SECONDS * thing.frame_rate)
        return State(thing.sample(frames, rng=0)), ["this is a new motion, drawn from the model"]
    elif isinstance(thing, PoseModel):
        mean = np.zeros((1, thing.modes))
        return State(thing.decode_motion(mean, RATE, name="mean pose")), ["this is the model's mean pose"]
    return _clip(thing)


def _clip(motion: Motion) -> tuple[State, list[str]]:
    told = []
    if top := moving_root(motion):
        names = motion.skeleton.names
        told.append(f"left out {', '.join(names[:top])}: {names[top]} below travels by itself")
        motion = motion.subtree(names[top])
    if motion.frames > 2:
        motion, report = clean(motion)
        told += replace(report, still=(), jumps=()).lines() if report.changed else []
    return State(motion), told


def _character(thing: Character) -> tuple[State, list[str]]:
    state, told = _clip(thing.motion)
    if len(thing.motions) > 1:
        told.append(f"the first of {len(thing.motions)} clips is shown")
    try:
        return State(state.motion, thing.with_motion(state.motion)), told
    except MareyError:
        # The skin hangs on a joint that was left out.
        return State(thing.motion, thing.with_motion(thing.motion)), told[-1:]
