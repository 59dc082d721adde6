"""Which joints are the hips, knees, shoulders and so on: from the joints' names and the lengths between them.

Names only say whether a joint belongs to a leg, an arm, the head or the trunk, and to which side; the two
longest neighbouring segments of a leg are then its thigh and shank, those of an arm its upper arm and
forearm, unless a wrist or ankle says where they end. So it does not matter whether "LeftShoulder" means a
collarbone or an upper arm.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.body.skeleton import Skeleton

LEG = ("thigh", "upleg", "upperleg", "leg", "knee", "shin", "calf", "ankle", "foot", "toe", "femur", "tibia")
ARM = ("collar", "clavicle", "shoulder", "shldr", "arm", "elbow", "wrist", "hand", "humerus", "radius")
FINGER = ("finger", "thumb", "index", "mid", "ring", "pinky", "little")
MIDDLE = ("forearm", "lowerarm", "elbow", "knee", "shin", "calf", "lowerleg")
HEAD = ("head", "skull")


@dataclass(frozen=True)
class Limb:
    """One arm or leg: joints at its upper and lower end (hip, knee, ankle or shoulder, elbow, wrist)."""

    upper: int
    middle: int
    lower: int


@dataclass(frozen=True)
class Anatomy:
    """The landmarks of a human figure, as joint indices."""

    legs: tuple[Limb, Limb]
    arms: tuple[Limb, Limb]
    pelvis: int
    chest: int
    neck: int
    head: int


def anatomy(skeleton: Skeleton, lengths: NDArray[np.float64]) -> Anatomy | None:
    """The landmarks, left before right, or None if this is no human figure.

    lengths: `(joints,)`, distance of each joint from its parent

    >>> from marey.body.skeleton import Skeleton
    >>> anatomy(Skeleton(("wrist", "thumb"), [-1, 0], [[0, 0, 0], [0, 0.1, 0]]), np.array([0, 0.1])) is None
    True
    """
    words = [_plain(name) for name in skeleton.names]
    sides = [side_of(name) for name in skeleton.names]
    legs, arms = [], []
    for side in ("left", "right"):
        leg = _limb(skeleton, lengths, words, sides, side, LEG)
        arm = _limb(skeleton, lengths, words, sides, side, ARM)
        if leg is None or arm is None:
            return None
        legs.append(leg)
        arms.append(arm)
    heads = [j for j, word in enumerate(words) if any(key in word for key in HEAD) and not sides[j]]
    if not heads:
        return None
    head = heads[0]
    pelvis = _common_ancestor(skeleton, legs[0].upper, legs[1].upper)
    chest = _common_ancestor(skeleton, arms[0].upper, arms[1].upper)
    above = skeleton.ancestors(head)
    # The neck starts where the head's chain leaves the chest.
    below = [j for j in above if j in skeleton.descendants(chest) and j not in (head, chest)]
    neck = below[-1] if below else head
    if pelvis == legs[0].upper or chest == arms[0].upper or len({pelvis, head}) < 2:
        return None
    return Anatomy((legs[0], legs[1]), (arms[0], arms[1]), pelvis, chest, neck, head)


def unfound(skeleton: Skeleton, lengths: NDArray[np.float64]) -> tuple[str, ...]:
    """Parts of a human figure that no joint's name tells of.

    >>> from marey.body.skeleton import Skeleton
    >>> unfound(Skeleton(("wrist", "thumb"), [-1, 0], [[0, 0, 0], [0, 0.1, 0]]), np.array([0, 0.1]))
    ('left leg', 'left arm', 'right leg', 'right arm', 'head')
    """
    words = [_plain(name) for name in skeleton.names]
    sides = [side_of(name) for name in skeleton.names]
    missing = [
        f"{side} {part}"
        for side in ("left", "right")
        for part, keys in (("leg", LEG), ("arm", ARM))
        if _limb(skeleton, lengths, words, sides, side, keys) is None
    ]
    if not any(key in word for word, side in zip(words, sides, strict=True) for key in HEAD if not side):
        missing.append("head")
    return tuple(missing or ["a trunk between legs and arms"])


def side_of(name: str) -> str:
    """ "left", "right" or "" by the name of a joint.

    >>> [side_of(n) for n in ("LeftArm", "rShldr", "UpperLeg_L", "thigh.R", "LHipJoint", "lfemur", "Spine")]
    ['left', 'right', 'left', 'right', 'left', 'left', '']
    """
    name = name.split(":")[-1]
    low = name.lower()
    for side in ("left", "right"):
        if side in low:
            return side
    for letter, side in (("l", "left"), ("r", "right")):
        if re.search(rf"(^|[_.\-\s]){letter}([_.\-\s]|$)", low):
            return side
        # lShldr, LThumb
        if re.match(rf"[{letter}{letter.upper()}][A-Z][a-z]", name):
            return side
        if low[0] == letter and any(low[1:].startswith(key) for key in (*LEG, *ARM, *FINGER, "hip")):
            return side
    return ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.split(":")[-1].lower())


def _limb(
    skeleton: Skeleton,
    lengths: NDArray[np.float64],
    words: list[str],
    sides: list[str],
    side: str,
    keys: tuple[str, ...],
) -> Limb | None:
    members = [j for j, word in enumerate(words) if sides[j] == side and any(key in word for key in keys)]
    if not members:
        return None
    deepest = max(members, key=lambda j: len(skeleton.ancestors(j)))
    chain = [j for j in reversed(skeleton.ancestors(deepest)) if j in members or sides[j] == side]
    # Joints on the spot do not count: they split a rotation, not a limb.
    solid = [j for j in chain[1:] if lengths[j] > 1e-3 * lengths.sum()]
    if len(solid) < 2:
        return None
    ends = [j for j in chain if any(key in words[j] for key in ("wrist", "hand", "ankle", "foot"))]
    lower = ends[0] if ends else -1
    if lower not in solid[1:]:
        _, lower = max((float(lengths[a] + lengths[b]), b) for a, b in itertools.pairwise(solid))
    before = solid[: solid.index(lower)]
    middles = [j for j in before if any(key in words[j] for key in MIDDLE)]
    middle = middles[0] if middles else before[-1]
    return Limb(int(skeleton.parents[middle]), middle, lower)


def _common_ancestor(skeleton: Skeleton, a: int, b: int) -> int:
    above = set(skeleton.ancestors(a))
    return next(j for j in skeleton.ancestors(b) if j in above)
