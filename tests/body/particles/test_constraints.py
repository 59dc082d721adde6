"""Constraints are zero where they hold and tell how far off a pose is elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body import PoseModel
from marey.body.ik import Pin
from marey.body.particles import (
    Avoid,
    Balance,
    Constraint,
    Contact,
    Coupled,
    Custom,
    Distance,
    FilterSettings,
    LookAt,
    NearPose,
    Noisy,
    Orient,
    PoseBatch,
    PosePrior,
    Reach,
    feet_on_floor,
    hand_chain,
    solve,
)
from marey.body.particles.constraints import Target, _outside, as_constraints
from marey.errors import InputError
from marey.geometry import rotations as so3


@pytest.fixture(scope="module")
def walk() -> marey.Motion:
    return marey.samples.walk()


@pytest.fixture(scope="module")
def poses(walk: marey.Motion) -> PoseBatch:
    return PoseBatch(walk.skeleton, np.array(walk.rotations[:50]), np.array(walk.root[:50]))


def constraint(target: Target) -> Constraint:
    return as_constraints([target])[0]


def test_places_and_turns_are_met_where_they_are(poses: PoseBatch) -> None:
    hand, turn = poses.point("LeftHand")[7], poses.turn("Head")[7]
    assert np.abs(constraint(Reach("LeftHand", hand)).errors(poses)[7]).max() == 0
    assert np.abs(constraint(Orient("Head", turn)).errors(poses)[7]).max() < 1e-9
    away = so3.multiply(so3.exp([0.0, 0.3, 0.0]), turn)
    np.testing.assert_allclose(
        np.linalg.norm(constraint(Orient("Head", away)).errors(poses)[7]), 0.3, atol=1e-9
    )
    np.testing.assert_allclose(
        constraint(Reach("LeftHand", hand + np.array([0, 0.2, 0]))).errors(poses)[7], [0, -0.2, 0]
    )


def test_facing_is_the_angle_to_the_point(poses: PoseBatch) -> None:
    ahead = so3.rotate(poses.turn("Head"), [0.0, 0.0, 1.0])
    there = poses.point("Head")[3] + 2.0 * ahead[3]
    assert constraint(LookAt("Head", there)).errors(poses)[3, 0] < 1e-7
    side = poses.point("Head")[3] + 2.0 * np.cross([0.0, 1.0, 0.0], ahead[3])
    np.testing.assert_allclose(constraint(LookAt("Head", side)).errors(poses)[3, 0], np.pi / 2, atol=0.02)


def test_planes_distances_and_balls(poses: PoseBatch) -> None:
    height = poses.point("LeftToeBase")[:, 1]
    np.testing.assert_allclose(constraint(Contact("LeftToeBase", 0.01)).errors(poses)[:, 0], height - 0.01)
    above = constraint(Contact("LeftToeBase", height[5], above=True)).errors(poses)[:, 0]
    assert (above <= 0).all() and above[5] == 0
    gap = np.linalg.norm(poses.point("LeftHand") - poses.point("RightHand"), axis=1)
    np.testing.assert_allclose(Distance("LeftHand", "RightHand", 0.3).errors(poses)[:, 0], gap - 0.3)
    assert (Distance("LeftHand", "RightHand", 0.01, least=True).errors(poses) == 0).all()
    ball = Avoid(["LeftHand"], [poses.point("LeftHand")[0]], [0.1], radius=0.05)
    np.testing.assert_allclose(ball.errors(poses)[0], [-0.15], atol=1e-12)


def test_coupled_hinges_and_priors() -> None:
    hand = hand_chain()
    pose = so3.identity((1, 17))
    rule = hand.rules[0]
    assert isinstance(rule, Coupled)
    pose[0, hand.skeleton.index(rule.other)] = so3.exp(0.9 * np.asarray(rule.axis))
    batch = PoseBatch(hand.skeleton, pose, np.zeros((1, 3)))
    np.testing.assert_allclose(rule.errors(batch), -0.6, atol=1e-12)
    assert np.linalg.norm(NearPose().errors(batch)) == pytest.approx(0.9)


def test_a_pose_model_calls_its_mean_likeliest(walk: marey.Motion, poses: PoseBatch) -> None:
    model = PoseModel.fit([walk], modes=5)
    rule = PosePrior(model)
    assert rule.errors(poses).shape == (50, 5)
    np.testing.assert_allclose(
        rule.errors(poses), model.encode(walk)[:50] / model.geodesics.deviations, atol=1e-6
    )


def test_balance_is_the_distance_from_the_polygon_of_support(poses: PoseBatch) -> None:
    square = np.array([[[0.0, 0], [1, 0], [1, 1], [0, 1]]] * 4)
    points = np.array([[0.5, 0.5], [2.0, 0.5], [-1.0, -1.0], [0.2, 0.9]])
    np.testing.assert_allclose(_outside(points, square), [0, 1, np.sqrt(2), 0], atol=1e-12)
    off = Balance(["LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase"]).errors(poses)
    assert off.shape == (50, 1) and (off >= 0).all() and off.max() < 0.4


def test_any_function_is_a_constraint_and_nonsense_is_refused() -> None:
    hand = hand_chain()
    low = Custom(lambda poses: poses.point("Index3_end")[:, 1] + 0.05, noise=0.002)
    found = solve(hand, [low], particles=60, steps=20, rng=0)
    assert abs(found.means().point("Index3_end")[-1, 1] + 0.05) < 0.005
    with pytest.raises(InputError, match="finite"):
        solve(hand, [Custom(lambda poses: np.full(poses.count, np.nan))], particles=20, steps=2)
    with pytest.raises(InputError, match="above 0"):
        solve(hand, [Noisy(Reach("Index3_end", [0, 0, 0]), noise=0.0)], particles=20, steps=2)
    with pytest.raises(InputError, match="GB"):
        solve(hand, [low], particles=10**7, steps=100)
    with pytest.raises(InputError, match="resample: a share"):
        FilterSettings(resample=2.0)
    with pytest.raises(InputError, match="no feet"):
        feet_on_floor(found.means())


def test_targets_are_meant_to_the_noise_of_their_kind_and_weight() -> None:
    place = [0.0, 0.0, 0.0]
    assert constraint(Reach("Head", place, weight=4.0)).noise == pytest.approx(0.0025)
    assert (
        constraint(LookAt("Head", place)).full_step_error
        == Noisy(LookAt("Head", place)).full_step_error
        == 0.5
    )
    with pytest.raises(InputError, match="weight"):
        constraint(Reach("Head", place, weight=[1.0, 2.0]))
    with pytest.raises(InputError, match="Pin: not a constraint"):
        constraint(Pin("Head"))
    with pytest.raises(InputError, match="upright"):
        constraint(LookAt("Head", place, upright=True))
