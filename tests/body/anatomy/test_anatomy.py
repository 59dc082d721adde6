"""Which joint is which part of a body, under the names of many tools."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body import Motion, Skeleton
from marey.body.anatomy import anatomy, masses, side_of
from marey.body.feet import contacts, plant, slide_speed
from marey.geometry import rotations as so3
from tests.body.anatomy.table import TOOLS, human

# Shares of body mass of de Leva (1996), table 4, men: of the whole trunk and head, of one limb.
DE_LEVA = {"trunk": 0.4346, "head": 0.0694, "upper": 0.0271, "fore": 0.0162, "hand": 0.0061}
DE_LEVA |= {"thigh": 0.1416, "shank": 0.0433, "foot": 0.0137}


@pytest.mark.parametrize("tool", TOOLS)
def test_parts_are_those_of_the_table(tool: str) -> None:
    skeleton, entry = human(tool), TOOLS[tool]
    found = anatomy(skeleton)
    assert found.human
    assert [skeleton.names[j] for j in (found.pelvis, found.head)] == [
        *entry.marked(entry.trunk, 0),
        *entry.marked(entry.head, 0),
    ]
    assert skeleton.names[found.chest] == entry.named(entry.trunk, 0)[-1].removeprefix("*")
    assert skeleton.names[found.neck] == entry.named(entry.head, 0)[0]
    for side, (leg, arm) in enumerate(zip(found.legs, found.arms, strict=True)):
        assert [skeleton.names[j] for j in leg if j >= 0] == entry.marked(entry.leg, side)
        assert [skeleton.names[j] for j in arm if j >= 0] == entry.marked(entry.arm, side)


@pytest.mark.parametrize("tool", TOOLS)
def test_sides_pairs_and_the_way_a_figure_faces_are_those_of_the_table(tool: str) -> None:
    skeleton, entry = human(tool), TOOLS[tool]
    found = anatomy(skeleton)
    sided = [
        [name.removeprefix("*") for chain in (entry.leg, entry.arm) for name in entry.named(chain, side)]
        for side in (0, 1)
    ]
    for side, (mine, others) in zip(("left", "right"), (sided, sided[::-1]), strict=True):
        assert {
            name for name, which in zip(skeleton.names, found.sides, strict=True) if which == side
        } == set(mine)
        assert [skeleton.names[found.pairs[skeleton.index(name)]] for name in mine] == others
    assert found.forward == pytest.approx([0, 0, 1])


@pytest.mark.parametrize("tool", TOOLS)
def test_segments_have_the_published_shares_of_mass(tool: str) -> None:
    skeleton, entry = human(tool), TOOLS[tool]
    mass = dict(zip(skeleton.names, masses(skeleton).masses.tolist(), strict=True))
    found = {"trunk": sum(mass[name.removeprefix("*")] for name in entry.named(entry.trunk, 0))}
    found["head"] = mass[entry.marked(entry.head, 0)[0]]
    for side in (0, 1):
        bones = dict(zip(("thigh", "shank", "foot"), entry.marked(entry.leg, side), strict=False))
        bones |= dict(zip(("upper", "fore", "hand"), entry.marked(entry.arm, side), strict=True))
        shares = found | {part: mass[name] for part, name in bones.items()}
        assert shares == pytest.approx(DE_LEVA, abs=1e-9)
    assert sum(mass.values()) == pytest.approx(1.0, abs=1e-12)


def test_a_quadruped_and_a_bare_hand_are_no_humans() -> None:
    limbs = ("{}UpperArm {}ForeArm {}Hand", "{}Leg01 {}Leg02 {}Foot01 {}Foot02")
    names, parents = ["Hip", "Spine01", "Neck", "Head", "Tail01", "Tail02"], [-1, 0, 1, 2, 0, 4]
    for side in ("Left", "Right"):
        for top, chain in zip((1, 0), limbs, strict=True):
            for name in chain.format(*[side] * 4).split():
                parents.append(top)
                top = len(names)
                names.append(name)
    fox = Skeleton(tuple(names), parents, np.tile([0.0, -0.2, 0.0], (len(names), 1)))
    assert anatomy(fox).kind == "quadruped" and len(anatomy(fox).legs) == 2
    # Its mass is spread by the lengths of its bones, as far as they have one.
    assert masses(fox).masses[parents[1:]].min() > 0 and masses(fox).masses.sum() == pytest.approx(1.0)
    hand = Skeleton(("WRIST", "THUMB_CMC", "INDEX_MCP", "RING_MCP"), [-1, 0, 0, 0], np.eye(4)[:, :3])
    assert anatomy(hand).kind == "hand" and anatomy(hand).sides == ("",) * 4


def test_twist_bones_beside_a_hand_do_not_shift_the_arm() -> None:
    plain = human("Bandai")
    elbow = plain.index("LowerArm_L")
    names = (*plain.names, "LowerArmTwist1_L", "LowerArmTwist2_L", "LowerArmTwist3_L")
    parents = [*plain.parents, elbow, plain.joints, plain.joints + 1]
    twisted = Skeleton(names, parents, [*plain.offsets, *[[0.05, 0, 0]] * 3])
    assert anatomy(twisted).segments[: plain.joints] == anatomy(plain).segments


def test_bones_that_share_skin_are_no_toes() -> None:
    plain = human("NGT signs, Character Creator")
    names = (*plain.names, "cc_base_l_toebasesharebone")
    shared = Skeleton(names, [*plain.parents, plain.index("foot_l")], [*plain.offsets, [0, -0.1, 0.3]])
    assert anatomy(shared).legs == anatomy(plain).legs


def test_a_nameless_joint_is_of_no_side() -> None:
    assert side_of("") == side_of("rig:") == ""
    figure = Skeleton(("rig:", "", "Head"), [-1, 0, 1], [[0, 0, 0], [0, 1, 0], [0, 0.2, 0]])
    assert anatomy(figure).segments == ("", "", "head")


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
    np.testing.assert_allclose(anatomy(turned).forward, [-1, 0, 0], atol=1e-12)
    for pair in (("calf_l", "calf_r"), ("LowerLeg_L", "LowerLeg_R"), ("clavicle.R", "clavicle.L")):
        ahead = anatomy(Skeleton(("pelvis", *pair), [-1, 0, 0], offsets)).forward
        np.testing.assert_allclose(ahead, [1, 0, 0] if pair[0].endswith("R") else [-1, 0, 0], atol=1e-12)
    unknown = Skeleton(("a", "b", "c"), [-1, 0, 0], offsets)
    np.testing.assert_allclose(anatomy(unknown).forward, [0, 0, 1])
