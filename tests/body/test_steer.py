"""Steering: targets are met, the rest of the clip stays, and what is between stays like the clip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body import PoseModel
from marey.body.feet import contacts, foot_joints, slide_speed
from marey.body.kinematics import forward_kinematics, global_frames
from marey.body.steer import TimedReach, steer
from marey.body.steer.displacement import DisplacementPrior
from marey.body.steer.requests import Window, covariance, factor, merge_windows, targets, trajectory
from marey.body.steer.steer import latent_speeds
from marey.errors import InputError
from marey.geometry import rotations as so3


@pytest.fixture(scope="module")
def walk() -> marey.Motion:
    return marey.samples.walk(seconds=4)


def up(joint: str, time: float, *way: float) -> TimedReach:
    return TimedReach(joint, time, way or (0.0, 0.12, 0.05), relative=True)


def outside(motion: marey.Motion, intervals: tuple[tuple[int, int], ...]) -> np.ndarray:
    same = np.ones(motion.frames, dtype=bool)
    for first, last in intervals:
        same[first : last + 1] = False
    return same


def test_covariance_of_the_process_is_the_curve_of_least_jerk() -> None:
    x = np.linspace(-1, 1, 201)
    green = covariance(x, [0.0], Window(-1, 1))[:, 0]
    assert np.allclose(green, 1 - 10 * x**2 / 3 + 5 * x**4 - 8 * np.abs(x) ** 5 / 3)
    slope = np.gradient(green, x)
    assert abs(green[0]) < 1e-12 and abs(slope[0]) < 1e-2 and abs(np.gradient(slope, x)[0]) < 0.2


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.floats(-20, 60), st.floats(2, 80)), min_size=1, max_size=4))
def test_process_has_a_factor_for_any_spans(ends: list[tuple[float, float]]) -> None:
    spans = [Window(start, start + length) for start, length in ends]
    frames = np.arange(0, 61)
    total = sum(covariance(frames, frames, span) for span in spans)
    if np.abs(total).max() == 0:
        return
    found = factor(frames, spans)
    assert np.allclose(found @ found.T, total, atol=1e-9)


def test_gradients_of_points_are_those_of_finite_differences(walk: marey.Motion) -> None:
    few = walk[50:53]
    prior = DisplacementPrior.of(few, PoseModel.fit([walk], modes=6))
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((3, prior.size)) * [[0.3], [1.0], [6.0]]
    joint = few.skeleton.index("LeftHand")
    above = np.zeros((3, few.joints))
    above[:, list(few.skeleton.ancestors(joint))] = 1.0

    def points(numbers: np.ndarray) -> tuple[np.ndarray, ...]:
        turns, shifts = prior.displacement(numbers)
        rotations, root = so3.multiply(few.rotations, so3.exp(turns)), few.root + shifts
        pose = global_frames(few.skeleton.parents, few.skeleton.offsets, rotations, root)
        return turns, pose, pose.positions[:, joint]

    turns, pose, here = points(numbers)
    slopes = prior.gradients(numbers, turns, pose, above, here)
    direction = rng.standard_normal(numbers.shape)
    step = 1e-6
    moved = (points(numbers + step * direction)[2] - points(numbers - step * direction)[2]) / (2 * step)
    assert np.allclose(np.einsum("tcs,ts->tc", slopes, direction), moved, atol=1e-6)


@pytest.mark.parametrize(
    ("joint", "height"), [("LeftHand", 0.15), ("RightHand", -0.1), ("LeftToeBase", 0.12), ("Head_end", -0.1)]
)
def test_targets_are_met_and_frames_outside_stay_bit_by_bit(
    walk: marey.Motion, joint: str, height: float
) -> None:
    asked = [up(joint, 2.0, 0.0, height, 0.05)]
    found = steer(walk, asked)
    goal = targets(walk, asked)[0]
    assert np.linalg.norm(trajectory(found.motion, goal)[goal.frame] - goal.position) < 0.005
    assert found.residual_cm[0] < 0.5
    same = outside(walk, found.intervals)
    assert 0 < same.sum() < walk.frames
    assert np.array_equal(found.motion.rotations[same], walk.rotations[same])
    assert np.array_equal(found.motion.root[same], walk.root[same])


def test_acceleration_and_latent_speed_stay_like_those_of_the_clip(walk: marey.Motion) -> None:
    found = steer(walk, [up("LeftHand", 1.5, 0.1, 0.15, 0.05)])
    model = PoseModel.fit([walk], modes=10)
    assert found.peak_acceleration_ratio <= 1.5
    assert latent_speeds(found.motion, model).max() <= 1.2 * latent_speeds(walk, model).max()


def test_velocity_at_the_request_is_kept(walk: marey.Motion) -> None:
    goal = targets(walk, [up("LeftHand", 2.0)])[0]
    before, after = (trajectory(m, goal) for m in (walk, steer(walk, [up("LeftHand", 2.0)]).motion))
    near = slice(goal.frame - 1, goal.frame + 2, 2)
    change = np.diff(after[near], axis=0) - np.diff(before[near], axis=0)
    assert np.linalg.norm(change) * walk.frame_rate / 2 < 0.05


def test_standing_feet_stay_where_the_original_has_them(walk: marey.Motion) -> None:
    found = steer(walk, [up("LeftHand", 2.0, 0.0, 0.2, 0.1), up("RightHand", 2.0, 0.0, 0.2, 0.1)])
    standing = contacts(walk)
    soles = list(foot_joints(walk.skeleton))
    away = np.linalg.norm((found.motion.positions() - walk.positions())[:, soles], axis=-1)
    assert away[standing].max() < 0.002
    assert slide_speed(found.motion, standing) <= 1.02 * slide_speed(walk, standing)


def test_a_step_is_moved_as_a_whole(walk: marey.Motion) -> None:
    column = foot_joints(walk.skeleton).index(walk.skeleton.index("LeftToeBase"))
    standing = contacts(walk)[:, column]
    edges = np.flatnonzero(np.diff(standing.astype(int)))
    first = next(a + 1 for a in edges if standing[a + 1] and a > 30)
    last = first + int(np.argmin(standing[first:])) - 1
    time = 0.5 * (first + last) / walk.frame_rate
    found = steer(walk, [up("LeftToeBase", time, 0.05, 0.0, 0.03)])
    joint = walk.skeleton.index("LeftToeBase")
    moved = (found.motion.positions() - walk.positions())[first : last + 1, joint]
    assert np.abs(moved - [0.05, 0.0, 0.03]).max() < 0.004


def test_overlapping_requests_are_met_together(walk: marey.Motion) -> None:
    asked = [up("LeftHand", 1.8), up("RightHand", 1.8), up("LeftHand", 2.1, 0.05, 0.0, 0.1)]
    asked.append(up("Head", 2.0, 0.0, -0.05, 0.0))
    found = steer(walk, asked)
    assert len(found.intervals) == 1
    assert max(found.residual_cm) < 0.5


def test_requests_far_apart_change_separate_intervals(walk: marey.Motion) -> None:
    found = steer(walk, [up("LeftHand", 0.8), up("LeftHand", 3.0)])
    assert len(found.intervals) == 2
    assert max(found.residual_cm) < 0.5


@pytest.mark.parametrize("time", [0.0, 239 / 60])
def test_the_first_and_the_last_frame_can_be_asked_for(walk: marey.Motion, time: float) -> None:
    found = steer(walk, [up("RightHand", time)])
    assert found.residual_cm[0] < 0.5
    assert found.peak_acceleration_ratio <= 1.5


def test_absolute_and_relative_targets_agree(walk: marey.Motion) -> None:
    place = walk.positions()[120, walk.skeleton.index("LeftHand")] + [0.0, 0.1, 0.0]
    one = steer(walk, [TimedReach("LeftHand", 2.0, place)])
    other = steer(walk, [up("LeftHand", 2.0, 0.0, 0.1, 0.0)])
    assert np.allclose(one.motion.positions(), other.motion.positions(), atol=1e-6)


@pytest.mark.parametrize(
    ("joint", "way"),
    [("LeftFoot", (0.0, 3.0, 0.1))],
)
def test_a_target_out_of_reach_is_missed_and_told_and_the_other_feet_stay_on_the_ground(
    walk: marey.Motion, joint: str, way: tuple[float, ...]
) -> None:
    found = steer(walk, [up(joint, 2.0, *way)])
    assert found.residual_cm[0] > 50
    assert found.lines() == [f"{joint} at 2 s: target out of reach, missed by {found.residual_cm[0]:.1f} cm"]
    assert found.residual_cm[0] < 100 * np.linalg.norm(way)
    assert np.linalg.norm(found.motion.root - walk.root, axis=1).max() < 0.301
    others = "Right" if joint == "LeftFoot" else ("Left", "Right")
    soles = [f for f in foot_joints(walk.skeleton) if walk.skeleton.names[f].startswith(others)]
    columns = [foot_joints(walk.skeleton).index(f) for f in soles]
    standing = contacts(walk)[:, columns]
    away = np.linalg.norm((found.motion.positions() - walk.positions())[:, soles], axis=-1)
    assert away[standing].max() < 0.01
    heights = found.motion.positions()[:, soles, 1] - walk.positions()[:, soles, 1].min(axis=0)
    assert heights.min() > -0.01


def test_one_target_out_of_reach_does_not_spoil_the_others(walk: marey.Motion) -> None:
    found = steer(walk, [up("LeftHand", 2.0, 0.0, 4.0, 0.0), up("RightHand", 2.0, 0.0, 0.1, 0.05)])
    assert found.residual_cm[0] > 50
    assert found.residual_cm[1] < 0.5
    assert len(found.lines()) == 1


@pytest.mark.parametrize("options", [{"deviation": 0.5}, {"method": "joint"}])
def test_chance_differs_by_seed_but_meets_the_target(walk: marey.Motion, options: dict[str, object]) -> None:
    asked = [up("LeftHand", 2.0)]
    one, again, other = (steer(walk, asked, rng=seed, **options) for seed in (1, 1, 2))
    assert np.allclose(one.motion.rotations, again.motion.rotations, atol=1e-9)
    apart = np.linalg.norm(one.motion.positions() - other.motion.positions(), axis=-1)
    assert apart.max() > 2e-4  # the sample walk hardly varies
    for found in (one, other):
        assert found.residual_cm[0] < 0.5
        same = outside(walk, found.intervals)
        assert np.array_equal(found.motion.rotations[same], walk.rotations[same])
        assert np.array_equal(found.motion.root[same], walk.root[same])
        steps = np.linalg.norm(np.diff(found.motion.positions(), axis=0), axis=-1)
        own = np.linalg.norm(np.diff(walk.positions(), axis=0), axis=-1)
        assert steps.max() <= 1.5 * own.max()


def test_the_interval_that_is_given_is_kept(walk: marey.Motion) -> None:
    first, last = steer(walk, [up("LeftHand", 2.0)], interval=1.0).intervals[0]
    assert (first, last) == (91, 149)


def test_sliding_joints_are_steered_too(walk: marey.Motion) -> None:
    from dataclasses import replace

    from marey.body.kinematics import local_positions

    loose = replace(walk, translations=local_positions(walk))
    found = steer(loose, [up("LeftHand", 2.0)])
    assert found.residual_cm[0] < 0.5
    assert found.motion.translations is not None
    assert np.array_equal(found.motion.translations[:, 1:], loose.translations[:, 1:])


def test_a_chain_without_feet_can_be_steered() -> None:
    from marey.body.skeleton import Skeleton
    from marey.geometry import rotations as so3

    arm = Skeleton(("a", "b", "c"), [-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]])
    t = np.arange(90) / 30
    turns = np.zeros((90, 3, 3))
    turns[:, 0, 2], turns[:, 1, 2] = 0.3 * np.sin(t), 0.5 + 0.4 * np.cos(2 * t)
    swing = marey.Motion(arm, so3.exp(turns), np.zeros((90, 3)), 30)
    found = steer(swing, [TimedReach("c", 1.5, [0.0, 0.1, 0.0], relative=True)])
    assert found.residual_cm[0] < 0.5


@pytest.mark.parametrize(
    ("asked", "options", "reported"),
    [
        ([], {}, "at least one request"),
        ([up("LeftHand", 9.0)], {}, "from 0 to"),
        ([up("LeftHand", float("nan"))], {}, "from 0 to"),
        ([up("Tail", 1.0)], {}, "Tail"),
        ([TimedReach("LeftHand", 1.0, [0.0, 1.0])], {}, "three finite numbers"),
        ([up("LeftHand", 1.0), up("LeftHand", 1.0, 0.1, 0.1, 0.1)], {}, "twice"),
        ([up("LeftHand", 1.0)], {"method": "guess"}, "displace"),
        ([up("LeftHand", 1.0)], {"deviation": -1.0}, "deviation"),
        ([up("LeftHand", 1.0)], {"interval": 0.0}, "interval"),
    ],
)
def test_bad_requests_are_refused(
    walk: marey.Motion, asked: list[TimedReach], options: dict[str, object], reported: str
) -> None:
    with pytest.raises(InputError, match=reported):
        steer(walk, asked, **options)


def test_spans_that_touch_are_one_stretch() -> None:
    assert merge_windows([Window(-5, 10), Window(9, 20)], 15) == ((0, 14),)


def test_a_captured_catch_is_aimed_higher(data_dir: Path) -> None:
    catch = marey.load(data_dir / "skeleton" / "cmu_bvh" / "143_20.bvh", clean=True)
    found = steer(catch, [up(hand, 3.1, 0.0, 0.15, 0.0) for hand in ("LeftHand", "RightHand")])
    assert max(found.residual_cm) < 0.5
    assert found.peak_acceleration_ratio <= 1.5
    standing = contacts(catch)
    assert slide_speed(found.motion, standing) <= 1.01 * slide_speed(catch, standing)
    assert forward_kinematics(found.motion).positions.shape == catch.positions().shape
    drawn = steer(catch, [up(hand, 3.1, 0.0, 0.15, 0.0) for hand in ("LeftHand", "RightHand")],
                  method="joint", rng=0)  # fmt: skip
    assert max(drawn.residual_cm) < 0.5
    assert drawn.peak_acceleration_ratio <= 1.5
