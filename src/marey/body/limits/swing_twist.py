"""A range of twist and an elliptic cone of swing a joint (Courty 2013, section 3.1.3).

A local rotation is `centre · swing · twist`. The twist turns about the joint's own axis (a hinge's axis, a
ball joint's bone), the swing at right angles to it. The excess is in radians: of twist or of swing, whichever
is larger.

The ranges of human joints, by the segments of the body or the joints' names, follow common tables of joint
motion, rounded, of bodies that stand in a T pose at rest. Knees and elbows are hinges, elbows with a twist of
the forearm; hips, shoulders, spine and neck balls within cones; fingers curl.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, IntArray, assign, checked, read_only
from marey.body.anatomy import anatomy
from marey.body.limits.limits import SWING_TWIST, CompiledLimits, flattened
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
        """One axis to turn about."""
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
        x = np.asarray(self.axis, dtype=np.float64) / np.linalg.norm(self.axis)
        y = np.asarray(self.side, dtype=np.float64)
        y = y - (y @ x) * x
        y = y / np.linalg.norm(y)
        return from_matrix(np.stack([x, y, np.cross(x, y)], axis=1))


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
            at, frame = skeleton.index(name), joint.frame
            limits = limits.with_joint(
                at, twist=joint.twist, swing=joint.swing, frame=frame, centre=joint.zero
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
        twists, swings = np.abs(self.twists) <= np.pi, self.swings <= np.pi
        return np.asarray(twists.any(axis=1) | swings.any(axis=(1, 2)))

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

    def containing(self, rotations: ArrayLike) -> SwingTwistLimits:
        """Limits wide enough for given poses `(..., joints, 4)` as well, by 0.05 radians where needed."""
        beyond = np.any(self.excess(rotations).reshape(-1, len(self.centres)) > 0, axis=0)
        if not beyond.any():
            return self
        parts = self.parts(rotations).reshape(-1, len(self.centres), 3)
        least, most = parts.min(axis=0) - 0.05, parts.max(axis=0) + 0.05
        twists, swings = np.array(self.twists), np.array(self.swings)
        twists[beyond, 0] = np.minimum(twists[:, 0], least[:, 0])[beyond]
        twists[beyond, 1] = np.maximum(twists[:, 1], most[:, 0])[beyond]
        swings[beyond] = np.maximum(swings, np.stack([-least[:, 1:], most[:, 1:]], axis=2))[beyond]
        wider = replace(self, twists=twists, swings=swings)
        # An ellipse through the corner of a box is wider than the box by √2.
        outside = np.any(wider.excess(rotations).reshape(-1, len(self.centres)) > 0, axis=0)
        return replace(wider, swings=np.where(outside[:, None, None], np.sqrt(2) * swings, swings))


def _across(axis: ArrayLike) -> Array:
    """Any direction at right angles."""
    along = np.asarray(axis, dtype=np.float64)
    return np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])


_Maker = Callable[[Array, float, Array], JointFreedom]

_UP = np.array([0.0, 1.0, 0.0])


def human(skeleton: Skeleton) -> SwingTwistLimits:
    """Limits of a human skeleton; its root is free.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> wide = human(walk.skeleton).containing(walk.rotations)
    >>> bool(wide.contains(walk.rotations).all())
    True
    """
    return SwingTwistLimits.of(skeleton, human_joints(skeleton))


def human_joints(skeleton: Skeleton) -> dict[str, JointFreedom]:
    """How each joint of a human skeleton may turn, by its name.

    Joints that are neither a known segment nor known by name are balls within 45°.
    """
    left = np.cross(_UP, anatomy(skeleton).forward)
    table = {}
    for joint, (name, segment) in enumerate(zip(skeleton.names, anatomy(skeleton).segments, strict=True)):
        # The bone leads to the middle of what hangs on the joint; along y for a tip.
        below = [skeleton.offsets[child] for child in skeleton.children(joint)]
        below += list(skeleton.end_offsets[skeleton.end_parents == joint])
        bone = np.mean(below, axis=0) if below else np.zeros(3)
        length = float(np.linalg.norm(bone))
        bone = bone / length if length > 1e-9 else _UP.copy()
        plain, other = re.sub(r"[^a-z]", "", (segment or name).lower()), _ball(0.5, np.pi / 4, 1)
        make = next((make for pattern, make in _JOINTS if re.search(pattern, plain)), other)
        table[name] = make(bone, 1.0 if bone @ left >= 0 else -1.0, left)
    # The root's orientation is unconstrained.
    root = JointFreedom.ball(_UP, (-UNLIMITED, UNLIMITED), UNLIMITED)
    table[skeleton.names[0]] = replace(root, mobility=(0.4, 0.4, 0.4))
    return table


def _ball(twist: float, cone: float, mobility: float) -> _Maker:
    def make(bone: Array, side: float, left: Array) -> JointFreedom:
        ball = JointFreedom.ball(bone, (-twist, twist), cone)
        return replace(ball, mobility=(0.6 * mobility, mobility, mobility))

    return make


def _hip(bone: Array, side: float, left: Array) -> JointFreedom:
    # Forward far, backward little.
    return JointFreedom(bone, left, (0.5, 1.0, 0.7), (-0.7, 0.7), ((2.0, 0.6), (0.8, 0.8)))


def _elbow(bone: Array, side: float, left: Array) -> JointFreedom:
    # The hinge, and the forearm's turn about itself.
    return JointFreedom(bone, -side * _UP, (0.7, 1.0, 0.0), (-1.5, 1.5), ((0.05, 2.6), (0.15, 0.15)))


def _finger(bone: Array, side: float, left: Array) -> JointFreedom:
    curl = np.cross(bone, -_UP)
    axis = curl if np.linalg.norm(curl) > 1e-6 else left
    return replace(JointFreedom.hinge(axis, -0.2, 1.6), mobility=(0.3, 0.0, 0.0))


# Segments of the body, and names without capitals, digits and signs, in the order in which they are tried.
_JOINTS: tuple[tuple[str, _Maker], ...] = (
    (r"thumb|index|middle|ring|pinky|finger", _finger),
    (r"toe", _ball(0.1, 0.6, 0.3)),
    (r"hand|wrist", _ball(0.4, 1.2, 1.0)),
    (r"forearm|lowerarm|elbow|radius", _elbow),
    (r"shoulder|clavicle|collar", _ball(0.2, 0.4, 0.4)),
    (r"arm|humerus", _ball(1.2, 2.0, 1.0)),
    (r"foot|ankle", _ball(0.4, 0.8, 1.0)),
    (r"hip(?!s)|upleg|upperleg|thigh|femur", _hip),
    (r"leg|knee|shin|shank|calf|tibia", lambda bone, side, left: JointFreedom.hinge(left, -0.05, 2.6)),
    (r"head|neck", _ball(0.6, 0.6, 0.5)),
    (r"spine|back|chest|torso|thorax|abdomen|waist|trunk", _ball(0.3, 0.4, 0.4)),
)
