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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.mirroring import mirror_partners
from marey.body.skeleton import Skeleton

LEG = ("thigh", "upleg", "upperleg", "leg", "knee", "shin", "calf", "ankle", "foot", "toe", "femur", "tibia")
ARM = ("collar", "clavicle", "shoulder", "shldr", "arm", "elbow", "wrist", "hand", "humerus", "radius")
FINGER = ("finger", "thumb", "index", "mid", "ring", "pinky", "little")
MIDDLE = ("forearm", "lowerarm", "elbow", "knee", "shin", "calf", "lowerleg")
HEAD, NECK = ("head", "skull"), ("neck",)
ENDS = ("wrist", "hand", "ankle", "foot", "toe")
SIDES = ("left", "right")
# Share of body mass of one segment; what no segment begins at (neck, fingers, toes) has none of its own.
MASS_SHARES = {
    "hand": 0.0061, "forearm": 0.0162, "upper arm": 0.0271, "foot": 0.0137, "thigh": 0.1416, "shank": 0.0433,
    "head": 0.0694, "trunk": 0.4346,
}  # fmt: skip
TRUNK = ("hip", "pelvis", "root", "spine", "back", "chest", "torso", "thorax", "abdomen", "waist")


@dataclass(frozen=True)
class Limb:
    """One arm or leg: joints at its upper and lower end (hip, knee, ankle or shoulder, elbow, wrist)."""

    upper: int
    middle: int
    lower: int


class PointMasses(NamedTuple):
    """Masses `(joints,)`, in shares of the whole, and points `(joints, 3)` in the joints' frames, metres."""

    masses: Array
    points: Array


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
    legs, arms = _limbs(skeleton, lengths, LEG), _limbs(skeleton, lengths, ARM)
    heads = _middle(skeleton, HEAD)
    if len(legs) < 2 or len(arms) < 2 or not heads:
        return None
    head = heads[0]
    pelvis = _common_ancestor(skeleton, legs["left"].upper, legs["right"].upper)
    chest = _common_ancestor(skeleton, arms["left"].upper, arms["right"].upper)
    above = skeleton.ancestors(head)
    # The neck starts where the head's chain leaves the chest.
    below = [j for j in above if j in skeleton.descendants(chest) and j not in (head, chest)]
    neck = below[-1] if below else head
    if pelvis == legs["left"].upper or chest == arms["left"].upper or len({pelvis, head}) < 2:
        return None
    return Anatomy((legs["left"], legs["right"]), (arms["left"], arms["right"]), pelvis, chest, neck, head)


def unfound(skeleton: Skeleton, lengths: NDArray[np.float64]) -> tuple[str, ...]:
    """Parts of a human figure that no joint's name tells of.

    >>> from marey.body.skeleton import Skeleton
    >>> unfound(Skeleton(("wrist", "thumb"), [-1, 0], [[0, 0, 0], [0, 0.1, 0]]), np.array([0, 0.1]))
    ('left leg', 'left arm', 'right leg', 'right arm', 'head')
    """
    found = {"leg": _limbs(skeleton, lengths, LEG), "arm": _limbs(skeleton, lengths, ARM)}
    missing = [f"{side} {part}" for side in SIDES for part in found if side not in found[part]]
    if not _middle(skeleton, HEAD):
        missing.append("head")
    return tuple(missing or ["a trunk between legs and arms"])


def legs_of(skeleton: Skeleton) -> list[Limb]:
    """The left and the right leg, as far as the names tell them, in the order of their joints."""
    found = _limbs(skeleton, np.linalg.norm(skeleton.offsets, axis=1), LEG)
    return sorted(found.values(), key=lambda leg: leg.upper)


def segments(skeleton: Skeleton) -> tuple[str, ...]:
    """The segment of a body that each joint begins: "thigh", "shank", "foot", "upper arm", "forearm", "hand",
    "head", "trunk", or "" for a neck, collarbone, finger, toe and anything unknown.

    What lies between the hips and the shoulders is trunk whatever its name, unless that is a neck.

    >>> from marey.body.skeleton import Skeleton
    >>> offsets = [[0, 1, 0], [0.1, 0, 0], [0, -0.4, 0], [0, -0.4, 0]]
    >>> segments(Skeleton(("Pelvis", "L_Hip", "L_Knee", "L_Ankle"), [-1, 0, 1, 2], offsets))
    ('trunk', 'thigh', 'shank', 'foot')
    """
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    trunk = set(_middle(skeleton, TRUNK))
    marks = anatomy(skeleton, lengths)
    if marks is not None:
        spine = {*skeleton.ancestors(marks.chest), *skeleton.ancestors(marks.pelvis)}
        between = spine.intersection(skeleton.descendants(marks.pelvis)).difference(_middle(skeleton, NECK))
        trunk = (trunk & spine) | between
    found = dict.fromkeys(trunk, "trunk")
    found |= dict.fromkeys(_middle(skeleton, HEAD)[:1], "head")
    for keys, names in ((LEG, ("thigh", "shank", "foot")), (ARM, ("upper arm", "forearm", "hand"))):
        for limb in _limbs(skeleton, lengths, keys).values():
            found |= zip((limb.upper, limb.middle, limb.lower), names, strict=True)
    return tuple(found.get(j, "") for j in range(skeleton.joints))


