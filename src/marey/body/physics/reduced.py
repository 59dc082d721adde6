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
    def full(cls, mean: ArrayLike) -> Basis:
        """Three coordinates a joint, about a mean pose `(joints, 4)`."""
        joints = len(np.asarray(mean))
        directions = np.zeros((joints - 1, 3, joints, 3))
        for axis in range(3):
            directions[np.arange(joints - 1), axis, np.arange(1, joints), axis] = 1.0
        return cls(np.asarray(mean, dtype=np.float64), directions.reshape(-1, joints, 3))

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
        """The character as kernels take it."""
        from marey.body.physics._kernels import Tree

        directions = np.ascontiguousarray(self.basis.directions.transpose(1, 2, 0))
        given = (self.skeleton.offsets, self.basis.mean, directions)
        offsets, mean, directions = (np.array(array, dtype=np.float64, order="C") for array in given)
        parts = (self.bones.masses, self.bones.centres, self.bones.inertias)
        bones: list[Array] = [np.array(part, np.float64, order="C") for part in parts]
        moving = np.abs(directions).max(axis=(1, 2), initial=0.0) > 1e-12
        return Tree(
            np.array(self.skeleton.parents, dtype=np.int64), offsets, mean, directions, moving, *bones
        )

    def work(self, alpha: ArrayLike) -> Work:
        """Frames of the joints at a pose `(modes,)`, see `_kernels`."""
        from marey.body.physics import _kernels

        joints, modes = self.skeleton.joints, self.basis.modes
        shapes = ((3, 3), (3, 3), (3,), (3,), (3, modes), (6, modes), (6, modes), (3,), (12,))
        made = _kernels.Work(*(np.zeros((joints, *shape)) for shape in shapes))
        _kernels.place(self.tree, np.array(checked("coordinates", alpha, (modes,))), made)
        return made

    def mass(self, alpha: ArrayLike) -> Array:
        """The mass matrix `(6 + modes, 6 + modes)` at a pose `(modes,)`."""
        from marey.body.physics import _kernels

        found = np.empty((self.size, self.size))
        _kernels.mass_matrix(self.tree, self.work(alpha), found)
        return found

    def momentum(self, alpha: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Momentum M v `(6 + modes,)`, and the quadratic forces `(6 + modes,)`: ∂T/∂g at fixed v."""
        from marey.body.physics import _kernels

        p, force = np.empty(self.size), np.empty(self.size)
        velocity = np.array(checked("velocity", v, (self.size,)))
        _kernels.momenta(self.tree, self.work(alpha), velocity, p, force)
        return p, force

    def kinetic(self, alpha: ArrayLike, v: ArrayLike) -> float:
        """Kinetic energy, joules."""
        return 0.5 * float(self.momentum(alpha, v)[0] @ np.asarray(v))

    def gravity_force(self, rotation: ArrayLike, alpha: ArrayLike, gravity: ArrayLike = GRAVITY) -> Array:
        """The generalised force `(6 + modes,)` of gravity with the root turned by `rotation` `(4,)`."""
        from marey.body.physics import _kernels

        force = np.zeros(self.size)
        turned = so3.rotate(so3.inverse(rotation), np.asarray(gravity, dtype=np.float64))
        _kernels.weight(self.tree, self.work(alpha), turned, force)
        return force

    def centre_of_mass(self, rotation: ArrayLike, place: ArrayLike, alpha: ArrayLike) -> Array:
        """The centre of mass `(3,)` in the world, metres."""
        weights = self.bones.masses / self.bones.masses.sum()
        return np.asarray(place) + so3.rotate(rotation, weights @ self.work(alpha).C)

    def potential(
        self, rotation: ArrayLike, place: ArrayLike, alpha: ArrayLike, gravity: ArrayLike = GRAVITY
    ) -> float:
        """Potential energy, joules, zero at the world's origin."""
        centre = self.centre_of_mass(rotation, place, alpha)
        return -float(self.bones.masses.sum() * (centre @ np.asarray(gravity)))

    def jacobian(self, alpha: ArrayLike, joint: int, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Velocity `(3, 6 + modes)` by v of a point in a joint's frame, in the root's frame."""
        from marey.body.physics import _kernels

        work, found = self.work(alpha), np.empty((3, self.size))
        _kernels.mass_matrix(self.tree, work, np.empty((self.size, self.size)))
        where = work.X[joint] + work.Q[joint] @ np.asarray(point, dtype=np.float64)
        for row, axis in zip(found, np.eye(3), strict=True):
            _kernels.point_row(work, joint, where, axis, row)
        return found


def world_momenta(rotation: ArrayLike, place: ArrayLike, momentum: ArrayLike) -> Momenta:
    """Momenta in the world of a momentum in the root's frame at the root's place."""
    p = np.asarray(momentum, dtype=np.float64)
    linear = so3.rotate(rotation, p[3:6])
    return Momenta(linear, so3.rotate(rotation, p[:3]) + np.cross(np.asarray(place), linear))
