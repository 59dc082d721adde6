"""The whole body from a few trackers: feet and head, perhaps hands (Tournier 2011, section 8.2.3, fig. 8.11).

A pose model turns a handful of tracked points and orientations into full poses with the root free: the same
inverse kinematics that poses by handles. Whole recordings are solved smoothly at once; a stream, frame by
frame, from the past alone, at one or two thousand frames a second. Missing samples (NaN) are left to the
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked_rate
from marey._report import Report
from marey.body.ik.engine import Parameters, PoseArrays, Problem, Solution, decoded, pull_back, world
from marey.body.ik.solver import inverse_variances, typical_change
from marey.body.ik.targets import compile_targets, goals_and_weights
from marey.body.ik.trajectory import bending, second_differences, smoothed
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.body.trackers import Trackers
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.rigid import align


@dataclass(frozen=True)
class ReconstructSettings:
    """Numbers of the method.

    Attributes:
        noise: Metres, standard deviation of tracked positions: 0.1 of the unit of CMU files.
        smoothness: Hertz; faster motion counts as noise.
        headings: Initial yaws tried for the first frame.
        hypotheses: Solutions followed: from feet and head alone, a body seen from behind may fit as well.
        same: Radians; solutions whose roots differ by less are one.
        memory: Seconds in which the weight of past errors halves.
        coasting: Seconds in which the velocity of a root that is no longer seen halves.
    """

    noise: float = 0.006
    smoothness: float = 6.0
    headings: int = 8
    hypotheses: int = 3
    same: float = 0.5
    memory: float = 1.0
    coasting: float = 0.2

    def __post_init__(self) -> None:
        if not (np.isfinite(self.noise) and self.noise > 0):
            raise InputError(f"noise: metres above 0, got {self.noise}")


def reconstruct(
    model: PoseModel, trackers: Trackers, *, online: bool = False, settings: ReconstructSettings | None = None
) -> Motion:
    """Full-body motion in the poses of a model that follows trackers.

    Args:
        model: Pose model of the skeleton.
        trackers: What was tracked.
        online: Frame by frame, each from the past alone, as :class:`BodyFromTrackers` does; otherwise all
            frames together, smoothly.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> seen = Trackers.of_motion(walk, ["LeftToeBase", "RightToeBase", "Head_end"])
    >>> found = reconstruct(PoseModel.fit([walk], modes=6), seen)
    >>> bool(np.linalg.norm(found.positions() - walk.positions(), axis=-1).mean() < 0.03)
    True
    """
    settings, rate = settings or ReconstructSettings(), trackers.frame_rate
    task = _Task(model, trackers, settings)
    goals, weights = task.aims(trackers)
    if online:
        live = _Hypotheses(task, rate)
        poses = _joined([live.update(goals[t : t + 1], weights[t : t + 1]) for t in range(len(goals))])
    else:
        ahead = _followed(task, goals, weights, rate)
        back = _followed(task, goals[::-1], weights[::-1], rate)
        stiffness = bending(settings.noise, task.typical_change, settings.smoothness, rate)
        starts = ahead, PoseArrays(*(array[::-1] for array in back))
        found = [task.smoothed(goals, weights, start, stiffness) for start in starts]
        poses = min(found, key=lambda poses: task.total(goals, weights, poses, stiffness))
    unit = so3.continuous(so3.normalise(poses.rotations))
    return Motion(model.skeleton, unit, poses.root, rate, name=trackers.name)


class BodyFromTrackers:
    """A full body that follows trackers live: give it a sample, get a pose.

    The root is expected to keep its velocity and the pose its coordinates, as far as bodies are slower than
    `smoothness`.

    Args:
        model: Pose model of the skeleton.
        like: Trackers of the same names, points and orientations as will come (any frames).
        frame_rate: Samples per second.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> seen = Trackers.of_motion(walk, ["LeftToeBase", "RightToeBase", "Head_end"])
    >>> live = BodyFromTrackers(PoseModel.fit([walk], modes=6), seen, frame_rate=walk.frame_rate)
    >>> live.update(seen.positions[0]).rotations.shape
    (1, 26, 4)
    """

    def __init__(
        self,
        model: PoseModel,
        like: Trackers,
        *,
        frame_rate: float,
        settings: ReconstructSettings | None = None,
    ) -> None:
        self._task = _Task(model, like, settings or ReconstructSettings())
        self._like = like[0]
        self._hypotheses = _Hypotheses(self._task, frame_rate)

    def update(self, positions: ArrayLike, rotations: ArrayLike | None = None) -> PoseArrays:
        """The pose for a sample: positions `(trackers, 3)` and rotations `(trackers, 4)`, NaN if missing."""
        turns: Array | None = None
        if self._like.rotations is not None:
            turns = np.full(self._like.rotations.shape, np.nan)
            turns[0] = np.nan if rotations is None else rotations
        sample = replace(self._like, positions=np.asarray(positions, dtype=np.float64)[None], rotations=turns)
        return self._hypotheses.update(*self._task.aims(sample))


def swing(motion: Motion, joint: str, direction: ArrayLike) -> Array:
    """How far a joint is ahead of the root along a horizontal direction, `(frames,)`, metres."""
    places = motion.positions()[:, motion.skeleton.index(joint)] - motion.root
    return np.asarray(places @ np.asarray(direction, dtype=np.float64))


def travel_direction(motion: Motion) -> Array:
    """The horizontal direction a clip travels in, `(3,)`, unit; along z if it does not."""
    offset = np.array(motion.root[-1] - motion.root[0], dtype=np.float64)
    offset[1] = 0.0
    length = float(np.linalg.norm(offset))
    return offset / length if length > 0.1 else np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class ReconstructionReport(Report):
    """Errors of a reconstruction beside the truth.

    Attributes:
        error_cm, error_rms_cm, error_max_cm: Of joint positions.
        joints: Mean error of each joint, cm.
        swing: Of each hand, correlation of its swing with the true one, and both amplitudes in cm.
    """

    error_cm: float
    error_rms_cm: float
    error_max_cm: float
    joints: dict[str, float]
    swing: dict[str, dict[str, float | None]]


def compare(found: Motion, truth: Motion) -> ReconstructionReport:
    """Compare a reconstruction with the true motion over the joints that both have."""
    if found.frames != truth.frames:
        raise InputError(f"the truth has {truth.frames} frames, the trackers {found.frames}")
    shared = [name for name in found.skeleton.names if name in truth.skeleton.names]
    if not shared:
        raise InputError("the truth shares no joint with the model")
    own, true = (motion.positions()[:, motion.skeleton.indices(shared)] for motion in (found, truth))
    errors = 100 * np.linalg.norm(own - true, axis=2)
    along, swings = travel_direction(truth), {}
    for name in shared:
        if name.lower().endswith(("hand", "wrist")):
            ours, theirs = swing(found, name, along), swing(truth, name, along)
            moving = ours.std() > 1e-9 and theirs.std() > 1e-9
            swings[name] = {
                "correlation": round(float(np.corrcoef(ours, theirs)[0, 1]), 4) if moving else None,
                "amplitude_cm": round(100 * float(np.ptp(ours)), 2),
                "true_amplitude_cm": round(100 * float(np.ptp(theirs)), 2),
            }
    usual, squared, most = (
        round(float(x), 4) for x in (errors.mean(), np.sqrt((errors**2).mean()), errors.max())
    )
    each = {name: round(float(error), 4) for name, error in zip(shared, errors.mean(axis=0))}
    return ReconstructionReport(usual, squared, most, each, swings)


class _Task:
    """The inverse kinematics problem of a set of trackers, and poses to start from."""

    def __init__(self, model: PoseModel, like: Trackers, settings: ReconstructSettings) -> None:
        self.skeleton: Skeleton = model.skeleton
        self.settings = settings
        self.parameters = Parameters.of(model)
        self.oriented = like.oriented
        self.plan = compile_targets(like.targets(), self.skeleton)
        self.typical_change = typical_change(self.parameters, model, True)
        self.problem = Problem(self.parameters, self.plan.effectors, True, typical_change=self.typical_change)
        self.precision = np.concatenate([np.zeros(6), settings.noise**2 * inverse_variances(model)])

    def aims(self, trackers: Trackers) -> tuple[Array, Array]:
        targets = trackers.targets(self.oriented)
        return goals_and_weights(targets, self.plan, frames=trackers.frames)

    def centre(self, poses: PoseArrays) -> PoseArrays:
        return poses._replace(coordinates=np.zeros_like(poses.coordinates))

    def costs(self, solution: Solution, weights: Array, centre: PoseArrays, precision: Array) -> Array:
        data = np.nansum((solution.errors * weights) ** 2, axis=1)
        return np.asarray(data + pull_back(self.parameters, True, solution.poses, centre, precision)[1])

    def smoothed(self, goals: Array, weights: Array, poses: PoseArrays, stiffness: Array) -> PoseArrays:
        task, centre, precision = (self.problem, goals, weights, poses), self.centre(poses), self.precision
        return smoothed(*task, centre=centre, precision=precision, stiffness=stiffness)[0]

    def total(self, goals: Array, weights: Array, poses: PoseArrays, stiffness: Array) -> float:
        values, _ = self.problem.evaluate(goals, weights, poses)
        _, prior = pull_back(self.parameters, True, poses, self.centre(poses), self.precision)
        bend = second_differences(self.parameters, True, poses, None) if len(goals) > 2 else np.zeros((0, 1))
        return float((values**2).sum() + prior.sum() + (stiffness * bend**2).sum())

    def rest(self) -> PoseArrays:
        """The mean pose at the skeleton's rest position."""
        root = np.array(self.skeleton.offsets[:1], dtype=np.float64)
        modes, joints = self.parameters.modes, self.skeleton.joints
        still = PoseArrays(root, np.zeros((1, modes)), so3.identity((1, joints)))
        return decoded(self.parameters, still)

    def placed(self, goals: Array, weights: Array) -> PoseArrays:
        """The mean pose of a frame, put where its points fit best to those that are seen."""
        seen = np.where(self.plan.effectors.kinds == 0, weights, 0.0)
        still = self.rest()
        points = self.plan.effectors.places(world(self.parameters, still))[0] - still.root[0]
        if (seen > 0).sum() >= 3:
            fit = align(points, goals[..., :3], seen)
            if np.isfinite(fit.translation).all():
                still.rotations[:, 0] = fit.rotation
                return still._replace(root=fit.translation)
        still.rotations[:, 0] = so3.identity()
        shift = (seen[..., None] * (goals[..., :3] - points)).sum(axis=1) / max(seen.sum(), 1e-12)
        return still._replace(root=shift)


