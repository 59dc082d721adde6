from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body import Motion, Skeleton
from marey.body.clean import clean, starts_in_rest_pose
from marey.geometry import rotations as so3

LEG = Skeleton(
    ("hip", "knee", "foot", "arm"), [-1, 0, 1, 0], [[0, 0, 0], [0, -0.4, 0], [0, -0.4, 0], [0.2, 0.4, 0]]
)


def swinging(frames: int = 240, rate: float = 120.0, speed: float = 1.0) -> Motion:
    """Every joint swings by half a radian, once a second times `speed`; the arm is still."""
    t = np.arange(frames) / rate
    swing = 0.5 * np.sin(2 * np.pi * speed * t[:, None] + np.array([0.3, 1, 2])) + 1.0
    rotations = so3.identity((frames, 4))
    rotations[:, :3] = so3.exp(swing[..., None] * [0.6, 0.0, 0.8])
    return Motion(LEG, rotations, np.stack([t, np.ones(frames), 0 * t], axis=-1), rate)


def turned(motion: Motion, frames: slice | int, joint: int, by: object) -> Motion:
    rotations = np.array(motion.rotations)
    rotations[frames, joint] = so3.multiply(rotations[frames, joint], so3.exp(by))
    return replace(motion, rotations=rotations)


def furthest(a: Motion, b: Motion) -> float:
    return float(so3.distance(a.rotations, b.rotations).max())


@given(st.floats(0.1, 4.0), st.sampled_from([24.0, 30.0, 60.0, 120.0, 240.0]))
@settings(max_examples=20)
def test_a_clean_clip_is_not_touched(speed: float, rate: float) -> None:
    motion = swinging(frames=100, rate=rate, speed=speed)
    cleaned, report = clean(motion)
    assert not report.changed
    assert (report.jumps, report.still) == ((), ("arm",))
    np.testing.assert_array_equal(cleaned.rotations, motion.rotations)
    np.testing.assert_array_equal(cleaned.root, motion.root)


@pytest.mark.parametrize("speed", [0.5, 20.0, 100.0, 140.0])
def test_a_steady_spin_is_not_a_glitch_however_fast(speed: float) -> None:
    motion = swinging()
    rotations = np.array(motion.rotations)
    rotations[:, 0] = so3.exp(np.outer(speed * np.arange(240) / 120.0, [0, 1, 0]))
    spinning = replace(motion, rotations=so3.continuous(rotations))
    cleaned, report = clean(spinning)
    assert not report.changed
    assert furthest(cleaned, spinning) == 0


@given(st.integers(5, 200), st.integers(1, 40), st.floats(1.3, 3.0), st.integers(0, 2))
@settings(max_examples=40)
def test_an_excursion_is_bridged_and_nothing_else_changes(
    start: int, length: int, size: float, joint: int
) -> None:
    motion = swinging()
    stop = min(start + length, 230)
    spoilt = turned(motion, slice(start, stop), joint, [0, size, 0])
    cleaned, report = clean(spoilt)
    (repair,) = report.glitches + report.flips
    assert (repair.joint, repair.start, repair.stop) == (LEG.names[joint], start, stop)
    assert report.jumps == ()
    away = so3.distance(cleaned.rotations, motion.rotations)
    away[start:stop, joint] -= 0.2 + 0.01 * length
    assert away.max() <= 1e-7


def test_a_smeared_glitch_is_bridged_with_its_edges() -> None:
    """Filters spread a jump over frames: a full turn in 9 steps, the middle one wild."""
    motion = swinging()
    angles = np.cumsum([0.4, 0.4, 0.4, 0.4, 2.8, 0.4, 0.4, 0.4])
    spoilt = turned(motion, slice(100, 108), 2, np.outer(angles, [1, 0, 0]))
    cleaned, report = clean(spoilt)
    assert [(g.joint, g.start, g.stop) for g in report.glitches] == [("foot", 100, 108)]
    assert furthest(cleaned, motion) < 0.05


@pytest.mark.parametrize("spans", [[(60, 90)], [(20, 110)], [(10, 11), (14, 15), (60, 100)], [(200, 240)]])
def test_half_turns_to_and_fro_are_turned_back_and_keep_the_motion(spans: list[tuple[int, int]]) -> None:
    motion = swinging()
    spoilt = motion
    for start, stop in spans:
        spoilt = turned(spoilt, slice(start, stop), 2, [0, np.pi - 0.02, 0])
    cleaned, report = clean(spoilt)
    assert [(f.joint, f.start, f.stop) for f in report.flips] == [("foot", *span) for span in spans]
    assert report.jumps == report.glitches == ()
    # Without the half turn the frames are as captured but for about a frame of motion.
    assert furthest(cleaned, motion) < 0.06


