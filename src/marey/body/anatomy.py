"""Which joints are the hips, knees, shoulders and so on: from the joints' names and the lengths between them.

Names only say whether a joint belongs to a leg, an arm, the head or the trunk, and to which side; the two
longest neighbouring segments of a leg are then its thigh and shank, those of an arm its upper arm and
forearm, unless a wrist or ankle says where they end. So it does not matter whether "LeftShoulder" means a
collarbone or an upper arm. Where names say nothing, the tree of joints gives its tips and the lengths of its
bones.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marey._arrays import Array, IntArray, Integers
from marey.body.skeleton import Skeleton

LEG = ("thigh", "upleg", "upperleg", "leg", "knee", "shin", "calf", "ankle", "foot", "toe", "femur", "tibia")
ARM = ("collar", "clavicle", "shoulder", "shldr", "arm", "elbow", "wrist", "hand", "humerus", "radius")
FINGER = ("finger", "thumb", "index", "mid", "ring", "pinky", "little")
MIDDLE = ("forearm", "lowerarm", "elbow", "knee", "shin", "calf", "lowerleg")
HEAD, NECK = ("head", "skull"), ("neck",)
ENDS = ("wrist", "hand", "ankle", "foot", "toe")
TRUNK = ("hip", "pelvis", "root", "spine", "back", "chest", "torso", "thorax", "abdomen", "waist")
PAWS = ("paw", "hoof", "hock", "hind", "foreleg", "frontleg")
SIDES = ("left", "right")
# Share of body mass of one segment (de Leva 1996, table 4, men); a joint that begins none (neck, finger, toe)
# has no mass of its own.
MASS_SHARES = {
    "hand": 0.0061, "forearm": 0.0162, "upper arm": 0.0271, "foot": 0.0137, "thigh": 0.1416, "shank": 0.0433,
    "head": 0.0694, "trunk": 0.4346,
}  # fmt: skip


class Limb(NamedTuple):
    """Joints of an arm or a leg from above.

    Args:
        root: hip or shoulder.
        middle: knee or elbow.
        end: ankle or wrist.
        tip: toes; -1 where there is no such joint, and in arms.
    """

    root: int
    middle: int
    end: int
    tip: int = -1


class EndEffector(NamedTuple):
    """A point fixed in a joint's frame.

    Args:
        joint: index of the joint that carries it.
        point: metres, in the joint's frame.
        part: "head", "hand", "foot" or "" where unknown.
    """

    joint: int
    point: tuple[float, float, float]
    part: str


class PointMasses(NamedTuple):
    """Masses `(joints,)`, in shares of the whole, and points `(joints, 3)` in the joints' frames, metres."""

    masses: Array
    points: Array


@dataclass(frozen=True, eq=False)
class Anatomy:
    """What the joints of a figure are.

    Args:
        kind: "human", "quadruped", "hand" or "" where neither names nor tree say.
        segments: the segment of a body that each joint begins: "thigh", "shank", "foot", "upper arm",
            "forearm", "hand", "head", "trunk", or "" for a neck, collarbone, finger, toe and what is unknown.
        sides: "left", "right" or "" of each joint.
        pairs: `(joints,)`, each joint's counterpart on the other side, itself where it has none.
        legs, arms: as far as they are found, left before right; both in a human.
        pelvis, chest, neck: joints that both legs, and both arms, hang on, and where the chain to the head
            leaves the chest; -1 unless human.
        head: joint of the head, -1 where there is none.
        forward: `(3,)`, unit vector: where the figure faces at rest. At rest all joint frames are the
            world's, so this is also what faces forward in every joint's frame; z if no side is known.
    """

    kind: str
    segments: tuple[str, ...]
    sides: tuple[str, ...]
    pairs: Integers
    legs: tuple[Limb, ...]
    arms: tuple[Limb, ...]
    pelvis: int
    chest: int
    neck: int
    head: int
    forward: Array

    @property
    def human(self) -> bool:
        """Whether this is a human figure: two legs and two arms on a trunk, and a head."""
        return self.kind == "human"

    @property
    def missing_parts(self) -> tuple[str, ...]:
        """Parts of a human figure that no joint's name stands for."""
        parts = []
        for side in SIDES:
            for part, limbs in (("leg", self.legs), ("arm", self.arms)):
                if not any(self.sides[limb.middle] == side for limb in limbs):
                    parts.append(f"{side} {part}")
        return tuple([*parts, *["head"] * (self.head < 0)] or ["a trunk between legs and arms"])


