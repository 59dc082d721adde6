"""A character with mass in the coordinates of a pose model (Tournier 2011, sections 8.2 and 11.1.2).

A pose is `mean_j exp(Σ_a alpha_a V_ja)` a joint; together with the root's place this is a configuration with
6 + modes degrees of freedom. The velocity `v` is the root's twist (angular, then linear, in the root's frame)
and the rates of the coordinates. The mass matrix costs O(joints · modes²), everything else O(joints · modes).

Bases differ only in their directions: geodesics of a pose model (canonical or kinetic, by its metric), a
hybrid of geodesics and free joints, or full coordinates, three a joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, assign, checked
from marey.body.anatomy import anatomy
from marey.body.kinematics import global_frames
from marey.body.physics.inertia import Bones
from marey.body.pose_model import PoseModel, check_first_kind
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

if TYPE_CHECKING:
    from marey.body.physics._kernels import Tree, Work

GRAVITY = (0.0, -9.81, 0.0)
# Share of a free joint's direction that the geodesics must leave open for it to be worth a coordinate.
NEW_DIRECTION = 0.3


@dataclass(frozen=True, eq=False)
class Basis:
    """Coordinates of poses.

    Args:
        mean: `(joints, 4)`, the pose at zero.
        directions: `(modes, joints, 3)`, radians a unit of each coordinate; the root's are zero.
    """

    mean: FloatArray
    directions: FloatArray

    def __post_init__(self) -> None:
        mean = checked("mean", self.mean, (None, 4))
        directions = checked("directions", self.directions, (None, len(mean), 3))
        if np.abs(directions[:, 0]).max(initial=0.0) > 0:
            raise InputError("directions: those of the root must be zero, the root moves by itself")
        assign(self, mean=mean, directions=directions)

    @property
    def modes(self) -> int:
        """Number of coordinates."""
        return len(self.directions)

    @classmethod
    def geodesics(cls, model: PoseModel) -> Basis:
        """The coordinates of a pose model; its metric says whether they are canonical or kinetic."""
        check_first_kind(model, "a simulation")
        directions = np.array(model.geodesics.directions)
        directions[:, 0] = 0.0
        mean = np.array(model.geodesics.mean)
        mean[0] = so3.identity()
        return cls(mean, directions)

    @classmethod
    def full(cls, mean: ArrayLike, free: ArrayLike | None = None) -> Basis:
        """Three coordinates a joint, about a mean pose `(joints, 4)`.

        Args:
            free: `(free,)`, indices of the joints that move; all if None. Leave out joints that are on the
                spot of another one: both could turn against each other at no cost.
        """
        middle = np.asarray(mean, dtype=np.float64)
        moves = np.arange(1, len(middle)) if free is None else np.asarray(free)
        directions = np.zeros((len(moves), 3, len(middle), 3))
        for axis in range(3):
            directions[np.arange(len(moves)), axis, moves, axis] = 1.0
        return cls(middle, directions.reshape(-1, len(middle), 3))

    @classmethod
    def moving(cls, model: PoseModel) -> Basis:
        """Three coordinates for each joint that a pose model moves."""
        basis = cls.geodesics(model)
        found = np.abs(basis.directions).max(axis=(0, 2), initial=0.0)
        return cls.full(basis.mean, np.flatnonzero(found > 1e-6))

    @classmethod
    def hybrid(cls, model: PoseModel, free: Sequence[str] | None = None) -> Basis:
        """Geodesics and joints that also move by themselves: hips, knees and ankles if none are named."""
        basis, skeleton = cls.geodesics(model), model.skeleton
        if free is None:
            joints = [joint for leg in anatomy(skeleton).legs for joint in leg[:3]]
        else:
            joints = skeleton.indices(list(free))
        rows = basis.directions.reshape(basis.modes, -1)
        found = list(np.linalg.qr(rows.T)[0].T) if len(rows) else []
        extra = []
        for unit in np.eye(rows.shape[1])[[3 * joint + axis for joint in joints for axis in range(3)]]:
            rest = unit - sum(((unit @ row) * row for row in found), np.zeros_like(unit))
            if np.linalg.norm(rest) > NEW_DIRECTION:
                found.append(rest / np.linalg.norm(rest))
                extra.append(found[-1])
        both = np.concatenate([rows, np.reshape(extra, (-1, rows.shape[1]))]).reshape(-1, skeleton.joints, 3)
        both[:, 0] = 0.0
        return cls(basis.mean, both)

    def decode(self, alpha: ArrayLike) -> Array:
        """Local rotations `(..., joints, 4)` of coordinates `(..., modes)`; the root's is the identity."""
        return so3.multiply(self.mean, so3.exp(np.tensordot(np.asarray(alpha), self.directions, 1)))

    def encode(self, rotations: ArrayLike, metric: ArrayLike | None = None) -> Array:
        """Coordinates `(..., modes)` nearest to local rotations `(..., joints, 4)`.

        Args:
            metric: `(3 joints, 3 joints)`, what nearest means at the mean; angles if None.
        """
        vectors = so3.log(so3.multiply(so3.inverse(self.mean), rotations))
        vectors[..., 0, :] = 0.0
        rows = self.directions.reshape(self.modes, -1)
        weighted = rows if metric is None else rows @ np.asarray(metric)
        flat = vectors.reshape(*vectors.shape[:-2], -1)
        return np.asarray(np.linalg.solve(weighted @ rows.T, weighted @ flat[..., None])[..., 0])


