"""A range of twist and an elliptic cone of swing a joint (Courty 2013, section 3.1.3).

A local rotation is `centre · swing · twist`. The twist turns about the joint's own axis (a hinge's axis, a
ball joint's bone), the swing at right angles to it. The excess is in radians: of twist or of swing, whichever
is larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, IntArray, assign, checked, read_only
from marey.body.limits.protocol import SWING_TWIST, CompiledLimits, flattened
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.matrices import from_matrix

Range = tuple[float, float]

# Radians: the least a swing may be limited to, so that rounding stays inside; how far a hinge may turn other
# than about its axis; and what no turn ever exceeds.
LEAST_SWING, HINGE_PLAY, UNLIMITED = 1e-6, 0.03, 10.0


@dataclass(frozen=True, eq=False)
class JointFreedom:
    """How one joint may turn: about `axis` (twist), `side` and their cross product (swings).

    Args:
        axis, side: `(3,)`, in the joint's frame.
        mobility: how readily it turns about each of the three, 1 = freely, 0 = not at all.
        twist: range, radians.
        swing: for both axes of swing how far to the negative and positive side, radians.
        zero: `(4,)`, the local rotation that counts as no turn.
    """

    axis: ArrayLike
    side: ArrayLike
    mobility: tuple[float, float, float]
    twist: Range
    swing: tuple[Range, Range]
    zero: ArrayLike = (1.0, 0.0, 0.0, 0.0)

    @classmethod
    def hinge(cls, axis: ArrayLike, low: float, high: float) -> JointFreedom:
        """One way to turn."""
        play = (HINGE_PLAY, HINGE_PLAY)
        return cls(axis, _across(axis), (1.0, 0.0, 0.0), (low, high), (play, play))

    @classmethod
    def saddle(cls, bone: ArrayLike, axis: ArrayLike, first: Range, second: Range) -> JointFreedom:
        """Two: about `axis` and about bone × axis, hardly about the bone."""
        ranges = ((-first[0], first[1]), (-second[0], second[1]))
        return cls(bone, axis, (0.0, 1.0, 1.0), (-0.1, 0.1), ranges)

    @classmethod
    def ball(cls, bone: ArrayLike, twist: Range, cone: float) -> JointFreedom:
        """Three: the bone in a cone, and about itself."""
        return cls(bone, _across(bone), (1.0, 1.0, 1.0), twist, ((cone, cone), (cone, cone)))

    @property
    def frame(self) -> Array:
        """The rotation `(4,)` that takes x to `axis` and y to `side`, made orthogonal to it."""
        return frame_of(self.axis, self.side)


@dataclass(frozen=True, eq=False)
class SwingTwistLimits(CompiledLimits):
    """How far all joints of a skeleton may twist and swing.

    Args:
        centres: `(joints, 4)`, local rotations that count as no twist and no swing.
        frames: `(joints, 4)`, rotations that take the x axis to the axis of twist, y and z to those of swing.
        twists: `(joints, 2)`, least and largest twist, radians.
        swings: `(joints, 2, 2)`, for each axis of swing how far to the negative and the positive side,
            radians.

    >>> knee = SwingTwistLimits.free(1).with_joint(0, twist=(0.0, 2.5), swing=((0.01, 0.01), (0.01, 0.01)))
    >>> knee.excess(so3.exp([[[1.0, 0, 0]], [[3.0, 0, 0]]])).round(6).tolist()
    [[-1.0], [0.5]]
    >>> so3.log(knee.project(so3.exp([[3.0, 0, 0]]))).round(6).tolist()
    [[2.5, 0.0, 0.0]]
    """

    kind: ClassVar[int] = SWING_TWIST
    centres: FloatArray
    frames: FloatArray
    twists: FloatArray
    swings: FloatArray
    joints: IntArray = field(init=False, repr=False)
    parameters: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        centres = checked("limit centres", self.centres, (None, 4))
        joints = len(centres)
        frames = checked("limit frames", self.frames, (joints, 4))
        twists = checked("twist limits", self.twists, (joints, 2))
        swings = checked("swing limits", self.swings, (joints, 2, 2))
        if (twists[:, 0] > twists[:, 1]).any() or (swings < 0).any():
            raise InputError("limits: the least twist must not exceed the largest, and no swing be negative")
        swings = read_only(np.maximum(swings, LEAST_SWING))
        packed = read_only(np.concatenate([frames, twists, swings.reshape(joints, 4)], axis=1))
        assign(self, centres=centres, frames=frames, twists=twists, swings=swings)
        assign(self, joints=read_only(np.arange(joints)), parameters=packed)

    @classmethod
    def free(cls, joints: int) -> SwingTwistLimits:
        """No joint is limited."""
        far = UNLIMITED
        whole = np.full((joints, 2, 2), far)
        return cls(so3.identity(joints), so3.identity(joints), np.tile([-far, far], (joints, 1)), whole)

    @classmethod
    def of(cls, skeleton: Skeleton, freedoms: Mapping[str, JointFreedom]) -> SwingTwistLimits:
        """Limits from a table of joints by name; joints that are not in it are free."""
        limits = cls.free(skeleton.joints)
        for name, joint in freedoms.items():
            limits = limits.with_joint(
                skeleton.index(name),
                twist=joint.twist,
                swing=joint.swing,
                frame=joint.frame,
                centre=joint.zero,
            )
        return limits

    def with_joint(
        self,
        joint: int,
        *,
        twist: Range,
        swing: tuple[Range, Range],
        frame: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        centre: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    ) -> SwingTwistLimits:
        """The same with other limits of one joint."""
        changed = [np.array(a) for a in (self.centres, self.frames, self.twists, self.swings)]
        for array, value in zip(changed, (centre, frame, twist, swing), strict=True):
            array[joint] = value
        return SwingTwistLimits(*changed)

    @property
    def binding(self) -> NDArray[np.bool_]:
        """Which limits `(joints,)` some rotation exceeds."""
        within = (np.abs(self.twists) <= np.pi).any(axis=1) | (self.swings <= np.pi).any(axis=(1, 2))
        return np.asarray(within)

    def parts(self, rotations: ArrayLike) -> Array:
        """Twist and the two swings `(..., joints, 3)` of local rotations `(..., joints, 4)`, radians."""
        from marey.body.limits import _kernels

        poses, shape = flattened(rotations, len(self.centres))
        out = np.empty((*poses.shape[:2], 3))
        _kernels.split(poses, self.centres, self.parameters, out)
        return out.reshape(*shape, -1, 3)

    def project(self, rotations: ArrayLike) -> Array:
        """The rotations `(..., joints, 4)`, those beyond their limits at the nearest twist and swing."""
        from marey.body.limits import _kernels

        poses, shape = flattened(rotations, len(self.centres))
        _kernels.project_swing_twist(poses, self.centres, self.parameters)
        return poses.reshape(*shape, -1, 4)

    def containing(self, rotations: ArrayLike, *, margin: float = 0.05) -> SwingTwistLimits:
        """Limits wide enough for given poses as well.

        Args:
            rotations: `(..., joints, 4)`, local rotations.
            margin: radians that joints which needed it may turn farther than in these poses.
        """
        beyond = np.any(self.excess(rotations).reshape(-1, len(self.centres)) > 0, axis=0)
        if not beyond.any():
            return self
        parts = self.parts(rotations).reshape(-1, len(self.centres), 3)
        least, most = parts.min(axis=0) - margin, parts.max(axis=0) + margin
        twists = np.stack(
            [np.minimum(self.twists[:, 0], least[:, 0]), np.maximum(self.twists[:, 1], most[:, 0])], axis=1
        )
        swings = np.maximum(self.swings, np.stack([-least[:, 1:], most[:, 1:]], axis=2))
        twists = np.where(beyond[:, None], twists, self.twists)
        swings = np.where(beyond[:, None, None], swings, self.swings)
        wider = replace(self, twists=twists, swings=swings)
        # An ellipse through the corner of a box is wider than the box by √2.
        outside = np.any(wider.excess(rotations).reshape(-1, len(self.centres)) > 0, axis=0)
        return replace(wider, swings=np.where(outside[:, None, None], np.sqrt(2) * swings, swings))


def frame_of(axis: ArrayLike, side: ArrayLike) -> Array:
    """The rotation `(4,)` that takes x to `axis` and y to `side`, made orthogonal to it."""
    x = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    y = np.asarray(side, dtype=np.float64)
    y = y - (y @ x) * x
    y = y / np.linalg.norm(y)
    return from_matrix(np.stack([x, y, np.cross(x, y)], axis=1))


def _across(axis: ArrayLike) -> Array:
    """Any direction at right angles."""
    along = np.asarray(axis, dtype=np.float64)
    return np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
