"""What the compiled solver needs, in arrays: a figure, features of it and where they should be.

`Figure` says what may move (a pose model's coordinates or every joint), `Features` what is measured and
`Problem` joins them. Everything above this file speaks in targets and joint names. Cost: see `_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, IntArray
from marey.body.ik.limits import EllipsoidLimits, JointLimits, excess_and_gradients
from marey.body.ik.masses import PointMasses
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton, chain_above
from marey.geometry.tangent import dexp_body

Array = NDArray[np.float64]

# Kinds of features and of damping, as in `_kernels` (which is not imported here, since it loads numba).
POINT, TURN, AIM, ROLL, PLANE, ABOVE = 0, 1, 2, 3, 4, 5
MARQUARDT, USUAL, KINETIC = 0, 1, 2
# Frames from which a second thread pays.
_MANY = 256


@dataclass(frozen=True, eq=False)
class Figure:
    """What may move: the coordinates of a pose model, or (`full`) every joint by itself.

    mean: `(joints, 4)`; directions: `(joints, 3, modes)`, no modes if full
    """

    parents: IntArray
    offsets: FloatArray
    mean: FloatArray
    directions: FloatArray
    full: bool

    @classmethod
    def of_model(cls, model: PoseModel) -> Figure:
        """The figure whose poses are the model's."""
        geodesics = model.geodesics
        directions = np.ascontiguousarray(np.moveaxis(geodesics.directions, 0, -1))
        return cls(
            model.skeleton.parents,
            np.ascontiguousarray(model.skeleton.offsets),
            np.ascontiguousarray(geodesics.mean),
            directions,
            False,
        )

    @classmethod
    def of_skeleton(cls, skeleton: Skeleton) -> Figure:
        """The figure that can take any pose."""
        joints = skeleton.joints
        mean = np.tile([1.0, 0.0, 0.0, 0.0], (joints, 1))
        return cls(
            skeleton.parents, np.ascontiguousarray(skeleton.offsets), mean, np.zeros((joints, 3, 0)), True
        )

    @property
    def joints(self) -> int:
        """Number of joints."""
        return len(self.parents)

    @property
    def modes(self) -> int:
        """Number of pose coordinates; 0 for a full figure."""
        return self.directions.shape[2]

    def unknowns(self, free_root: bool) -> int:
        """How many numbers a step has: 6 for a free root, then the pose."""
        return (6 if free_root else 0) + (3 * (self.joints - 1) if self.full else self.modes)


@dataclass(frozen=True, eq=False)
class Features:
    """What is measured of a pose, a row each.

    kinds: POINT, TURN, AIM, ROLL, PLANE or ABOVE
    joints: the joint that carries it
    local: `(features, 3)`, point in the joint's frame, metres
    axes: `(features, 3)`, aim or side axis in the joint's frame, or a plane's normal in the world
    """

    kinds: IntArray
    joints: IntArray
    local: FloatArray
    axes: FloatArray

    @classmethod
    def points(cls, joints: Sequence[int] | IntArray, local: Array) -> Features:
        """Positions of points that joints carry."""
        count = len(joints)
        return cls(
            np.full(count, POINT, dtype=np.int64),
            np.array(joints, dtype=np.int64),
            np.array(local, dtype=np.float64, order="C").reshape(count, 3),
            np.zeros((count, 3)),
        )

    @property
    def count(self) -> int:
        """Number of features."""
        return len(self.kinds)


class Poses(NamedTuple):
    """Poses of a figure, a row a frame; rotations are complete, the root's in row 0.

    root: `(frames, 3)`; coordinates: `(frames, modes)`; rotations: `(frames, joints, 4)`
    """

    root: Array
    coordinates: Array
    rotations: Array

    def copied(self) -> Poses:
        """With arrays of its own, contiguous."""
        return Poses(*(np.array(array, dtype=np.float64, order="C") for array in self))


