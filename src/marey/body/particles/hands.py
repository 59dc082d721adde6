"""Hands with their ways to turn: the source's forearm and hand, or one learned from a clip of a hand.

Courty 2013, section 3.1.4: elbow and wrist have three degrees of freedom, the base of a finger two, its other
joints one, and the last follows the one before by two thirds. Angles are in radians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.body.particles.chains import Chain, Freedom, chain_of
from marey.body.particles.constraints import Coupled
from marey.body.skeleton import Skeleton
from marey.errors import InputError

Array = NDArray[np.float64]

FINGERS = ("Thumb", "Index", "Middle", "Ring", "Pinky")


def hand_chain(*, size: float = 0.19) -> Chain:
    """A right forearm and hand of 26 degrees of freedom: elbow and wrist 3, finger bases 2, other joints 1.

    The forearm points along +z, the palm down, the thumb to +x... fingers curl about +x. The last joint of
    each finger but the thumb turns by 2/3 of the one before.

    size: metres from the wrist to the tip of the middle finger

    >>> hand = hand_chain()
    >>> hand.freedoms, hand.skeleton.joints, len(hand.rules)
    (26, 17, 4)
    """
    if not 0 < size < 10:
        raise InputError(f"size of the hand: metres from wrist to fingertip, got {size}")
    unit = size / 0.19
    names, parents = ["Elbow", "Wrist"], [-1, 0]
    offsets = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.26]]
    bones = {
        "Thumb": ((0.022, -0.008, 0.025), (0.045, 0.034, 0.027), np.array([0.72, -0.10, 0.69])),
        "Index": ((0.025, 0.0, 0.092), (0.042, 0.025, 0.022), np.array([0.08, 0.0, 1.0])),
        "Middle": ((0.004, 0.0, 0.094), (0.046, 0.028, 0.022), np.array([0.0, 0.0, 1.0])),
        "Ring": ((-0.016, 0.0, 0.088), (0.042, 0.026, 0.022), np.array([-0.08, 0.0, 1.0])),
        "Pinky": ((-0.034, 0.0, 0.080), (0.033, 0.019, 0.020), np.array([-0.16, 0.0, 1.0])),
    }
    table = {
        "Elbow": Freedom.ball([0, 0, 1], (-1.5, 1.5), 1.5),
        "Wrist": Freedom.ball([0, 0, 1], (-0.3, 0.3), 1.0),
    }
    tips, rules = [], []
    for finger in FINGERS:
        base, lengths, bone = bones[finger]
        bone = bone / np.linalg.norm(bone)
        curl = np.cross([0.0, 1.0, 0.0], bone)
        if finger == "Thumb":
            curl = np.cross([0.35, 1.0, 0.0], bone)
        curl = curl / np.linalg.norm(curl)
        last = 1
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
