"""What commands on bodies are given: a clip, its pose model, a moment in it, numbers for a joint of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.body.clean import clean
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.root_motion import moving_root
from marey.character import Character
from marey.cli._typer import load_with_bar, note
from marey.errors import InputError
from marey.io import load

# Metres: farther than this is a slip of the pen.
FARTHEST = 1e6


def load_clip(source: Path, *, raw: bool = False, clip: str | None = None, **options: Any) -> Motion:
    """The skeleton motion of a file: from the joint that travels downwards, and cleaned unless `raw`."""
    return figure_of(load_with_bar(source, clip=clip, **options), source, raw=raw)


def load_whole_clip(source: Path, *, raw: bool = False, clip: str | None = None, **options: Any) -> Motion:
    """The skeleton motion of a file with all its joints, cleaned unless `raw`."""
    motion = motion_of(load_with_bar(source, clip=clip, **options), source)
    return motion if raw else _cleaned(motion, source)


def figure_of(thing: Any, source: Path, *, raw: bool) -> Motion:
    """The clip of what a file holds: without joints that only carry the figure, and cleaned unless `raw`."""
    motion = motion_of(thing, source)
    if top := moving_root(motion):
        names = motion.skeleton.names
        note(f"left out {', '.join(names[:top])}: {names[top]} below travels by itself")
        motion = motion.subtree(names[top])
    return motion if raw else _cleaned(motion, source)


def motion_of(thing: Any, source: Path) -> Motion:
    """The skeleton motion of what a file holds."""
    motion = thing.motion if isinstance(thing, Character) else thing
    if not isinstance(motion, Motion):
        raise InputError(f"{source}: skeleton motion is needed, this is a {type(thing).__name__}")
    return motion


def load_pose_model(path: Path, motion: Motion) -> PoseModel:
    """A pose model for the skeleton of a clip."""
    learned = load(path)
    if not isinstance(learned, PoseModel):
        raise InputError(f"{path}: not a pose model but a {type(learned).__name__}; see marey body fit")
    if learned.skeleton.names != motion.skeleton.names:
        raise InputError(f"{path}: its joints differ from those of the clip")
    return learned


def frame_at(motion: Motion, seconds: float, what: str) -> int:
    """The frame of a clip at a time; `what` asked for it, in case there is none."""
    frame = round(seconds * motion.frame_rate) if math.isfinite(seconds) else -1
    if not 0 <= frame < motion.frames:
        last = (motion.frames - 1) / motion.frame_rate
        raise InputError(f"{what} {seconds:g}: the clip goes from 0 to {last:g} seconds")
    return frame


def joint_numbers(option: str, text: str, count: int = 3) -> tuple[str, NDArray[np.float64]]:
    """The joint and the numbers `(count,)` of `JOINT=X,Y,Z`.

    >>> joint_numbers("--reach", "LeftHand=0.3,1.4,0.5")
    ('LeftHand', array([0.3, 1.4, 0.5]))
    """
    joint, equals, rest = text.partition("=")
    try:
        values = np.array([float(part) for part in rest.split(",")])
    except ValueError:
        values = np.empty(0)
    if not (joint.strip() and equals and values.shape == (count,) and (np.abs(values) < FARTHEST).all()):
        example = "JOINT=" + ",".join({1: "H", 3: "XYZ", 4: "WXYZ"}[count])
        raise InputError(f"{option} {text}: write it as {example}" + ", numbers in metres" * (count != 4))
    return joint.strip(), values


def _cleaned(motion: Motion, source: Path) -> Motion:
    motion, report = clean(motion)
    for line in report.lines() if report.changed else ():
        note(f"{source}: {line}")
    return motion