class Momenta(NamedTuple):
    """Linear momentum `(3,)`, kg m/s, and angular momentum `(3,)` about the world's origin, kg m²/s."""

    linear: Array
    angular: Array


@dataclass(frozen=True, eq=False)
class PhysicalCharacter:
    """A skeleton with masses, in the coordinates of a basis.

    Args:
        skeleton: the tree of joints.
        basis: coordinates of its poses.
        bones: masses and inertias.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> character = PhysicalCharacter.of(PoseModel.fit([walk], modes=8))
    >>> M = character.mass(np.zeros(8))
    >>> M.shape, float(M[3, 3].round(6))
    ((14, 14), 75.0)
    """

    skeleton: Skeleton
    basis: Basis
    bones: Bones

    def __post_init__(self) -> None:
        joints = self.skeleton.joints
        if len(self.basis.mean) != joints or len(self.bones.masses) != joints:
            raise InputError(f"the basis and the bones must be of the skeleton's {joints} joints")

    @classmethod
    def of(cls, model: PoseModel, *, mass: float | None = None) -> PhysicalCharacter:
        """A pose model's skeleton with masses of a human, in the model's coordinates."""
        return cls(model.skeleton, Basis.geodesics(model), Bones.of(model.skeleton, mass=mass))

    @property
    def size(self) -> int:
        """Degrees of freedom: 6 + modes."""
        return 6 + self.basis.modes

    @cached_property
    def tree(self) -> Tree:
        """The character as kernels take it; bodies that do not move are one with what carries them."""
        from marey.body.physics import _kernels

        basis, bones, skeleton = self.basis, self.bones, self.skeleton
        moves = np.abs(basis.directions).max(axis=(0, 2), initial=0.0) > 1e-12
        moves[0] = True
        carriers = np.arange(skeleton.joints)
        for joint in range(1, skeleton.joints):
            if not moves[joint]:
                carriers[joint] = carriers[skeleton.parents[joint]]
        pose = global_frames(skeleton.parents, skeleton.offsets, basis.mean, np.zeros(3))
        turns = so3.to_matrix(so3.multiply(so3.inverse(pose.rotations[carriers]), pose.rotations))
        arms = pose.positions - pose.positions[carriers]
        points = so3.rotate(so3.inverse(pose.rotations[carriers]), arms)
        points = points + (turns @ bones.centres[..., None])[..., 0]
        table = np.zeros((skeleton.joints, _kernels.BONE_COLUMNS))
        table[:, _kernels.OFFSET : _kernels.MEAN] = skeleton.offsets
        table[:, _kernels.MEAN : _kernels.MASS] = basis.mean
        turned = turns @ bones.inertias @ turns.transpose(0, 2, 1)
        for body in np.flatnonzero(moves):
            own = carriers == body
            weights = bones.masses[own]
            centre = weights @ points[own] / weights.sum()
            away = points[own] - centre
            spread = (away**2).sum(axis=1)[:, None, None] * np.eye(3) - away[:, :, None] * away[:, None, :]
            inertia = (turned[own] + weights[:, None, None] * spread).sum(axis=0)
            table[body, _kernels.MASS :] = [weights.sum(), *centre, *inertia[np.triu_indices(3)]]
        above = carriers[np.maximum(skeleton.parents, 0)]
        directions = np.array(basis.directions.transpose(1, 2, 0), dtype=np.float64, order="C")
        parents = np.stack([skeleton.parents, carriers, above], axis=1).astype(np.int64)
        return _kernels.Tree(parents, np.flatnonzero(moves), table, directions)

    def room(self) -> Work:
        """Arrays for the sweeps of this character."""
        from marey.body.physics._kernels import COLUMNS, Work

        joints, modes, size = self.skeleton.joints, self.basis.modes, self.size
        shapes = ((joints, COLUMNS), (joints, 3, modes), *[(joints, 6, modes)] * 2, *[(size, size)] * 2)
        return Work(*(np.zeros(shape) for shape in shapes))

    def work(self, alpha: ArrayLike) -> Work:
        """Frames of the joints and the mass matrix at a pose `(modes,)`, see `_kernels`."""
        return self._swept(alpha, np.zeros(self.size))[0]

    def _swept(self, alpha: ArrayLike, v: ArrayLike) -> tuple[Work, Array]:
        from marey.body.physics import _kernels

        made, vectors = self.room(), np.zeros((_kernels.GIVEN, self.size))
        vectors[_kernels.NEW] = checked("velocity", v, (self.size,))
        coordinates = np.array(checked("coordinates", alpha, (self.basis.modes,)))
        _kernels.evaluate(self.tree, coordinates[None], made, vectors)
        return made, vectors[_kernels.FORCE]

    def mass(self, alpha: ArrayLike) -> Array:
        """The mass matrix `(6 + modes, 6 + modes)` at a pose `(modes,)`."""
        return self.work(alpha).M

    def momentum(self, alpha: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Momentum M v `(6 + modes,)`, and the quadratic forces `(6 + modes,)`: ∂T/∂g at fixed v."""
        work, force = self._swept(alpha, v)
        return work.M @ np.asarray(v), force

    def kinetic(self, alpha: ArrayLike, v: ArrayLike) -> float:
        """Kinetic energy, joules."""
        return 0.5 * float(self.mass(alpha) @ np.asarray(v) @ np.asarray(v))

    def gravity_force(self, rotation: ArrayLike, alpha: ArrayLike, gravity: ArrayLike = GRAVITY) -> Array:
        """The generalised force `(6 + modes,)` of gravity with the root turned by `rotation` `(4,)`.

        It is what gives the root, and with it all bones, the acceleration of gravity.
        """
        turned = so3.rotate(so3.inverse(rotation), np.asarray(gravity, dtype=np.float64))
        return np.asarray(self.mass(alpha)[:, 3:6] @ turned)

    def centre_of_mass(self, rotation: ArrayLike, place: ArrayLike, alpha: ArrayLike) -> Array:
        """The centre of mass `(3,)` in the world, metres."""
        M = self.mass(alpha)
        # M of angular and linear velocity is the mass times the matrix of the cross product with the centre.
        centre = np.array([M[4, 2], M[5, 0], M[3, 1]]) / M[3, 3]
        return np.asarray(place) + so3.rotate(rotation, centre)

    def potential(
        self, rotation: ArrayLike, place: ArrayLike, alpha: ArrayLike, gravity: ArrayLike = GRAVITY
    ) -> float:
        """Potential energy, joules, zero at the world's origin."""
        centre = self.centre_of_mass(rotation, place, alpha)
        return -float(self.bones.masses.sum() * (centre @ np.asarray(gravity)))

    def jacobian(self, alpha: ArrayLike, joint: int, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Velocity `(3, 6 + modes)` by v of a point in a joint's frame, in the root's frame."""
        from marey.body.physics import _kernels

        work = self.work(alpha)
        frame, twist = work.frames[joint], work.T[int(self.tree.parents[joint, 1])]
        turn, here = frame[_kernels.Q : _kernels.D].reshape(3, 3), frame[_kernels.X : _kernels.C]
        at = here + turn @ np.asarray(point, dtype=np.float64)
        moved = twist[3:] + np.cross(twist[:3], at, axis=0)
        return np.concatenate([np.cross(np.eye(3), at, axis=0), np.eye(3), moved], axis=1)


def world_momenta(rotation: ArrayLike, place: ArrayLike, momentum: ArrayLike) -> Momenta:
    """Momenta in the world of a momentum in the root's frame at the root's place."""
    p = np.asarray(momentum, dtype=np.float64)
    linear = so3.rotate(rotation, p[3:6])
    return Momenta(linear, so3.rotate(rotation, p[:3]) + np.cross(np.asarray(place), linear))
