"""What every kind of joint limit can do: measure, differentiate and correct poses.

A kind needs `joints`, `excess` and `project`; its gradient is then measured by finite differences. The kinds
of this package are compiled (:class:`CompiledLimits`): inverse kinematics calls their kernels directly, some
50 ns a joint, and falls back on the methods below for any other kind, such as learned limits.

Two kinds limit the rotation vector `u = log(c⁻¹ q)` from a joint's centre `c`. Ranges: every component is
between a low and a high bound; the excess is the distance from this box, radians. The ranges of an example
keep variants of it human. Ellipsoids (Tournier 2011, chapter 12): `uᵀ A u ≤ 1`, a cone `|u| ≤ angle` if
`A = I / angle²`; the excess is `uᵀ A u - 1`, which has no unit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, IntArray, assign, checked, read_only
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

# Which formula of `_kernels` a kind is.
RANGE, ELLIPSOID, SWING_TWIST = 0, 1, 2
# Excess that counts as none: rounding of a pose that was projected.
ROUNDING = 1e-9
# Radians by which joints are turned to measure a gradient.
STEP = 1e-5


class Limits(ABC):
    """Limits of some joints, each a set of local rotations that the joint may have.

    Attributes:
        joints: `(limited,)`, the joints that are limited, each once; all others are free.
    """

    joints: IntArray

    @abstractmethod
    def excess(self, rotations: ArrayLike) -> Array:
        """How far joints are beyond their limits, `(..., limited)`; at most 0 inside.

        Args:
            rotations: `(..., joints, 4)`, local rotations of all joints, unit quaternions.
        """

    @abstractmethod
    def project(self, rotations: ArrayLike) -> Array:
        """The rotations `(..., joints, 4)` with joints that are beyond their limits turned back to them."""

    def gradient(self, rotations: ArrayLike) -> Array:
        """Derivatives `(..., limited, 3)` of the excess by turns of each joint in its own frame."""
        given = np.asarray(rotations, dtype=np.float64)
        # A limit depends on its own joint alone, so all joints turn at once.
        ahead, behind = (
            [self.excess(so3.multiply(given, so3.exp(sign * STEP * axis))) for axis in np.eye(3)]
            for sign in (1.0, -1.0)
        )
        return (np.stack(ahead, axis=-1) - np.stack(behind, axis=-1)) / (2 * STEP)

    def contains(self, rotations: ArrayLike) -> NDArray[np.bool_]:
        """Whether poses are within all limits, `(...)`."""
        return np.asarray((self.excess(rotations) <= ROUNDING).all(axis=-1))


class CompiledLimits(Limits):
    """Limits whose excess and gradient are compiled.

    Attributes:
        kind: RANGE, ELLIPSOID or SWING_TWIST.
        centres: `(limited, 4)`, local rotations that limits are measured from.
        parameters: `(limited, numbers)`, the rest of the formula, see `_kernels`.
    """

    kind: ClassVar[int]
    centres: FloatArray
    parameters: FloatArray

    @property
    def binding(self) -> NDArray[np.bool_]:
        """Which limits `(limited,)` some rotation exceeds."""
        return np.ones(len(self.joints), dtype=np.bool_)

    def excess(self, rotations: ArrayLike) -> Array:
        """How far joints are beyond their limits, `(..., limited)`; at most 0 inside."""
        return self._measured(rotations)[0]

    def gradient(self, rotations: ArrayLike) -> Array:
        """Derivatives `(..., limited, 3)` of the excess by turns of each joint in its own frame."""
        return self._measured(rotations)[1]

    def _measured(self, rotations: ArrayLike) -> tuple[Array, Array]:
        from marey.body.limits import _kernels

        poses, shape = flattened(rotations, int(self.joints.max(initial=-1)) + 1)
        values = np.empty((len(poses), len(self.joints)))
        gradients = np.empty((*values.shape, 3))
        _kernels.measure(self.kind, poses, self.joints, self.centres, self.parameters, values, gradients)
        return values.reshape(*shape, -1), gradients.reshape(*shape, len(self.joints), 3)


def flattened(rotations: ArrayLike, least: int) -> tuple[Array, tuple[int, ...]]:
    """A contiguous copy `(poses, joints, 4)` of rotations of at least so many joints, and the shape."""
    given = np.array(rotations, dtype=np.float64, order="C")
    if given.ndim < 2 or given.shape[-1] != 4 or given.shape[-2] < least:
        raise InputError(f"rotations: expected shape (..., joints, 4), {least} joints, got {given.shape}")
    return given.reshape(-1, *given.shape[-2:]), given.shape[:-2]


def limited_joints(joints: ArrayLike) -> IntArray:
    """Indices of limited joints, checked."""
    found = np.array(joints, dtype=np.int64).reshape(-1)
    if len(set(found.tolist())) != len(found) or (found < 0).any():
        raise InputError("limits: each joint may be limited once, by its index")
    return read_only(found)


# Radians: the largest turn that a projection gives, so that its logarithm is well determined.
LARGEST_TURN = 3.1


@dataclass(frozen=True, eq=False)
class RangeLimits(CompiledLimits):
    """Joints whose rotation vectors stay in a box.

    Args:
        joints: `(limited,)`, which joints; the others are free.
        centres: `(limited, 4)`, local rotations at which the rotation vectors are taken.
        low, high: `(limited, 3)`, radians; may be infinite.
        give: share of its width by which a projection may leave the box, ever less the farther out; 0 to
            end at the edge.

    >>> elbow = RangeLimits([0], [[1, 0, 0, 0]], [[0, 0, 0]], [[2.0, 0, 0]])
    >>> elbow.excess(so3.exp([[2.5, 0, 0]])).round(6).tolist()
    [0.5]
    >>> so3.log(elbow.project(so3.exp([[2.5, 0, 0]]))).round(6).tolist()
    [[2.0, 0.0, 0.0]]
    """

    kind: ClassVar[int] = RANGE
    joints: IntArray
    centres: FloatArray
    low: FloatArray
    high: FloatArray
    give: float = 0.0
    parameters: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        joints = limited_joints(self.joints)
        count = len(joints)
        low = checked("low limits", self.low, (count, 3), finite=False)
        high = checked("high limits", self.high, (count, 3), finite=False)
        if not (low <= high).all() or not self.give >= 0:
            raise InputError("limits: no low bound may exceed the high one, and give must not be negative")
        centres = checked("limit centres", self.centres, (count, 4))
        parameters = read_only(np.concatenate([low, high], axis=1))
        assign(self, joints=joints, centres=centres, low=low, high=high, parameters=parameters)

    @classmethod
    def of_poses(cls, rotations: ArrayLike, centres: ArrayLike, *, give: float = 0.0) -> RangeLimits:
        """The ranges that all joints take in some poses.

        Args:
            rotations: `(poses, joints, 4)`, local rotations.
            centres: `(joints, 4)`, such as their means.
            give: see the class.
        """
        middle = np.asarray(centres, dtype=np.float64)
        turns = so3.log(so3.multiply(so3.inverse(middle), rotations))
        return cls(np.arange(len(middle)), middle, turns.min(axis=0), turns.max(axis=0), give)

    def project(self, rotations: ArrayLike) -> Array:
        """The rotations `(..., joints, 4)` with rotation vectors in their range, or beyond it by `give`."""
        poses, shape = flattened(rotations, int(self.joints.max(initial=-1)) + 1)
        own = poses[:, self.joints]
        turns = so3.log(so3.multiply(so3.inverse(self.centres), own))
        # A turn beyond half a turn is one in the other direction: the one nearer to the range is meant.
        angle = np.linalg.norm(turns, axis=-1, keepdims=True)
        other = turns * (1 - 2 * np.pi / np.maximum(angle, 1e-9))
        away, away_other = (
            np.linalg.norm(t - np.clip(t, self.low, self.high), axis=-1, keepdims=True)
            for t in (turns, other)
        )
        kept = soft_clip(np.where(away_other < away, other, turns), self.low, self.high, give=self.give)
        size = np.linalg.norm(kept, axis=-1, keepdims=True)
        kept = kept * np.minimum(1.0, LARGEST_TURN / np.maximum(size, 1e-9))
        changed = np.abs(kept - turns).max(axis=-1, keepdims=True) > 0
        poses[:, self.joints] = np.where(changed, so3.multiply(self.centres, so3.exp(kept)), own)
        return poses.reshape(*shape, -1, 4)


def soft_clip(values: Array, low: FloatArray | float, high: FloatArray | float, *, give: float) -> Array:
    """Values within bounds as they are, those outside brought near the bounds, ever less beyond.

    Args:
        values: `(..., numbers)`.
        low, high: bounds, of any shape that fits.
        give: share of the width between the bounds that a value may be beyond at most; 0 for none.

    >>> soft_clip(np.array([0.5, 1.0, 1.1, 9.0]), 0.0, 1.0, give=0.1).round(3).tolist()
    [0.5, 1.0, 1.063, 1.1]
    """
    clipped = np.clip(values, low, high)
    if give == 0:
        return np.asarray(clipped)
    room = np.maximum(give * (high - low), 1e-12)
    over, under = np.maximum(values - high, 0.0), np.maximum(low - values, 0.0)
    return np.asarray(clipped + room * (np.exp(-under / room) - np.exp(-over / room)))


@dataclass(frozen=True, eq=False)
class EllipsoidLimits(CompiledLimits):
    """Joints that may turn within an ellipsoid of rotation vectors.

    Args:
        joints: `(limited,)`, which joints; the others are free.
        centres: `(limited, 4)`, local rotations in the middle.
        shapes: `(limited, 3, 3)`, symmetric, positive: 1 / radians².

    >>> knee = EllipsoidLimits([2], [[1, 0, 0, 0]], np.eye(3)[None] / 0.5**2)
    >>> knee.excess(so3.exp([[0, 0, 0], [0, 2, 0], [1, 0, 0]])).round(6).tolist()
    [3.0]
    >>> so3.log(knee.project(so3.exp([[0, 0, 0], [0, 2, 0], [1, 0, 0]]))).round(6)[2].tolist()
    [0.5, 0.0, 0.0]
    """

    kind: ClassVar[int] = ELLIPSOID
    joints: IntArray
    centres: FloatArray
    shapes: FloatArray
    parameters: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        joints = limited_joints(self.joints)
        count = len(joints)
        shapes = checked("limit shapes", self.shapes, (count, 3, 3))
        if count and np.linalg.eigvalsh(shapes).min() < 0:
            raise InputError("limits: a shape must be symmetric and positive")
        centres = checked("limit centres", self.centres, (count, 4))
        assign(self, joints=joints, centres=centres, shapes=shapes, parameters=shapes.reshape(count, 9))

    @classmethod
    def none(cls) -> EllipsoidLimits:
        """No joint is limited."""
        return cls(np.empty(0, np.int64), np.empty((0, 4)), np.empty((0, 3, 3)))

    @classmethod
    def cones(
        cls, skeleton: Skeleton, angles: Mapping[str, float], *, centres: ArrayLike | None = None
    ) -> EllipsoidLimits:
        """Joints by name that may turn up to an angle from a centre.

        Args:
            angles: radians, by the joint's name.
            centres: `(joints, 4)`, local rotations; the pose at rest if None.
        """
        joints = skeleton.indices(list(angles))
        bad = [name for name, angle in angles.items() if not 0 < angle <= np.pi]
        if bad:
            raise InputError(
                f"limits: the angle of {bad[0]!r} must be above 0 and at most pi, got {angles[bad[0]]}"
            )
        middle = so3.identity(skeleton.joints) if centres is None else np.asarray(centres, dtype=np.float64)
        shapes = np.array([np.eye(3) / angle**2 for angle in angles.values()]).reshape(-1, 3, 3)
        return cls(np.array(joints, dtype=np.int64), middle[joints].reshape(-1, 4), shapes)

    def project(self, rotations: ArrayLike) -> Array:
        """The rotations `(..., joints, 4)`, those beyond their limits turned back towards the centre."""
        poses, shape = flattened(rotations, int(self.joints.max(initial=-1)) + 1)
        u = so3.log(so3.multiply(so3.inverse(self.centres), poses[:, self.joints]))
        size = np.sqrt(np.einsum("nli,lij,nlj->nl", u, self.shapes, u))[..., None]
        edge = so3.multiply(self.centres, so3.exp(u / np.maximum(size, 1.0)))
        poses[:, self.joints] = np.where(size > 1.0, edge, poses[:, self.joints])
        return poses.reshape(*shape, -1, 4)
