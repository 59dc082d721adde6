"""Joint limits hold, whatever the particles do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.particles import ArticulatedChain, PoseBatch, RandomWalk, hand_chain
from marey.geometry import rotations as so3
from tests.body.particles.tasks import body_chain

CHAINS = (hand_chain(), body_chain())


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.floats(0.01, 2.0), st.sampled_from(CHAINS))
def test_no_step_however_large_leaves_the_limits(seed: int, size: float, chain: object) -> None:
    rng = np.random.default_rng(seed)
    joints = chain.skeleton.joints
    poses = PoseBatch(
        chain.skeleton, chain.limits.project(so3.random((20, joints), rng=rng)), np.zeros((20, 3))
    )
    walk = RandomWalk(chain, deviation=size)
    for _ in range(3):
        poses = walk.advance(poses, 1.0, rng)
        assert chain.limits.excess(poses.rotations).max() < 1e-9
    drive = 3 * rng.standard_normal((20, walk.freedoms))
    for reflect in (True, False):
        moved, _ = walk.move(poses, drive, 1.0, reflect=reflect)
        assert chain.limits.excess(moved.rotations).max() < 1e-9
        np.testing.assert_allclose(np.linalg.norm(moved.rotations, axis=-1), 1.0, atol=1e-9)


def test_steps_that_are_refused_are_drawn_again_without_bias_inside() -> None:
    """Far from its limits a hinge strays evenly to both sides; at a limit only inwards."""
    chain = hand_chain()
    index = chain.skeleton.index("Index2")
    start = so3.identity((4000, 17))
    axis = so3.rotate(chain.limits.frames[index], [1.0, 0.0, 0.0])
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
    free = ArticulatedChain.human(walk.skeleton)
    still = replace(walk, rotations=np.repeat(walk.rotations[:1], walk.frames, axis=0))
    assert free.widened_to(still).freedoms == free.freedoms >= free.widened_to(walk).freedoms
