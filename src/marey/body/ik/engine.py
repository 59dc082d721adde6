"""What the compiled solver needs, in arrays: what may move, effectors and where they should be.

`Parameters` says what may move (a pose model's coordinates or every joint), `Effectors` what is measured and
`Problem` joins them. Everything above this file speaks in targets and joint names. Cost: see `_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import Array, FloatArray, IntArray, derived
from marey.body.anatomy import PointMasses
from marey.body.kinematics import GlobalPose, global_frames, points_on
from marey.body.limits.limits import CompiledLimits, EllipsoidLimits, Limits
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton, chain_above
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.matrices import dexp_body
from marey.statistics.geodesics.linear import PrincipalGeodesics

# What an effector measures; each has three rows, of which the last three kinds use one.
POINT, TURN, AIM, ROLL, PLANE, ABOVE = 0, 1, 2, 3, 4, 5
# What the kernels take. Of a body: whether full, unknowns of the root (6 or 0), needed joints, parents,
# offsets, mean, directions. Of effectors: kinds, joints, local points, axes. Of limits: joints, kind,
# centres, parameters, weight. Of masses: amounts, points. Of the prior: precision, centre's root, pose,
# rotations. Of the damping: whether kinetic, how far unknowns usually go, masses, their points.
Body = tuple[bool, int, IntArray, IntArray, FloatArray, FloatArray, FloatArray]
EffectorArrays = tuple[IntArray, IntArray, FloatArray, FloatArray]
LimitArrays = tuple[IntArray, int, FloatArray, FloatArray, float]
Masses = tuple[Array, Array]
PriorArrays = tuple[Array, Array, Array, Array]
DampingArrays = tuple[bool, Array, Array, Array]
# Frames from which a second thread pays.
_MANY = 256


@dataclass(frozen=True)
class IKSettings:
    """How targets, priors and steps are weighed against each other.

    Args:
        tolerance: metres, how exactly targets are meant.
        rough_tolerance: the same in a pose model if the pose is refined afterwards.
        refined_tolerance: the same by the refinement.
        root_radians, root_metres, joint_radians: how far a free root, or a joint without a model, goes as
            readily as a pose coordinate by one standard deviation.
        canonical_metres: metres that count like a radian in the canonical metric, as in Tournier's files.
        metres_per_radian: how much a turn of an effector counts beside a shift.
        limit_weight: metres a unit of excess beyond a joint's limit.
        cold, warm: damping to begin with, far from the solution and near it. Cold starts that are damped
            little end more often in a wrong minimum.
        iterations: largest number of the compiled solver for a pose.
        hierarchy_iterations: largest number where targets have priorities, or limits are not compiled.
        trajectory_steps: largest number for a whole clip.
        equal_metres: two errors of targets of one priority that differ by less count as equal.
        free_share: directions that move targets of a priority by less than this share of the largest effect
            are left to lesser priorities.
        reached_metres, reached_degrees: a target that is as near as this is reported as reached.
    """

    tolerance: float = 0.005
    rough_tolerance: float = 0.02
    refined_tolerance: float = 1e-4
    root_radians: float = 0.3
    root_metres: float = 0.15
    joint_radians: float = 1.0
    canonical_metres: float = 0.0254 / 0.45
    metres_per_radian: float = 0.17
    limit_weight: float = 0.1
    cold: float = 0.3
    warm: float = 1e-3
    iterations: int = 50
    hierarchy_iterations: int = 100
    trajectory_steps: int = 12
    equal_metres: float = 1e-4
    free_share: float = 1e-4
    reached_metres: float = 0.01
    reached_degrees: float = 3.0


SETTINGS = IKSettings()


@dataclass(frozen=True, eq=False)
class Parameters:
    """What may move: the coordinates of a pose model, or (`full`) every joint by itself.

    Args:
        parents, offsets: of the skeleton. mean: `(joints, 4)`, local rotations at coordinates 0. directions:
        `(joints, 3, modes)`, radians a unit of coordinate; no modes if full. full: whether every joint moves
        by itself. geodesics: of a model whose poses are no single exponentials at the mean, else None; it is
        not compiled.
    """

    parents: IntArray
    offsets: FloatArray
    mean: FloatArray
    directions: FloatArray
    full: bool
    geodesics: PrincipalGeodesics | None = None

    @classmethod
    def of(cls, body: PoseModel | Skeleton) -> Parameters:
        """Those of a model, whose poses are kept to, or of a skeleton, which can take any pose."""
        skeleton = body if isinstance(body, Skeleton) else body.skeleton
        if isinstance(body, Skeleton):
            mean, directions = so3.identity(skeleton.joints), np.zeros((skeleton.joints, 3, 0))
        else:
            mean, directions = (np.asarray(a) for a in (body.geodesics.mean, body.geodesics.directions))
            directions = np.moveaxis(directions, 0, -1)
        offsets, mean = np.ascontiguousarray(skeleton.offsets), np.ascontiguousarray(mean)
        full, directions = isinstance(body, Skeleton), np.ascontiguousarray(directions)
        other = None if isinstance(body, Skeleton) or body.geodesics.first_kind else body.geodesics
        return cls(skeleton.parents, offsets, mean, directions, full, other)

    joints = derived(len, "parents", "Number of joints.")

    @property
    def modes(self) -> int:
        """Number of pose coordinates; 0 if full."""
        return int(self.directions.shape[2])

    def unknowns(self, free_root: bool) -> int:
        """How many numbers a step has: 6 for a free root, then the pose."""
        return (6 if free_root else 0) + (3 * (self.joints - 1) if self.full else self.modes)


@dataclass(frozen=True, eq=False)
class Effectors:
    """What is measured of a pose, a row each.

    Args:
        kinds: POINT, TURN, AIM, ROLL, PLANE or ABOVE.
        joints: the joint that carries it.
        local: `(effectors, 3)`, point in the joint's frame, metres.
        axes: `(effectors, 3)`, aim or side axis in the joint's frame, or a plane's normal in the world.
    """

    kinds: IntArray
    joints: IntArray
    local: FloatArray
    axes: FloatArray

    @classmethod
    def points(cls, joints: Sequence[int] | IntArray, local: Array) -> Effectors:
        """Positions of points `(effectors, 3)` that joints carry."""
        kinds, carriers = np.full(len(joints), POINT, dtype=np.int64), np.array(joints, dtype=np.int64)
        local = np.array(local, dtype=np.float64, order="C").reshape(len(joints), 3)
        return cls(kinds, carriers, local, np.zeros_like(local))

    count = derived(len, "kinds", "Number of effectors.")

    def places(self, pose: GlobalPose) -> Array:
        """World positions `(frames, effectors, 3)` of their points."""
        return points_on(pose, self.joints, self.local)


class PoseArrays(NamedTuple):
    """Poses, a row a frame; rotations are complete, the root's in row 0.

    Args:
        root: `(frames, 3)`, metres.
        coordinates: `(frames, modes)`.
        rotations: `(frames, joints, 4)`, local.
    """

    root: Array
    coordinates: Array
    rotations: Array

    def copied(self) -> PoseArrays:
        """With arrays of its own, contiguous."""
        return PoseArrays(*(np.array(array, dtype=np.float64, order="C") for array in self))


class Solution(NamedTuple):
    """Poses found.

    Args:
        errors: `(frames, effectors)`, metres, or radians for turns; NaN if not asked for.
        iterations, converged: `(frames,)`.
    """

    poses: PoseArrays
    errors: Array
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]

    @property
    def coordinates(self) -> Array:
        """Coordinates `(frames, modes)` in a pose model."""
        return self.poses.coordinates


@dataclass(frozen=True, eq=False)
class Problem:
    """What may move, what is measured of it, and how steps are damped.

    Args:
        parameters, effectors: see there.
        free_root: whether the root may turn and move.
        limits: of joints; kinds that are not compiled are rows of `evaluate` only.
        typical_change: `(unknowns,)`, how far each unknown usually goes, for the damping; 1 if None.
        masses: damp steps by kinetic energy instead.
    """

    parameters: Parameters
    effectors: Effectors
    free_root: bool = True
    limits: Limits | None = None
    typical_change: Array | None = None
    masses: PointMasses | None = None
    settings: IKSettings = SETTINGS

    def __post_init__(self) -> None:
        if self.limits is not None and not isinstance(self.limits, Limits):
            raise InputError(
                f"limits: {type(self.limits).__name__} has no excess, gradient and projection of joints; "
                "derive it from marey.body.limits.Limits"
            )

    @property
    def unknowns(self) -> int:
        """How many numbers a step has."""
        return self.parameters.unknowns(self.free_root)

    @property
    def rows(self) -> int:
        """Three an effector, then one a limited joint."""
        limited = self.limits.joints if self.limits is not None and self._own_limits else self._limits[0]
        return 3 * self.effectors.count + len(limited)

    @property
    def is_compiled(self) -> bool:
        """Whether `solve` knows the limits and the model; otherwise only solvers that call `evaluate` do."""
        return not self._own_limits and self.parameters.geodesics is None

    @property
    def _own_limits(self) -> bool:
        """Whether there are limits that are not compiled."""
        return not (self.limits is None or isinstance(self.limits, CompiledLimits))

    @cached_property
    def _limits(self) -> LimitArrays:
        """Joints, kind, centres, parameters and weight of compiled limits that can be exceeded."""
        limits, weight = self.limits, self.settings.limit_weight
        if not isinstance(limits, CompiledLimits):
            limits = EllipsoidLimits.none()
        kept = limits.binding
        return (
            limits.joints[kept], limits.kind, limits.centres[kept], limits.parameters[kept], float(weight)
        )  # fmt: skip

    @cached_property
    def _fixed(self) -> tuple[Body, EffectorArrays]:
        """Body and effectors as the kernels have them."""
        part, effectors = self.parameters, self.effectors
        carriers = {0, *effectors.joints.tolist(), *self._limits[0].tolist()}
        if self.masses is not None:
            carriers |= set(np.flatnonzero(self.masses.masses).tolist())
        needed = sorted({above for joint in carriers for above in chain_above(part.parents, joint)})
        return (
            (part.full, 6 if self.free_root else 0, np.array(needed), part.parents, part.offsets, part.mean,
             part.directions),
            (effectors.kinds, effectors.joints, effectors.local, effectors.axes),
        )  # fmt: skip

    @cached_property
    def _damping(self) -> DampingArrays:
        change = np.ones(self.unknowns) if self.typical_change is None else self.typical_change
        joints = self.parameters.joints
        masses = self.masses or PointMasses(np.zeros(joints), np.zeros((joints, 3)))
        return self.masses is not None, np.ascontiguousarray(change), *masses

    def solve(
        self,
        goals: Array,
        weights: Array,
        start: PoseArrays,
        *,
        centre: PoseArrays,
        precision: Array,
        iterations: int | None = None,
        stop_error: float = 0.0,
        warm: bool = False,
        chained: bool = False,
        jobs: int | None = None,
    ) -> Solution:
        """Least weighted squares of errors plus `precision` times squared differences from `centre`.

        Limits that are not compiled do not enter.

        Args:
            goals: `(frames, effectors, 4)`, metres, or unit quaternions.
            weights: `(frames, effectors)`, of the residuals (not squared), 0 if one is not asked for.
            start, centre: where to begin, and the prior's centre.
            precision: `(unknowns,)`, of the prior.
            iterations: largest number; that of the settings if None.
            stop_error: metres; stop as soon as every effector is as near as this; 0 for the least cost.
            warm: the start is near the solution.
            chained: each frame starts from the one before instead of its own start.
            jobs: threads; None = one a core.
        """
        if self.parameters.geodesics is not None:
            raise InputError("this needs a pose model of method linear or exact")
        compiled, options = kernels(), self.settings
        frames = len(goals)
        poses = start.copied()
        errors, counts = np.empty((frames, self.effectors.count)), np.empty(frames, dtype=np.int64)
        results = errors, counts, np.empty(frames, dtype=np.bool_)
        first = options.warm if warm else options.cold
        numbers = (iterations or options.iterations, stop_error, first, options.warm, chained)

        def solve(first: int, stop: int) -> None:
            every = ((goals, weights), centre, poses, results)
            of_part = [tuple(array[first:stop] for array in arrays) for arrays in every]
            compiled.solve_frames(
                *self._fixed, *of_part[0], self._limits, (precision, *of_part[1]), self._damping, numbers,
                *of_part[2:],
            )  # fmt: skip

        if chained or frames < _MANY:
            solve(0, frames)
        else:
            _work.spread(solve, frames, jobs=jobs)
        return Solution(poses, *results)

    def evaluate(self, goals: Array, weights: Array, poses: PoseArrays) -> tuple[Array, Array]:
        """Weighted residuals `(frames, rows)` and Jacobians of the values `(frames, rows, unknowns)`."""
        if self.parameters.geodesics is not None:
            return self._by_chain_rule(goals, weights, poses)
        values = np.zeros((len(goals), self.rows))
        jacobians = np.zeros((len(goals), self.rows, self.unknowns))
        poses = poses.copied()
        limited = len(self.limits.joints) if self.limits is not None and self._own_limits else 0
        own = self.rows - limited
        compiled = (values, jacobians) if not limited else (values[:, :own].copy(), jacobians[:, :own].copy())
        kernels().evaluate_frames(*self._fixed, goals, weights, self._limits, tuple(poses), *compiled)
        if limited and self.limits is not None:
            values[:, :own], jacobians[:, :own] = compiled
            beyond, slopes = self.limits.excess(poses.rotations), self.limits.gradient(poses.rotations)
            rates = turn_rates(self.parameters, self.free_root, poses)[:, self.limits.joints]
            weight = self.settings.limit_weight * (beyond > 0)
            values[:, own:] = -weight * beyond
            jacobians[:, own:] = weight[..., None] * np.einsum("tji,tjiu->tju", slopes, rates)
        return values, jacobians

    def _by_chain_rule(self, goals: Array, weights: Array, poses: PoseArrays) -> tuple[Array, Array]:
        """`evaluate`, by how effectors move with every joint and how joints turn with the coordinates."""
        part, frames = self.parameters, len(goals)
        nothing = part.directions[:, :, :0]
        every = replace(part, directions=nothing, full=True, geodesics=None)
        whole = replace(self, parameters=every, typical_change=None)
        free = PoseArrays(poses.root, np.zeros((frames, 0)), poses.rotations)
        values, jacobians = whole.evaluate(goals, weights, free)
        root = 6 if self.free_root else 0
        turning = turn_rates(part, self.free_root, poses)[:, 1:, :, root:].reshape(frames, -1, part.modes)
        return values, np.concatenate([jacobians[:, :, :root], jacobians[:, :, root:] @ turning], axis=2)

    def errors(self, values: Array, weights: Array) -> Array:
        """Unweighted lengths `(frames, effectors)` of residuals `(frames, rows)`; NaN if not asked for."""
        count = self.effectors.count
        lengths = np.linalg.norm(values[:, : 3 * count].reshape(len(values), count, 3), axis=2)
        return np.where(weights > 0, lengths / np.where(weights > 0, weights, 1.0), np.nan)


def moved(parameters: Parameters, free_root: bool, poses: PoseArrays, step: Array) -> PoseArrays:
    """Poses after a step `(frames, unknowns)`: `q ← q exp(step)` in their own frames (Tournier 2011, 6.3)."""
    root, rotations, coordinates = poses.root, poses.rotations, poses.coordinates
    pose = step[:, 6:] if free_root else step
    turned = np.array(rotations)
    if free_root:
        turned[:, 0] = so3.multiply(rotations[:, 0], so3.exp(step[:, :3]))
        root = root + step[:, 3:6]
    if parameters.full:
        turns = so3.exp(pose.reshape(len(pose), -1, 3))
        turned[:, 1:] = so3.normalise(so3.multiply(rotations[:, 1:], turns))
        return PoseArrays(root, coordinates, turned)
    return decoded(parameters, PoseArrays(root, coordinates + pose, turned))


def decoded(parameters: Parameters, poses: PoseArrays) -> PoseArrays:
    """Poses whose rotations are those of the coordinates; those of a full body stay."""
    if parameters.full:
        return poses
    if parameters.geodesics is not None:
        rotations = parameters.geodesics.decode(poses.coordinates)
    else:
        rotations = so3.multiply(parameters.mean, so3.exp(tangents(parameters, poses.coordinates)))
    rotations[:, 0] = poses.rotations[:, 0]
    return PoseArrays(poses.root, poses.coordinates, rotations)


def world(parameters: Parameters, poses: PoseArrays) -> GlobalPose:
    """World frames of all joints."""
    return global_frames(parameters.parents, parameters.offsets, poses.rotations, poses.root)


def pull_back(
    parameters: Parameters, free_root: bool, poses: PoseArrays, centre: PoseArrays, precision: Array
) -> tuple[Array, Array]:
    """Half the downhill gradient of the prior `(frames, unknowns)`, and the prior `(frames,)`."""
    turning = slice(None) if parameters.full else slice(1)
    back = so3.log(so3.multiply(so3.inverse(poses.rotations[:, turning]), centre.rotations[:, turning]))
    parts = [back[:, 0], centre.root - poses.root] if free_root else []
    if parameters.full:
        parts.append(back[:, 1:].reshape(len(poses.root), -1))
    else:
        parts.append(centre.coordinates - poses.coordinates)
    difference = np.concatenate(parts, axis=1)
    return precision * difference, (precision * difference**2).sum(axis=1)


def turn_rates(parameters: Parameters, free_root: bool, poses: PoseArrays) -> Array:
    """How joints turn in their own frames when unknowns change, `(frames, joints, 3, unknowns)`."""
    frames, joints = poses.rotations.shape[:2]
    free = 6 if free_root else 0
    rates = np.zeros((frames, joints, 3, parameters.unknowns(free_root)))
    if free_root:
        rates[:, 0, :, :3] = np.eye(3)
    if parameters.full:
        rates[:, 1:, :, free:] = np.eye(3 * (joints - 1)).reshape(joints - 1, 3, -1)
    elif parameters.geodesics is not None:
        turning = parameters.geodesics.jacobian(poses.coordinates)[:, :, 1:]
        rates[:, 1:, :, free:] = np.moveaxis(turning, 1, -1)
    else:
        D = dexp_body(tangents(parameters, poses.coordinates)[:, 1:])
        rates[:, 1:, :, free:] = D @ parameters.directions[1:]
    return rates


def tangents(parameters: Parameters, coordinates: Array) -> Array:
    """Tangent vectors at the mean, `(frames, joints, 3)`."""
    return np.asarray(np.einsum("jim,tm->tji", parameters.directions, coordinates))


@cache
def kernels() -> ModuleType:
    """The compiled functions; the first call loads numba, which takes a moment."""
    from marey.body.ik import _kernels

    return _kernels
