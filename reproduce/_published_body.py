"""The body of 40 joints of Courty 2013, section 3.1.4, which gives their number; sizes are ours."""

from __future__ import annotations

import numpy as np

from marey.body import Skeleton
from marey.body.particles import ArticulatedChain


def body_chain() -> ArticulatedChain:
    """The whole body: trunk, legs, arms and two joints a finger, standing on the floor in a T pose."""
    names, parents, offsets = ["Hips"], [-1], [[0.0, 0.95, 0.0]]

    def add(name: str, parent: str, *offset: float) -> None:
        names.append(name)
        parents.append(names.index(parent))
        offsets.append(list(offset))

    for name, parent, height in (
        ("LowerBack", "Hips", 0.09), ("Spine", "LowerBack", 0.12), ("Spine1", "Spine", 0.13),
        ("Neck", "Spine1", 0.22), ("Head", "Neck", 0.10),
    ):  # fmt: skip
        add(name, parent, 0.0, height, 0.0)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        add(f"{side}UpLeg", "Hips", sign * 0.09, -0.04, 0.0)
        add(f"{side}Leg", f"{side}UpLeg", 0.0, -0.42, 0.0)
        add(f"{side}Foot", f"{side}Leg", 0.0, -0.43, 0.0)
        add(f"{side}ToeBase", f"{side}Foot", 0.0, -0.04, 0.13)
        add(f"{side}Shoulder", "Spine1", sign * 0.03, 0.15, 0.0)
        add(f"{side}Arm", f"{side}Shoulder", sign * 0.14, 0.0, 0.0)
        add(f"{side}ForeArm", f"{side}Arm", sign * 0.28, 0.0, 0.0)
        add(f"{side}Hand", f"{side}ForeArm", sign * 0.26, 0.0, 0.0)
        add(f"{side}HandThumb1", f"{side}Hand", sign * 0.03, -0.005, 0.03)
        for finger, z in (("Index", 0.03), ("Middle", 0.01), ("Ring", -0.012), ("Pinky", -0.03)):
            add(f"{side}Hand{finger}1", f"{side}Hand", sign * 0.09, 0.0, z)
            add(f"{side}Hand{finger}2", f"{side}Hand{finger}1", sign * 0.04, 0.0, 0.0)
    tips = [name for name in names if names.index(name) not in parents]
    ends = np.array([_tip(name) for name in tips])
    skeleton = Skeleton(
        tuple(names), np.array(parents), np.array(offsets), np.array([names.index(n) for n in tips]), ends
    )
    return ArticulatedChain.human(skeleton)


def _tip(name: str) -> list[float]:
    """The end site of a leaf of the body."""
    side = 1.0 if name.startswith("Left") else -1.0
    if name == "Head":
        return [0.0, 0.17, 0.0]
    if name.endswith("ToeBase"):
        return [0.0, -0.02, 0.07]
    if "Thumb" in name:
        return [side * 0.04, -0.005, 0.035]
    return [side * 0.04, 0.0, 0.0]
