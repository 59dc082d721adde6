"""Posing a figure by targets: once, or again and again as they move (Tournier 2011, section 8.2.2).

A `PoseSolver` keeps its last pose as the next start, so following handles takes one to four steps of ten to
twenty microseconds each. In a pose model the pose stays likely: `σ_e² Σ (λ_i / σ_i)²` is added to the
squared misses (section 8.2.3), with `σ_e` the distance to which targets are meant. Without a model the whole
skeleton moves and stays near its start.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.body.ik import engine
from marey.body.ik.classical import METHODS, solve_classically
from marey.body.ik.engine import Figure, Poses, Problem, Solution
from marey.body.ik.limits import JointLimits
from marey.body.ik.masses import PointMasses
from marey.body.ik.priorities import solve_by_priority
from marey.body.ik.report import IKReport, report_on
from marey.body.ik.steps import decoded, world
from marey.body.ik.targets import (
    Layout,
    Target,
    layout,
    layout_key,
    one_frame,
    places_of,
    same_layout,
)
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel, pose_rotations
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

Array = NDArray[np.float64]

LEVENBERG_MARQUARDT = "levenberg-marquardt"
DAMPINGS = {
    "usual": engine.USUAL,
    "canonical": engine.USUAL,
    "marquardt": engine.MARQUARDT,
    "kinetic": engine.KINETIC,
}
PRIORS = ("likely", "plain", "none")
# How far a free root, or a joint without a model, goes as readily as a pose coordinate by one deviation.
ROOT_RADIANS, ROOT_METRES, JOINT_RADIANS = 0.3, 0.15, 1.0
# Metres: how exactly targets are meant; the same when the pose is polished afterwards; and by the polish.
NOISE, ROUGHLY, EXACT = 0.005, 0.02, 1e-4
# Metres that count like a radian in the canonical metric: the unit of the source's files.
CANONICAL_METRES = 0.0254 / 0.45


@dataclass(frozen=True, eq=False)
class PosedFigure:
    """A pose that was found.

    root: `(3,)`, metres; rotations: `(joints, 4)`, local; coordinates: `(modes,)` in the pose model
    report: which targets were missed by how much
    """

    skeleton: Skeleton
    root: Array
    rotations: Array
    coordinates: Array
    _found: tuple[Sequence[Target], Layout, Solution, Array, float, int]

    @cached_property
    def report(self) -> IKReport:
        """Misses of all targets, iterations, milliseconds."""
        targets, plan, solution, weights, seconds, modes = self._found
        iterations = float(solution.iterations.mean())
        return report_on(
            targets, plan, solution.misses, weights, iterations=iterations, seconds=seconds, modes=modes
        )

    def motion(self, frame_rate: float = 30.0, *, like: Motion | None = None) -> Motion:
        """As a clip of one frame; `like` lends its name, unit and channels."""
        rotations, root = so3.normalise(self.rotations)[None], self.root[None]
        if like is None:
            return Motion(self.skeleton, rotations, root, frame_rate)
        return replace(like[0], rotations=rotations, root=root, translations=None)


class PoseSolver:
    """Poses a figure by targets, each time from its last pose.

    body: a pose model, whose poses it keeps to, or a skeleton, which may take any pose
    start: first frame of a clip to start from; by default the mean pose, or the pose at rest
    root: "free" or "fixed"
    noise: metres, how exactly targets are meant: what a pose that is one deviation less likely may gain;
        5 mm if None, or 2 cm if it is polished
    prior: "likely" (Mahalanobis), "plain" (all coordinates alike) or "none"; of a skeleton: stays near
        the start, or "none"
    rest: `(modes,)`, centre of the prior; the mean if None
    hold_root: how reluctant a free root is to leave its last place; 0: not at all
    tethered: it is held to the place where it started instead, so that poses follow from their targets
        and not from the way these took
    damping: of steps: "usual" (unknowns go as far as they usually do), "canonical" (all alike), "marquardt"
        (those that move targets much are held back) or "kinetic" (light limbs move first, figure 8.10)
    limits: of joints; ellipsoids are compiled, any other object with `excess` works as well, more slowly
    method: "levenberg-marquardt", or one of "transpose", "pseudo-inverse", "damped"
    polish: leave the model's poses in the end, as little as is needed to meet the targets exactly

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
        noise: float | None = None,
        prior: str = "likely",
        rest: ArrayLike | None = None,
        hold_root: float = 1.0,
        tethered: bool = False,
        damping: str = "usual",
        limits: JointLimits | None = None,
        iterations: int | None = None,
        tolerance: float = 0.0,
        method: str = LEVENBERG_MARQUARDT,
        polish: bool = False,
    ) -> None:
        _check_choice("root", root, ("free", "fixed"))
        _check_choice("prior", prior, PRIORS)
        _check_choice("damping", damping, tuple(DAMPINGS))
        _check_choice("method", method, (LEVENBERG_MARQUARDT, *METHODS))
        if noise is None:
            noise = ROUGHLY if polish else NOISE
        if not (np.isfinite(noise) and noise > 0):
            raise InputError(f"noise: metres above 0, got {noise}")
        self.skeleton = body.skeleton if isinstance(body, PoseModel) else body
        self.model = body if isinstance(body, PoseModel) else None
        self.figure = Figure.of_skeleton(body) if isinstance(body, Skeleton) else Figure.of_model(body)
        self.free_root, self.tethered = root == "free", tethered
        self.limits = limits
        self.damping, self._alike = DAMPINGS[damping], damping == "canonical"
        self.masses = PointMasses.of(self.skeleton) if damping == "kinetic" else None
        self.method, self.tolerance, self.polish = method, tolerance, polish
        self.iterations = iterations
        self.precision = self._precision(noise, prior, hold_root)
        self.rest = np.zeros(self.figure.modes) if rest is None else np.asarray(rest, dtype=np.float64)
        if self.rest.shape != (self.figure.modes,):
            raise InputError(f"rest: expected {self.figure.modes} coordinates, got shape {self.rest.shape}")
        self._rest = self.rest[None]
        self._prepared: dict[tuple[object, ...], tuple[Layout, Problem, Problem | None]] = {}
        self._targets: Sequence[Target] = ()
        self._ready: tuple[Layout, Problem, Problem | None] | None = None
        self._warm = False
        self.reset(start)

    def reset(self, start: Motion | None = None) -> None:
        """Start anew from the first frame of a clip, or from the mean pose (or the pose at rest)."""
        joints = self.skeleton.joints
        if start is None:
            rotations = so3.identity((1, joints))
            root = np.array(self.skeleton.offsets[:1], dtype=np.float64)
            coordinates = self.rest[None].copy()
            self._poses = decoded(self.figure, Poses(root, coordinates, rotations))
        else:
            self._poses = starting_poses(self.figure, self.skeleton, self.model, start[0])
        self._start = self._poses
        self._warm = False

    @property
    def modes(self) -> int:
        """Unknowns of the pose, without the root."""
        return self.figure.unknowns(False)

    def solve(self, targets: Sequence[Target]) -> PosedFigure:
        """The pose nearest to meeting all targets, from the last pose on."""
        engine.kernels()
        began = time.perf_counter()
        plan, problem, exact = self._prepare(targets)
        places = None
        if plan.pinned:
            places = places_of(plan.features, *world(self.figure, self._poses))
        goals, weights = one_frame(targets, plan, places)
        solution = self._run(plan, problem, goals, weights, self._poses, self.precision)
        poses = self._poses = solution.poses
        self._warm = True
        if exact is not None and self.model is not None:
            solution = self._polished(plan, exact, goals, weights, poses)
            poses = solution.poses
        seconds = time.perf_counter() - began
        found = (tuple(targets), plan, solution, weights, seconds, self.modes)
        coordinates = self._poses.coordinates[0]
        return PosedFigure(self.skeleton, poses.root[0], poses.rotations[0], coordinates, found)

    def _run(
        self, plan: Layout, problem: Problem, goals: Array, weights: Array, start: Poses, precision: Array
    ) -> Solution:
        held = self._start if self.tethered else start
        rotations = held.rotations
        if self.figure.full:
            rotations = self._start.rotations.copy()
            rotations[:, 0] = held.rotations[:, 0]
        centre = Poses(held.root, self._rest, rotations)
        return _solve(
            self.method, plan, problem, goals, weights, start, centre=centre, precision=precision,
            iterations=self.iterations, tolerance=self.tolerance, warm=self._warm,
        )  # fmt: skip

    def _prepare(self, targets: Sequence[Target]) -> tuple[Layout, Problem, Problem | None]:
        if self._ready is not None and same_layout(targets, self._targets):
            return self._ready
        key = layout_key(targets)
        if key not in self._prepared:
            if len(self._prepared) > 64:
                self._prepared.clear()
            plan = layout(targets, self.skeleton)
            exact = self._problem(Figure.of_skeleton(self.skeleton), plan) if self.polish else None
            self._prepared[key] = plan, self._problem(self.figure, plan), exact
        self._targets, self._ready = tuple(targets), self._prepared[key]
        return self._ready

    def _problem(self, figure: Figure, plan: Layout) -> Problem:
        return Problem(
            figure,
            plan.features,
            self.free_root,
            limits=self.limits,
            masses=self.masses,
            damping=self.damping,
            spreads=self._spreads(figure),
        )

    def _spreads(self, figure: Figure) -> Array:
        if not self._alike:
            return spreads(figure, None if figure.full else self.model, self.free_root)
        alike = np.ones(figure.unknowns(self.free_root))
        if self.free_root:
            alike[3:6] = CANONICAL_METRES
        return alike

    def _polished(
        self, plan: Layout, problem: Problem, goals: Array, weights: Array, poses: Poses
    ) -> Solution:
        """The whole skeleton from the model's pose on, staying near it."""
        start = Poses(poses.root, np.zeros((1, 0)), poses.rotations)
        precision = np.full(problem.unknowns, EXACT**2)
        return _solve(
            LEVENBERG_MARQUARDT, plan, problem, goals, weights, start, centre=start, precision=precision,
            tolerance=self.tolerance or EXACT, warm=True,
        )  # fmt: skip

    def _precision(self, noise: float, prior: str, hold_root: float) -> Array:
        square = noise**2
        pose = np.zeros(self.figure.unknowns(False))
        if prior != "none":
            if self.model is None:
                pose[:] = square / JOINT_RADIANS**2
            else:
                pose[:] = square * inverse_variances(self.model, plain=prior == "plain")
        if not self.free_root:
            return pose
        reluctance = np.repeat([1 / ROOT_RADIANS**2, 1 / ROOT_METRES**2], 3)
        return np.concatenate([hold_root * square * reluctance, pose])