def test_the_rarer_side_of_a_flip_is_the_wrong_one() -> None:
    motion = swinging()
    spoilt = turned(motion, slice(0, 90), 2, [0, 3.1, 0])
    cleaned, report = clean(spoilt)
    assert [(f.start, f.stop) for f in report.flips] == [(0, 90)]
    assert furthest(cleaned, motion) < 0.06


def test_a_half_turn_made_good_down_the_limb_is_left_alone() -> None:
    spoilt = turned(turned(swinging(), slice(60, 180), 0, [0, 3.1, 0]), slice(60, 180), 2, [0, -3.1, 0])
    cleaned, report = clean(spoilt)
    assert not report.changed
    assert {(j.joint, j.frame) for j in report.jumps} == {
        ("hip", 59), ("hip", 179), ("foot", 59), ("foot", 179)
    }  # fmt: skip
    assert furthest(cleaned, spoilt) == 0


def test_joints_that_jump_along_with_a_glitch_are_bridged_along() -> None:
    """The foot makes good for the hip, and ends elsewhere than it began."""
    spoilt = turned(swinging(), slice(100, 110), 0, [0, 2.2, 0])
    spoilt = turned(spoilt, slice(100, 110), 2, [0, -1.5, 0])
    spoilt = turned(spoilt, slice(110, 240), 2, [1.2, 0, 0])
    cleaned, report = clean(spoilt)
    assert [(g.joint, g.start, g.stop) for g in report.glitches] == [("hip", 100, 110), ("foot", 100, 110)]
    assert so3.distance(cleaned.rotations[1:], cleaned.rotations[:-1]).max() < 0.3


def test_a_lasting_jump_is_reported_and_left_alone() -> None:
    spoilt = turned(swinging(), slice(120, 240), 1, [0, 1.5, 0])
    cleaned, report = clean(spoilt)
    assert [(j.joint, j.frame) for j in report.jumps] == [("knee", 119)]
    assert report.jumps[0].radians == pytest.approx(1.5, abs=0.05)
    assert furthest(cleaned, spoilt) == 0


def test_at_30_frames_a_second_quick_motion_is_safe_and_flips_are_not() -> None:
    """A real punch turns the elbow by almost 1 rad a frame at 30 Hz; 120 rad/s would never be passed."""
    motion = swinging(frames=90, rate=30.0)
    punch = turned(motion, slice(40, 43), 1, [[0, 0.8, 0], [0, 1.6, 0], [0, 0.7, 0]])
    assert not clean(punch)[1].changed
    flip = turned(motion, slice(40, 42), 1, [0, 2.4, 0])
    assert [(g.start, g.stop) for g in clean(flip)[1].glitches] == [(40, 42)]


def test_a_spike_of_the_root_is_bridged() -> None:
    motion = swinging()
    root = np.array(motion.root)
    root[70:72] += [0, 0.5, 0]
    slid = np.repeat(LEG.offsets[None], 240, axis=0)
    slid[:, 0] = root
    cleaned, report = clean(replace(motion, root=root, translations=slid))
    assert [(s.start, s.stop) for s in report.root_spikes] == [(70, 72)]
    np.testing.assert_allclose(cleaned.root, motion.root, atol=1e-9)
    np.testing.assert_array_equal(cleaned.translations[:, 0], cleaned.root)  # type: ignore[index]


def test_signs_are_made_continuous_without_changing_a_rotation() -> None:
    motion = swinging()
    signs = np.where(np.arange(240) % 7 < 3, -1.0, 1.0)[:, None, None]
    cleaned, report = clean(replace(motion, rotations=motion.rotations * signs))
    assert report.sign_changes > 0
    assert not report.changed
    assert furthest(cleaned, motion) == 0
    assert (np.einsum("tji,tji->tj", cleaned.rotations[1:], cleaned.rotations[:-1]) > 0).all()


