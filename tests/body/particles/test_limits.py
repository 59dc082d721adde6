"""Joint limits hold, whatever the particles do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.particles import (
    PoseBatch,
    RandomWalk,
    SwingTwistLimits,
    as_seen,
    body_chain,
    hand_chain,
    human_chain,
)
from marey.body.particles.chains import frame_of
from marey.geometry import rotations as so3

CHAINS = (hand_chain(), body_chain())


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.floats(0.01, 2.0), st.sampled_from(CHAINS))
def test_no_step_however_large_leaves_the_limits(seed: int, size: float, chain: object) -> None:
    rng = np.random.default_rng(seed)
    joints = chain.skeleton.joints
    poses = PoseBatch(
        chain.skeleton, chain.limits.clamp(so3.random((20, joints), rng=rng)), np.zeros((20, 3))
    )
    law = RandomWalk(chain, deviation=size)
    for _ in range(3):
        poses = law.advance(poses, 1.0, rng)
        assert chain.limits.excess(poses.rotations).max() < 1e-9
    drive = 3 * rng.standard_normal((20, law.freedoms))
    for bounce in (True, False):
        moved, _ = law.move(poses, drive, 1.0, bounce=bounce)
        assert chain.limits.excess(moved.rotations).max() < 1e-9
        np.testing.assert_allclose(np.linalg.norm(moved.rotations, axis=-1), 1.0, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_clamping_leaves_what_is_inside_and_brings_in_the_rest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    limits = CHAINS[0].limits
    anywhere = so3.random((30, 17), rng=rng)
    inside = limits.clamp(anywhere)
    assert limits.excess(inside).max() < 1e-9
    np.testing.assert_allclose(limits.clamp(inside), inside, atol=1e-9)


def test_twist_and_swing_are_those_of_the_decomposition() -> None:
    axis = np.array([0.0, 0.6, 0.8])
    frame = frame_of(axis, [1.0, 0.0, 0.0])
    limits = SwingTwistLimits.free(1).with_joint(
        0, twist=(-3, 3), swing=((3, 3), (3, 3)), frame=frame, centre=so3.exp([0.1, 0.2, 0.3])
    )
    q = so3.multiply(so3.exp([0.1, 0.2, 0.3]), so3.exp([0.4, -0.3, 0.5]))
    swing, twist = so3.swing_twist(so3.exp([0.4, -0.3, 0.5]), axis)
    twisted, first, second = limits.parts(q[None])[0]
    np.testing.assert_allclose(twisted, so3.log(twist) @ axis, atol=1e-12)
    local = so3.rotate(so3.inverse(frame), so3.log(swing))
    np.testing.assert_allclose([0.0, first, second], local, atol=1e-12)


def test_a_swing_may_reach_farther_to_one_side() -> None:
    limits = SwingTwistLimits.free(1).with_joint(0, twist=(-1, 1), swing=((0.2, 1.0), (0.5, 0.5)))
    assert limits.excess(so3.exp([[0.0, 0.9, 0.0]])) < 0
    np.testing.assert_allclose(limits.excess(so3.exp([[0.0, -0.9, 0.0]])), 0.7, atol=1e-9)


def test_limits_can_be_widened_to_hold_given_poses() -> None:
    limits = CHAINS[0].limits
    poses = so3.exp(0.8 * np.random.default_rng(0).standard_normal((50, 17, 3)))
    assert limits.excess(poses).max() > 0
    wider = limits.containing(poses)
    assert wider.excess(poses).max() <= 0
    assert (wider.swings >= limits.swings).all()


def test_steps_that_are_refused_are_drawn_again_without_bias_inside() -> None:
    """Far from its limits a hinge strays evenly to both sides; at a limit only inwards."""
    chain = hand_chain()
    index = chain.skeleton.index("Index2")
    start = so3.identity((4000, 17))
    axis = so3.rotate(chain.noise.frames[index], [1.0, 0.0, 0.0])
    start[:, index] = so3.exp(0.9 * axis)
    still = PoseBatch(chain.skeleton, start, np.zeros((4000, 3)))
    moved = RandomWalk(chain, 0.1).advance(still, 1.0, np.random.default_rng(0))
    angles = chain.limits.parts(moved.rotations)[:, index, 0]
    assert abs(angles.mean() - 0.9) < 0.006 and abs(angles.std() - 0.1) < 0.005
    start[:, index] = so3.identity()
    moved = RandomWalk(chain, 0.1).advance(still, 1.0, np.random.default_rng(0))
    angles = chain.limits.parts(moved.rotations)[:, index, 0]
    assert angles.min() >= 0 and abs(angles.mean() - 0.1 * np.sqrt(2 / np.pi)) < 0.005


def test_a_clip_in_which_nothing_turns_makes_no_joint_stiff() -> None:
    walk = marey.samples.walk(1)
    free = human_chain(walk.skeleton)
    still = replace(walk, rotations=np.repeat(walk.rotations[:1], walk.frames, axis=0))
    assert as_seen(free, still).freedoms == free.freedoms >= as_seen(free, walk).freedoms