def solve_pose(body: PoseModel | Skeleton, targets: Sequence[Target], **options: object) -> PosedFigure:
    """A single pose that meets targets; options are those of :class:`PoseSolver`.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> from marey.body.ik import Reach
    >>> posed = solve_pose(walk.skeleton, [Reach("LeftHand", [0.2, 1.2, 0.4])], start=walk, root="fixed")
    >>> posed.report.residual_cm < 0.1
    True
    """
    return PoseSolver(body, **options).solve(targets)  # type: ignore[arg-type]


def inverse_variances(model: PoseModel, *, plain: bool = False) -> Array:
    """One over the variance of each coordinate, those of next to none bounded; `plain`: the mean of all."""
    variances = model.geodesics.variances
    largest = variances.max(initial=0.0)
    if largest <= 0:
        return np.ones(len(variances))
    if plain:
        return np.full(len(variances), 1.0 / variances.mean())
    return np.asarray(1.0 / np.maximum(variances, 1e-8 * largest))


def spreads(figure: Figure, model: PoseModel | None, free_root: bool) -> Array:
    """How far each unknown usually goes, `(unknowns,)`."""
    if model is None:
        return np.full(figure.unknowns(free_root), JOINT_RADIANS)
    pose = 1.0 / np.sqrt(inverse_variances(model))
    if not free_root:
        return pose
    return np.concatenate([np.full(3, ROOT_RADIANS), np.full(3, ROOT_METRES), pose])


