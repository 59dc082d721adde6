"""The walking human: feet that stay put, joints near the published curves, loops without a seam."""

from __future__ import annotations

import numpy as np
import pytest

from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.samples import gait_legs, walk
from marey.samples.body_plan import ANKLE_HEIGHT, HEEL_BEHIND_ANKLE, STATURE, body_skeleton

SPEEDS = (0.6, 1.0, 1.34, 1.7, 2.0)


def sole_points(motion: Motion, side: str) -> np.ndarray:
    """Heel and tip of the toes in the world, `(frames, 2, 3)`."""
    skeleton, pose = motion.skeleton, forward_kinematics(motion)
    foot, toe = skeleton.index(f"{side}Foot"), skeleton.index(f"{side}ToeBase")
    heel = STATURE * np.array([0.0, -ANKLE_HEIGHT, -HEEL_BEHIND_ANKLE])
    tip = skeleton.end_offsets[skeleton.end_parents == toe][0]
    return np.stack(
        [
            pose.positions[:, foot] + rot.rotate(pose.rotations[:, foot], heel),
            pose.positions[:, toe] + rot.rotate(pose.rotations[:, toe], tip),
        ],
        axis=1,
    )


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("side", ["Left", "Right"])
def test_the_point_that_touches_the_ground_does_not_slide(speed: float, side: str) -> None:
    motion = walk(cycles=2, speed=speed, frame_rate=120)
    points = sole_points(motion, side)
    on_ground = (points[1:, :, 1] < 0.004) & (points[:-1, :, 1] < 0.004)
    velocity = np.linalg.norm(np.diff(points, axis=0)[:, :, [0, 2]], axis=-1) * motion.frame_rate
    assert on_ground.any(axis=1).mean() > 0.5
    assert velocity[on_ground].mean() < 0.03


@pytest.mark.parametrize("speed", SPEEDS)
def test_feet_meet_the_ground_and_never_sink_into_it(speed: float) -> None:
    motion = walk(cycles=1, speed=speed)
    lowest = np.minimum(sole_points(motion, "Left"), sole_points(motion, "Right"))[:, :, 1].min(axis=1)
    assert lowest.min() > -0.002
    assert lowest.max() < 0.01


@pytest.mark.parametrize("speed", SPEEDS)
def test_it_advances_at_the_speed_asked_for(speed: float) -> None:
    motion = walk(cycles=3, speed=speed, frame_rate=60)
    frames = motion.frames // 3
    advance = motion.root[frames] - motion.root[0]
    np.testing.assert_allclose(advance * motion.frame_rate / frames, [0, 0, speed], atol=1e-9)


def test_cycles_loop_without_a_seam() -> None:
    motion = walk(cycles=2, frame_rate=60)
    half = motion.frames // 2
    np.testing.assert_array_equal(motion.rotations[:half], motion.rotations[half:])
    steps = np.abs(np.diff(np.concatenate([motion.rotations, motion.rotations[:1]]), axis=0)).max(axis=(1, 2))
    assert steps[-1] <= steps[:-1].max()


def test_right_is_left_half_a_cycle_later_mirrored() -> None:
    motion = walk(cycles=1, frame_rate=100, speed=1.25)
    assert motion.frames % 2 == 0
    left, right = (motion.skeleton.index(f"{side}UpLeg") for side in ("Left", "Right"))
    expected = np.roll(motion.rotations[:, left], motion.frames // 2, axis=0) * [1, 1, -1, -1]
    np.testing.assert_allclose(rot.distance(expected, motion.rotations[:, right]), 0, atol=1e-7)


def test_leg_angles_stay_near_the_published_curves() -> None:
    motion = walk(cycles=1, frame_rate=120)
    skeleton, pose = motion.skeleton, forward_kinematics(motion)
    phase = np.arange(motion.frames) / motion.frames
    thigh = rot.rotate(pose.rotations[:, skeleton.index("LeftUpLeg")], [0.0, -1.0, 0.0])
    hip = np.arctan2(thigh[:, 2], -thigh[:, 1])
    knee = rot.log(motion.rotations[:, skeleton.index("LeftLeg")])[:, 0]
    ankle = -rot.log(motion.rotations[:, skeleton.index("LeftFoot")])[:, 0]
    for angle, samples, degrees in (
        (hip, gait_legs.HIP, 3),
        (knee, gait_legs.KNEE, 5),
        (ankle, gait_legs.ANKLE, 3),
    ):
        difference = np.degrees(angle - gait_legs.curve(samples, phase))
        assert np.sqrt(np.mean(difference**2)) < degrees
    assert np.degrees(knee).min() > 1
    assert 0.02 < np.ptp(motion.root[:, 1]) < 0.06


def test_arms_swing_against_the_legs() -> None:
    motion = walk(cycles=1, frame_rate=120)
    skeleton, pose = motion.skeleton, forward_kinematics(motion)
    ahead = pose.positions[..., 2] - pose.positions[:, :1, 2]
    hand, foot = ahead[:, skeleton.index("LeftHand")], ahead[:, skeleton.index("LeftFoot")]
    assert np.corrcoef(hand, foot)[0, 1] < -0.7


def test_motion_is_smooth() -> None:
    motion = walk(cycles=2, frame_rate=120)
    turning = rot.log(rot.multiply(rot.inverse(motion.rotations[:-1]), motion.rotations[1:])) * 120
    acceleration = np.linalg.norm(np.diff(turning, axis=0), axis=-1) * 120
    # The published knee curve itself reaches 380 rad/s² at this pace.
    assert acceleration.max() < 900


def test_the_body_is_as_tall_as_asked_and_symmetric() -> None:
    skeleton = body_skeleton(1.6)
    positions = forward_kinematics(
        Motion(skeleton, rot.identity((1, skeleton.joints)), np.zeros((1, 3)), 30)
    ).positions[0]
    ends = positions[skeleton.end_parents] + skeleton.end_offsets
    assert ends[:, 1].max() - ends[:, 1].min() == pytest.approx(1.6, rel=0.005)
    for name in skeleton.names:
        if name.startswith("Left"):
            left = positions[skeleton.index(name)]
            right = positions[skeleton.index(name.replace("Left", "Right"))]
            np.testing.assert_allclose(left, right * [-1, 1, 1])


def test_same_arguments_give_the_same_bits() -> None:
    from marey.samples.walk import _one_cycle

    first = walk(1.0)
    _one_cycle.cache_clear()
    np.testing.assert_array_equal(first.rotations, walk(1.0).rotations)


@pytest.mark.parametrize(
    "options",
    [
        {"speed": 5.0},
        {"speed": float("nan")},
        {"seconds": 0.0},
        {"seconds": float("inf")},
        {"cycles": 0},
        {"seconds": 1.0, "cycles": 1},
        {"frame_rate": 0},
        {"frame_rate": 2},
        {"frame_rate": 1e9},
        {"stature": 17.5},
    ],
)
def test_senseless_arguments_are_refused_in_words(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        walk(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("speed", SPEEDS)
def test_what_does_not_move_is_mirrored_too(speed: float) -> None:
    motion = walk(0.2, speed=speed)
    for name in ("Hand", "HandIndex1", "Thumb"):
        left, right = (motion.rotations[0, motion.skeleton.index(side + name)] for side in ("Left", "Right"))
        assert rot.distance(left * [1.0, 1.0, -1.0, -1.0], right) < 1e-12
