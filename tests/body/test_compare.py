"""Measures of distortion against hand-made cases and plain formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marey
from marey.body import Motion, Skeleton
from marey.body.compare import joint_error, joint_errors, relative_distortion
from marey.body.kinematics import points_on
from marey.errors import InputError
from marey.geometry import rotations as so3
from tests.body.trees import random_motion


def nudged(motion: Motion, seed: int, size: float) -> Motion:
    rng = np.random.default_rng(seed)
    turns = so3.exp(size * rng.normal(size=(motion.frames, motion.joints, 3)))
    shift = size * rng.normal(size=(motion.frames, 3))
    return replace(
        motion, rotations=so3.multiply(motion.rotations, turns), root=motion.root + shift, translations=None
    )


def test_distortion_is_the_printed_formula() -> None:
    motion = random_motion(0, joints=5, frames=40)
    other = nudged(motion, 1, 0.1)
    a, b = motion.positions().reshape(40, -1), other.positions().reshape(40, -1)
    expected = 100 * np.linalg.norm(a - b) / np.linalg.norm(a - a.mean(axis=0))
    found = relative_distortion(motion, other)
    assert found.frobenius == pytest.approx(expected, rel=1e-12)
    assert found.squared == pytest.approx(expected**2 / 100, rel=1e-12)


def test_distortion_keeps_its_digits_far_from_the_origin() -> None:
    motion = random_motion(0, joints=5, frames=40)
    other = nudged(motion, 1, 0.1)
    far = [1e5, 0.0, -1e5]
    moved = relative_distortion(motion.transform(translation=far), other.transform(translation=far))
    assert moved.frobenius == pytest.approx(relative_distortion(motion, other).frobenius, rel=1e-6)


def test_a_still_clip_is_not_divided_by_zero() -> None:
    still = Motion(Skeleton(("hips",), [-1], [[0, 0, 0]]), [[[1, 0, 0, 0]]] * 3, [[0, 1, 0]] * 3, 30)
    assert relative_distortion(still, still) == (0.0, 0.0)
    assert relative_distortion(still, still.transform(translation=[1.0, 0.0, 0.0])).frobenius == np.inf


def test_joint_error_counts_end_sites() -> None:
    arm = Skeleton(("shoulder",), [-1], [[0, 0, 0]], [0], [[0.3, 0, 0]])
    rest = Motion(arm, [[[1, 0, 0, 0]]], [[0, 0, 0]], 30)
    turned = replace(rest, rotations=[[so3.exp([0, 0, np.pi])]])
    assert joint_errors(rest, turned)[0] == pytest.approx([0.0, 0.6])
    error = joint_error(rest, turned, threshold=0.1)
    assert (error.mean, error.maximum, error.share_within) == pytest.approx((0.3, 0.6, 0.5))


@given(st.integers(0, 10_000))
def test_no_point_of_the_shell_is_off_by_more_than_the_bound(seed: int) -> None:
    motion = random_motion(seed, joints=5, frames=3)
    other = nudged(motion, seed, 0.3)
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(5, 3))
    points = 0.03 * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    joints = np.arange(5)
    a = points_on(motion.forward_kinematics(), joints, points)
    b = points_on(other.forward_kinematics(), joints, points)
    assert (np.linalg.norm(a - b, axis=-1) <= joint_errors(motion, other, shell=0.03)[:, :5] + 1e-12).all()


def test_shell_bound_is_tight_for_a_pure_turn() -> None:
    arm = Skeleton(("shoulder",), [-1], [[0, 0, 0]])
    rest = Motion(arm, [[[1, 0, 0, 0]]], [[0, 0, 0]], 30)
    turned = replace(rest, rotations=[[so3.exp([0, 0, 1e-7])]])
    assert joint_errors(rest, turned, shell=0.5)[0, 0] == pytest.approx(0.5e-7, rel=1e-9)


def test_clips_of_different_length_are_not_compared() -> None:
    walk = marey.samples.walk()
    with pytest.raises(InputError, match="frames"):
        joint_error(walk, walk[:-1])