def starting_poses(figure: Figure, skeleton: Skeleton, model: PoseModel | None, motion: Motion) -> Poses:
    """A clip's frames as poses to start from: in a model, its nearest poses."""
    if motion.skeleton.names != skeleton.names:
        raise InputError(f"the start {motion.name!r} has other joints than the figure that is posed")
    rotations, root = (np.array(a, dtype=np.float64) for a in (motion.rotations, motion.root))
    if model is None:
        return Poses(root, np.zeros((motion.frames, 0)), rotations)
    coordinates = model.geodesics.encode(pose_rotations(motion))
    return decoded(figure, Poses(root, coordinates, rotations))


def _solve(
    method: str,
    plan: Layout,
    problem: Problem,
    goals: Array,
    weights: Array,
    start: Poses,
    *,
    centre: Poses,
    precision: Array,
    tolerance: float,
    warm: bool,
    iterations: int | None = None,
) -> Solution:
    """One pose by the solver that knows everything asked for; the compiled one wherever it does."""
    if method == LEVENBERG_MARQUARDT and plan.ranked:
        return solve_by_priority(
            problem, plan.priorities, goals, weights, start, centre=centre, precision=precision,
            iterations=iterations or 100,
        )  # fmt: skip
    if method == LEVENBERG_MARQUARDT and problem.is_compiled:
        return problem.solve(
            goals, weights, start, centre=centre, precision=precision, warm=warm,
            iterations=iterations or 50, tolerance=tolerance,
        )  # fmt: skip
    return solve_classically(
        "damped" if method == LEVENBERG_MARQUARDT else method, problem, goals, weights, start, centre=centre,
        precision=precision, iterations=iterations or 200, tolerance=tolerance,
    )  # fmt: skip


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InputError(f"{name} {value!r}: one of {', '.join(choices)}")
