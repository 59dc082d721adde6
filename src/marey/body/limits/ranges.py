"""A box of rotation vectors a joint: the range that it takes in a clip, or any other.

A joint with centre `c` is inside where every component of `u = log(c⁻¹ q)` is between a low and a high bound;
the excess is the distance of `u` from the box, radians. The ranges of an example keep variants of it human.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, IntArray, assign, checked, read_only
from marey.body.limits.protocol import RANGE, CompiledLimits, flattened, limited_joints
from marey.errors import InputError
from marey.geometry import rotations as so3

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
        low, high = (
            checked(f"{name} limits", value, (count, 3), finite=False)
            for name, value in (("low", self.low), ("high", self.high))
        )
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
        # A turn beyond half a turn is one the other way round: the one nearer to the range is meant.
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
