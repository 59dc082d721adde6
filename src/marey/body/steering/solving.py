"""Requests turned into conditions on a clip: which frames may change, and the clip in which points are met.

Points asked for keep the original's velocity, and standing feet are held meanwhile; stretches that overlap
are solved as one.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.steering.conditioning import EXACT, Observations, conditioned
from marey.body.steering.footing import Footing, held_feet
from marey.body.steering.freedom import Freedom
from marey.body.steering.measures import usual_acceleration
from marey.body.steering.process import Span, merged
from marey.body.steering.requests import Goal, path

# Seconds before and after a request: at least, and at most when chosen.
SHORTEST, LONGEST = 0.25, 2.0
# Peak of the displacement's acceleration, by distance over half the interval squared.
PEAK = 6.0
# Of the clip's own acceleration: how much the first guess adds.
ADDED = 0.5


def solved(
    motion: Motion,
    freedom: Freedom,
    asked: list[Goal],
    ground: Footing,
    spans: list[Span],
    *,
    loosely: float = 1.0,
) -> Motion:
    """Targets met and feet held, stretch by stretch.

    loosely: how many times less exactly the targets are meant than usual, beside the feet
    """
    for first, last in merged(spans, motion.frames):
        here = [i for i, goal in enumerate(asked) if first <= goal.frame <= last]
        parts = [_around(motion, asked[i], loosely) for i in here]
        local = [spans[i] for i in here]
        held = held_feet(ground, local, motion.frame_rate)
        motion = conditioned(motion, freedom, local, Observations.joined([*parts, held]))
    return motion


def spans_around(asked: list[Goal], ground: Footing, halves: Array) -> list[Span]:
    """Intervals around requests; a foot's also begins before its stand and ends after."""
    found = []
    for goal, stand, half in zip(asked, ground.stands, halves.tolist(), strict=True):
        first, last = (goal.frame, goal.frame) if stand is None else stand
        found.append(Span(min(first, goal.frame) - half, max(last, goal.frame) + half))
    return found


def first_halves(motion: Motion, asked: list[Goal], interval: float | None) -> Array:
    """Frames before and after each request that change; those of one moment change together."""
    rate = motion.frame_rate
    if interval is not None:
        return np.full(len(asked), max(0.5 * interval * rate, 1.5))
    found = np.empty(len(asked))
    for i, goal in enumerate(asked):
        usual = max(usual_acceleration(path(motion, goal), rate), 1e-9)
        seconds = np.sqrt(PEAK * np.linalg.norm(goal.way) / (ADDED * usual))
        found[i] = np.clip(seconds, SHORTEST, LONGEST / 2) * rate
    frames = np.array([goal.frame for goal in asked])
    return np.array([found[frames == frame].max() for frame in frames])


def _around(motion: Motion, goal: Goal, loosely: float) -> Observations:
    """The target, and the frames beside it at the original's velocity."""
    course = path(motion, goal)
    frames = np.array([f for f in goal.frame + np.arange(-1, 2) if 0 <= f < motion.frames])
    count = len(frames)
    return Observations(
        frames,
        np.full(count, goal.joint),
        np.tile(goal.point, (count, 1)),
        goal.place + course[frames] - course[goal.frame],
        loosely * np.where(frames == goal.frame, EXACT / 3, EXACT),
    )
