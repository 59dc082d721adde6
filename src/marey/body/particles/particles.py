"""A motion to a pose that meets targets, found by particles within joint limits: `marey body particles`."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marey._arrays import Array
from marey._random import Rng
from marey._report import Report, Result
from marey.body.ik.ik import NOTHING, SLIDING, Handles, frame_at, oriented, pairs, reached_points
from marey.body.ik.targets import LookAt, Orient, Reach, find_point
from marey.body.limits.learned import LearnedLimits, limits_of
from marey.body.limits.limits import Limits
from marey.body.motion import Motion
from marey.body.particles.chain import ArticulatedChain, LearnedDynamics
from marey.body.particles.constraints import (
    Balance,
    Constraint,
    NearPose,
    PoseBatch,
    PosePrior,
    as_constraints,
    feet_on_floor,
    foot_drift,
    largest_errors,
)
from marey.body.particles.filter import PUBLISHED, solve_many
from marey.body.particles.polish import polished
from marey.body.pose_model import PoseModel, check_joints
from marey.errors import InputError, MareyWarning

METHODS = ("guided", "published")
# Times the noise of targets at the start of the published schedule, which leaves it open.
HARDENING = 100.0


@dataclass(frozen=True)
class ParticlesReport(Report):
    """Of the first motion.

    Attributes:
        error_cm: Largest distance from a place to reach; NaN without any.
        error_degrees: Largest angle from a point to face, or from an orientation; NaN without any.
        foot_drift_cm: How far planted feet moved; NaN if they were not planted.
        effective: Particles that carry weight, mean over steps.
        freedoms: Of the skeleton within its limits.
        errors_cm: As `error_cm`, of every motion.
    """

    error_cm: float
    error_degrees: float
    foot_drift_cm: float
    effective: float
    freedoms: int
    errors_cm: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ParticlesResult(Result):
    """Motions that lead to the targets, the best first.

    Attributes:
        motions: Of the clip's skeleton.
        places: `(places, 3)`, metres, of the targets.
        report: What was measured.
    """

    motions: tuple[Motion, ...]
    places: Array
    report: ParticlesReport


def particles(
    motion: Motion,
    *,
    reach: Handles = (),
    move: Handles = (),
    look_at: Handles = (),
    aim: Handles = (),
    floor: bool = False,
    at: float = 0.0,
    particles: int = 300,
    steps: int = 60,
    method: str = "guided",
    model: PoseModel | None = None,
    dynamics: bool = False,
    solutions: int = 1,
    polish: bool = False,
    limits: LearnedLimits | Limits | None = None,
    frame_rate: float = 30.0,
    rng: Rng = 0,
) -> ParticlesResult:
    """Motions from a pose of a clip to poses that meet targets.

    Args:
        motion: The clip; joint limits are widened to hold its poses.
        reach: Joints and the places they are brought to, metres.
        move: Joints and how far they are moved, metres.
        look_at: Joints and the points they face.
        aim: Joints and their rotations in the world, `(w, x, y, z)`.
        floor: Plant feet that are on the ground and keep balance.
        at: The moment to start from, seconds.
        particles: How many.
        steps: From the first frame of the result to its last.
        method: "guided", ours; or "published" (Courty 2013, section 3.1): particles walk at random, with
            steps that do not shrink, targets harden from a hundred times the noise, poses are the weighted
            means.
        model: Keep to likely poses of it.
        dynamics: Move as the clip does.
        solutions: How many different motions.
        polish: Meet targets in the end as exactly as limits and feet allow.
        limits: Further limits of joints, such as :func:`marey.body.limits.learn` gives.
        frame_rate: Of the result, frames per second.
        rng: Seed or generator.

    >>> import marey
    >>> up = particles(marey.samples.walk(), move={"LeftHand": [0, 0.2, 0.1]}, particles=60, steps=20)
    >>> up.motions[0].frames, up.report.error_cm < 20
    (21, True)
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    published = method == "published"
    if published and polish:
        raise InputError("polish: not part of the published method")
    if motion.translations is not None:
        warnings.warn(SLIDING, MareyWarning, stacklevel=2)
        motion = replace(motion, translations=None)
    frame = frame_at(motion, at, "at")
    rows = slice(frame, frame + 1)
    first = PoseBatch(motion.skeleton, np.array(motion.rotations[rows]), np.array(motion.root[rows]))
    chain = ArticulatedChain.human(motion.skeleton).widened_to(motion)
    chain = replace(chain, learned=limits_of(limits, motion.skeleton))
    for joint, _ in (*pairs(reach), *pairs(move), *pairs(look_at), *pairs(aim)):
        find_point(motion.skeleton, joint)
    points = [*pairs(reach), *reached_points(motion, frame, move)]
    targets: list[Reach | LookAt | Orient] = [Reach(joint, place) for joint, place in points]
    targets += [LookAt(joint, point) for joint, point in pairs(look_at)]
    targets += [oriented(joint, rotation) for joint, rotation in pairs(aim)]
    if not targets:
        raise InputError(NOTHING)
    feet = feet_on_floor(first) if floor else []
    held: list[Constraint] = [*feet, Balance([foot.target.joint for foot in feet])] if floor else []
    prior: list[Constraint] = [] if published else [NearPose(first.rotations[0])]
    if model is not None:
        check_joints(model.skeleton, motion)
        prior = [PosePrior(model)]
    evolution = {"evolution": LearnedDynamics.of_clip(chain, motion, frame_rate)} if dynamics else {}
    rules = as_constraints([*targets, *held, *prior])
    plain: dict[str, Any] = {}
    if published:
        rules = tuple(replace(one, initial_scale=HARDENING) for one in rules)
        plain = {"guided": False, "settings": PUBLISHED}
    found = solve_many(
        chain, rules, solutions, start=first.rotations[0], root=first.root[0], rng=rng, particles=particles,
        steps=steps, **evolution, **plain,
    )  # fmt: skip
    results = [one.motion.motion(frame_rate, smoothed=not published) for one in found]
    if polish:
        results = [polished(chain, one, held, targets) for one in results]
    errors = [largest_errors(one, targets) for one in results]
    report = ParticlesReport(
        error_cm=round(100 * errors[0][0], 4),
        error_degrees=round(math.degrees(errors[0][1]), 4),
        foot_drift_cm=round(100 * foot_drift(results[0], feet), 4) if floor else math.nan,
        effective=round(float(found[0].motion.effective.mean()), 1),
        freedoms=chain.freedoms,
        errors_cm=tuple(round(100 * error, 4) for error, _ in errors),
    )
    results = [
        replace(one, name=motion.name, convention=motion.convention, channels=motion.channels)
        for one in results
    ]
    places = np.array([one.position for one in targets if isinstance(one, Reach)]).reshape(-1, 3)
    return ParticlesResult(tuple(results), places, report)
