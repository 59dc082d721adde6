"""Limits of joints: how far each may turn from a centre (Tournier 2011, chapter 12).

A joint with centre `c` and shape `A` is inside its limit where `uᵀ A u ≤ 1`, `u = log(c⁻¹ q)`: a cone
`|u| ≤ angle` if `A = I / angle²`. Outside, inverse kinematics pays `(weight (uᵀ A u - 1))²`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import FloatArray, IntArray, assign, checked
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.tangent import dexp_body_inverse

Array = NDArray[np.float64]

# Radians by which a joint is turned to measure a gradient.
STEP = 1e-5


class JointLimits(Protocol):
    """Anything that tells how far joints are beyond their limits."""

    def excess(self, rotations: Array) -> tuple[Array, Array] | Array:
        """Of one pose's local rotations `(joints, 4)`: values `(joints,)`, at most 0 inside, and their
        gradients `(joints, 3)` with respect to turning each joint in its own frame.

        The values alone will do: gradients are then measured by finite differences.
        """


@dataclass(frozen=True, eq=False)
class EllipsoidLimits:
    """An ellipsoid of allowed rotations a joint.

    joints: `(limits,)`, which joints; the others are free
    centres: `(limits, 4)`, local rotations in the middle
    shapes: `(limits, 3, 3)`, symmetric, positive: 1 / radians²

    >>> knee = EllipsoidLimits([2], [[1, 0, 0, 0]], np.eye(3)[None] / 0.5**2)
    >>> values, _ = knee.excess(so3.exp([[0, 0, 0], [0, 2, 0], [1, 0, 0]]))
    >>> values.round(6).tolist()
    [-1.0, -1.0, 3.0]
    """

    joints: IntArray
    centres: FloatArray
    shapes: FloatArray

    def __post_init__(self) -> None:
        joints = checked("limited joints", self.joints, (None,), dtype=np.int64)
        count = len(joints)
        if len(set(joints.tolist())) != count or (joints < 0).any():
            raise InputError("limits: each joint may be limited once, by its index")
        shapes = checked("limit shapes", self.shapes, (count, 3, 3))
        if count and np.linalg.eigvalsh(shapes).min() < 0:
            raise InputError("limits: a shape must be symmetric and positive")
        assign(self, joints=joints, centres=checked("limit centres", self.centres, (count, 4)), shapes=shapes)

    @classmethod
    def none(cls) -> EllipsoidLimits:
        """No joint is limited."""
        return cls(np.empty(0, np.int64), np.empty((0, 4)), np.empty((0, 3, 3)))

    @classmethod
    def cones(
        cls, skeleton: Skeleton, angles: Mapping[str, float], *, centres: ArrayLike | None = None
    ) -> EllipsoidLimits:
        """Joints by name that may turn up to an angle (radians) from `centres (joints, 4)`, or from rest."""
        joints = skeleton.indices(list(angles))
        bad = [name for name, angle in angles.items() if not 0 < angle <= np.pi]
        if bad:
            raise InputError(
                f"limits: the angle of {bad[0]!r} must be above 0 and at most pi, got {angles[bad[0]]}"
            )
        middle = so3.identity(skeleton.joints) if centres is None else np.asarray(centres, dtype=np.float64)
        shapes = np.array([np.eye(3) / angle**2 for angle in angles.values()]).reshape(-1, 3, 3)
        return cls(np.array(joints, dtype=np.int64), middle[joints].reshape(-1, 4), shapes)

    def excess(self, rotations: Array) -> tuple[Array, Array]:
        """`uᵀ A u - 1` and its gradient `2 uᵀ A dexp⁻¹(u)`; -1 and 0 for joints that are free."""
        values, gradients = np.full(len(rotations), -1.0), np.zeros((len(rotations), 3))
        u = so3.log(so3.multiply(so3.inverse(self.centres), np.asarray(rotations)[self.joints]))
        shaped = np.einsum("lij,lj->li", self.shapes, u)
        values[self.joints] = np.einsum("li,li->l", u, shaped) - 1.0
        gradients[self.joints] = 2 * np.einsum("li,lij->lj", shaped, dexp_body_inverse(u))
        return values, gradients


def excess_and_gradients(limits: JointLimits, rotations: Array) -> tuple[Array, Array]:
    """Values `(joints,)` and gradients `(joints, 3)` of limits of any kind at one pose `(joints, 4)`."""
    found = limits.excess(rotations)
    if isinstance(found, tuple):
        return found
    # A limit depends on its own joint alone, so all joints turn at once.
    steps = STEP * np.concatenate([np.eye(3), -np.eye(3)])
    sides = [np.asarray(limits.excess(so3.multiply(rotations, so3.exp(step)))) for step in steps]
    return np.asarray(found), (np.stack(sides[:3], axis=-1) - np.stack(sides[3:], axis=-1)) / (2 * STEP)
