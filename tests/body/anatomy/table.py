"""Joints of a human under the names of many tools, and which part of the body each is, written by hand.

`*` marks what is to be found: the pelvis, the head, and of a limb its root, middle, end and, if there is one,
its tip. `<` is the side where it comes first, `^` its letter, `>` the side where it comes last, `~` a space.
Arms hang on the last joint of the trunk, or on the neck if the tool's do.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from marey.body import Skeleton

WORDS = (("Left", ""), ("Right", ""))
CAMEL = (("left", ""), ("right", ""))
SPACED = (("L", ""), ("R", ""))
UNDERLINED = (("", "_L"), ("", "_R"))
LOWER = (("", "_l"), ("", "_r"))
SHORT = (("l", ""), ("r", ""))
DOTTED = (("", ".L"), ("", ".R"))


class Tool(NamedTuple):
    trunk: str
    head: str
    leg: str
    arm: str
    sides: tuple[tuple[str, str], tuple[str, str]] = WORDS
    arms_on_neck: bool = False

    def named(self, chain: str, side: int) -> list[str]:
        """Names of the joints of a chain, the marked ones with their `*`."""
        first, last = self.sides[side]
        signs = (("<", first), (">", last), ("^", first[:1]), ("~", " "))
        return [reduce(lambda name, sign: name.replace(*sign), signs, word) for word in chain.split()]

    def marked(self, chain: str, side: int) -> list[str]:
        return [name[1:] for name in self.named(chain, side) if name.startswith("*")]


TOOLS = {
    "CMU": Tool(
        "*Hips LowerBack Spine Spine1",
        "Neck Neck1 *Head",
        "^HipJoint *<UpLeg *<Leg *<Foot *<ToeBase",
        "<Shoulder *<Arm *<ForeArm *<Hand <FingerBase <HandIndex1",
    ),
    "CMU, Acclaim": Tool(
        "*root lowerback upperback thorax",
        "lowerneck upperneck *head",
        "<hipjoint *<femur *<tibia *<foot *<toes",
        "<clavicle *<humerus *<radius *<wrist <hand <fingers",
        SHORT,
    ),
    "Bandai": Tool(
        "joint_Root *Hips Spine Chest",
        "Neck *Head",
        "*UpperLeg> *LowerLeg> *Foot> *Toes>",
        "Shoulder> *UpperArm> *LowerArm> *Hand>",
        UNDERLINED,
    ),
    "Mixamo": Tool(
        "*mixamorig:Hips mixamorig:Spine mixamorig:Spine1 mixamorig:Spine2",
        "mixamorig:Neck *mixamorig:Head mixamorig:HeadTop_End",
        "*mixamorig:<UpLeg *mixamorig:<Leg *mixamorig:<Foot *mixamorig:<ToeBase mixamorig:<Toe_End",
        "mixamorig:<Shoulder *mixamorig:<Arm *mixamorig:<ForeArm *mixamorig:<Hand mixamorig:<HandThumb1",
    ),
    "LaFAN": Tool(
        "*Hips Spine Spine1 Spine2",
        "Neck *Head",
        "*<UpLeg *<Leg *<Foot *<Toe",
        "<Shoulder *<Arm *<ForeArm *<Hand",
    ),
    "Xsens": Tool(
        "*Pelvis L5 L3 T12 T8",
        "Neck *Head",
        "*<UpperLeg *<LowerLeg *<Foot *<Toe",
        "<Shoulder *<UpperArm *<ForeArm *<Hand",
    ),
    "SMPL": Tool(
        "*Pelvis Spine1 Spine2 Spine3",
        "Neck *Head",
        "*<_Hip *<_Knee *<_Ankle *<_Foot",
        "<_Collar *<_Shoulder *<_Elbow *<_Wrist <_Hand",
        SPACED,
    ),
    "Biovision, bones": Tool(
        "*Hips Chest", "Neck *Head", "*<UpLeg *<LowLeg *<Foot", "<Collar *<UpArm *<LowArm *<Hand"
    ),
    "Biovision, joints": Tool(
        "*Hips Chest Chest2",
        "Neck *Head",
        "*<Hip *<Knee *<Ankle *<Toe",
        "<Collar *<Shoulder *<Elbow *<Wrist",
    ),
    "Poser": Tool(
        "*hip abdomen chest",
        "neck *head",
        "<Buttock *<Thigh *<Shin *<Foot",
        "<Collar *<Shldr *<ForeArm *<Hand <Thumb1",
        SHORT,
    ),
    "MakeHuman": Tool(
        "*root spine05 spine04 spine03 spine02 spine01",
        "neck01 neck02 neck03 *head jaw",
        "pelvis> *upperleg01> upperleg02> *lowerleg01> lowerleg02> *foot> *toe1-1> toe1-2>",
        "clavicle> shoulder01> *upperarm01> upperarm02> *lowerarm01> lowerarm02> *wrist> finger1-1>",
        DOTTED,
    ),
    "Rokoko": Tool(
        "*Hips Spine1 Spine2 Spine3 Spine4",
        "Neck *Head",
        "*<Thigh *<Shin *<Foot *<Toe",
        "<Shoulder *<Arm *<ForeArm *<Hand <Digit1Metacarpal",
    ),
    "3ds Max Biped": Tool(
        "Bip01 *Bip01~Pelvis Bip01~Spine Bip01~Spine1 Bip01~Spine2",
        "Bip01~Neck *Bip01~Head",
        "*Bip01~<~Thigh *Bip01~<~Calf *Bip01~<~Foot *Bip01~<~Toe0",
        "Bip01~<~Clavicle *Bip01~<~UpperArm *Bip01~<~Forearm *Bip01~<~Hand Bip01~<~Finger0",
        SPACED,
        arms_on_neck=True,
    ),
    "Unreal": Tool(
        "root *pelvis spine_01 spine_02 spine_03",
        "neck_01 *head",
        "*thigh> *calf> *foot> *ball>",
        "clavicle> *upperarm> *lowerarm> *hand> index_01>",
        LOWER,
    ),
    "VRM": Tool(
        "Root *J_Bip_C_Hips J_Bip_C_Spine J_Bip_C_Chest J_Bip_C_UpperChest",
        "J_Bip_C_Neck *J_Bip_C_Head",
        "*J_Bip_<_UpperLeg *J_Bip_<_LowerLeg *J_Bip_<_Foot *J_Bip_<_ToeBase",
        "J_Bip_<_Shoulder *J_Bip_<_UpperArm *J_Bip_<_LowerArm *J_Bip_<_Hand J_Bip_<_Index1",
        SPACED,
    ),
    "VRM, standard names": Tool(
        "*hips spine chest upperChest",
        "neck *head",
        "*<UpperLeg *<LowerLeg *<Foot *<Toes",
        "<Shoulder *<UpperArm *<LowerArm *<Hand <ThumbMetacarpal",
        CAMEL,
    ),
    "NGT signs": Tool(
        "*Hips Spine Spine1 Spine2 Spine3",
        "Neck Neck1 *Head",
        "*<UpLeg *<Leg *<Foot *<ToeBase",
        "<Shoulder *<Arm *<ForeArm *<Hand <HandRing <HandRing1",
    ),
    "NGT signs, Character Creator": Tool(
        "*cc_base_pelvis spine_01 spine_02 spine_03",
        "neck_01 neck_02 *head cc_base_facialbone cc_base_jawroot",
        "*thigh> *calf> *foot> *ball>",
        "clavicle> *upperarm> *lowerarm> *hand> ring_metacarpal> ring_01>",
        LOWER,
    ),
    "ZeroEGGS": Tool(
        "*Hips Spine Spine1 Spine2 Spine3",
        "Neck Neck1 *Head HeadEnd",
        "*<UpLeg *<Leg *<Foot *<ToeBase <ToeBaseEnd",
        "<Shoulder *<Arm *<ForeArm *<Hand <HandThumb1",
    ),
}
TRUNK = [(0.0, 0.1, 0.0)]
HEAD = [(0.0, 0.2, 0.0), (0.0, 0.1, 0.0)]
LEG = [(0.06, -0.02, 0.0), (0.0, -0.42, 0.0), (0.0, -0.4, 0.0), (0.0, -0.05, 0.13), (0.0, 0.0, 0.05)]
ARM = [(0.14, 0.05, 0.0), (0.28, 0.0, 0.0), (0.26, 0.0, 0.0), (0.08, 0.0, 0.02)]


def human(tool: str) -> Skeleton:
    """A figure whose joints are called as by a tool."""
    names, parents, offsets = list[str](), list[int](), list[tuple[float, ...]]()
    entry = TOOLS[tool]

    def add(chain: list[str], parent: int, bones: list[tuple[float, float, float]], sign: float = 1.0) -> int:
        """Marked joints end one bone each, those before them share it."""
        left = list(bones)
        for i, name in enumerate(chain):
            ends = next((k for k, other in enumerate(chain[i:]) if other.startswith("*")), 0)
            bone = [x / (ends + 1) for x in left[0]]
            left[0] = tuple(x - y for x, y in zip(left[0], bone, strict=True))
            if (name.startswith("*") or ends == 0) and len(left) > 1:
                left.pop(0)
            elif ends == 0:
                left[0] = bones[-1]
            parents.append(parent)
            parent = len(names)
            names.append(name.removeprefix("*"))
            offsets.append((sign * bone[0], *bone[1:]))
        return parent

    chest = add([name.removeprefix("*") for name in entry.named(entry.trunk, 0)], -1, TRUNK)
    pelvis = names.index(entry.marked(entry.trunk, 0)[0])
    neck = len(names)
    add(entry.named(entry.head, 0), chest, HEAD)
    for side, sign in enumerate((1.0, -1.0)):
        add(entry.named(entry.leg, side), pelvis, LEG, sign)
        add(entry.named(entry.arm, side), neck if entry.arms_on_neck else chest, ARM, sign)
    return Skeleton(tuple(names), parents, offsets)
