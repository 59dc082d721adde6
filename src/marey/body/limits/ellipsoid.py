"""An ellipsoid of allowed rotations a joint (Tournier 2011, chapter 12).

A joint with centre `c` and shape `A` is inside its limit where `uᵀ A u ≤ 1`, `u = log(c⁻¹ q)`: a cone
`|u| ≤ angle` if `A = I / angle²`. The excess is `uᵀ A u - 1`, which has no unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, IntArray, assign, checked
from marey.body.limits.protocol import ELLIPSOID, CompiledLimits, flattened, limited_joints
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3


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
