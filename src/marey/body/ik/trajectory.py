"""Inverse kinematics of whole clips that stays smooth in time.

First every frame by itself, then a few Gauss–Newton steps for all frames at once, with the squared second
differences of the unknowns added to the cost: one banded system of `frames × unknowns` with two blocks
beside the diagonal, O(frames × unknowns³). Motion faster than `smoothness` counts as tolerance.

A single pose put into a clip changes its neighbourhood in time (motion warping): `log(q⁻¹ q')` of every joint
and the root's shift are applied to the frames around it with a weight that falls smoothly from 1 to 0. One
pass over the frames; points that are held, such as feet on the ground, cost some twenty microseconds a frame.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey._report import Result
from marey.body.ik import engine
from marey.body.ik.solver import ROOTS, PoseResult, starting_poses, typical_change
from marey.body.ik.targets import IKReport, Target, compile_targets, goals_and_weights, report_on
from marey.body.kinematics import forward_kinematics
from marey.body.limits.limits import Limits
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk


@dataclass(frozen=True, eq=False)
class ClipResult(Result):
    """A clip that was found, its coordinates `(frames, modes)` in the pose model, and what it missed."""

    motion: Motion
    coordinates: Array
    report: IKReport


def solve_clip(
    body: PoseModel | Skeleton,
    targets: Sequence[Target],
    start: Motion,
    *,
    root: str = "free",
    tolerance: float | None = None,
    smoothness: float = 4.0,
    limits: Limits | None = None,
    settings: engine.IKSettings = engine.SETTINGS,
) -> ClipResult:
    """A clip edited so that it meets targets over time, in the poses of a model or of the whole skeleton.

    The change from `start` is what is small and smooth, so details of the clip survive.

    Args:
        body: a pose model, whose poses are kept to, or a skeleton.
        targets: with a row a frame, or one for all frames; weight 0 (or NaN) where one is not asked for.
            Where a weight rises or falls (:func:`marey.geometry.fades.fade`), the goal goes from where the
            point is in `start` to where it should be, so that nothing pops. Priorities do not count.
        start: the clip that is edited.
        root: "free" or "fixed".
        tolerance: metres, how exactly targets are meant; that of the settings if None.
        smoothness: hertz: a change of usual size at this rate costs as much as an error of `tolerance`; one
            twice as fast, sixteen times that.
        limits: of joints, of any kind; those of :mod:`marey.body.limits` are compiled.

    >>> import marey
    >>> from marey.body.ik import Reach
    >>> walk = marey.samples.walk(seconds=1)
    >>> hand = walk.positions()[:, walk.skeleton.index("LeftHand")] + [0, 0.1, 0]
    >>> edited = solve_clip(walk.skeleton, [Reach("LeftHand", hand)], walk)
    >>> edited.report.residual_cm < 1
    True
    """
    if root not in ROOTS:
        raise InputError(f"root {root!r}: one of {', '.join(ROOTS)}")
    tolerance = settings.tolerance if tolerance is None else tolerance
    engine.kernels()
    began = time.perf_counter()
    skeleton = body.skeleton if isinstance(body, PoseModel) else body
    model = body if isinstance(body, PoseModel) else None
    parameters = engine.Parameters.of(body)
    free = root == "free"
    centre = starting_poses(parameters, skeleton, model, start)
    plan = compile_targets(targets, skeleton)
    spread = typical_change(parameters, model, free, settings)
    problem = engine.Problem(parameters, plan.effectors, free, limits, spread, settings=settings)
    before = engine.world(parameters, centre)
    places = plan.effectors.places(before)
    asked, given = goals_and_weights(targets, plan, frames=start.frames, places=places)
    goals, weights = _faded(plan.effectors, asked, given, places, before.rotations)
    precision = tolerance**2 / spread**2
    poses, iterations = centre, 0.0
    if problem.is_compiled:
        first = problem.solve(goals, weights, centre, centre=centre, precision=precision, warm=True)
        poses, iterations = first.poses, float(first.iterations.mean())
    poses, count = smoothed(
        problem, goals, weights, poses, centre=centre, precision=precision, follow=centre,
        stiffness=bending(tolerance, spread, smoothness, start.frame_rate),
        steps=settings.trajectory_steps if problem.is_compiled else 4 * settings.trajectory_steps,
    )  # fmt: skip
    values, _ = problem.evaluate(goals, weights, poses)
    errors, modes = problem.errors(values, weights), parameters.unknowns(False)
    seconds = time.perf_counter() - began
    report = report_on(targets, plan, errors, given, iterations + count, seconds, modes)
    rotations = so3.continuous(so3.normalise(poses.rotations))
    motion = replace(start, rotations=rotations, root=poses.root, translations=None)
    return ClipResult(motion, poses.coordinates, report)


def bending(tolerance: float, spread: Array, smoothness: float, frame_rate: float) -> Array:
    """Weights `(unknowns,)` of squared second differences: a swing of usual size at `smoothness` costs as
    much as an error of `tolerance`."""
    if not (np.isfinite(smoothness) and smoothness > 0):
        raise InputError(f"smoothness: hertz above 0, got {smoothness}")
    angle = min(2 * np.pi * smoothness / frame_rate, np.pi)
    return np.asarray((tolerance / (spread * angle**2)) ** 2)


def smoothed(
    problem: engine.Problem,
    goals: Array,
    weights: Array,
    poses: engine.PoseArrays,
    *,
    centre: engine.PoseArrays,
    precision: Array,
    stiffness: Array,
    follow: engine.PoseArrays | None = None,
    steps: int = engine.SETTINGS.trajectory_steps,
) -> tuple[engine.PoseArrays, int]:
    """PoseArrays of all frames that meet their targets and bend little over time, and how many steps it took.

    Args:
        problem, goals, weights, centre, precision: as of :meth:`Problem.solve`.
        poses: where to begin.
        stiffness: `(unknowns,)`, weights of squared second differences.
        follow: bend with respect to these poses rather than to constant ones.
        steps: largest number of Gauss–Newton steps.
    """
    parameters, free = problem.parameters, problem.free_root
    frames = len(goals)
    if frames < 3 and problem.is_compiled:
        return poses, 0

    def cost_of(poses: engine.PoseArrays) -> tuple[float, Array, Array, Array, Array]:
        r, J = problem.evaluate(goals, weights, poses)
        pull, prior = engine.pull_back(parameters, free, poses, centre, precision)
        bend = second_differences(parameters, free, poses, follow)
        total = float((r**2).sum() + prior.sum() + (stiffness * bend**2).sum())
        return total, r, J, pull, bend

    poses = engine.decoded(parameters, poses)
    cost, r, J, pull, bend = cost_of(poses)
    mu, count = 1e-4, 0
    for count in range(1, steps + 1):
        normal = np.einsum("tru,trv->tuv", J, J, optimize=True)
        downhill = np.einsum("tru,tr->tu", J, r, optimize=True) + pull
        # The transpose of taking second differences.
        downhill[:-2] -= stiffness * bend
        downhill[1:-1] += 2 * stiffness * bend
        downhill[2:] -= stiffness * bend
        diagonal = np.einsum("tuu->tu", normal) + precision
        diagonal += 1e-4 * diagonal.mean(axis=1, keepdims=True) + 1e-12
        while True:
            step = _banded_step(normal, precision + mu * diagonal, stiffness, downhill)
            trial = engine.moved(parameters, free, poses, step)
            new = cost_of(trial)
            if new[0] < cost:
                break
            mu *= 10.0
            if mu > 1e4:
                return poses, count
        gain = (cost - new[0]) / cost
        poses, mu = trial, max(0.1 * mu, 1e-9)
        cost, r, J, pull, bend = new
        if gain < 1e-5:
            break
    return poses, count


def second_differences(
    parameters: engine.Parameters, free_root: bool, poses: engine.PoseArrays, follow: engine.PoseArrays | None
) -> Array:
    """How the unknowns' rates change from frame to frame, `(frames - 2, unknowns)`."""
    rotations, root, coordinates = poses.rotations, poses.root, poses.coordinates
    if follow is not None:
        rotations = so3.multiply(so3.inverse(follow.rotations), rotations)
        root = root - follow.root
        coordinates = coordinates - follow.coordinates
    parts = []
    if free_root:
        parts += [np.diff(_turns(rotations[:, 0]), axis=0), np.diff(root, n=2, axis=0)]
    if parameters.full:
        turns = _turns(rotations[:, 1:])
        parts.append(np.diff(turns.reshape(len(turns), 3 * turns.shape[1]), axis=0))
    else:
        parts.append(np.diff(coordinates, n=2, axis=0))
    return np.concatenate(parts, axis=1)


