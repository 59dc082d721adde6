"""Clips of any human figure, told in one set of joint names (CMU's) and from an upright pose at rest.

Hips, knees, arms and so on are found by :mod:`marey.body.anatomy`; a foot without toes gets them where its
end is. Files whose bones all lie along one axis at rest (LaFAN, Bandai) are told from the mean posture of
the clip instead, and feet from how they stand. Cost: forward kinematics of the clip.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey.body.anatomy import Anatomy, anatomy, unfound
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

Array = NDArray[np.float64]

SIDES = ("Left", "Right")
NAMES = (
    "Hips", "LowerBack", "Spine1", "Head",
    *(f"{side}{part}" for side in SIDES for part in ("UpLeg", "Leg", "Foot", "ToeBase")),
    *(f"{side}{part}" for side in SIDES for part in ("Arm", "ForeArm", "Hand")),
)  # fmt: skip
"""Names of the joints that a body needs to be dressed."""

# Cosine of the angle from the vertical within which legs and trunk are upright.
UPRIGHT = 0.8
# Share of the frames in which a foot is lowest: then it stands.
STANDING = 0.2


def humanoid(motion: Motion) -> Motion:
    """The clip with :data:`NAMES` for the joints that have a part of the body, upright at rest.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=0.5)
    >>> names = tuple(name.replace("Left", "l").replace("Right", "r") for name in walk.skeleton.names)
    >>> other = replace(walk, skeleton=replace(walk.skeleton, names=names))
    >>> humanoid(other).skeleton.index("LeftUpLeg") == walk.skeleton.index("LeftUpLeg")
    True
    """
    skeleton = motion.skeleton
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    marks = anatomy(skeleton, lengths)
    if marks is None:
        missing = unfound(skeleton, lengths)
        raise InputError(
            f"the clip shows no human figure: {', '.join(missing)} not found by the names of its joints, "
            f"which begin {', '.join(skeleton.names[:4])}"
        )
    motion, toes = _with_toes(motion, marks)
    named = _named(motion, marks, toes)
    return named if _is_upright(named.skeleton) else _from_mean(named)


def _with_toes(motion: Motion, marks: Anatomy) -> tuple[Motion, list[int]]:
    """The clip with toes at the ends of feet that have none, and which joints they are, −1 without ends."""
    skeleton = motion.skeleton
    toes: list[int] = []
    added: list[tuple[int, Array]] = []
    for leg in marks.legs:
        below = skeleton.children(leg.lower)
        sites = np.flatnonzero(skeleton.end_parents == leg.lower)
        if below:
            toes.append(max(below, key=lambda j: ("toe" in skeleton.names[j].lower(), _length(skeleton, j))))
        elif len(sites):
            toes.append(skeleton.joints + len(added))
            added.append((leg.lower, skeleton.end_offsets[sites[0]]))
        else:
            toes.append(-1)
    if not added:
        return motion, toes
    offsets = [offset for _, offset in added]
    longer = replace(
        skeleton,
        names=(*skeleton.names, *(f"toes {n}" for n in range(len(added)))),
        parents=np.append(skeleton.parents, [joint for joint, _ in added]),
        offsets=np.concatenate([skeleton.offsets, offsets]),
    )
    still = np.broadcast_to(so3.identity(), (motion.frames, len(added), 4))
    slid = motion.translations
    if slid is not None:
        slid = np.concatenate([slid, np.broadcast_to(offsets, (motion.frames, len(added), 3))], axis=1)
    rotations = np.concatenate([motion.rotations, still], axis=1)
    return replace(motion, skeleton=longer, rotations=rotations, translations=slid, channels=None), toes


def _length(skeleton: Skeleton, joint: int) -> float:
    return float(np.linalg.norm(skeleton.offsets[joint]))


def _named(motion: Motion, marks: Anatomy, toes: list[int]) -> Motion:
    skeleton = motion.skeleton
    found = {marks.pelvis: "Hips", marks.head: "Head"}
    spine = [j for j in skeleton.ancestors(marks.chest)[::-1] if j in skeleton.descendants(marks.pelvis)]
    if len(spine) > 1:
        found[marks.chest] = "Spine1"
    if len(spine) > 2:
        found[spine[1]] = "LowerBack"
    for side, leg, arm, toe in zip(SIDES, marks.legs, marks.arms, toes, strict=True):
        found |= {leg.upper: f"{side}UpLeg", leg.middle: f"{side}Leg", leg.lower: f"{side}Foot"}
        found |= {arm.upper: f"{side}Arm", arm.middle: f"{side}ForeArm", arm.lower: f"{side}Hand"}
        if toe >= 0:
            found[toe] = f"{side}ToeBase"
    names = tuple(
        found.get(joint, f"other {name}" if name in NAMES else name)
        for joint, name in enumerate(skeleton.names)
    )
    return replace(motion, skeleton=replace(skeleton, names=names), channels=None)


def _is_upright(skeleton: Skeleton) -> bool:
    """Whether the body stands when all rotations are zero."""
    places = np.array(skeleton.offsets, np.float64)
    for joint in range(1, skeleton.joints):
        places[joint] += places[skeleton.parents[joint]]
    bones = [("Hips", "Head"), ("LeftFoot", "LeftUpLeg"), ("RightFoot", "RightUpLeg")]
    ways = [places[skeleton.index(b)] - places[skeleton.index(a)] for a, b in bones]
    return all(way[1] > UPRIGHT * np.linalg.norm(way) for way in ways)


def _from_mean(motion: Motion) -> Motion:
    """The same motion, its rotations told from the mean posture."""
    skeleton = motion.skeleton
    pose = forward_kinematics(motion)
    left = pose.positions[:, skeleton.index("LeftUpLeg")] - pose.positions[:, skeleton.index("RightUpLeg")]
    yaw = np.arctan2(-left[:, 2], left[:, 0])
    ahead = so3.multiply(so3.exp(np.stack([0 * yaw, -yaw, 0 * yaw], axis=1))[:, None], pose.rotations)
    reference = np.stack([_mean(ahead[:, joint]) for joint in range(skeleton.joints)])
    for side in SIDES:
        foot = skeleton.index(f"{side}Foot")
        heights = pose.positions[:, [foot, *skeleton.children(foot)], 1].sum(axis=1)
        lowest = heights <= np.quantile(heights, STANDING)
        for joint in skeleton.descendants(foot):
            reference[joint] = _mean(ahead[lowest, joint])
    above = reference[np.maximum(skeleton.parents, 0)]
    above[0] = so3.identity()
    offsets = so3.rotate(above, skeleton.offsets)
    ends = so3.rotate(reference[skeleton.end_parents], skeleton.end_offsets)
    world = so3.multiply(pose.rotations, so3.inverse(reference))
    local = world.copy()
    below = np.flatnonzero(skeleton.parents >= 0)
    local[:, below] = so3.multiply(so3.inverse(world[:, skeleton.parents[below]]), world[:, below])
    slid = None if motion.translations is None else so3.rotate(above, motion.translations)
    return replace(
        motion,
        skeleton=replace(skeleton, offsets=offsets, end_offsets=ends),
        rotations=so3.normalise(local),
        translations=slid,
    )


def _mean(turns: Array) -> Array:
    """The mean of rotations `(n, 4)`: the axis along which they spread most, of either sign."""
    return np.asarray(np.linalg.eigh(turns.T @ turns)[1][:, -1])
