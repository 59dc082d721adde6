"""Posing a figure by targets: once, or again and again as they move (Tournier 2011, section 8.2.2).

A `PoseSolver` keeps its last pose as the next start, so following handles takes one to four steps of ten to
twenty microseconds each. In a pose model the pose stays likely: `σ_e² Σ (λ_i / σ_i)²` is added to the
squared errors (section 8.2.3), with `σ_e` the tolerance to which targets are meant. Without a model the whole
skeleton moves and stays near its start.

Whole clips can be solved with the root given and targets in its frame, as when a stored clip is decoded: only
the model's coordinates are unknown, and frames are independent of each other; tens of microseconds a frame.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.anatomy import masses
from marey.body.ik import engine
from marey.body.ik.hierarchy import solve_by_priority
from marey.body.ik.targets import (
    CompiledTargets,
    IKReport,
    Target,
    compile_targets,
    goals_of_frame,
    report_on,
    same_targets,
    targets_key,
)
from marey.body.limits.limits import Limits
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel, pose_rotations
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

DAMPINGS = ("spread", "canonical", "kinetic")
PRIORS = ("mahalanobis", "isotropic", "none")
ROOTS = ("free", "fixed")
ANCHORS = ("last", "start")

_Prepared = tuple[CompiledTargets, engine.Problem, engine.Problem | None]


@dataclass(frozen=True, eq=False)
class PoseResult:
    """A pose that was found.

    Args:
        skeleton: of the figure.
        root: `(3,)`, metres.
        rotations: `(joints, 4)`, local.
        coordinates: `(modes,)` in the pose model.
    """

    skeleton: Skeleton
    root: Array
    rotations: Array
    coordinates: Array
    _found: tuple[Sequence[Target], CompiledTargets, engine.Solution, Array, float, int]

    @cached_property
    def report(self) -> IKReport:
        """Errors of all targets, iterations, milliseconds."""
        targets, plan, solution, weights, seconds, modes = self._found
        iterations = float(solution.iterations.mean())
        return report_on(targets, plan, solution.errors, weights, iterations, seconds, modes)

    def motion(self, frame_rate: float = 30.0, *, like: Motion | None = None) -> Motion:
        """As a clip of one frame; `like` lends its name, unit and channels."""
        rotations, root = so3.normalise(self.rotations)[None], self.root[None]
        if like is None:
            return Motion(self.skeleton, rotations, root, frame_rate)
        return replace(like[0], rotations=rotations, root=root, translations=None)


class PoseSolver:
    """Poses a figure by targets, each time from its last pose.

    Args:
        body: a pose model, whose poses it keeps to, or a skeleton, which may take any pose.
        start: first frame of a clip to start from; by default the mean pose, or the pose at rest.
        root: "free" or "fixed".
        tolerance: metres, how exactly targets are meant: what a pose that is one deviation less likely may
            gain; that of the settings if None.
        prior: "mahalanobis", "isotropic" (all coordinates the same) or "none"; of a skeleton: stays near the
            start, or "none".
        root_stiffness: how reluctant a free root is to leave its last position; 0: not at all.
        anchor: where that is: "last", the pose before, or "start", where the solver started, so that poses
            follow from their targets and not from earlier ones.
        damping: of steps: "spread" (unknowns go as far as they usually do), "canonical" (all the same) or
            "kinetic" (light limbs move first, figure 8.10; not with priorities).
        limits: of joints, of any kind; those of :mod:`marey.body.limits` are compiled, others slower.
        iterations: largest number; that of the settings if None.
        stop_error: metres; stop as soon as every target is as near as this; 0 for the least cost.
        refine: leave the model's poses in the end, as little as is needed to meet the targets exactly.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> from marey.body import PoseModel
    >>> from marey.body.ik import Pin, Reach
    >>> solver = PoseSolver(PoseModel.fit([walk], modes=10), start=walk)
    >>> hand = walk.positions()[0, walk.skeleton.index("LeftHand")]
    >>> posed = solver.solve([Reach("LeftHand", hand + [0, 0, 0.05]), Pin("RightFoot")])
    >>> posed.report.residual_cm < 2, posed.coordinates.shape
    (True, (10,))
    """

    def __init__(
        self,
        body: PoseModel | Skeleton,
        *,
        start: Motion | None = None,
        root: str = "free",
        tolerance: float | None = None,
        prior: str = "mahalanobis",
        root_stiffness: float = 1.0,
        anchor: str = "last",
        damping: str = "spread",
        limits: Limits | None = None,
        iterations: int | None = None,
        stop_error: float = 0.0,
        refine: bool = False,
        settings: engine.IKSettings = engine.SETTINGS,
    ) -> None:
        choices = {"root": (root, ROOTS), "prior": (prior, PRIORS), "damping": (damping, DAMPINGS)}
        for name, (value, allowed) in {**choices, "anchor": (anchor, ANCHORS)}.items():
            if value not in allowed:
                raise InputError(f"{name} {value!r}: one of {', '.join(allowed)}")
        if tolerance is None:
            tolerance = settings.rough_tolerance if refine else settings.tolerance
        if not (np.isfinite(tolerance) and tolerance > 0):
            raise InputError(f"tolerance: metres above 0, got {tolerance}")
        self.skeleton = body.skeleton if isinstance(body, PoseModel) else body
        self.model = body if isinstance(body, PoseModel) else None
        self.parameters, self.settings = engine.Parameters.of(body), settings
        self.free_root, self.anchored = root == "free", anchor == "start"
        self.limits, self.damping = limits, damping
        self.masses = masses(self.skeleton) if damping == "kinetic" else None
        self.stop_error, self.refine, self.iterations = stop_error, refine, iterations
        self.precision = self._precision(tolerance, prior, root_stiffness)
        self._centre = np.zeros((1, self.parameters.modes))
        self._prepared: dict[tuple[object, ...], _Prepared] = {}
        self._targets: Sequence[Target] = ()
        self._ready: _Prepared | None = None
        self.reset(start)

    def reset(self, start: Motion | None = None) -> None:
        """Start anew from the first frame of a clip, or from the mean pose (or the pose at rest)."""
        if start is None:
            rotations = so3.identity((1, self.skeleton.joints))
            root = np.array(self.skeleton.offsets[:1], dtype=np.float64)
            poses = engine.PoseArrays(root, self._centre.copy(), rotations)
            self._poses = engine.decoded(self.parameters, poses)
        else:
            self._poses = starting_poses(self.parameters, self.skeleton, self.model, start[0])
        self._start = self._poses
        self._warm = False

    @property
    def modes(self) -> int:
        """Unknowns of the pose, without the root."""
        return self.parameters.unknowns(False)

    def solve(self, targets: Sequence[Target]) -> PoseResult:
        """The pose nearest to meeting all targets, from the last pose on."""
        engine.kernels()
        began = time.perf_counter()
        plan, problem, whole = self._prepare(targets)
        world = engine.world(self.parameters, self._poses) if plan.pinned else None
        places = None if world is None else plan.effectors.places(world)
        goals, weights = goals_of_frame(targets, plan, places)
        held = self._start if self.anchored else self._poses
        rotations = held.rotations
        if self.parameters.full:
            rotations = self._start.rotations.copy()
            rotations[:, 0] = held.rotations[:, 0]
        centre = engine.PoseArrays(held.root, self._centre, rotations)
        solution = self._solved(plan, problem, goals, weights, self._poses, centre, self.precision)
        poses = self._poses = solution.poses
        self._warm = True
        if whole is not None:
            # The whole skeleton from the model's pose on, staying near it.
            near = self.settings.refined_tolerance
            start = engine.PoseArrays(poses.root, np.zeros((1, 0)), poses.rotations)
            precision, stop = np.full(whole.unknowns, near**2), self.stop_error or near
            solution = self._solved(plan, whole, goals, weights, start, start, precision, stop)
            poses = solution.poses
        seconds = time.perf_counter() - began
        found = (tuple(targets), plan, solution, weights, seconds, self.modes)
        coordinates = self._poses.coordinates[0]
        return PoseResult(self.skeleton, poses.root[0], poses.rotations[0], coordinates, found)

    def _solved(
        self,
        plan: CompiledTargets,
        problem: engine.Problem,
        goals: Array,
        weights: Array,
        start: engine.PoseArrays,
        centre: engine.PoseArrays,
        precision: Array,
        refined: float | None = None,
    ) -> engine.Solution:
        """One pose by the compiled solver, wherever that knows everything asked for."""
        stop, most = (self.stop_error, self.iterations) if refined is None else (refined, None)
        asked = goals, weights, start
        if plan.ranked or not problem.is_compiled:
            most, stop = most or self.settings.hierarchy_iterations, 0.0 if plan.ranked else stop
            return solve_by_priority(
                problem, plan.priorities, *asked, centre=centre, precision=precision, iterations=most,
                stop_error=stop,
            )  # fmt: skip
        return problem.solve(
            *asked, centre=centre, precision=precision, iterations=most, stop_error=stop, warm=self._warm
        )

    def _prepare(self, targets: Sequence[Target]) -> _Prepared:
        if self._ready is not None and same_targets(targets, self._targets):
            return self._ready
        key = targets_key(targets)
        if key not in self._prepared:
            if len(self._prepared) > 64:
                self._prepared.clear()
            plan = compile_targets(targets, self.skeleton)
            if plan.ranked and self.masses is not None:
                raise InputError("damping 'kinetic': targets with priorities know no masses; use spread")
            refines = self.refine and self.model is not None
            whole = self._problem(engine.Parameters.of(self.skeleton), plan) if refines else None
            self._prepared[key] = plan, self._problem(self.parameters, plan), whole
        self._targets, self._ready = tuple(targets), self._prepared[key]
        return self._ready

    def _problem(self, parameters: engine.Parameters, plan: CompiledTargets) -> engine.Problem:
        if self.damping == "canonical":
            change = np.ones(parameters.unknowns(self.free_root))
            if self.free_root:
                change[3:6] = self.settings.canonical_metres
        else:
            model = None if parameters.full else self.model
            change = typical_change(parameters, model, self.free_root, self.settings)
        damping = change, self.masses, self.settings
        return engine.Problem(parameters, plan.effectors, self.free_root, self.limits, *damping)

    def _precision(self, tolerance: float, prior: str, root_stiffness: float) -> Array:
        square, settings = tolerance**2, self.settings
        pose = np.zeros(self.parameters.unknowns(False))
        if prior != "none" and self.model is None:
            pose[:] = square / settings.joint_radians**2
        elif prior != "none" and self.model is not None:
            pose[:] = square * inverse_variances(self.model, isotropic=prior == "isotropic")
        if not self.free_root:
            return pose
        reluctance = np.repeat([1 / settings.root_radians**2, 1 / settings.root_metres**2], 3)
        return np.concatenate([root_stiffness * square * reluctance, pose])


def solve_pose(body: PoseModel | Skeleton, targets: Sequence[Target], **options: object) -> PoseResult:
    """A single pose that meets targets; options are those of :class:`PoseSolver`.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> from marey.body.ik import Reach
    >>> posed = solve_pose(walk.skeleton, [Reach("LeftHand", [0.2, 1.2, 0.4])], start=walk, root="fixed")
    >>> posed.report.residual_cm < 0.1
    True
    """
    return PoseSolver(body, **options).solve(targets)  # type: ignore[arg-type]


def inverse_variances(model: PoseModel, *, isotropic: bool = False) -> Array:
    """One over the variance of each coordinate, those of next to none bounded; `isotropic`: of their mean."""
    variances = model.geodesics.variances
    largest = variances.max(initial=0.0)
    if largest <= 0:
        return np.ones(len(variances))
    if isotropic:
        return np.full(len(variances), 1.0 / variances.mean())
    return np.asarray(1.0 / np.maximum(variances, 1e-8 * largest))


def typical_change(
    parameters: engine.Parameters,
    model: PoseModel | None,
    free_root: bool,
    settings: engine.IKSettings = engine.SETTINGS,
) -> Array:
    """How far each unknown usually goes, `(unknowns,)`."""
    if model is None:
        return np.full(parameters.unknowns(free_root), settings.joint_radians)
    pose = 1.0 / np.sqrt(inverse_variances(model))
    if not free_root:
        return pose
    return np.concatenate([np.repeat([settings.root_radians, settings.root_metres], 3), pose])


def starting_poses(
    parameters: engine.Parameters, skeleton: Skeleton, model: PoseModel | None, motion: Motion
) -> engine.PoseArrays:
    """A clip's frames as poses to start from: in a model, its nearest poses."""
    if motion.skeleton.names != skeleton.names:
        raise InputError(f"the start {motion.name!r} has other joints than the figure that is posed")
    rotations, root = (np.array(a, dtype=np.float64) for a in (motion.rotations, motion.root))
    if model is None:
        return engine.PoseArrays(root, np.zeros((motion.frames, 0)), rotations)
    coordinates = model.geodesics.encode(pose_rotations(motion))
    return engine.decoded(parameters, engine.PoseArrays(root, coordinates, rotations))


