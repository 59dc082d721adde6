from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.body.kinematics import forward_kinematics
from marey.geometry import rotations as so3
from marey.geometry.rigid import Rigid
from tests.body.joint_frames import JointFrames, bone_frames, pull_back, push_forward
from tests.geometry import twists as rigid

from .trees import random_motion, random_skeleton

STEP = 1e-5
seeds = st.integers(0, 2**32 - 1)


def random_frames(rng: np.random.Generator, bones: int) -> JointFrames:
    in_parent = Rigid(so3.random(bones, rng=rng), rng.normal(size=(bones, 3)))
    in_bone = Rigid(so3.random(bones, rng=rng), rng.normal(size=(bones, 3)))
    return JointFrames(random_skeleton(rng, bones).parents, in_parent, in_bone)


@given(seeds)
@settings(max_examples=20)
def test_bones_framed_at_their_joints_are_plain_forward_kinematics(seed: int) -> None:
    motion = random_motion(seed, joints=7)
    pose = forward_kinematics(motion)
    frames = bone_frames(JointFrames.of(motion.skeleton), motion.rotations, motion.root)
    np.testing.assert_allclose(frames.translation, pose.positions, atol=1e-12)
    np.testing.assert_allclose(frames.rotation, pose.rotations, atol=1e-12)


@given(seeds)
@settings(max_examples=20)
def test_the_two_bones_of_a_joint_meet_in_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames = random_frames(rng, 6)
    world = bone_frames(frames, so3.random((3, 6), rng=rng), rng.normal(size=(3, 3)))
    for bone in range(1, 6):
        parent = frames.parents[bone]
        from_parent = rigid.apply(
            Rigid(world.rotation[:, parent], world.translation[:, parent]), frames.in_parent.translation[bone]
        )
        from_bone = rigid.apply(
            Rigid(world.rotation[:, bone], world.translation[:, bone]), frames.in_bone.translation[bone]
        )
        np.testing.assert_allclose(from_parent, from_bone, atol=1e-12)


@given(seeds)
@settings(max_examples=20)
def test_body_twists_are_the_derivative_of_the_bone_frames(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames, rotations, root = random_frames(rng, 6), so3.random((2, 6), rng=rng), rng.normal(size=(2, 3))
    omega, root_twist = rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 6))

    def moved(step: float) -> Rigid:
        turned = so3.multiply(rotations, so3.exp(step * omega))
        base = rigid.compose(Rigid(rotations[:, 0], root), rigid.exp(step * root_twist))
        turned[:, 0] = base.rotation
        return bone_frames(frames, turned, base.translation)

    slope = rigid.log(rigid.compose(rigid.inverse(moved(-STEP)), moved(STEP))) / (2 * STEP)
    np.testing.assert_allclose(push_forward(frames, rotations, omega, root_twist), slope, atol=1e-7)


@given(seeds)
@settings(max_examples=20)
def test_wrenches_pull_back_as_the_transpose(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames, rotations = random_frames(rng, 6), so3.random((2, 6), rng=rng)
    omega, root_twist = rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 6))
    omega[:, 0] = 0.0
    wrenches = rng.normal(size=(2, 6, 6))
    twists = push_forward(frames, rotations, omega, root_twist)
    torques, base = pull_back(frames, rotations, wrenches)
    power = (twists * wrenches).sum()
    scale = np.linalg.norm(twists) * np.linalg.norm(wrenches)
    assert abs(power - (torques * omega).sum() - (base * root_twist).sum()) < 1e-12 * scale