def anatomy(skeleton: Skeleton, lengths: Array | None = None) -> Anatomy:
    """Parts of a figure, by the names of its joints and the lengths of its bones.

    Args:
        skeleton: of a human, an animal, a hand or anything else.
        lengths: `(joints,)`, metres, distance of each joint from its parent; that at rest if None.

    >>> hand = Skeleton(("wrist", "thumb", "index"), [-1, 0, 0], [[0, 0, 0], [0.1, 0, 0], [0.1, 0, 0.03]])
    >>> anatomy(hand).kind, anatomy(hand).missing_parts[0]
    ('hand', 'left leg')
    """
    return _at_rest(skeleton) if lengths is None else _found(skeleton, lengths)


@lru_cache(maxsize=32)
def _at_rest(skeleton: Skeleton) -> Anatomy:
    return _found(skeleton, np.linalg.norm(skeleton.offsets, axis=1))


def _found(skeleton: Skeleton, lengths: Array) -> Anatomy:
    words = [_plain(name) for name in skeleton.names]
    sides = tuple(side_of(name) for name in skeleton.names)
    pairs = mirror_partners(skeleton.names)

    def middle(keys: tuple[str, ...]) -> list[int]:
        """Joints of neither side whose names hold one of `keys`."""
        return [j for j, word in enumerate(words) if not sides[j] and _holds(word, keys)]

    legs, arms = (
        {side: limb for side in SIDES if (limb := _limb(skeleton, lengths, words, sides, side, keys))}
        for keys in (LEG, ARM)
    )
    head = next(iter(middle(HEAD)), -1)
    pelvis = chest = neck = -1
    trunk = set(middle(TRUNK))
    fingers = [j for j, word in enumerate(words) if _holds(word, FINGER)]
    tailed = any("tail" in word for word in words) and not fingers
    kind = "quadruped" if tailed or any(_holds(word, PAWS) for word in words) else ""
    if len(legs) == len(arms) == 2 and head >= 0 and not kind:
        # The last joint on the chains to both legs, and to both arms.
        both = ([skeleton.ancestors(limb.root) for limb in limbs.values()] for limbs in (legs, arms))
        low, high = (next(j for j in b if j in a) for a, b in both)
        if low not in (legs["left"].root, head) and high != arms["left"].root:
            # Some rigs hang the arms on the neck.
            chest = next(j for j in skeleton.ancestors(high) if not _holds(words[j], NECK))
            kind, pelvis = "human", low
            # The neck starts where the head's chain leaves the chest.
            below = set(skeleton.descendants(chest)) - {chest, head}
            neck = ([head] + [j for j in skeleton.ancestors(head) if j in below])[-1]
            # What lies between the hips and the shoulders is trunk whatever its name, unless that is a neck.
            spine = {*skeleton.ancestors(chest), *skeleton.ancestors(pelvis)}
            between = spine.intersection(skeleton.descendants(pelvis)).difference(middle(NECK))
            trunk = (trunk & spine) | between
    if not (kind or legs or trunk or head >= 0) and len(fingers) >= 2:
        kind = "hand"
    segments = dict.fromkeys(trunk, "trunk") | dict.fromkeys([head] * (head >= 0), "head")
    for limbs, names in ((legs, ("thigh", "shank", "foot")), (arms, ("upper arm", "forearm", "hand"))):
        for limb in limbs.values():
            segments |= zip(limb[:3], names, strict=True)
    if kind == "quadruped":
        segments = {}
    every = tuple(segments.get(j, "") for j in range(skeleton.joints))
    both_legs = tuple(_with_toes(skeleton, lengths, leg) for leg in legs.values())
    both_arms = tuple(arms.values())
    # Up × to the right, from where left and right joints are at rest.
    left = [j for j, side in enumerate(sides) if side == "left" and pairs[j] != j]
    positions = skeleton.rest_positions()
    ahead = np.cross((positions[left] - positions[pairs[left]]).sum(axis=0), [0.0, 1.0, 0.0])
    length = float(np.linalg.norm(ahead))
    ahead = ahead / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    return Anatomy(kind, every, sides, pairs, both_legs, both_arms, pelvis, chest, neck, head, ahead)


