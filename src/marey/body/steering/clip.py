"""A clip steered by a few requests: hands and feet reach given points at given times (Courty 2013, 3.2.3.2).

Around each request the clip is displaced as smoothly and as much like itself as possible; standing feet
stay, and frames outside the interval are not touched. The interval is as long as it must be for the
accelerations to stay like the clip's own. Optionally the clip's joint model simulates the interval anew
(:mod:`.simulation`). Some tens of milliseconds a second of motion that is changed, beside learning the
clip's poses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey._random import Rng
from marey.body.dynamics import METHODS, MotionModel
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.steering.footing import Footing, footing, settled
from marey.body.steering.freedom import Freedom
from marey.body.steering.measures import latent_speeds, peak_ratio
from marey.body.steering.process import Span, merged
from marey.body.steering.reach import MET, feet_stay, within_reach
from marey.body.steering.requests import Goal, ReachAt, goals, path
from marey.body.steering.simulation import simulated
from marey.body.steering.solving import LONGEST, first_halves, solved, spans_around
from marey.errors import InputError

MODES = ("displace", "simulate")
# Modes of the pose model that is learned from the clip.
POSE_MODES = 15
# Of the clip's own: how much acceleration is allowed, and how much speed in the pose model's coordinates.
ALLOWED, FAST = 1.5, 1.15
# How much longer the interval is tried next, and what that must bring for another attempt.
WIDER, HELPS = 1.4, 0.95
# Draws until one is as calm as the clip: share of the clip's variance that is simulated, times the interval.
# Details that are kept must not cancel others that are drawn; of a nearly noiseless clip fewer are learned.
TRIES = ((0.999, 1.0), (0.999, WIDER), (0.99, 1.0))


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
            f"reach {name} is missed by {miss:.1f} cm: the body does not get further"
            for name, miss in zip(self.names, self.residual_cm, strict=True)
            if miss > 100 * MET
        ]


def steer(
    motion: Motion,
    requests: Sequence[ReachAt],
    *,
    mode: str = "displace",
    deviation: float = 0.0,
    method: str = "joint",
    interval: float | None = None,
    model: PoseModel | None = None,
    rng: Rng = None,
) -> Steered:
    """The clip in which points of the body are where they are asked to be.

    mode: "displace", a smooth change of the original; or "simulate", the interval drawn anew from the clip's
        dynamics, given the pose at the request and the frames around
    deviation: how much chance there is beside a smooth change, 1 as much as in the clip's dynamics
    method: dynamics that chance follows: "joint", or "gp", each coordinate by itself with a squared
        exponential covariance, the source's
    interval: seconds that may change around a request; as long as needed if None
    model: poses to stay like; learned from the clip if None
    rng: seed of what is simulated

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> found = steer(walk, [ReachAt("LeftHand", 1.0, [0.0, 0.1, 0.05], relative=True)])
    >>> max(found.residual_cm) < 0.5, found.peak_acceleration_ratio <= 1.5
    (True, True)
    """
    _check(mode, deviation, method, interval)
    wanted = goals(motion, requests)
    poses = _poses(motion) if model is None else model
    if poses.skeleton.names != motion.skeleton.names:
        raise InputError("the pose model's joints differ from those of the clip")
    freedom = Freedom.of(motion, poses)
    asked = within_reach(motion, freedom, wanted, interval)
    ground = footing(motion, asked)
    halves = first_halves(motion, asked, interval)
    result, spans = _widened(motion, poses, freedom, asked, ground, halves, fixed=interval is not None)
    if mode == "simulate" or deviation > 0:
        generator = np.random.default_rng(rng)

        def drawn(variance: float, spans: list[Span]) -> Motion:
            learned = MotionModel.fit(motion, variance=variance, method=method)
            start = simulated(
                learned, motion, result, asked, spans, share=None if mode == "simulate" else deviation,
                rng=generator,
            )  # fmt: skip
            return settled(solved(start, freedom, asked, ground, spans), asked, ground, spans)

        tries = [one for one in TRIES if interval is None or one[1] == 1.0]
        result, spans = _calmest(motion, asked, spans, drawn, tries)
    misses = [float(np.linalg.norm(path(result[g.frame], g)[0] - g.place)) for g in wanted]
    return Steered(
        result,
        tuple(100 * miss for miss in misses),
        _worst_ratio(motion, result, asked, spans),
        merged(spans, motion.frames),
        tuple(f"{r.joint} at {r.time:g} s" for r in requests),
    )


def _widened(
    motion: Motion,
    poses: PoseModel,
    freedom: Freedom,
    asked: list[Goal],
    ground: Footing,
    halves: Array,
    *,
    fixed: bool,
) -> tuple[Motion, list[Span]]:
    """The steered clip, with intervals as long as accelerations and speeds like the clip's own need."""
    usual = latent_speeds(motion, poses).max(initial=0.0)
    longest = LONGEST * motion.frame_rate
    best: tuple[Motion, list[Span]] | None = None
    worst = np.inf
    while True:
        spans = spans_around(asked, ground, halves)
        result = settled(solved(motion, freedom, asked, ground, spans), asked, ground, spans)
        ratios = np.array(
            [
                max(
                    peak_ratio(motion, result, goal, span) / ALLOWED,
                    _speed(result, poses, span) / (FAST * max(usual, 1e-9)),
                )
                for goal, span in zip(asked, spans, strict=True)
            ]
        )
        helps = ratios.max() < HELPS * worst
        if best is None or (ratios.max() < worst and feet_stay(result, asked, ground, spans)):
            best, worst = (result, spans), float(ratios.max())
        wider = (ratios > 1.0) & (halves < longest)
        # Where targets contradict one another, or are out of reach, more time is of no use.
        if fixed or not wider.any() or not helps:
            return best
        halves = np.where(wider, np.minimum(WIDER * halves, longest), halves)


def _calmest(
    motion: Motion,
    asked: list[Goal],
    spans: list[Span],
    drawn: Callable[[float, list[Span]], Motion],
    tries: list[tuple[float, float]],
) -> tuple[Motion, list[Span]]:
    """The first draw with accelerations like the clip's, or the one that comes nearest to that."""
    found = []
    for variance, factor in tries:
        around = [span.wider(factor) for span in spans]
        result = drawn(variance, around)
        found.append((_worst_ratio(motion, result, asked, around), result, around))
        if found[-1][0] <= ALLOWED:
            break
    _, result, around = min(found, key=lambda one: one[0])
    return result, around


def _worst_ratio(motion: Motion, result: Motion, asked: list[Goal], spans: list[Span]) -> float:
    return max(peak_ratio(motion, result, goal, span) for goal, span in zip(asked, spans, strict=True))


def _speed(motion: Motion, poses: PoseModel, span: Span) -> float:
    """The largest change of coordinates between frames around a span."""
    first = max(int(np.floor(span.start)) - 1, 0)
    speeds = latent_speeds(motion[first : int(np.ceil(span.end)) + 2], poses)
    return float(speeds.max(initial=0.0))


def _poses(motion: Motion) -> PoseModel:
    return PoseModel.fit([motion], modes=min(POSE_MODES, 3 * motion.joints))


def _check(mode: str, deviation: float, method: str, interval: float | None) -> None:
    if mode not in MODES:
        raise InputError(f"mode {mode!r}: one of {', '.join(MODES)}")
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    if not (np.isfinite(deviation) and deviation >= 0):
        raise InputError(f"deviation: a number, not below 0, got {deviation}")
    if interval is not None and not (np.isfinite(interval) and interval > 0):
        raise InputError(f"interval: seconds above 0, got {interval}")
