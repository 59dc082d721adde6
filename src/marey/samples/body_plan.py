"""The samples' skeleton: an adult of given stature, with the joint names of the CMU motion capture clips.

Limb lengths are the fractions of stature of de Leva 1996 (J. Biomechanics 29(9), table 4, men), heights
of ankle and hip those of Winter 2009 ("Biomechanics and Motor Control of Human Movement", figure 4.1).
With all rotations at zero it stands in a T-pose at the origin: facing +z, left hand towards +x, palms down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.body.skeleton import Skeleton
from marey.errors import InputError

STATURE = 1.75

# Fractions of stature.
THIGH = 0.2425
SHANK = 0.2493
UPPER_ARM = 0.1618
FOREARM = 0.1545
HAND = 0.1080
FOOT_LENGTH = 0.1520
ANKLE_HEIGHT = 0.0390
HEEL_BEHIND_ANKLE = 0.0340
BALL_BEFORE_ANKLE = 0.0740
BALL_HEIGHT = 0.0115
HIP_HALF_WIDTH = 0.0510
SHOULDER_HALF_WIDTH = 0.1000

_TREE: tuple[tuple[str, str | None, tuple[float, float, float]], ...] = (
    ("Hips", None, (0.0, 0.0, 0.0)),
    ("LeftUpLeg", "Hips", (HIP_HALF_WIDTH, -0.0230, 0.0)),
    ("LeftLeg", "LeftUpLeg", (0.0, -THIGH, 0.0)),
    ("LeftFoot", "LeftLeg", (0.0, -SHANK, 0.0)),
    ("LeftToeBase", "LeftFoot", (0.0, BALL_HEIGHT - ANKLE_HEIGHT, BALL_BEFORE_ANKLE)),
    ("LowerBack", "Hips", (0.0, 0.0370, -0.0060)),
    ("Spine", "LowerBack", (0.0, 0.0640, 0.0020)),
    ("Spine1", "Spine", (0.0, 0.0760, -0.0060)),
    ("Neck", "Spine1", (0.0, 0.1260, -0.0030)),
    ("Head", "Neck", (0.0, 0.0520, 0.0080)),
    ("LeftShoulder", "Spine1", (0.0180, 0.0860, 0.0060)),
    ("LeftArm", "LeftShoulder", (SHOULDER_HALF_WIDTH - 0.0180, -0.0060, -0.0060)),
    ("LeftForeArm", "LeftArm", (UPPER_ARM, 0.0, 0.0)),
    ("LeftHand", "LeftForeArm", (FOREARM, 0.0, 0.0)),
    ("LeftHandIndex1", "LeftHand", (0.0500, -0.0020, 0.0)),
    ("LeftThumb", "LeftHand", (0.0130, -0.0040, 0.0150)),
)
_ENDS: tuple[tuple[str, tuple[float, float, float]], ...] = (
    ("LeftToeBase", (0.0, -BALL_HEIGHT, FOOT_LENGTH - HEEL_BEHIND_ANKLE - BALL_BEFORE_ANKLE)),
    ("Head", (0.0, 0.0912, 0.0050)),
    ("LeftHandIndex1", (HAND - 0.0500, -0.0030, 0.0)),
    ("LeftThumb", (0.0240, -0.0050, 0.0270)),
)


def body_skeleton(stature: float = STATURE) -> Skeleton:
    """An adult `stature` metres tall: 26 joints, 7 end sites.

    >>> body_skeleton().joints
    26
    """
    if not 0.3 <= stature <= 3.0:
        raise InputError(f"stature: between 0.3 and 3 metres, got {stature}")
    rows = [row for part in _in_depth_first_order() for row in part]
    names = [name for name, _, _ in rows]
    ends = [
        (side(name), mirror(offset))
        for name, offset in _ENDS
        for side, mirror in (_SIDES if name.startswith("Left") else _SIDES[:1])
    ]
    return Skeleton(
        tuple(names),
        np.array([-1 if parent is None else names.index(parent) for _, parent, _ in rows]),
        stature * np.array([offset for _, _, offset in rows]),
        np.array([names.index(name) for name, _ in ends]),
        stature * np.array([offset for _, offset in ends]),
    )


def standing_height(stature: float = STATURE) -> float:
    """Height of the root above the ground when standing straight, metres."""
    return stature * (ANKLE_HEIGHT + SHANK + THIGH + 0.0230)


def rest_positions(skeleton: Skeleton, height: float) -> NDArray[np.float64]:
    """Joints with all rotations at zero and the root `height` above the origin, `(joints, 3)`."""
    positions = np.array(skeleton.offsets, dtype=np.float64)
    positions[0] = 0.0, height, 0.0
    for joint in range(1, skeleton.joints):
        positions[joint] += positions[skeleton.parents[joint]]
    return positions


def _same(value: tuple[float, float, float]) -> tuple[float, float, float]:
    return value


def _mirrored(value: tuple[float, float, float]) -> tuple[float, float, float]:
    return -value[0], value[1], value[2]


def _right(name: str) -> str:
    return name.replace("Left", "Right", 1)


_SIDES = ((str, _same), (_right, _mirrored))


def _in_depth_first_order() -> list[list[tuple[str, str | None, tuple[float, float, float]]]]:
    """The tree's rows with each run of left joints followed by its mirror image."""
    parts: list[list[tuple[str, str | None, tuple[float, float, float]]]] = []
    run: list[tuple[str, str | None, tuple[float, float, float]]] = []
    for row in (*_TREE, ("", None, (0.0, 0.0, 0.0))):
        if row[0].startswith("Left"):
            run.append(row)
            continue
        if run:
            parts += [run, [(_right(n), _right(p or ""), _mirrored(o)) for n, p, o in run]]
            run = []
        if row[0]:
            parts.append([row])
    return parts