def end_effectors(skeleton: Skeleton) -> tuple[EndEffector, ...]:
    """The few points that lead a figure (Tournier 2011, section 9.2): top of the head, hands and feet.

    A figure that is no human gets up to five points at the tips of its limbs.

    >>> import marey
    >>> skeleton = marey.samples.walk().skeleton
    >>> [skeleton.names[end.joint] for end in end_effectors(skeleton)]
    ['Head', 'LeftHand', 'RightHand', 'LeftToeBase', 'RightToeBase']
    """
    parts = anatomy(skeleton)
    if not parts.human:
        return _tips(skeleton)
    here = (0.0, 0.0, 0.0)
    hands = (EndEffector(arm.end, here, "hand") for arm in parts.arms)
    feet = (EndEffector(leg.tip if leg.tip >= 0 else leg.end, here, "foot") for leg in parts.legs)
    return (EndEffector(parts.head, _end_site(skeleton, parts.head), "head"), *hands, *feet)


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
    found, shares = anatomy(skeleton).segments, np.zeros(skeleton.joints)
    for kind, share in MASS_SHARES.items():
        members = [j for j, segment in enumerate(found) if segment == kind]
        sides = 1 if kind in ("trunk", "head") else 2
        shares[members] = sides * share / max(len(members), 1)
    if shares.sum() < 0.5:
        shares = lengths if lengths.sum() > 0 else np.ones(skeleton.joints)
    return PointMasses(shares / shares.sum(), points)


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


def mirror_partners(names: Sequence[str]) -> Integers:
    """For each name the index of its counterpart on the other side, its own where it has none.

    Understands Left/Right anywhere in the name, and L/R as prefix, suffix or separate letter, in either
    case; a pair counts when both names are there.

    >>> mirror_partners(["Hips", "LeftUpLeg", "RightUpLeg", "lfemur", "rfemur", "arm.L", "arm.R"]).tolist()
    [0, 2, 1, 4, 3, 6, 5]
    """
    index = {name: i for i, name in enumerate(names)}
    partners = np.arange(len(names))
    for name, i in index.items():
        for other in _other_sides(name):
            if other in index and name in _other_sides(other):
                partners[i] = index[other]
                break
    lonely = partners[partners] != np.arange(len(names))
    return np.where(lonely, np.arange(len(names)), partners)


_WORDS = {"left": "right", "Left": "Right", "LEFT": "RIGHT"}
_WORDS |= {right: left for left, right in _WORDS.items()}
_WORD = re.compile("|".join(_WORDS))
_LETTERS = {"l": "r", "r": "l", "L": "R", "R": "L"}
_LETTER_PLACES = (
    re.compile(r"(?<![A-Za-z])[lrLR](?![A-Za-z])"),  # arm.L, l_foot, Bip01 R Thigh
    re.compile(r"(?<![A-Za-z])[lrLR](?=[A-Z])"),  # LArm, rShldr
    re.compile(r"(?<=[a-z0-9])[LR](?![A-Za-z])"),  # footL
    re.compile(r"(?<![A-Za-z])[lr](?=[a-z])"),  # lfemur
    re.compile(r"(?<=[a-z])[lr](?![A-Za-z])"),  # footl
)


def _other_sides(name: str) -> Iterator[str]:
    """What the joint of the other side might be called, likeliest first."""
    swapped = _WORD.sub(lambda found: _WORDS[found.group()], name)
    if swapped != name:
        yield swapped
    for place in _LETTER_PLACES:
        for found in place.finditer(name):
            yield name[: found.start()] + _LETTERS[found.group()] + name[found.end() :]


