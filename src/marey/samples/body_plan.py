"""The samples' skeleton: an adult of given stature, with the joint names of the CMU motion capture clips.

Limb lengths follow the fractions of stature of de Leva 1996 (J. Biomechanics 29(9), men), rounded, heights
of ankle and hip those of Winter 2009 ("Biomechanics and Motor Control of Human Movement", figure 4.1).
With all rotations at zero it stands in a T-pose at the origin: facing +z, left hand towards +x, palms down.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

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
HIP_BELOW_ROOT = 0.0230
SHOULDER_HALF_WIDTH = 0.1000

# Name, parent, offset in statures.
_Row = tuple[str, str | None, tuple[float, float, float]]

_TREE: tuple[_Row, ...] = (
    ("Hips", None, (0.0, 0.0, 0.0)),
    ("LeftUpLeg", "Hips", (HIP_HALF_WIDTH, -HIP_BELOW_ROOT, 0.0)),
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
    rows = _both_sides(_TREE)
    ends = _both_sides([(name, None, offset) for name, offset in _ENDS])
    names = [name for name, _, _ in rows]
    return Skeleton(
        tuple(names),
        np.array([-1 if parent is None else names.index(parent) for _, parent, _ in rows]),
        stature * np.array([offset for _, _, offset in rows]),
        np.array([names.index(name) for name, _, _ in ends]),
        stature * np.array([offset for _, _, offset in ends]),
    )


def standing_height(stature: float = STATURE) -> float:
    """Height of the root above the ground when standing straight, metres."""
    return stature * (ANKLE_HEIGHT + SHANK + THIGH + HIP_BELOW_ROOT)


def _both_sides(rows: Sequence[_Row]) -> list[_Row]:
    """`rows`, each run of left joints followed by its mirror image, so that branches stay in one piece."""
    both: list[_Row] = []
    for left, run in groupby(rows, key=lambda row: row[0].startswith("Left")):
        part = list(run)
        both += part
        if left:
            both += [
                (_right(name), parent and _right(parent), (-x, y, z)) for name, parent, (x, y, z) in part
            ]
    return both


def _right(name: str) -> str:
    return name.replace("Left", "Right", 1)
