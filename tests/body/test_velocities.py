from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.body import GlobalPose, Motion, forward_kinematics
from marey.body.kinematics import global_frames, pull_back, push_forward
from marey.errors import InputError
from marey.geometry import rotations as so3

from .jacobians import orientation_jacobian, position_jacobian
from .trees import motions, random_motion

STEP = 1e-5


def moved(motion: Motion, omega: np.ndarray, velocity: np.ndarray, step: float) -> GlobalPose:
    return global_frames(
        motion.skeleton.parents,
        motion.skeleton.offsets,
        so3.multiply(motion.rotations, so3.exp(step * omega)),
        motion.root + step * velocity,
        translations=motion.translations,
    )


@given(motions, st.integers(0, 1000))
@settings(max_examples=30)
def test_push_forward_is_the_derivative_of_forward_kinematics(motion: Motion, seed: int) -> None:
    rng = np.random.default_rng(seed)
    omega, velocity = rng.normal(size=(motion.frames, motion.joints, 3)), rng.normal(size=(motion.frames, 3))
    after, before = moved(motion, omega, velocity, STEP), moved(motion, omega, velocity, -STEP)
    linear = (after.positions - before.positions) / (2 * STEP)
    turn = so3.log(so3.multiply(after.rotations, so3.inverse(before.rotations))) / (2 * STEP)
    got = push_forward(motion.skeleton.parents, forward_kinematics(motion), omega, velocity)
    # The third derivative a central difference leaves behind grows with the depth of the tree.
    np.testing.assert_allclose(got.linear, linear, atol=3e-8, rtol=0)
    np.testing.assert_allclose(got.angular, turn, atol=3e-8, rtol=0)


@given(motions, st.integers(0, 1000))
@settings(max_examples=30)
def test_pull_back_is_the_transpose_of_push_forward(motion: Motion, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents, pose = motion.skeleton.parents, forward_kinematics(motion)
    omega, forces, torques = rng.normal(size=(3, motion.frames, motion.joints, 3))
    velocity = rng.normal(size=(motion.frames, 3))
    moving = push_forward(parents, pose, omega, velocity)
    felt = pull_back(parents, pose, forces, torques)
    world = (moving.linear * forces).sum() + (moving.angular * torques).sum()
    joints = (felt.joints * omega).sum() + (felt.root * velocity).sum()
    scale = np.linalg.norm(moving.linear) * np.linalg.norm(forces) + 1
    assert abs(world - joints) < 1e-12 * scale


@given(motions, st.integers(0, 1000))
@settings(max_examples=30)
def test_jacobians_times_velocities_are_the_push_forward(motion: Motion, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents, pose = motion.skeleton.parents, forward_kinematics(motion)
    omega, velocity = rng.normal(size=(motion.frames, motion.joints, 3)), rng.normal(size=(motion.frames, 3))
    stacked = np.concatenate([omega.reshape(motion.frames, -1), velocity], axis=-1)[..., None]
    moving = push_forward(parents, pose, omega, velocity)
    for joint in range(motion.joints):
        position = position_jacobian(parents, pose, joint) @ stacked
        orientation = orientation_jacobian(parents, pose, joint) @ stacked
        np.testing.assert_allclose(position[..., 0], moving.linear[:, joint], atol=1e-11)
        np.testing.assert_allclose(orientation[..., 0], moving.angular[:, joint], atol=1e-11)


def test_the_jacobian_of_a_point_off_the_joint_is_its_derivative() -> None:
    motion = random_motion(5, joints=8, frames=3)
    rng = np.random.default_rng(5)
    carrier, local = 7, rng.normal(size=3)

    def point(pose: GlobalPose) -> np.ndarray:
        return pose.positions[:, carrier] + so3.rotate(pose.rotations[:, carrier], local)

    pose = forward_kinematics(motion)
    jacobian = position_jacobian(motion.skeleton.parents, pose, carrier, point=point(pose))
    assert jacobian.shape == (3, 3, 27)
    for column in range(27):
        unit = np.zeros(27)
        unit[column] = 1.0
        omega, velocity = np.broadcast_to(unit[:24].reshape(8, 3), (3, 8, 3)), unit[24:]
        after, before = moved(motion, omega, velocity, STEP), moved(motion, omega, velocity, -STEP)
        slope = (point(after) - point(before)) / (2 * STEP)
        np.testing.assert_allclose(jacobian[..., column], slope, atol=1e-9, rtol=0)


def test_a_force_on_the_hand_is_felt_along_the_arm_and_nowhere_else() -> None:
    parents = [-1, 0, 1, 0]
    pose = global_frames(parents, [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0]], so3.identity(4), np.zeros(3))
    forces = np.zeros((4, 3))
    forces[2] = [0, -10, 0]
    felt = pull_back(parents, pose, forces)
    np.testing.assert_allclose(felt.joints, [[0, 0, -20], [0, 0, -10], [0, 0, 0], [0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(felt.root, [0, -10, 0])


def test_there_is_no_jacobian_of_a_joint_counted_from_the_end() -> None:
    motion = random_motion(0)
    parents, pose = motion.skeleton.parents, forward_kinematics(motion)
    for jacobian in (position_jacobian, orientation_jacobian):
        with pytest.raises(InputError, match="joint -1"):
            jacobian(parents, pose, -1)
