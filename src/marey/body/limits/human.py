"""How human joints turn, and how far: by the segments of the body, or the joints' names.

Ranges follow common tables of joint motion, rounded; bodies stand in a T pose at rest. Knees and elbows are
hinges, elbows with a twist of the forearm; hips, shoulders, spine and neck balls within cones; fingers curl.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from marey._arrays import Array
from marey.body.anatomy import anatomy
from marey.body.limits.swing_twist import UNLIMITED, JointFreedom, SwingTwistLimits
from marey.body.skeleton import Skeleton

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
        bone = bone_of(skeleton, joint)
        plain = re.sub(r"[^a-z]", "", (segment or name).lower())
        make = next(
            (make for pattern, make in _JOINTS if re.search(pattern, plain)), _ball(0.5, np.pi / 4, 1)
        )
        table[name] = make(bone, 1.0 if bone @ left >= 0 else -1.0, left)
    # The root's orientation is unconstrained.
    root = JointFreedom.ball(_UP, (-UNLIMITED, UNLIMITED), UNLIMITED)
    table[skeleton.names[0]] = replace(root, mobility=(0.4, 0.4, 0.4))
    return table


def bone_of(skeleton: Skeleton, joint: int) -> Array:
    """Direction `(3,)` from a joint to the middle of what hangs on it, in its frame; along y for a tip."""
    below = [skeleton.offsets[child] for child in skeleton.children(joint)]
    below += list(skeleton.end_offsets[skeleton.end_parents == joint])
    way = np.mean(below, axis=0) if below else np.zeros(3)
    length = float(np.linalg.norm(way))
    return way / length if length > 1e-9 else _UP.copy()


def _ball(twist: float, cone: float, mobility: float) -> _Maker:
    def make(bone: Array, side: float, left: Array) -> JointFreedom:
        ball = JointFreedom.ball(bone, (-twist, twist), cone)
        return replace(ball, mobility=(0.6 * mobility, mobility, mobility))

    return make


def _hip(bone: Array, side: float, left: Array) -> JointFreedom:
    # Forward far, backward little.
    return JointFreedom(bone, left, (0.5, 1.0, 0.7), (-0.7, 0.7), ((2.0, 0.6), (0.8, 0.8)))


def _knee(bone: Array, side: float, left: Array) -> JointFreedom:
    return JointFreedom.hinge(left, -0.05, 2.6)


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
    (r"leg|knee|shin|shank|calf|tibia", _knee),
    (r"head|neck", _ball(0.6, 0.6, 0.5)),
    (r"spine|back|chest|torso|thorax|abdomen|waist|trunk", _ball(0.3, 0.4, 0.4)),
)