def _faded(
    effectors: engine.Effectors, goals: Array, weights: Array, places: Array, rotations: Array
) -> tuple[Array, Array]:
    """Goals of points and turns that come and go with the weight, which is then whole or nothing."""
    most = weights.max(axis=0, keepdims=True, initial=0.0)
    share = (weights / np.where(most > 0, most, 1.0)) ** 2
    goals, weights = goals.copy(), weights.copy()
    for f, kind in enumerate(effectors.kinds.tolist()):
        part = share[:, f, None]
        if kind == engine.POINT:
            goals[:, f, :3] = places[:, f] + part * (goals[:, f, :3] - places[:, f])
        elif kind == engine.TURN:
            here = rotations[:, effectors.joints[f]]
            goal = np.where(part > 0, goals[:, f], so3.identity())
            turn = so3.log(so3.multiply(so3.inverse(here), goal))
            goals[:, f] = so3.multiply(here, so3.exp(part * turn))
        else:
            continue
        weights[:, f] = np.where(share[:, f] > 0, most[0, f], 0.0)
    return goals, weights


def _turns(rotations: Array) -> Array:
    return so3.log(so3.multiply(so3.inverse(rotations[:-1]), rotations[1:]))


def _banded_step(normal: Array, diagonal: Array, stiffness: Array, downhill: Array) -> Array:
    """Solve (blocks + diagonal + bending) step = downhill; the farthest entries are two blocks away."""
    from scipy.linalg import LinAlgError, solveh_banded

    frames, unknowns = downhill.shape
    # Entry k of a row is the one k below the diagonal, in its column.
    band = np.zeros((frames, unknowns, 2 * unknowns + 1))
    for u in range(unknowns):
        band[:, u, : unknowns - u] = normal[:, u:, u]
    inner = max(frames - 2, 0)
    band[:, :, 0] += diagonal
    for shift, factor in enumerate((1.0, 4.0, 1.0)):
        band[shift : shift + inner, :, 0] += factor * stiffness
    for shift in (0, 1):
        band[shift : shift + inner, :, unknowns] -= 2.0 * stiffness
    band[:inner, :, 2 * unknowns] += stiffness
    try:
        rows, right = band.reshape(frames * unknowns, -1).T, downhill.ravel()
        step = solveh_banded(rows, right, lower=True, overwrite_ab=True, check_finite=False)
    except LinAlgError:
        return np.zeros_like(downhill)
    return np.asarray(step).reshape(frames, unknowns)