def with_rest_frame(motion: Motion) -> Motion:
    rotations = np.concatenate([so3.identity((1, motion.joints)), motion.rotations])
    return replace(motion, rotations=rotations, root=np.concatenate([motion.root[:1], motion.root]))


def test_an_artificial_rest_pose_is_dropped() -> None:
    motion = swinging()
    cleaned, report = clean(with_rest_frame(motion))
    assert report.rest_frame
    np.testing.assert_array_equal(cleaned.positions(), motion.positions())


def test_a_clip_that_starts_in_rest_and_moves_on_smoothly_is_kept() -> None:
    motion = swinging()
    share = np.linspace(0, 1, 60)[:, None]
    easing = so3.slerp(so3.identity((60, 4)), np.broadcast_to(motion.rotations[0], (60, 4, 4)), share)
    root = np.broadcast_to(motion.root[0], (60, 3))
    eased = replace(
        motion,
        rotations=np.concatenate([easing, motion.rotations]),
        root=np.concatenate([root, motion.root]),
    )
    assert not starts_in_rest_pose(eased)


def test_a_jump_out_of_another_pose_than_rest_is_kept() -> None:
    assert not starts_in_rest_pose(turned(with_rest_frame(swinging()), 0, 1, [0, 0.9, 0]))


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_clips_of_a_few_frames_pass_through(frames: int) -> None:
    cleaned, report = clean(swinging()[:frames])
    assert cleaned.frames == frames
    assert not report.changed


def test_the_report_reads_well_and_goes_into_json() -> None:
    spoilt = turned(with_rest_frame(swinging()), slice(101, 103), 2, [0, 1.5, 0])
    report = clean(spoilt)[1]
    assert report.lines() == [
        "dropped frame 0, an artificial rest pose",
        "bridged glitches: foot 2 frames",
        "never moving: arm",
    ]
    plain = json.loads(json.dumps(report.as_dict()))
    assert plain["glitches"] == [{"joint": "foot", "start": 101, "stop": 103}]
    assert clean(swinging().without(["arm"]))[1].lines() == ["nothing to clean"]


def wild_steps(motion: Motion) -> int:
    return int((so3.distance(motion.rotations[1:], motion.rotations[:-1]) > 1).sum())


@pytest.mark.parametrize("clip", ["02_01", "09_06", "49_06", "17_10", "143_34"])
def test_cmu_clips_lose_their_rest_pose_and_keep_their_body(data_dir: Path, clip: str) -> None:
    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{clip}.bvh")
    cleaned, report = clean(motion)
    assert report.rest_frame
    assert "LeftHandIndex1" in report.still
    assert wild_steps(cleaned) == 0
    body = [
        j
        for j, name in enumerate(motion.skeleton.names)
        if not name.endswith(("Thumb", "FingerBase", "Index1"))
    ]
    np.testing.assert_allclose(cleaned.positions()[:, body], motion.positions()[1:, body], atol=1e-12)


def test_breakdance_is_repaired_but_not_destroyed(data_dir: Path) -> None:
    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / "85_12.bvh")
    cleaned, _ = clean(motion)
    raw = motion[1:]
    assert wild_steps(raw) >= 35
    assert wild_steps(cleaned) <= 1
    legs = raw.skeleton.indices(
        ["LeftLeg", "LeftFoot", "RightLeg", "RightFoot", "Head", "LeftHand", "RightHand"]
    )
    moved = np.linalg.norm(cleaned.positions() - raw.positions(), axis=-1)[:, legs].max(axis=-1) > 0.01
    assert moved.mean() < 0.01


def test_a_real_throw_is_not_taken_for_a_glitch(data_dir: Path) -> None:
    motion = marey.load(data_dir / "skeleton" / "cmu_corpus" / "121_09.bvh")
    cleaned, report = clean(motion)
    hand = motion.skeleton.index("RightHand")
    np.testing.assert_allclose(cleaned.positions()[:, hand], motion.positions()[1:, hand], atol=1e-12)
    assert "RightArm" in {jump.joint for jump in report.jumps}


@pytest.mark.parametrize("clip", ["punch_normal", "kick_normal", "run_normal"])
def test_quick_motion_at_30_frames_a_second_is_not_touched(data_dir: Path, clip: str) -> None:
    motion = marey.load(data_dir / "skeleton" / "bandai_bvh_NC" / f"dataset-1_{clip}_001.bvh")
    _, report = clean(motion)
    assert not report.changed
    assert report.jumps == ()