class Solution(NamedTuple):
    """Poses found, `misses (frames, features)` (metres, or radians for turns; NaN if not asked for)."""

    poses: Poses
    misses: Array
    iterations: NDArray[np.int64]
    settled: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Problem:
    """A figure, what is measured of it, and how steps are damped.

    limits: ellipsoids are compiled; limits of any other kind are rows of `evaluate` only
    spreads: `(unknowns,)`, how far each unknown usually goes: what USUAL damping is measured by
    """

    figure: Figure
    features: Features
    free_root: bool = True
    limits: JointLimits | None = None
    limit_weight: float = 0.1
    masses: PointMasses | None = None
    damping: int = USUAL
    spreads: Array | None = None
    _fixed: tuple[Any, ...] = field(init=False, repr=False)
    _limits: tuple[Any, ...] = field(init=False, repr=False)
    _weights: tuple[Any, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        figure, features = self.figure, self.features
        limits = self.limits if isinstance(self.limits, EllipsoidLimits) else EllipsoidLimits.none()
        masses = self.masses or PointMasses.none(figure.joints)
        carriers = {int(j) for j in features.joints} | {int(j) for j in limits.joints} | {0}
        if self.damping == KINETIC:
            carriers |= {int(j) for j in np.flatnonzero(masses.masses)}
        needed = sorted({above for joint in carriers for above in chain_above(figure.parents, joint)})
        fixed = (
            figure.full,
            6 if self.free_root else 0,
            (np.array(needed), figure.parents, figure.offsets, figure.mean, figure.directions),
            (features.kinds, features.joints, features.local, features.axes),
        )
        object.__setattr__(self, "_fixed", fixed)
        object.__setattr__(
            self, "_limits", (limits.joints, limits.centres, limits.shapes, float(self.limit_weight))
        )
        spreads = np.ones(self.unknowns) if self.spreads is None else self.spreads
        object.__setattr__(self, "_weights", (np.ascontiguousarray(spreads), (masses.masses, masses.points)))

    @property
    def unknowns(self) -> int:
        """How many numbers a step has."""
        return self.figure.unknowns(self.free_root)

    @property
    def rows(self) -> int:
        """Three a feature, then one a limited joint."""
        limited = len(self._limits[0]) if self.is_compiled else self.figure.joints
        return 3 * self.features.count + limited

    @property
    def is_compiled(self) -> bool:
        """Whether `solve` knows the limits; otherwise only solvers that call `evaluate` do."""
        return self.limits is None or isinstance(self.limits, EllipsoidLimits)

    def solve(
        self,
        goals: Array,
        weights: Array,
        start: Poses,
        *,
        centre: Poses,
        precision: Array,
        iterations: int = 50,
        tolerance: float = 0.0,
        warm: bool = False,
        chained: bool = False,
        threads: int = 2,
    ) -> Solution:
        """Least weighted squares of the features' misses plus `precision` times the way from `centre`.

        Limits that are not compiled do not enter.

        goals: `(frames, features, 4)`; weights: `(frames, features)`, of the residuals (not squared), 0 if
            the feature is not asked for; precision: `(unknowns,)`
        warm: the start is near the solution
        chained: each frame starts from the one before instead of its own start
        """
        compiled = kernels()
        frames = len(goals)
        poses = start.copied()
        misses = np.empty((frames, self.features.count))
        counts = np.empty(frames, dtype=np.int64)
        settled = np.empty(frames, dtype=np.bool_)

        def arguments(part: slice) -> tuple[Any, ...]:
            whole = part == slice(None)
            by_frame = (
                goals, weights, centre.root, centre.coordinates, centre.rotations, poses.root,
                poses.coordinates, poses.rotations, misses, counts, settled,
            )  # fmt: skip
            g, w, *middle = by_frame if whole else [array[part] for array in by_frame]
            return (
                *self._fixed, g, w, self._limits, precision, tuple(middle[:3]), self.damping, *self._weights,
                iterations, tolerance, warm, chained, *middle[3:],
            )  # fmt: skip

        if chained or frames < _MANY or threads < 2:
            compiled.solve_frames(*arguments(slice(None)))
        else:
            bounds = np.linspace(0, frames, 4 * threads + 1).astype(int)
            parts = [arguments(slice(a, b)) for a, b in pairwise(bounds)]
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda part: compiled.solve_frames(*part), parts))
        return Solution(poses, misses, counts, settled)

    def evaluate(self, goals: Array, weights: Array, poses: Poses) -> tuple[Array, Array]:
        """Weighted residuals `(frames, rows)` and Jacobians of the values `(frames, rows, unknowns)`."""
        frames = len(goals)
        values = np.zeros((frames, self.rows))
        jacobians = np.zeros((frames, self.rows, self.unknowns))
        poses = poses.copied()
        kernels().evaluate_frames(
            *self._fixed, goals, weights, self._limits, self.unknowns, poses.root, poses.coordinates,
            poses.rotations, values, jacobians,
        )  # fmt: skip
        if self.limits is not None and not self.is_compiled:
            first = 3 * self.features.count
            for t in range(frames):
                pose = Poses(*(array[t : t + 1] for array in poses))
                beyond, gradients = excess_and_gradients(self.limits, pose.rotations[0])
                rates = turn_rates(self.figure, self.free_root, pose)[0]
                values[t, first:] = -self.limit_weight * np.maximum(beyond, 0.0)
                slopes = np.einsum("ji,jiu->ju", gradients, rates) * (beyond > 0)[:, None]
                jacobians[t, first:] = self.limit_weight * slopes
        return values, jacobians


def turn_rates(figure: Figure, free_root: bool, poses: Poses) -> Array:
    """How joints turn in their own frames when unknowns change, `(frames, joints, 3, unknowns)`."""
    frames, joints = poses.rotations.shape[:2]
    free = 6 if free_root else 0
    rates = np.zeros((frames, joints, 3, figure.unknowns(free_root)))
    if free_root:
        rates[:, 0, :, :3] = np.eye(3)
    if figure.full:
        for joint in range(1, joints):
            first = free + 3 * (joint - 1)
            rates[:, joint, :, first : first + 3] = np.eye(3)
    else:
        D = dexp_body(tangents(figure, poses.coordinates)[:, 1:])
        rates[:, 1:, :, free:] = D @ figure.directions[1:]
    return rates


def tangents(figure: Figure, coordinates: Array) -> Array:
    """Tangent vectors at the mean, `(frames, joints, 3)`."""
    return np.asarray(np.einsum("jim,tm->tji", figure.directions, coordinates))


@cache
def kernels() -> Any:
    """The compiled functions; the first call loads numba, which takes a moment."""
    from marey.body.ik import _kernels

    return _kernels