def blend_pose(
    motion: Motion,
    frame: int,
    posed: PoseResult | Motion,
    seconds: float,
    *,
    held: Sequence[tuple[int, ArrayLike]] = (),
) -> Motion:
    """The clip with a pose at a frame, and the change faded out over `seconds` before and after.

    Args:
        frame: where the pose goes.
        posed: the pose, or a clip whose first frame it is.
        seconds: how far the change reaches.
        held: joints, and points `(3,)` in their frames, metres, that stay where the clip has them in all
            frames but this one, as far as the body allows.

    >>> import marey
    >>> from marey.body.ik import Reach, solve_pose
    >>> walk = marey.samples.walk()
    >>> posed = solve_pose(walk.skeleton, [Reach("Head", [0.0, 1.2, 0.5])], start=walk[60])
    >>> edited = blend_pose(walk, 60, posed, 0.5)
    >>> bool(np.allclose(edited.rotations[60], posed.rotations)), bool((edited.root[0] == walk.root[0]).all())
    (True, True)
    """
    if not 0 <= frame < motion.frames:
        raise InputError(f"frame {frame}: the clip has frames 0…{motion.frames - 1}")
    if not (np.isfinite(seconds) and seconds >= 0):
        raise InputError(f"blend: seconds, not below 0, got {seconds}")
    away = np.abs(np.arange(motion.frames) - frame) / max(seconds * motion.frame_rate, 0.5)
    weights = minimum_jerk(1.0 - np.minimum(away, 1.0))
    pose, place = posed.rotations, posed.root
    if isinstance(posed, Motion):
        pose, place = pose[0], place[0]
    change = so3.log(so3.multiply(so3.inverse(motion.rotations[frame]), pose))
    rotations = so3.multiply(motion.rotations, so3.exp(weights[:, None, None] * change))
    root = motion.root + weights[:, None] * (place - motion.root[frame])
    edited = replace(motion, rotations=so3.normalise(rotations), root=root, translations=None)
    changed = np.flatnonzero(weights > 0)
    if held and len(changed) > 1:
        part = slice(int(changed[0]), int(changed[-1]) + 1)
        kept = _where_they_were(edited[part], replace(motion[part], translations=None), held)
        # The pose itself is as it was given.
        kept[frame - part.start] = edited.rotations[frame]
        rotations = np.array(edited.rotations)
        rotations[part] = kept
        edited = replace(edited, rotations=rotations)
    return replace(edited, rotations=so3.continuous(edited.rotations))


def _where_they_were(edited: Motion, before: Motion, held: Sequence[tuple[int, ArrayLike]]) -> Array:
    """Rotations `(frames, joints, 4)` of a clip bent a little, so that points are where they were before."""
    joints = [int(joint) for joint, _ in held]
    effectors = engine.Effectors.points(joints, np.array([point for _, point in held], dtype=np.float64))
    problem = engine.Problem(engine.Parameters.of(edited.skeleton), effectors, free_root=False)
    places = effectors.places(forward_kinematics(before))
    goals = np.pad(places, ((0, 0), (0, 0), (0, 1)))
    rotations = np.array(edited.rotations, dtype=np.float64)
    start = engine.PoseArrays(np.array(edited.root), np.zeros((edited.frames, 0)), rotations)
    precision = np.full(problem.unknowns, engine.SETTINGS.refined_tolerance**2)
    weights = np.ones(goals.shape[:2])
    found = problem.solve(goals, weights, start, centre=start, precision=precision, warm=True)
    return so3.normalise(found.poses.rotations)
