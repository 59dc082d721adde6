"""Hands with their ways to turn: the source's forearm and hand, or one learned from a clip of a hand.

Courty 2013, section 3.1.4: elbow and wrist have three degrees of freedom, the base of a finger two, its other
joints one, and the last follows the one before by two thirds. Angles are in radians.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey.body.motion import Motion
from marey.body.particles.chains import Chain, Freedom, chain_of, frame_of
from marey.body.particles.constraints import Coupled, Likely
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.mean import karcher_mean

# Frames that a hand is learned from, at least; radians: joints that turn less are stiff; least readiness.
LEAST_FRAMES, STILL, LEAST_READY = 20, 0.01, 0.1
# Noise of likely poses, in deviations: habits give way to the tips.
HABITS = 5.0
FINGERS = ("Thumb", "Index", "Middle", "Ring", "Pinky")


def hand_chain(*, size: float = 0.19, forearm: bool = True) -> Chain:
    """A right forearm and hand of 26 degrees of freedom: elbow and wrist 3, finger bases 2, other joints 1.

    It points along +z with the palm down and the thumb to +x. The last joint of each finger but the thumb
    turns by 2/3 of the one before.

    size: metres from the wrist to the tip of the middle finger
    forearm: without it the wrist is the root and stiff, which leaves 20 degrees of freedom

    >>> hand = hand_chain()
    >>> hand.freedoms, hand.skeleton.joints, len(hand.rules)
    (26, 17, 4)
    """
    if not 0 < size < 10:
        raise InputError(f"size of the hand: metres from wrist to fingertip, got {size}")
    unit = size / 0.19
    names, parents, offsets = ["Wrist"], [-1], [[0.0, 0.0, 0.0]]
    if forearm:
        names, parents, offsets = ["Elbow", "Wrist"], [-1, 0], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.26]]
    bones = {
        "Thumb": ((0.022, -0.008, 0.025), (0.045, 0.034, 0.027), np.array([0.72, -0.10, 0.69])),
        "Index": ((0.025, 0.0, 0.092), (0.042, 0.025, 0.022), np.array([0.08, 0.0, 1.0])),
        "Middle": ((0.004, 0.0, 0.094), (0.046, 0.028, 0.022), np.array([0.0, 0.0, 1.0])),
        "Ring": ((-0.016, 0.0, 0.088), (0.042, 0.026, 0.022), np.array([-0.08, 0.0, 1.0])),
        "Pinky": ((-0.034, 0.0, 0.080), (0.033, 0.019, 0.020), np.array([-0.16, 0.0, 1.0])),
    }
    table = {}
    if forearm:
        table["Elbow"] = Freedom.ball([0, 0, 1], (-1.5, 1.5), 1.5)
        table["Wrist"] = Freedom.ball([0, 0, 1], (-0.3, 0.3), 1.0)
    tips, rules = [], []
    for finger in FINGERS:
        base, lengths, bone = bones[finger]
        bone = bone / np.linalg.norm(bone)
        curl = np.cross([0.0, 1.0, 0.0], bone)
        if finger == "Thumb":
            curl = np.cross([0.35, 1.0, 0.0], bone)
        curl = curl / np.linalg.norm(curl)
        last = names.index("Wrist")
        for segment in (1, 2, 3):
            names.append(f"{finger}{segment}")
            parents.append(last)
            last = len(names) - 1
            offsets.append(list(base) if segment == 1 else list(bone * lengths[segment - 2]))
        tips.append(bone * lengths[2])
        spread = (-0.35, 0.35) if finger != "Thumb" else (-0.7, 0.7)
        table[f"{finger}1"] = Freedom.saddle(bone, curl, (-0.4, 1.6), spread)
        table[f"{finger}2"] = Freedom.hinge(curl, 0.0, 1.9 if finger != "Thumb" else 1.0)
        table[f"{finger}3"] = Freedom.hinge(curl, 0.0, 1.3)
        if finger != "Thumb":
            rules.append(Coupled(f"{finger}3", f"{finger}2", axis=curl))
    skeleton = Skeleton(
        tuple(names),
        np.array(parents),
        unit * np.array(offsets),
        np.array([names.index(f"{finger}3") for finger in FINGERS]),
        unit * np.array(tips),
    )
    return chain_of(skeleton, table, rules=tuple(rules))


def hand_of_clip(motion: Motion, *, margin: float = 0.2, likely: bool = True) -> Chain:
    """Ways to turn and limits of a hand, learned from a clip of it; its root, the wrist, is stiff.

    A joint turns about the axes along which it did in the clip, as readily as it did, and `margin` radians
    farther. Fingers keep to likely poses of the clip where their tips do not tell.

    likely: whether to add that rule

    >>> from marey.geometry import rotations as so3
    >>> from marey.body.motion import Motion
    >>> hand = hand_chain(forearm=False)
    >>> curl = so3.exp(np.linspace(0, 1, 40)[:, None, None] * np.array([1.0, 0, 0]) * np.ones((16, 1)))
    >>> curl[:, 0] = [1, 0, 0, 0]
    >>> learned = hand_of_clip(Motion(hand.skeleton, curl, np.zeros((40, 3)), 30.0))
    >>> learned.freedoms, learned.noise.deviations[1].round(3).tolist()
    (15, [1.0, 0.0, 0.0])
    """
    if motion.joints < 2:
        raise InputError("a hand has fingers: a skeleton of one joint has none")
    if motion.frames < LEAST_FRAMES:
        raise InputError(
            f"{motion.frames} frames are too few to learn a hand from; at least {LEAST_FRAMES} are needed"
        )
    skeleton, table, widest = motion.skeleton, {}, 0.0
    found = {}
    for joint in range(1, skeleton.joints):
        centre = karcher_mean(motion.rotations[:, joint]).mean
        turns = so3.log(so3.multiply(so3.inverse(centre), motion.rotations[:, joint]))
        spread, axes = np.linalg.eigh(np.cov(turns.T))
        deviations = np.sqrt(np.maximum(spread[::-1], 0.0))
        found[joint] = centre, turns, deviations, axes[:, ::-1]
        widest = max(widest, float(deviations[0]))
    for joint, (centre, turns, deviations, axes) in found.items():
        if deviations[0] < STILL:
            continue
        readily = np.where(deviations < STILL, 0.0, np.maximum(deviations / widest, LEAST_READY))
        along = frame_of(axes[:, 0], axes[:, 1])
        far = np.abs(so3.rotate(so3.inverse(along), turns)).max(axis=0) + margin
        ranges = ((far[1], far[1]), (far[2], far[2]))
        w, s, t = (float(value) for value in readily)
        seen = turns @ axes[:, 0]
        table[skeleton.names[joint]] = Freedom(
            axes[:, 0], axes[:, 1], (w, s, t), (seen.min() - margin, seen.max() + margin), ranges, centre
        )
    habits = Likely(PoseModel.fit([motion], variance=0.999, metric="canonical"), noise=HABITS)
    rules = (habits,) if likely else ()
    chain = chain_of(skeleton, table, rules=rules)
    return replace(chain, limits=chain.limits.containing(motion.rotations))
