"""A clip on another skeleton, whatever the joints are called and however the bones lie at rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey import Motion, Skeleton, samples
from marey.body.anatomy import anatomy
from marey.body.kinematics import forward_kinematics
from marey.body.retarget import retarget, upright_at_rest
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.stage import skin_clip
from marey.stage.walk.figure import figure
from marey.stage.walk.gait import cycle

BONES = {"UpLeg": "UpperLeg", "Leg": "LowerLeg", "ToeBase": "Toes", "ForeArm": "LowerArm", "Arm": "UpperArm"}


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.walk(seconds=3, frame_rate=30)


def called(motion: Motion, *, prefix: str = "", style: str = "side last") -> Motion:
    """The clip with joints named in another way."""

    def name(old: str) -> str:
        side = next((side for side in ("Left", "Right") if old.startswith(side)), "")
        part = old.removeprefix(side)
        if style == "side last" and side:
            return f"{BONES.get(part, part)}_{side[0]}"
        return prefix + old

    names = tuple(name(old) for old in motion.skeleton.names)
    return replace(motion, skeleton=replace(motion.skeleton, names=names))


def along_an_axis(motion: Motion) -> Motion:
    """The same motion of a skeleton whose bones all lie along x when its rotations are zero."""
    skeleton = motion.skeleton
    turns = so3.identity((skeleton.joints,))
    for joint in range(skeleton.joints):
        child = next(iter(skeleton.children(joint)), None)
        if child is not None and np.linalg.norm(skeleton.offsets[child]) > 1e-6:
            turns[joint] = so3.between(skeleton.offsets[child], [1.0, 0.0, 0.0])
    above = turns[np.maximum(skeleton.parents, 0)]
    offsets = so3.rotate(above, skeleton.offsets)
    offsets[0] = skeleton.offsets[0]
    rotations = so3.multiply(above, so3.multiply(motion.rotations, so3.inverse(turns)))
    rotations[:, 0] = so3.multiply(motion.rotations[:, 0], so3.inverse(turns[0]))
    ends = so3.rotate(turns[skeleton.end_parents], skeleton.end_offsets)
    return replace(motion, skeleton=replace(skeleton, offsets=offsets, end_offsets=ends), rotations=rotations)


def arms_lowered(motion: Motion) -> Motion:
    """The same motion of a skeleton that rests with its arms lowered by 40 degrees."""
    skeleton = motion.skeleton
    offsets, rotations = np.array(skeleton.offsets), np.array(motion.rotations)
    for arm, sign in zip(anatomy(skeleton).arms, (1, -1), strict=True):
        turn = so3.exp([0.0, 0.0, -sign * np.radians(40)])
        below = [j for j in skeleton.descendants(arm.root) if j != arm.root]
        offsets[below] = so3.rotate(turn, offsets[below])
        # A joint of the chain is conjugated: its frame at rest is turned with the bone.
        rotations[:, arm.root] = so3.multiply(rotations[:, arm.root], so3.inverse(turn))
        for joint in below:
            rotations[:, joint] = so3.multiply(so3.multiply(turn, rotations[:, joint]), so3.inverse(turn))
    return replace(motion, skeleton=replace(skeleton, offsets=offsets), rotations=rotations)


@pytest.mark.parametrize("style", ["as CMU", "side last"])
def test_limbs_are_aligned_whatever_their_names_and_the_rest_pose(walk: Motion, style: str) -> None:
    named = called(walk, style=style)
    lowered = arms_lowered(named)
    np.testing.assert_allclose(lowered.positions(), walk.positions(), atol=1e-9)
    found = retarget(lowered, named.skeleton)
    np.testing.assert_allclose(found.positions(), retarget(named, named.skeleton).positions(), atol=0.01)


@pytest.mark.parametrize("style", ["as CMU", "side last"])
def test_a_clip_on_its_own_skeleton_keeps_its_pose(walk: Motion, style: str) -> None:
    named = called(walk, style=style)
    apart = retarget(walk, named.skeleton).positions() - walk.positions()
    # Ground that is not quite level is levelled.
    assert np.abs(apart).max() < 0.01


def test_a_skeleton_that_shares_no_names_and_is_not_human_is_refused(walk: Motion) -> None:
    lamp = Skeleton(("foot", "pole", "lamp"), [-1, 0, 1], [[0, 0, 0], [0, 1, 0], [0, 1, 0]])
    with pytest.raises(InputError, match="3 of 3 joints are missing, first 'foot'"):
        retarget(walk, lamp)


@pytest.mark.parametrize("style", ["side last", "namespace"])
def test_names_do_not_matter(walk: Motion, style: str) -> None:
    other = called(walk, prefix="mixamorig:", style=style)
    body = figure().character
    wanted = forward_kinematics(skin_clip(body, walk).motion).positions
    found = forward_kinematics(skin_clip(body, other).motion).positions
    np.testing.assert_allclose(found, wanted, atol=0.02)


def test_how_bones_lie_at_rest_does_not_matter(walk: Motion) -> None:
    lying = along_an_axis(called(walk))
    np.testing.assert_allclose(lying.positions(), walk.positions(), atol=1e-9)
    found = upright_at_rest(lying)
    np.testing.assert_allclose(found.positions(), walk.positions(), atol=1e-6)
    body = figure().character
    wanted = forward_kinematics(skin_clip(body, walk).motion).positions
    found = forward_kinematics(skin_clip(body, lying).motion).positions
    off = np.linalg.norm(found - wanted, axis=-1)
    assert off.mean() < 0.03
    assert off.max() < 0.12


def test_joints_that_slide_stay_where_they_are(walk: Motion) -> None:
    lying = along_an_axis(called(walk))
    moved = np.tile(lying.skeleton.offsets, (walk.frames, 1, 1))
    moved[:, 5] += np.linspace(0, 0.02, walk.frames)[:, None]
    sliding = replace(lying, translations=moved)
    np.testing.assert_allclose(upright_at_rest(sliding).positions(), sliding.positions(), atol=1e-6)


def test_cycles_of_a_renamed_walk_are_those_of_the_walk(walk: Motion) -> None:
    own, other = cycle(figure(), walk), cycle(figure(), along_an_axis(called(walk)))
    assert other.speed == pytest.approx(own.speed, rel=0.05)
    assert other.cadence == pytest.approx(own.cadence, rel=0.02)
    assert other.duty == pytest.approx(own.duty, abs=0.05)


def test_feet_without_toes_get_them_at_their_ends(walk: Motion) -> None:
    skeleton = walk.skeleton
    toes = [skeleton.index(f"{side}ToeBase") for side in ("Left", "Right")]
    kept = [j for j in range(skeleton.joints) if not any(j in skeleton.descendants(toe) for toe in toes)]
    short = Skeleton(
        tuple(skeleton.names[j] for j in kept),
        [kept.index(int(skeleton.parents[j])) if j else -1 for j in kept],
        skeleton.offsets[kept],
        [kept.index(int(skeleton.parents[toe])) for toe in toes],
        skeleton.offsets[toes],
    )
    bare = called(replace(walk, skeleton=short, rotations=walk.rotations[:, kept]))
    found = upright_at_rest(bare)
    np.testing.assert_allclose(found.positions()[:, -2:], walk.positions()[:, toes], atol=1e-9)
    body = figure().character
    whole, without = (skin_clip(body, clip).motion.positions() for clip in (walk, bare))
    np.testing.assert_allclose(without, whole, atol=0.02)


def test_a_figure_without_a_leg_is_refused_by_its_name(walk: Motion) -> None:
    gone = walk.skeleton.descendants(walk.skeleton.index("RightUpLeg"))
    names = tuple(f"bone{j}" if j in gone else f"{name}_" for j, name in enumerate(walk.skeleton.names))
    other = replace(walk, skeleton=replace(walk.skeleton, names=names), name="hopping")
    with pytest.raises(InputError, match=r"^hopping: .* right leg not found"):
        cycle(figure(), other)


@pytest.mark.parametrize(("file", "low", "high"), [("walk_normal", 1.1, 1.5), ("walk_old", 0.5, 0.9)])
def test_real_clips_of_other_makers_walk(data_dir: Path, file: str, low: float, high: float) -> None:
    path = data_dir / "skeleton" / "bandai_bvh_NC" / f"dataset-1_{file}_001.bvh"
    if not path.exists():
        pytest.skip("no such clip")
    found = cycle(figure(), marey.load(path))
    assert low < found.speed < high
    assert 0.55 < found.duty < 0.75
