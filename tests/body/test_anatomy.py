"""Which joint is which part of a body, under the names of many tools."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import marey
from marey.body import Motion, Skeleton
from marey.body.anatomy import forward_axis, masses, segments, side_of
from marey.body.feet import contacts, plant, slide_speed
from marey.body.feet.two_bone import legs
from marey.geometry import rotations as so3

# Shares of body mass of de Leva (1996), table 4, men: of the whole trunk and head, of one limb.
DE_LEVA = {"trunk": 0.4346, "head": 0.0694, "upper": 0.0271, "fore": 0.0162, "hand": 0.0061}
DE_LEVA |= {"thigh": 0.1416, "shank": 0.0433, "foot": 0.0137}

Namer = Callable[[str], str]


def words(left: str, right: str) -> Namer:
    return lambda name: name.replace("<", left).replace(">", right)


# Trunk from below, neck, head, leg, arm; "<" is the side where it comes first, ">" where it comes last.
TOOLS: dict[str, tuple[str, str, str, str, tuple[Namer, Namer]]] = {
    "CMU": (
        "Hips LowerBack Spine Spine1",
        "Neck Neck1 Head",
        "<UpLeg <Leg <Foot <ToeBase",
        "<Shoulder <Arm <ForeArm <Hand",
        (words("Left", ""), words("Right", "")),
    ),
    "Mixamo": (
        "mixamorig:Hips mixamorig:Spine mixamorig:Spine1 mixamorig:Spine2",
        "mixamorig:Neck mixamorig:Head mixamorig:HeadTop_End",
        "mixamorig:<UpLeg mixamorig:<Leg mixamorig:<Foot mixamorig:<ToeBase",
        "mixamorig:<Shoulder mixamorig:<Arm mixamorig:<ForeArm mixamorig:<Hand mixamorig:<HandThumb1",
        (words("Left", ""), words("Right", "")),
    ),
    "SMPL": (
        "Pelvis Spine1 Spine2 Spine3",
        "Neck Head",
        "<Hip <Knee <Ankle <Foot",
        "<Collar <Shoulder <Elbow <Wrist <Hand",
        (words("L_", ""), words("R_", "")),
    ),
    "Xsens": (
        "Pelvis L5 L3 T12 T8",
        "Neck Head",
        "<UpperLeg <LowerLeg <Foot <Toe",
        "<Shoulder <UpperArm <ForeArm <Hand",
        (words("Left", ""), words("Right", "")),
    ),
    "Biovision": (
        "Hips Chest",
        "Neck Head",
        "<UpLeg <LowLeg <Foot",
        "<Collar <UpArm <LowArm <Hand",
        (words("Left", ""), words("Right", "")),
    ),
    "Biovision, joints": (
        "Hips Chest Chest2",
        "Neck Head",
        "<Hip <Knee <Ankle <Toe",
        "<Collar <Shoulder <Elbow <Wrist",
        (words("Left", ""), words("Right", "")),
    ),
    "Poser": (
        "hip abdomen chest",
        "neck head",
        "<Buttock <Thigh <Shin <Foot",
        "<Collar <Shldr <ForeArm <Hand <Thumb1",
        (words("l", ""), words("r", "")),
    ),
    "Bandai": (
        "Hips Spine Chest",
        "Neck Head",
        "UpperLeg> LowerLeg> Foot> Toes>",
        "Shoulder> UpperArm> LowerArm> Hand>",
        (words("", "_L"), words("", "_R")),
    ),
}


def human(tool: str) -> Skeleton:
    """A figure whose joints are called as by a tool."""
    trunk, head, leg, arm, sides = TOOLS[tool]
    names, parents, offsets = ["?"], [-1], [[0.0, 0.95, 0.0]]

    def add(chain: str, parent: int, bones: list[list[float]]) -> int:
        for name, bone in zip(chain.split(), bones, strict=False):
            parents.append(parent)
            offsets.append(bone)
            parent = len(names)
            names.append(name)
        return parent

    names[0], *spine = trunk.split()
    chest = add(" ".join(spine), 0, [[0, 0.1, 0]] * 9)
    add(head, chest, [[0, 0.2, 0], [0, 0.1, 0], [0, 0.15, 0]])
    # A collarbone or a buttock comes before the four joints of an arm or a leg of three bones.
    limbs = [[0, -0.42, 0], [0, -0.4, 0], [0, -0.05, 0.13]]
    hip = [[0.03, -0.02, 0]] * ("Buttock" in leg) + [[0.06, -0.02, 0]]
    for sign, side in zip((1.0, -1.0), sides, strict=True):
        mirrored = [[sign * x, y, z] for x, y, z in hip + limbs]
        add(side(leg), 0, mirrored)
        reach = [[0.04, 0.15, 0], [0.14, 0, 0], [0.28, 0, 0], [0.26, 0, 0], [0.08, 0, 0.02]]
        add(side(arm), chest, [[sign * x, y, z] for x, y, z in reach])
    return Skeleton(tuple(names), parents, offsets)


@pytest.mark.parametrize("tool", TOOLS)
def test_segments_have_the_published_shares_of_mass(tool: str) -> None:
    skeleton = human(tool)
    trunk, _, leg, arm, sides = TOOLS[tool]
    mass = dict(zip(skeleton.names, masses(skeleton).masses.tolist(), strict=True))
    found = {"trunk": sum(mass[name] for name in trunk.split())}
    found["head"] = next(share for name, share in mass.items() if name.split(":")[-1].lower() == "head")
    for side in sides:
        bones = dict(zip(("thigh", "shank", "foot"), side(leg).split()["Buttock" in leg :], strict=False))
        bones |= dict(zip(("upper", "fore", "hand"), side(arm).split()[1:4], strict=True))
        shares = found | {part: mass[name] for part, name in bones.items()}
        assert shares == pytest.approx(DE_LEVA, abs=1e-9)
    assert sum(mass.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_leg_is_hip_knee_ankle_and_toe(tool: str) -> None:
    skeleton = human(tool)
    _, _, leg, _, sides = TOOLS[tool]
    for found, side in zip(legs(skeleton), sides, strict=True):
        names = [skeleton.names[joint] for joint in found if joint >= 0]
        assert names == side(leg).split()["Buttock" in leg :]


def test_twist_bones_beside_a_hand_do_not_shift_the_arm() -> None:
    plain = human("Bandai")
    elbow = plain.index("LowerArm_L")
    names = (*plain.names, "LowerArmTwist1_L", "LowerArmTwist2_L", "LowerArmTwist3_L")
    parents = [*plain.parents, elbow, plain.joints, plain.joints + 1]
    twisted = Skeleton(names, parents, [*plain.offsets, *[[0.05, 0, 0]] * 3])
    assert segments(twisted)[: plain.joints] == segments(plain)


def test_a_nameless_joint_is_of_no_side() -> None:
    assert side_of("") == side_of("rig:") == ""
    figure = Skeleton(("rig:", "", "Head"), [-1, 0, 1], [[0, 0, 0], [0, 1, 0], [0, 0.2, 0]])
    assert segments(figure) == ("", "", "head")


def test_feet_are_held_by_turning_the_ankle_of_smpl() -> None:
    skeleton = human("SMPL")
    frames = 60
    rotations = so3.identity((frames, skeleton.joints))
    knees = 0.4 + 0.2 * np.sin(np.linspace(0, 6, frames))
    for side in "LR":
        for part, share in (("Hip", -1.0), ("Knee", 2.0), ("Ankle", -1.0)):
            turns = share * knees[:, None] * np.array([1.0, 0, 0])
            rotations[:, skeleton.index(f"{side}_{part}")] = so3.exp(turns)
    root = np.linspace([0, 0.9, 0], [0.02, 0.9, 0.05], frames)
    clip = Motion(skeleton, rotations, root, 60.0)
    standing = np.ones((frames, 4), dtype=bool)
    assert contacts(clip).shape == standing.shape
    assert slide_speed(plant(clip, standing), standing) < 0.1 * slide_speed(clip, standing)


def test_masses_follow_the_segment_table() -> None:
    skeleton = marey.samples.walk().skeleton
    body = masses(skeleton)
    mass = dict(zip(skeleton.names, body.masses))
    assert mass["LeftUpLeg"] == pytest.approx(0.1416) and mass["LeftLeg"] == pytest.approx(0.0433)
    assert mass["RightArm"] == pytest.approx(0.0271) and mass["RightHand"] == pytest.approx(0.0061)
    assert mass["Head"] == pytest.approx(0.0694) and mass["LeftThumb"] == 0
    np.testing.assert_allclose(
        body.points[skeleton.index("LeftLeg")], skeleton.offsets[skeleton.index("LeftFoot")] / 2
    )


def test_a_skeleton_whose_names_say_nothing_has_mass_along_its_bones() -> None:
    body = masses(Skeleton(("p", "q", "r"), [-1, 0, 1], [[0, 0, 0], [0, 1, 0], [0, 3, 0]]))
    np.testing.assert_allclose(body.masses, [0.25, 0.75, 0])
    alone = masses(Skeleton(("p",), [-1], [[0, 0, 0]]))
    assert alone.masses.tolist() == [1.0]


def test_which_way_a_figure_faces() -> None:
    offsets = np.array([[0, 0, 0], [0, 0, 1.0], [0, 0, -1.0]])
    turned = Skeleton(("hips", "l_leg", "r_leg"), [-1, 0, 0], offsets)
    np.testing.assert_allclose(forward_axis(turned), [-1, 0, 0], atol=1e-12)
    for pair in (("calf_l", "calf_r"), ("LowerLeg_L", "LowerLeg_R"), ("clavicle.R", "clavicle.L")):
        ahead = forward_axis(Skeleton(("pelvis", *pair), [-1, 0, 0], offsets))
        np.testing.assert_allclose(ahead, [1, 0, 0] if pair[0].endswith("R") else [-1, 0, 0], atol=1e-12)
    unknown = Skeleton(("a", "b", "c"), [-1, 0, 0], offsets)
    np.testing.assert_allclose(forward_axis(unknown), [0, 0, 1])
