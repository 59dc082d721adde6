from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.body import GlobalPose, Motion, forward_kinematics
from marey.body.kinematics import global_frames
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
def test_jacobians_times_velocities_are_the_derivative_of_forward_kinematics(
    motion: Motion, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    parents, pose = motion.skeleton.parents, forward_kinematics(motion)
    omega, velocity = rng.normal(size=(motion.frames, motion.joints, 3)), rng.normal(size=(motion.frames, 3))
    after, before = moved(motion, omega, velocity, STEP), moved(motion, omega, velocity, -STEP)
    linear = (after.positions - before.positions) / (2 * STEP)
    turn = so3.log(so3.multiply(after.rotations, so3.inverse(before.rotations))) / (2 * STEP)
    stacked = np.concatenate([omega.reshape(motion.frames, -1), velocity], axis=-1)[..., None]
    for joint in range(motion.joints):
        position = position_jacobian(parents, pose, joint) @ stacked
        orientation = orientation_jacobian(parents, pose, joint) @ stacked
        # The third derivative a central difference leaves behind grows with the depth of the tree.
        np.testing.assert_allclose(position[..., 0], linear[:, joint], atol=3e-8, rtol=0)
        np.testing.assert_allclose(orientation[..., 0], turn[:, joint], atol=3e-8, rtol=0)


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


def test_there_is_no_jacobian_of_a_joint_counted_from_the_end() -> None:
    motion = random_motion(0)
    parents, pose = motion.skeleton.parents, forward_kinematics(motion)
    for jacobian in (position_jacobian, orientation_jacobian):
        with pytest.raises(InputError, match="joint -1"):
            jacobian(parents, pose, -1)
