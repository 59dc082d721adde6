"""A clip steered by a few requests: hands and feet reach given points at given times (Courty 2013, 3.2.3.2).

Around each request the clip is displaced as smoothly and as much like itself as possible; standing feet
stay, and frames outside the interval are not touched. The interval is as long as it must be for the
accelerations to stay like the clip's own. Optionally the clip's joint model simulates the interval anew
(:mod:`.simulation`). Some tens of milliseconds a second of motion that is changed, beside learning the
clip's poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.steering.conditioning import EXACT, Observations, conditioned
from marey.body.steering.footing import Footing, footing, held_feet, settled
from marey.body.steering.freedom import Freedom
from marey.body.steering.measures import peak_ratio, usual_acceleration
from marey.body.steering.process import Span, merged
from marey.body.steering.requests import Goal, ReachAt, goals, path
from marey.body.steering.simulation import simulated
from marey.errors import InputError
from marey.statistics.autoregression.model import Seed

Array = NDArray[np.float64]

MODES = ("displace", "simulate")
# Modes of the pose model that is learned from the clip.
POSE_MODES = 15
# Seconds before and after a request: at least, and at most when chosen.
SHORTEST, LONGEST = 0.25, 2.0
# Peak of the displacement's acceleration, by distance over half the interval squared.
PEAK = 6.0
# Of the clip's own: how much acceleration is allowed, and what the first guess adds.
ALLOWED, ADDED = 1.5, 0.5
# How much longer the interval is tried next, and what that must bring for another attempt.
WIDER, HELPS = 1.4, 0.95
# Metres within which a target counts as met.
NEAR = 0.005


@dataclass(frozen=True, eq=False)
class Steered:
    """A clip that was steered.

    motion: the new clip
    residual_cm: `(requests,)`, how far each target is missed
    peak_acceleration_ratio: of the points asked for, within the intervals: their largest acceleration over
        the largest in the original clip
    intervals: first and last frame changed, of each stretch
    """

    motion: Motion
    residual_cm: tuple[float, ...]
    peak_acceleration_ratio: float
    intervals: tuple[tuple[int, int], ...]
    names: tuple[str, ...]

    def lines(self) -> list[str]:
        """One sentence for every target that was missed."""
        return [
            f"reach {name} is missed by {miss:.1f} cm"
            for name, miss in zip(self.names, self.residual_cm, strict=True)
            if miss > 100 * NEAR
        ]


def steer(
    motion: Motion,
    requests: Sequence[ReachAt],
    *,
    mode: str = "displace",
    deviation: float = 0.0,
    interval: float | None = None,
    model: PoseModel | None = None,
    rng: Seed = None,
) -> Steered:
    """The clip in which points of the body are where they are asked to be.

    mode: "displace", a smooth change of the original; or "simulate", the interval drawn anew from the clip's
        dynamics, given the pose at the request and the frames around
    deviation: how much chance there is beside a smooth change, 1 as much as in the clip's dynamics
    interval: seconds that may change around a request; as long as needed if None
    model: poses to stay like; learned from the clip if None
    rng: seed of what is simulated

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> found = steer(walk, [ReachAt("LeftHand", 1.0, [0.0, 0.1, 0.05], relative=True)])
    >>> max(found.residual_cm) < 0.5, found.peak_acceleration_ratio <= 1.5
    (True, True)
    """
    _check(mode, deviation, interval)
    asked = goals(motion, requests)
    poses = _poses(motion) if model is None else model
    if poses.skeleton.names != motion.skeleton.names:
        raise InputError("the pose model's joints differ from those of the clip")
    freedom = Freedom.of(motion, poses)
    ground = footing(motion, asked)
    halves = _first_halves(motion, asked, interval)
    result, spans = _widened(motion, freedom, asked, ground, halves, fixed=interval is not None)
    if mode == "simulate" or deviation > 0:
        start = simulated(
            motion, result, asked, spans, share=1.0 if mode == "simulate" else deviation,
            anew=mode == "simulate", rng=rng,
        )  # fmt: skip
        result = _solve(start, freedom, asked, ground, spans)
    result = settled(result, asked, ground, spans)
    misses = [float(np.linalg.norm(path(result[g.frame], g)[0] - g.place)) for g in asked]
    return Steered(
        result,
        tuple(100 * miss for miss in misses),
        max(peak_ratio(motion, result, g, span) for g, span in zip(asked, spans, strict=True)),
        merged(spans, motion.frames),
        tuple(f"{r.joint} at {r.time:g} s" for r in requests),
    )


def _widened(
    motion: Motion, freedom: Freedom, asked: list[Goal], ground: Footing, halves: Array, *, fixed: bool
) -> tuple[Motion, list[Span]]:
    """The steered clip, with intervals as long as accelerations like the clip's own need."""
    longest = LONGEST * motion.frame_rate
    best: tuple[Motion, list[Span]] | None = None
    worst = np.inf
    while True:
        spans = _spans(asked, ground, halves)
        result = _solve(motion, freedom, asked, ground, spans)
        ratios = np.array([peak_ratio(motion, result, g, s) for g, s in zip(asked, spans, strict=True)])
        helps = ratios.max() < HELPS * worst
        if best is None or ratios.max() < worst:
            best, worst = (result, spans), float(ratios.max())
        wider = (ratios > ALLOWED) & (halves < longest)
        # Where targets contradict one another, or are out of reach, more time is of no use.
        if fixed or not wider.any() or not helps:
            return best
        halves = np.where(wider, np.minimum(WIDER * halves, longest), halves)


def _solve(motion: Motion, freedom: Freedom, asked: list[Goal], ground: Footing, spans: list[Span]) -> Motion:
    """Targets met and feet held, stretch by stretch."""
    for first, last in merged(spans, motion.frames):
        here = [i for i, goal in enumerate(asked) if first <= goal.frame <= last]
        parts = [_around(motion, asked[i]) for i in here]
        local = [spans[i] for i in here]
        held = held_feet(ground, local, motion.frame_rate)
        motion = conditioned(motion, freedom, local, Observations.joined([*parts, held]))
    return motion


def _around(motion: Motion, goal: Goal) -> Observations:
    """The target, and the frames beside it at the original's velocity."""
    course = path(motion, goal)
    frames = np.array([f for f in goal.frame + np.arange(-1, 2) if 0 <= f < motion.frames])
    count = len(frames)
    return Observations(
        frames,
        np.full(count, goal.joint),
        np.tile(goal.point, (count, 1)),
        goal.place + course[frames] - course[goal.frame],
        np.where(frames == goal.frame, EXACT / 3, EXACT),
    )


def _spans(asked: list[Goal], ground: Footing, halves: Array) -> list[Span]:
    """Intervals around requests; a foot's begins before its stand and ends after."""
    found = []
    for goal, stand, half in zip(asked, ground.stands, halves.tolist(), strict=True):
        first, last = (goal.frame, goal.frame) if stand is None else stand
        found.append(Span(first - half, last + half))
    return found


def _first_halves(motion: Motion, asked: list[Goal], interval: float | None) -> Array:
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


def _poses(motion: Motion) -> PoseModel:
    return PoseModel.fit([motion], modes=min(POSE_MODES, 3 * motion.joints))


def _check(mode: str, deviation: float, interval: float | None) -> None:
    if mode not in MODES:
        raise InputError(f"mode {mode!r}: one of {', '.join(MODES)}")
    if not (np.isfinite(deviation) and deviation >= 0):
        raise InputError(f"deviation: a number, not below 0, got {deviation}")
    if interval is not None and not (np.isfinite(interval) and interval > 0):
        raise InputError(f"interval: seconds above 0, got {interval}")