class _Hypotheses:
    """The few solutions that fit the trackers so far, the best first, each from its own past.

    Between frames the root keeps its velocity and the pose its coordinates, as far as the trackers do not
    say otherwise: where the feet pass each other, they hardly determine the heading of a body.
    """

    def __init__(self, task: _Task, frame_rate: float) -> None:
        self.task, settings = task, task.settings
        rate = checked_rate(frame_rate)
        angle = min(2 * np.pi * settings.smoothness / rate, np.pi)
        factors = np.concatenate([np.full(6, angle**2), np.full(task.parameters.modes, angle)])
        self.hold = (settings.noise / (task.typical_change * factors)) ** 2
        self.decay = 0.5 ** (1 / (settings.memory * rate))
        self.coast = 0.5 ** (1 / (settings.coasting * rate))
        self.poses: PoseArrays | None = None
        self.parents: list[int] = []

    def update(self, goals: Array, weights: Array) -> PoseArrays:
        """The best solution for a frame of `(1, effectors, …)` goals and weights."""
        if self.poses is None:
            if not weights.any():
                return self.task.rest()
            self._begin(goals, weights)
        else:
            self._continue(goals, weights, self.poses)
        assert self.poses is not None
        return _rows(self.poses, [0])

    def _begin(self, goals: Array, weights: Array) -> None:
        task, headings = self.task, self.task.settings.headings
        start = _rows(task.placed(goals, weights), [0] * (headings + 1))
        start.rotations[1:, 0] = so3.exp(np.arange(headings)[:, None] * [0.0, 2 * np.pi / headings, 0.0])
        goals, weights = (np.repeat(array, headings + 1, axis=0) for array in (goals, weights))
        tried = task.problem.solve(goals, weights, start, centre=task.centre(start), precision=task.precision)
        costs = task.costs(tried, weights, task.centre(tried.poses), task.precision)
        self.shift = self.turn = np.zeros((headings + 1, 3))
        self._keep(tried.poses, costs)

    def _continue(self, goals: Array, weights: Array, last: PoseArrays) -> None:
        task, count = self.task, len(last.root)
        pose = task.precision[6:] + self.hold[6:]
        turned = last.rotations.copy()
        turned[:, 0] = so3.multiply(last.rotations[:, 0], so3.exp(self.turn))
        centre = PoseArrays(last.root + self.shift, self.hold[6:] * last.coordinates / pose, turned)
        precision = np.concatenate([self.hold[:6], pose])
        start = centre._replace(coordinates=last.coordinates)
        goals, weights = (np.repeat(array, count, axis=0) for array in (goals, weights))
        solution = task.problem.solve(goals, weights, start, centre=centre, precision=precision, warm=True)
        poses = solution.poses
        seen = 1.0 if weights.any() else self.coast
        self.shift = seen * (poses.root - last.root)
        self.turn = seen * so3.log(so3.multiply(so3.inverse(last.rotations[:, 0]), poses.rotations[:, 0]))
        self._keep(poses, self.decay * self.costs + task.costs(solution, weights, centre, precision))

    def _keep(self, poses: PoseArrays, costs: Array) -> None:
        """The best few that differ."""
        settings = self.task.settings
        kept: list[int] = []
        for i in np.argsort(costs, kind="stable").tolist():
            apart = so3.distance(poses.rotations[kept, 0], poses.rotations[i, 0]) if kept else np.empty(0)
            if len(kept) < settings.hypotheses and not (apart < settings.same).any():
                kept.append(i)
        self.poses, self.costs = _rows(poses, kept), costs[kept]
        self.shift, self.turn = self.shift[kept], self.turn[kept]
        self.parents = kept


def _followed(task: _Task, goals: Array, weights: Array, frame_rate: float) -> PoseArrays:
    """The past of the solution that fits best in the end; before it is seen, its first pose."""
    hypotheses = _Hypotheses(task, frame_rate)
    kept: list[tuple[PoseArrays, list[int]]] = []
    for t in range(len(goals)):
        hypotheses.update(goals[t : t + 1], weights[t : t + 1])
        if hypotheses.poses is not None:
            kept.append((hypotheses.poses, hypotheses.parents))
    rows, row = [task.rest()] if not kept else [], 0
    for poses, parents in reversed(kept):
        rows.append(_rows(poses, [row]))
        row = parents[row]
    rows += [rows[-1]] * (len(goals) - len(rows))
    return _joined(rows[::-1])


def _rows(poses: PoseArrays, rows: list[int]) -> PoseArrays:
    return PoseArrays(*(array[rows] for array in poses))


def _joined(poses: Sequence[PoseArrays]) -> PoseArrays:
    return PoseArrays(*(np.concatenate(arrays) for arrays in zip(*poses, strict=True)))
