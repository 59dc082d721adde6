"""Hard limits of joints: a range of twist and an elliptic cone of swing (Courty 2013, section 3.1.3).

A local rotation is `centre · swing · twist`. The twist turns about the joint's own axis (a hinge's axis, a
ball joint's bone), the swing at right angles to it. Steps that leave the limits are drawn again, joint by
joint; after eight refusals a draw is reflected into them, so no pose outside is ever considered. Cost: about
100 ns a joint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, assign, checked
from marey.errors import InputError
from marey.geometry import rotations as so3

# Radians: the least a swing may be limited to, so that rounding stays inside.
LEAST_SWING = 1e-6


@dataclass(frozen=True, eq=False)
class SwingTwistLimits:
    """How far joints may turn.

    centres: `(joints, 4)`, local rotations that count as no twist and no swing
    frames: `(joints, 4)`, rotations that take the x axis to the axis of twist and y and z to those of swing
    twists: `(joints, 2)`, least and largest twist, radians
    swings: `(joints, 2, 2)`, for each axis of swing how far to the negative and the positive side, radians

    >>> knee = SwingTwistLimits.free(1).with_joint(0, twist=(0.0, 2.5), swing=((0.01, 0.01), (0.01, 0.01)))
    >>> knee.excess(so3.exp([[[1.0, 0, 0]], [[3.0, 0, 0]]])).round(6).tolist()
    [[-1.0], [0.5]]
    >>> so3.log(knee.clamp(so3.exp([[3.0, 0, 0]]))).round(6).tolist()
    [[2.5, 0.0, 0.0]]
    """

    centres: FloatArray
    frames: FloatArray
    twists: FloatArray
    swings: FloatArray

    def __post_init__(self) -> None:
        centres = checked("limit centres", self.centres, (None, 4))
        joints = len(centres)
        twists = checked("twist limits", self.twists, (joints, 2))
        swings = checked("swing limits", self.swings, (joints, 2, 2))
        if (twists[:, 0] > twists[:, 1]).any() or (swings < 0).any():
            raise InputError("limits: the least twist must not exceed the largest, and no swing be negative")
        assign(
            self,
            centres=centres,
            frames=checked("limit frames", self.frames, (joints, 4)),
            twists=twists,
            swings=np.maximum(swings, LEAST_SWING),
        )

    @classmethod
    def free(cls, joints: int) -> SwingTwistLimits:
        """No joint is limited."""
        whole = np.full((joints, 2, 2), 10.0)
        return cls(so3.identity(joints), so3.identity(joints), np.tile([-10.0, 10.0], (joints, 1)), whole)

    def with_joint(
        self,
        joint: int,
        *,
        twist: tuple[float, float],
        swing: tuple[tuple[float, float], tuple[float, float]],
        frame: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        centre: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    ) -> SwingTwistLimits:
        """The same with other limits of one joint."""
        centres, frames, twists, swings = (
            np.array(a) for a in (self.centres, self.frames, self.twists, self.swings)
        )
        centres[joint], frames[joint], twists[joint], swings[joint] = centre, frame, twist, swing
        return SwingTwistLimits(centres, frames, twists, swings)

    def parts(self, rotations: ArrayLike) -> Array:
        """Twist and the two swings `(..., joints, 3)` of local rotations `(..., joints, 4)`, radians."""
        from marey.body.particles import _kernels

        flat, shape = self._flat(rotations)
        out = np.empty((*flat.shape[:2], 3))
        _kernels.split(flat, self.centres, self.frames, out)
        return out.reshape(*shape, 3)

    def excess(self, rotations: ArrayLike) -> Array:
        """Radians `(..., joints)` by which joints are beyond their limits; at most 0 inside."""
        from marey.body.particles import _kernels

        flat, shape = self._flat(rotations)
        out = np.empty(flat.shape[:2])
        _kernels.measure(flat, self.centres, self.frames, self.twists, self.swings, out)
        return out.reshape(shape)

    def clamp(self, rotations: ArrayLike) -> Array:
        """Local rotations with joints that are beyond their limits turned back to them."""
        from marey.body.particles import _kernels

        flat, shape = self._flat(rotations)
        inside = flat.copy()
        _kernels.clamp(inside, self.centres, self.frames, self.twists, self.swings)
        return inside.reshape(*shape, 4)

    def containing(self, rotations: ArrayLike, *, margin: float = 0.05) -> SwingTwistLimits:
        """Limits wide enough for given poses `(..., joints, 4)` as well, and `margin` radians more."""
        beyond = np.any(self.excess(rotations).reshape(-1, len(self.centres)) > 0, axis=0)
        if not beyond.any():
            return self
        parts = self.parts(rotations).reshape(-1, len(self.centres), 3)
        least, most = parts.min(axis=0) - margin, parts.max(axis=0) + margin
        twists = np.array(self.twists)
        twists[:, 0] = np.where(beyond, np.minimum(twists[:, 0], least[:, 0]), twists[:, 0])
        twists[:, 1] = np.where(beyond, np.maximum(twists[:, 1], most[:, 0]), twists[:, 1])
        swings = np.array(self.swings)
        for side, far in ((0, -least[:, 1:]), (1, most[:, 1:])):
            swings[:, :, side] = np.where(
                np.asarray(beyond)[:, None], np.maximum(swings[:, :, side], far), swings[:, :, side]
            )
        wider = replace(self, twists=twists, swings=swings)
        # An ellipse through the corner of a box is wider than the box by √2.
        outside = np.any(wider.excess(rotations).reshape(-1, len(self.centres)) > 0, axis=0)
        return replace(
            wider, swings=np.where(np.asarray(outside)[:, None, None], np.sqrt(2) * swings, swings)
        )

    def _flat(self, rotations: ArrayLike) -> tuple[Array, tuple[int, ...]]:
        given = np.asarray(rotations, dtype=np.float64)
        joints = len(self.centres)
        if given.shape[-2:] != (joints, 4):
            raise InputError(f"rotations: expected shape (..., {joints}, 4), got {given.shape}")
        return np.ascontiguousarray(given).reshape(-1, joints, 4), given.shape[:-1]