def solve_in_model(
    model: PoseModel,
    effectors: Sequence[tuple[int, ArrayLike]],
    targets: ArrayLike,
    *,
    centre: ArrayLike | None = None,
    precision: ArrayLike | float = 0.0,
    weights: ArrayLike | None = None,
    start: ArrayLike | None = None,
    chained: bool = False,
    iterations: int = 50,
) -> engine.Solution:
    """Coordinates whose effectors are nearest to targets, each frame for itself.

    Least `Σ w |target - effector|² + Σ precision (λ - centre)²`.

    Args:
        effectors: joint index and point in that joint's frame, metres.
        targets: `(frames, effectors, 3)`, in the root's frame, metres.
        centre: `(modes,)` or `(frames, modes)`, of the prior; the mean pose if None.
        precision: `(modes,)` or one number, metres² a unit² of coordinate: `(σ_e / σ_i)²` makes it the most
            likely pose for targets known to σ_e.
        weights: `(effectors,)` or `(frames, effectors)`; 0 where a target is missing (it may then be NaN).
        start: `(modes,)` or `(frames, modes)`; the prior's centre if None, and then steps are more cautious
            at first.
        chained: start each frame from the one before.
        iterations: largest number a frame.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> model = PoseModel.fit([walk], modes=8)
    >>> ends = list(zip(walk.skeleton.end_parents[:5].tolist(), walk.skeleton.end_offsets[:5]))
    >>> clip = model.rebuild(walk)
    >>> away = clip.end_positions()[:, :5] - clip.root[:, None]
    >>> seen = so3.rotate(so3.inverse(clip.rotations[:, :1]), away)
    >>> found = solve_in_model(model, ends, seen, precision=1e-8)
    >>> bool(found.errors.mean() < 1e-3), found.coordinates.shape
    (True, (240, 8))
    """
    goals = np.asarray(targets, dtype=np.float64)
    count, modes = len(effectors), model.modes
    if goals.ndim != 3 or goals.shape[1:] != (count, 3):
        raise InputError(f"targets: expected shape (frames, {count}, 3), got {goals.shape}")
    frames = len(goals)
    prior = _rows("centre", 0.0 if centre is None else centre, frames, modes)
    given = np.array(_rows("weights", 1.0 if weights is None else weights, frames, count))
    if not np.isfinite(given).all() or (given < 0).any():
        raise InputError("weights: must be finite and not negative; 0 for a missing target")
    if not np.isfinite(goals[given > 0]).all():
        raise InputError("targets: some are not finite; give them weight 0 if they are missing")
    stiffness = np.ascontiguousarray(np.broadcast_to(np.asarray(precision, dtype=np.float64), (modes,)))
    if not np.isfinite(stiffness).all() or (stiffness < 0).any():
        raise InputError("precision: must be finite and not negative")
    parameters = engine.Parameters.of(model)
    usual = typical_change(parameters, model, False)
    problem = engine.Problem(parameters, _effectors(model, effectors), free_root=False, typical_change=usual)
    still = np.zeros((frames, 3))
    neutral = so3.identity((frames, model.skeleton.joints))
    begin = prior if start is None else _rows("start", start, frames, modes)
    goals = np.pad(np.where(given[..., None] > 0, goals, 0.0), ((0, 0), (0, 0), (0, 1)))
    first, centred = (engine.PoseArrays(still, at, neutral) for at in (begin, prior))
    return problem.solve(
        goals, np.sqrt(given), first, centre=centred, precision=stiffness, iterations=iterations,
        warm=start is not None, chained=chained,
    )  # fmt: skip


def _effectors(model: PoseModel, effectors: Sequence[tuple[int, ArrayLike]]) -> engine.Effectors:
    """Effectors as the engine has them, checked."""
    joints = [int(joint) for joint, _ in effectors]
    beyond = [j for j in joints if not 0 <= j < model.skeleton.joints]
    if beyond:
        raise InputError(f"effectors: there are joints 0…{model.skeleton.joints - 1}, not {beyond[0]}")
    local = np.array([np.asarray(point, dtype=np.float64) for _, point in effectors]).reshape(-1, 3)
    return engine.Effectors.points(joints, local)


def _rows(name: str, value: ArrayLike, frames: int, columns: int) -> Array:
    try:
        rows = np.broadcast_to(np.asarray(value, dtype=np.float64), (frames, columns))
    except ValueError:
        wanted = f"({columns},) or ({frames}, {columns})"
        raise InputError(f"{name}: expected shape {wanted}, got {np.shape(value)}") from None
    return np.ascontiguousarray(rows)