def masses(skeleton: Skeleton) -> PointMasses:
    """One mass a joint at the middle of the segment that it begins, in shares of the body's.

    Shares follow de Leva (1996, Journal of Biomechanics 29(9), men); a skeleton whose names say nothing has
    its mass spread by bone length.

    >>> import marey
    >>> float(masses(marey.samples.walk().skeleton).masses.sum().round(6))
    1.0
    """
    points, lengths = np.zeros((skeleton.joints, 3)), np.zeros(skeleton.joints)
    for joint in range(skeleton.joints):
        below = [skeleton.offsets[c] for c in skeleton.children(joint)]
        below += list(skeleton.end_offsets[skeleton.end_parents == joint])
        if below:
            points[joint] = 0.5 * np.mean(below, axis=0)
            lengths[joint] = np.linalg.norm(below, axis=1).max()
    found, shares = segments(skeleton), np.zeros(skeleton.joints)
    for kind, share in MASS_SHARES.items():
        members = [j for j, segment in enumerate(found) if segment == kind]
        sides = 1 if kind in ("trunk", "head") else 2
        shares[members] = sides * share / max(len(members), 1)
    if shares.sum() < 0.5:
        shares = lengths if lengths.sum() > 0 else np.ones(skeleton.joints)
    return PointMasses(shares / shares.sum(), points)


def forward_axis(skeleton: Skeleton) -> Array:
    """Which way the figure faces at rest: up × to its right, from where its left and right joints are.

    At rest all joint frames are the world's, so this is also what faces forward in every joint's frame.
    The z axis if left and right cannot be told by name.

    >>> import marey
    >>> forward_axis(marey.samples.walk().skeleton).round(6) + 0.0
    array([0., 0., 1.])
    """
    positions = np.zeros((skeleton.joints, 3))
    for joint in range(1, skeleton.joints):
        positions[joint] = positions[skeleton.parents[joint]] + skeleton.offsets[joint]
    to_left = np.zeros(3)
    for joint, partner in enumerate(mirror_partners(skeleton.names)):
        if joint != partner and side_of(skeleton.names[joint]) == "left":
            to_left += positions[joint] - positions[partner]
    ahead = np.cross(to_left, [0.0, 1.0, 0.0])
    length = float(np.linalg.norm(ahead))
    return ahead / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])


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
        if low[:1] == letter and low[1:].startswith((*LEG, *ARM, *FINGER, "hip")):
            return side
    return ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.split(":")[-1].lower())


def _middle(skeleton: Skeleton, keys: tuple[str, ...]) -> list[int]:
    """Joints of neither side whose names hold one of `keys`."""
    return [
        j for j, name in enumerate(skeleton.names)
        if not side_of(name) and any(key in _plain(name) for key in keys)
    ]  # fmt: skip


def _limbs(skeleton: Skeleton, lengths: NDArray[np.float64], keys: tuple[str, ...]) -> dict[str, Limb]:
    """The limbs whose joints' names hold one of `keys`, by side, left before right."""
    words = [_plain(name) for name in skeleton.names]
    sides = [side_of(name) for name in skeleton.names]
    found = {side: _limb(skeleton, lengths, words, sides, side, keys) for side in SIDES}
    return {side: limb for side, limb in found.items() if limb is not None}


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
    # Bones that carry twist may be deeper in the tree than the hand.
    deepest = max(members, key=lambda j: (any(key in words[j] for key in ENDS), len(skeleton.ancestors(j))))
    chain = [j for j in reversed(skeleton.ancestors(deepest)) if j in members or sides[j] == side]
    # Joints on the spot do not count: they split a rotation, not a limb.
    solid = [j for j in chain[1:] if lengths[j] > 1e-3 * lengths.sum()]
    if len(solid) < 2:
        return None
    ends = [j for j in chain if any(key in words[j] for key in ENDS[:4])]
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
