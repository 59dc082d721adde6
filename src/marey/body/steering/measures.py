"""How natural a steered clip is: accelerations of what was steered, speed in the pose model's coordinates."""

from __future__ import annotations

import numpy as np

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.steering.process import Span
from marey.body.steering.requests import Goal, path

# Quantile of a clip's accelerations that still counts as usual.
USUAL = 0.9


def accelerations(course: Array, frame_rate: float) -> Array:
    """Of a path `(frames, 3)`: metres a second squared at all frames but the first and last."""
    return np.asarray(np.linalg.norm(np.diff(course, n=2, axis=0), axis=1) * frame_rate**2)


def usual_acceleration(course: Array, frame_rate: float) -> float:
    """What nine tenths of the frames stay below, metres a second squared.

    >>> usual_acceleration(np.outer(np.arange(20) ** 2, [0.5, 0, 0]), 1.0)
    1.0
    """
    found = accelerations(course, frame_rate)
    return float(np.quantile(found, USUAL)) if len(found) else 0.0


def peak_acceleration(course: Array, frame_rate: float) -> float:
    """The largest acceleration of a path `(frames, 3)`, metres a second squared."""
    return float(accelerations(course, frame_rate).max(initial=0.0))


def peak_ratio(original: Motion, steered: Motion, goal: Goal, span: Span) -> float:
    """Largest acceleration of the point asked for within the interval, over its largest in the original."""
    rate = original.frame_rate
    first = max(int(np.floor(span.start)) - 1, 0)
    last = min(int(np.ceil(span.end)) + 2, original.frames)
    found = peak_acceleration(path(steered[first:last], goal), rate)
    usual = peak_acceleration(path(original, goal), rate)
    return found / usual if usual > 0 else (1.0 if found == 0 else float("inf"))


def latent_speeds(motion: Motion, model: PoseModel) -> Array:
    """How fast the coordinates change `(frames - 1,)`: their length a frame."""
    return np.asarray(np.linalg.norm(np.diff(model.encode(motion), axis=0), axis=1))
