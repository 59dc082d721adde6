"""Timing and style from one clip to another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.feet import skate
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.resample import retime
from marey.body.restyle import align_clips, joint_pose_model, restyle
from marey.body.root_motion import without_carriers
from marey.errors import InputError
from marey.geometry import rotations as so3


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(3, frame_rate=60)


def bend(frames: int, last: float) -> np.ndarray:
    """A smooth map of time from 0 to `last` that speeds up and slows down."""
    share = np.arange(frames) / (frames - 1)
    return last * (share + 0.07 * np.sin(2 * np.pi * share))


def stooped(motion: Motion, degrees: float) -> Motion:
    rotations = np.array(motion.rotations)
    for name in ("Spine", "Neck"):
        joint = next(j for j, other in enumerate(motion.skeleton.names) if other.startswith(name))
        rotations[:, joint] = so3.multiply(rotations[:, joint], so3.exp([np.radians(degrees), 0, 0]))
    return replace(motion, rotations=rotations)


def test_a_known_map_of_time_is_found_and_undone(walk: Motion) -> None:
    truth = bend(210, walk.frames - 1.0)
    played = retime(walk, truth)
    found = restyle(walk, played)
    assert np.abs(found.positions - truth).mean() < 1.5
    off = np.linalg.norm(found.motion.positions() - played.positions(), axis=-1)
    assert off.mean() < 0.03 and found.motion.frames == 210


def test_the_same_clip_stays_as_it_is(walk: Motion) -> None:
    found = restyle(walk, walk)
    assert np.abs(found.positions - np.arange(walk.frames)).max() < 1e-9
    assert found.alignment.cost < 1e-9
    assert so3.distance(found.motion.rotations, walk.rotations).max() < 1e-9


def test_another_posture_and_larger_gestures_do_not_change_the_timing(walk: Motion) -> None:
    truth = bend(150, walk.frames - 1.0)
    model = PoseModel.fit([walk], modes=4)
    coordinates = model.encode(walk)
    played = retime(stooped(walk, 20), truth)
    assert np.abs(restyle(walk, played).positions - truth).mean() < 1.5
    louder = model.decode_motion(1.4 * coordinates, walk.frame_rate)
    assert np.abs(restyle(walk, retime(louder, truth)).positions - truth).mean() < 1.5


def test_an_offset_in_directions_left_out_does_not_change_the_path(walk: Motion) -> None:
    whole = PoseModel.fit([walk], modes=12)
    kept = whole.first(4)
    played = retime(walk, bend(150, walk.frames - 1.0))
    coordinates = whole.encode(played)
    before = align_clips(kept.encode(walk), coordinates[:, :4])
    coordinates[:, 8:] += 3 * whole.geodesics.deviations[8:]
    moved = whole.decode_motion(coordinates, walk.frame_rate)
    assert so3.distance(moved.rotations, whole.rebuild(played).rotations)[:, 1:].max() > 0.02
    after = align_clips(kept.encode(walk), kept.encode(moved))
    assert np.array_equal(before.path, after.path)


def test_both_clips_count_the_same_however_long(walk: Motion) -> None:
    other = stooped(marey.samples.walk(1, frame_rate=60), 15)
    one = joint_pose_model(walk, other, modes=5)
    again = joint_pose_model(walk, retime(other, np.linspace(0, other.frames - 1, 500)), modes=5)
    assert so3.distance(one.geodesics.mean, again.geodesics.mean).max() < 0.01


def test_feet_do_not_slide_more_when_time_is_bent(walk: Motion) -> None:
    quick = marey.samples.walk(2.2, frame_rate=60, speed=1.4)
    found = restyle(walk, quick, open_ends=True)
    own = skate(walk)
    slopes = np.diff(found.positions)
    assert found.foot_skate <= 1.1 * own * slopes.max()
    assert found.motion.frames <= quick.frames


def test_style_brings_the_posture_over_and_keeps_timing_and_feet(walk: Motion) -> None:
    stoop = stooped(retime(walk, bend(200, walk.frames - 1.0)), 25)
    spine = next(j for j, name in enumerate(walk.skeleton.names) if name.startswith("Spine"))
    target = so3.log(
        so3.multiply(so3.inverse(walk.rotations[:, spine]), stooped(walk, 25).rotations[:, spine])
    )
    bent = []
    for amount in (0.0, 0.5, 1.0):
        found = restyle(walk, stoop, timing="own", spatial=amount)
        assert found.motion.frames == walk.frames
        turned = so3.log(
            so3.multiply(so3.inverse(walk.rotations[:, spine]), found.motion.rotations[:, spine])
        )
        bent.append(float(turned[:, 0].mean() / target[:, 0].mean()))
        own = skate(walk)
        assert found.foot_skate <= 1.2 * own + 0.005
    assert bent[0] == pytest.approx(0.0, abs=1e-6)
    assert bent[1] == pytest.approx(0.5, abs=0.15) and bent[2] == pytest.approx(1.0, abs=0.2)


def test_a_part_is_found_in_a_longer_clip_both_ways(walk: Motion) -> None:
    part = retime(walk, np.linspace(30, 120, 80))
    there = restyle(walk, part, open_ends=True)
    assert there.motion.frames == 80 and np.abs(there.positions - np.linspace(30, 120, 80)).mean() < 6
    back = restyle(part, walk, open_ends=True)
    assert back.motion.frames < walk.frames
    own = restyle(walk, part, open_ends=True, timing="own", spatial=0.5)
    assert own.motion.frames < walk.frames


def test_other_frame_rates_and_joints_above_the_hips_are_taken(walk: Motion) -> None:
    found = restyle(walk, walk.resample(30))
    assert found.motion.frame_rate == walk.frame_rate
    assert np.abs(found.positions - np.arange(found.motion.frames)).mean() < 1.5
    carried = _below_a_carrier(walk)
    assert without_carriers(carried).joints == walk.joints
    stoop = _below_a_carrier(stooped(retime(walk, bend(170, walk.frames - 1.0)), 20))
    for spatial in (0.0, 1.0):
        whole = restyle(carried, stoop, spatial=spatial).motion
        alone = restyle(walk, without_carriers(stoop), spatial=spatial).motion
        assert np.abs(whole.positions()[:, 1:] - alone.positions()).max() < 1e-6


def test_invalid_input_is_refused(walk: Motion) -> None:
    for options, words in (
        ({"timing": "both"}, "reference, own"),
        ({"spatial": 2.0}, "from 0 to 1"),
    ):
        with pytest.raises(InputError, match=words):
            restyle(walk, walk, **options)
    with pytest.raises(InputError, match="different joints"):
        restyle(walk, walk.without(["LeftHand"]))
    with pytest.raises(InputError, match="at most 4 times"):
        restyle(walk, walk[:20])


def test_real_walks_fall_into_step(data_dir: Path) -> None:
    folder = data_dir / "skeleton" / "cmu_bvh"
    if not (folder / "02_01.bvh").is_file():
        pytest.skip("the walks are not here")
    walk = marey.load(folder / "02_01.bvh", clean=True)
    other = marey.load(folder / "143_32.bvh", clean=True)[:400]
    found = restyle(walk, other, open_ends=True)
    first, last = found.alignment.path[[0, -1], 1]
    matched = other[int(first) : int(last) + 1]
    assert (_slower_foot(found.motion) == _slower_foot(matched)).mean() > 0.8


def _slower_foot(motion: Motion) -> np.ndarray:
    feet = motion.skeleton.indices(["LeftToeBase", "RightToeBase"])
    speed = np.linalg.norm(np.gradient(motion.positions()[:, feet], axis=0), axis=-1)
    return speed[:, 0] < speed[:, 1]


def _below_a_carrier(motion: Motion) -> Motion:
    """The clip below a still joint that stands aside and is turned, as exporters make it."""
    skeleton = motion.skeleton
    carrier = marey.Skeleton(
        ("carrier", *skeleton.names),
        np.concatenate([[-1], skeleton.parents + 1]),
        np.concatenate([np.zeros((1, 3)), skeleton.offsets]),
        skeleton.end_parents + 1,
        skeleton.end_offsets,
    )
    turn, place = so3.exp([0.0, 0.4, 0.0]), np.array([0.5, 0.0, 1.0])
    frames = motion.frames
    rotations = np.concatenate([np.tile(turn, (frames, 1, 1)), motion.rotations], axis=1)
    rotations[:, 1] = so3.multiply(so3.inverse(turn), motion.rotations[:, 0])
    translations = np.tile(carrier.offsets, (frames, 1, 1))
    translations[:, 0] = place
    translations[:, 1] = so3.rotate(so3.inverse(turn), motion.root - place)
    return Motion(carrier, rotations, np.tile(place, (frames, 1)), motion.frame_rate, translations)
