"""Clips on a rigged mesh of other proportions: what of the motion is kept, and where the feet stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import marey
from marey import Motion, samples
from marey.body.feet import contacts, slide_speed
from marey.body.kinematics import forward_kinematics
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.stage import skin, skin_clip

LIMBS = (("LeftArm", "LeftForeArm"), ("RightForeArm", "RightHand"), ("LeftUpLeg", "LeftLeg"))


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.walk(seconds=1.5, frame_rate=30, stature=1.3)


def directions(motion: Motion, bone: tuple[str, str]) -> NDArray[np.float64]:
    places = motion.positions()
    along = places[:, motion.skeleton.index(bone[1])] - places[:, motion.skeleton.index(bone[0])]
    return np.asarray(along / np.linalg.norm(along, axis=1, keepdims=True))


def test_limbs_point_where_those_of_the_source_did(walk: Motion) -> None:
    retargeted = skin_clip(samples.human(), walk).motion
    for bone in LIMBS:
        np.testing.assert_allclose(directions(retargeted, bone), directions(walk, bone), atol=0.02)


def test_the_path_is_scaled_by_the_legs(walk: Motion) -> None:
    retargeted = skin_clip(samples.human(), walk).motion
    path, source = (np.linalg.norm(m.root[-1] - m.root[0]) for m in (retargeted, walk))
    assert path / source == pytest.approx(1.75 / 1.3, rel=1e-3)


def test_feet_stand_on_the_ground_and_slide_no_more_than_the_source(walk: Motion) -> None:
    skinned = skin_clip(samples.human(), walk)
    lowest = skinned.pose().vertices[..., 1].min(axis=1)
    assert np.abs(lowest).max() < 0.008
    source = slide_speed(walk, contacts(walk))
    assert slide_speed(skinned.motion, contacts(skinned.motion)) < 1.5 * source + 0.01


def test_a_clip_of_the_own_skeleton_is_taken_as_it_is() -> None:
    own = samples.walk(seconds=0.2)
    assert skin_clip(samples.human(), own).motion is own


def test_another_rest_pose_of_the_clip_makes_no_difference(walk: Motion) -> None:
    """The same motion, written for a skeleton that rests with its arms lowered by 40 degrees."""
    skeleton = walk.skeleton
    lowered, rotations = np.array(skeleton.offsets), np.array(walk.rotations)
    for side, name in ((1, "Left"), (-1, "Right")):
        turn = so3.exp([0.0, 0.0, -side * np.radians(40)])
        arm = skeleton.index(f"{name}Arm")
        below = [j for j in skeleton.descendants(arm) if j != arm]
        lowered[below] = so3.rotate(turn, lowered[below])
        # A joint of the chain is conjugated: its frame at rest is turned with the bone.
        rotations[:, arm] = so3.multiply(rotations[:, arm], so3.inverse(turn))
        for joint in below:
            rotations[:, joint] = so3.multiply(so3.multiply(turn, rotations[:, joint]), so3.inverse(turn))
    other = replace(walk, skeleton=replace(skeleton, offsets=lowered), rotations=rotations)
    np.testing.assert_allclose(other.positions(), walk.positions(), atol=1e-9)
    first, second = (skin_clip(samples.human(), clip).pose() for clip in (walk, other))
    assert np.abs(first.vertices - second.vertices).max() < 0.01


def test_joints_the_clip_lacks_follow_their_parents(walk: Motion) -> None:
    fewer = walk.without(["LeftThumb", "RightThumb", "LeftHandIndex1", "RightHandIndex1"])
    skinned = skin_clip(samples.human(), fewer)
    pose = forward_kinematics(skinned.motion)
    skeleton = skinned.motion.skeleton
    thumb, hand = skeleton.index("LeftThumb"), skeleton.index("LeftHand")
    apart = so3.multiply(so3.inverse(pose.rotations[:, hand]), pose.rotations[:, thumb])
    assert so3.distance(apart, apart[:1]).max() < 1e-9


def test_a_tilted_floor_is_levelled(walk: Motion) -> None:
    tilted = walk.transform(rotation=so3.exp([np.radians(1.5), 0.0, 0.0]))
    lowest = skin_clip(samples.human(), tilted).pose().vertices[..., 1].min(axis=1)
    rise = walk.root[-1, 2] * np.tan(np.radians(1.5)) * 1.75 / 1.3
    assert np.ptp(lowest) < 0.4 * rise


def test_a_clip_of_another_naming_is_refused_by_name(walk: Motion) -> None:
    skeleton = replace(walk.skeleton, names=tuple(f"bone{j}" for j in range(walk.joints)))
    stranger = replace(walk, skeleton=skeleton, name="stranger")
    with pytest.raises(
        InputError,
        match="left leg, left arm, right leg, right arm, head not found by the names of its joints",
    ):
        skin_clip(samples.human(), stranger)
    with pytest.raises(InputError, match="^stranger: "):
        skin(samples.human(), [stranger])


def test_rigs_that_cannot_be_moved_are_refused_in_words(walk: Motion) -> None:
    human = samples.human()
    scaled = replace(human, skin=replace(human.skin, bind=human.skin.bind * [2.0, 2.0, 2.0, 1.0]))
    with pytest.raises(InputError, match="scaled at rest"):
        skin_clip(scaled, walk)
    legs = [human.skin.joint_names.index(name) for name in ("LeftUpLeg", "RightUpLeg")]
    halves = replace(
        human.skin,
        joint_names=("LeftUpLeg", "RightUpLeg"),
        bind=human.skin.bind[legs],
        influences=np.zeros_like(human.skin.influences),
    )
    with pytest.raises(InputError, match="several roots"):
        skin_clip(replace(human, skin=halves), walk)


def test_clips_become_sequences_of_one_subject(walk: Motion) -> None:
    seen = []
    library = skin(
        samples.human(),
        [walk, replace(walk[:20], name="short")],
        labels=("walk", "stop"),
        vertices=500,
        frame_rate=15,
        progress=lambda *reported: seen.append(reported),
    )
    assert library.names == ("walk", "short") and library.labels == ("walk", "stop")
    assert library.frame_rate == 15 and library.vertices(0).shape == (500, 3)
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize("clip", ["02_01", "09_01"])
def test_real_clips_on_the_real_human_keep_their_footing(data_dir: Path, clip: str) -> None:
    from marey.io import mpfb

    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{clip}.bvh")[1:].resample(30)
    skinned = skin_clip(mpfb.read(data_dir / "mesh4d" / "mpfb2_human_CC0"), motion)
    ours, source = (slide_speed(m, contacts(m)) for m in (skinned.motion, motion))
    assert ours < 1.25 * source
    lowest = skinned.pose(frames=slice(None, None, 3)).vertices[..., 1].min(axis=1)
    assert -0.02 < lowest.min() < 0.01
