"""Targets that a body cannot get to, drawn back to where it can.

A target is within reach if the clip can be displaced to it while standing feet stay on the ground; how far
joints and root go is bounded by :mod:`.freedom`. Otherwise the body first goes as far as it can with targets
meant loosely beside the feet, and those that are missed most are put where it got to, one after the other,
until all the rest is met. Nothing but one solution more for targets within reach.
"""

from __future__ import annotations

import numpy as np

from marey.body.motion import Motion
from marey.body.steering.footing import Footing, foot_of, footing, settled
from marey.body.steering.freedom import Freedom
from marey.body.steering.process import Span
from marey.body.steering.requests import Goal, path
from marey.body.steering.solving import first_halves, solved, spans_around

# Metres: a target counts as met, a standing foot as held, and one that is asked for as standing beside.
MET, HELD, BESIDE = 0.005, 0.01, 0.08
# How loosely targets are meant to find how far a body goes: 3 cm beside feet of half a millimetre.
LOOSELY = 300.0
# Share of its way that a target still out of reach is left, and how often; how often the middle is tried
# between where the body surely gets and where it was asked to.
SHORTER, ROUNDS, HALVINGS = 0.7, 6, 3


def within_reach(
    motion: Motion, freedom: Freedom, asked: list[Goal], interval: float | None = None
) -> list[Goal]:
    """The goals, with those that cannot be met drawn back to where the body can get.

    >>> import marey
    >>> from marey.body import PoseModel
    >>> from marey.body.steering.requests import ReachAt, goals
    >>> walk = marey.samples.walk(seconds=2)
    >>> freedom = Freedom.of(walk, PoseModel.fit([walk], modes=10))
    >>> near, far = (goals(walk, [ReachAt("LeftHand", 1.0, [0, up, 0], relative=True)]) for up in (0.1, 3.0))
    >>> within_reach(walk, freedom, near)[0] is near[0]
    True
    >>> bool(within_reach(walk, freedom, far)[0].way[1] < 1.5)
    True
    """
    if _fits(motion, freedom, asked, interval):
        return asked
    # Feet that are asked for are let go here: where they would stand is not known yet.
    ground = footing(motion, asked, let_go=True)
    spans = spans_around(asked, ground, first_halves(motion, asked, interval))
    loose = settled(solved(motion, freedom, asked, ground, spans, loosely=LOOSELY), asked, ground, spans)
    got = [path(loose[goal.frame], goal)[0] for goal in asked]
    missed = np.array([np.linalg.norm(place - goal.place) for place, goal in zip(got, asked, strict=True)])
    found = list(asked)
    for i in np.argsort(-missed).tolist():
        found[i] = found[i].at(got[i])
        for _ in range(ROUNDS):
            if _fits(motion, freedom, found, interval):
                return _further(motion, freedom, found, asked, interval)
            found[i] = found[i].at(found[i].place - (1 - SHORTER) * found[i].way)
    return found


def feet_stay(result: Motion, asked: list[Goal], ground: Footing, spans: list[Span]) -> bool:
    """Whether feet are where they stand, those that are asked for roughly."""
    away = np.linalg.norm(result.positions()[:, list(ground.joints)] - ground.places, axis=-1)
    away[~(ground.standing & ground.covered(spans)[:, None])] = 0.0
    busy = {joint for goal in asked for joint in foot_of(result, goal)}
    bounds = [BESIDE if joint in busy else HELD for joint in ground.joints]
    return bool((away < bounds).all())


def _further(
    motion: Motion, freedom: Freedom, found: list[Goal], asked: list[Goal], interval: float | None
) -> list[Goal]:
    """Goals that fit, nearer to what was asked for."""
    sure, step = 0.0, 0.5
    best = found
    for _ in range(HALVINGS):
        tried = [
            goal.at(goal.place + (sure + step) * (wanted.place - goal.place))
            for goal, wanted in zip(found, asked, strict=True)
        ]
        if _fits(motion, freedom, tried, interval):
            best, sure = tried, sure + step
        step *= 0.5
    return best


def _fits(motion: Motion, freedom: Freedom, asked: list[Goal], interval: float | None) -> bool:
    """Whether all goals can be met together while feet stay where they stand."""
    ground = footing(motion, asked)
    spans = spans_around(asked, ground, first_halves(motion, asked, interval))
    result = settled(solved(motion, freedom, asked, ground, spans), asked, ground, spans)
    met = all(np.linalg.norm(path(result[goal.frame], goal)[0] - goal.place) < MET for goal in asked)
    return met and feet_stay(result, asked, ground, spans)
