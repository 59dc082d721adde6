from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.body import Motion, Skeleton
from marey.body.anatomy import mirror_partners
from marey.errors import InputError
from marey.geometry import rotations as so3

REFLECT = np.array([-1.0, 1.0, 1.0])
NAMES = ("Hips", "LeftLeg", "LeftFoot", "Spine", "RightLeg", "RightFoot", "Head")
PARENTS = (-1, 0, 1, 0, 0, 4, 3)
PARTNER = [0, 4, 5, 3, 1, 2, 6]


def person(seed: int, sliding: bool = False) -> Motion:
    rng = np.random.default_rng(seed)
    root, slid = rng.normal(size=(3, 3)), rng.normal(size=(3, 7, 3))
    slid[:, 0] = root
    skeleton = Skeleton(NAMES, PARENTS, rng.normal(size=(7, 3)), [2, 5, 6], rng.normal(size=(3, 3)))
    return Motion(skeleton, so3.random((3, 7), rng=rng), root, 30.0, translations=slid if sliding else None)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=30)
def test_mirrored_positions_are_the_reflected_positions_of_the_other_side(seed: int, sliding: bool) -> None:
    motion = person(seed, sliding)
    mirrored = motion.mirror()
    assert mirrored.skeleton.names == NAMES
    np.testing.assert_allclose(mirrored.positions(), motion.positions()[:, PARTNER] * REFLECT, atol=1e-12)
    ends = motion.end_positions()[:, [1, 0, 2]] * REFLECT
    np.testing.assert_array_equal(mirrored.skeleton.end_parents, motion.skeleton.end_parents)
    np.testing.assert_allclose(mirrored.end_positions(), ends, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_mirroring_twice_changes_nothing(seed: int) -> None:
    motion = person(seed, sliding=True)
    twice = motion.mirror().mirror()
    np.testing.assert_array_equal(twice.rotations, motion.rotations)
    np.testing.assert_array_equal(twice.positions(), motion.positions())
    np.testing.assert_array_equal(twice.skeleton.end_offsets, motion.skeleton.end_offsets)


def test_end_sites_keep_their_places_in_any_order() -> None:
    motion = person(3)
    skeleton = replace(motion.skeleton, end_parents=[6, 5, 2], end_offsets=np.eye(3))
    mirrored = replace(motion, skeleton=skeleton).mirror()
    assert mirrored.skeleton.end_parents.tolist() == [6, 5, 2]
    np.testing.assert_array_equal(mirrored.skeleton.end_offsets, np.eye(3)[[0, 2, 1]] * REFLECT)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("LeftUpLeg", "RightUpLeg"),
        ("mixamorig:LeftArm", "mixamorig:RightArm"),
        ("left_hip", "right_hip"),
        ("lfemur", "rfemur"),
        ("Shoulder_L", "Shoulder_R"),
        ("upper_arm.L.001", "upper_arm.R.001"),
        ("Bip01 L Thigh", "Bip01 R Thigh"),
        ("LThumb1", "RThumb1"),
        ("lShldr", "rShldr"),
        ("handL", "handR"),
        ("foot_l", "foot_r"),
        ("b_LeftLeg01_015", "b_RightLeg01_015"),
        ("LEFT_KNEE", "RIGHT_KNEE"),
        ("J_Bip_L_Hand", "J_Bip_R_Hand"),
        ("ball_l", "ball_r"),
    ],
)
def test_names_of_the_two_sides_find_each_other(left: str, right: str) -> None:
    assert mirror_partners(["Hips", left, "Spine", right, "Head"]).tolist() == [0, 3, 2, 1, 4]


def test_names_that_only_look_like_a_side_stay_alone() -> None:
    names = ["root", "lowerback", "Bright", "Roll", "neck", "leftover"]
    assert mirror_partners(names).tolist() == list(range(6))


def test_odd_names_are_mirrored_with_given_pairs() -> None:
    skeleton = Skeleton(("body", "port", "starboard"), [-1, 0, 0], [[0, 0, 0], [1, 0, 0], [-1, 0.1, 0]])
    motion = Motion(skeleton, so3.random((2, 3), rng=0), np.ones((2, 3)), 30.0)
    mirrored = motion.mirror(pairs={"port": "starboard"})
    np.testing.assert_allclose(mirrored.positions(), motion.positions()[:, [0, 2, 1]] * REFLECT, atol=1e-12)
    with pytest.raises(InputError, match="no joint 'aft'"):
        motion.mirror(pairs={"port": "aft"})
    with pytest.raises(InputError, match="in two pairs"):
        motion.mirror(pairs={"port": "starboard", "body": "port"})


def test_pairs_whose_parents_are_no_pair_are_refused() -> None:
    skeleton = Skeleton(("hips", "spine", "LeftArm", "RightArm"), [-1, 0, 0, 1], np.ones((4, 3)))
    motion = Motion(skeleton, so3.identity((1, 4)), [[0, 0, 0]], 30.0)
    with pytest.raises(
        InputError, match="'LeftArm' is paired with 'RightArm', but their parents are no pair"
    ):
        motion.mirror()