def _limb(
    skeleton: Skeleton,
    lengths: Array,
    words: list[str],
    sides: Sequence[str],
    side: str,
    keys: tuple[str, ...],
) -> Limb | None:
    """The limb of a side whose joints' names hold one of `keys`; None if it has fewer than two bones."""
    members = [j for j, word in enumerate(words) if sides[j] == side and _holds(word, keys)]
    if not members:
        return None
    # Bones that carry twist may be deeper in the tree than the hand.
    deepest = max(members, key=lambda j: (_holds(words[j], ENDS), len(skeleton.ancestors(j))))
    chain = [j for j in reversed(skeleton.ancestors(deepest)) if sides[j] == side]
    # Joints on the spot do not count: they split a rotation, not a limb.
    solid = [j for j in chain[1:] if lengths[j] > 1e-3 * lengths.sum()]
    if len(solid) < 2:
        return None
    end = next((j for j in chain if _holds(words[j], ENDS[:4])), -1)
    if end not in solid[1:]:
        _, end = max((float(lengths[a] + lengths[b]), b) for a, b in itertools.pairwise(solid))
    before = solid[: solid.index(end)]
    middle = next((j for j in before if _holds(words[j], MIDDLE)), before[-1])
    root = int(skeleton.parents[middle])
    # A bone in several pieces (upperleg01, upperleg02) begins with the first.
    pieces = [j for j in chain if words[j] == words[root] and re.search(r"\d", skeleton.names[j])]
    return Limb(min([root, *pieces]) if root in pieces else root, middle, end)


def _with_toes(skeleton: Skeleton, lengths: Array, leg: Limb) -> Limb:
    """The leg with the joint below its ankle that is called toe or ball of the foot, else the farthest."""

    def rank(joint: int) -> tuple[bool, float]:
        word = _plain(skeleton.names[joint])
        # Rigs of Character Creator have bones that share the skin between others.
        return _holds(word, ("toe", "ball")) and "share" not in word, float(lengths[joint])

    toe = max((j for j in skeleton.children(leg.end) if lengths[j] > 0), key=rank, default=-1)
    return leg._replace(tip=toe)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.split(":")[-1].lower())


def _holds(word: str, keys: tuple[str, ...]) -> bool:
    return any(key in word for key in keys)


def _end_site(skeleton: Skeleton, joint: int) -> tuple[float, float, float]:
    sites = skeleton.end_offsets[skeleton.end_parents == joint]
    x, y, z = sites[0].tolist() if len(sites) else (0.0, 0.0, 0.0)
    return x, y, z


def chain_lengths(skeleton: Skeleton, joints: Sequence[int] | IntArray, points: Array) -> Array:
    """Metres along the bones from each of some points to the others, `(points, points)`.

    Args:
        joints: that carry the points.
        points: `(points, 3)`, in the joints' frames, metres.
    """
    bones, above = np.linalg.norm(skeleton.offsets, axis=1), np.zeros((len(points), skeleton.joints))
    for row, joint in zip(above, joints, strict=True):
        row[list(skeleton.ancestors(int(joint))[:-1])] = 1.0
    along = above @ bones + np.linalg.norm(points, axis=1)
    return np.asarray(along[:, None] + along - 2 * (above * bones) @ above.T)


def _tips(skeleton: Skeleton, most: int = 5) -> tuple[EndEffector, ...]:
    """Leaves of the tree, each as far as can be, along the bones, from those taken before."""
    leaves = [j for j in range(skeleton.joints) if not skeleton.children(j)]
    points = [_end_site(skeleton, j) for j in leaves]
    # The last row is the root's.
    lengths = chain_lengths(skeleton, [*leaves, 0], np.array([*points, (0.0, 0.0, 0.0)])).round(9)[:, :-1]
    taken = [int(lengths[-1].argmax())]
    while len(taken) < min(most, len(leaves)):
        nearest = lengths[taken].min(axis=0)
        nearest[taken] = -1.0
        taken.append(int(nearest.argmax()))
    return tuple(EndEffector(leaves[i], points[i], "") for i in sorted(taken))
