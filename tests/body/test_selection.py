from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.body import Motion, Skeleton, forward_kinematics
from marey.errors import InputError
from marey.geometry import rotations as so3

from .trees import motions, random_motion


@given(motions, st.data())
@settings(max_examples=50)
def test_picked_joints_move_in_the_world_as_before(motion: Motion, data: st.DataObject) -> None:
    top = data.draw(st.integers(0, motion.joints - 1))
    below = motion.skeleton.descendants(top)
    kept = sorted({top, *data.draw(st.sets(st.sampled_from(below)))})
    names = [motion.skeleton.names[j] for j in kept]
    small, before = motion.pick(names[::-1]), forward_kinematics(motion)
    after = forward_kinematics(small)
    assert small.skeleton.names == tuple(names)
    np.testing.assert_allclose(after.positions, before.positions[:, kept], atol=1e-11)
    np.testing.assert_allclose(so3.distance(after.rotations, before.rotations[:, kept]), 0, atol=1e-11)


def test_a_skeleton_cut_at_the_leaves_does_not_slide() -> None:
    motion = random_motion(1, joints=10)
    leaf = next(j for j in range(10) if not motion.skeleton.children(j))
    small = motion.without([motion.skeleton.names[leaf]])
    assert small.joints == 9
    assert small.translations is None
    kept = [j for j in range(10) if j != leaf]
    np.testing.assert_array_equal(small.rotations, motion.rotations[:, kept])


def test_removing_a_moving_joint_in_between_makes_the_next_one_slide() -> None:
    chain = Skeleton(("hip", "knee", "foot"), [-1, 0, 1], [[0, 0, 0], [0, -0.4, 0], [0, -0.5, 0]])
    motion = Motion(chain, so3.random((5, 3), rng=0), np.zeros((5, 3)), 30.0)
    small = motion.pick(["hip", "foot"])
    assert small.translations is not None
    np.testing.assert_allclose(small.skeleton.offsets[1], [0, -0.9, 0])
    still = replace(motion, rotations=np.broadcast_to(motion.rotations[:1], (5, 3, 4)))
    stiff = still.pick(["hip", "foot"])
    assert stiff.translations is None
    np.testing.assert_allclose(stiff.positions()[:, 1], still.positions()[:, 2], atol=1e-12)


def test_dropping_a_joint_drops_all_below_and_marks_the_cut() -> None:
    hand = Skeleton(
        ("forearm", "hand", "thumb", "index", "tip"),
        [-1, 0, 1, 1, 3],
        [[0, 0, 0], [0.25, 0, 0], [0.05, 0, 0.05], [0.1, 0, 0], [0.03, 0, 0]],
        [2, 4],
        [[0.04, 0, 0], [0.02, 0, 0]],
    )
    motion = Motion(hand, so3.random((2, 5), rng=1), np.zeros((2, 3)), 30.0)
    small = motion.without(["thumb", "index"])
    assert small.skeleton.names == ("forearm", "hand")
    assert small.skeleton.end_parents.tolist() == [1]
    np.testing.assert_allclose(small.skeleton.end_offsets, [[0.075, 0, 0.025]])
    finger = motion.subtree("index")
    assert finger.skeleton.names == ("index", "tip")
    np.testing.assert_allclose(finger.end_positions()[:, 0], motion.end_positions()[:, 1], atol=1e-12)


def test_channels_follow_the_joints_until_they_no_longer_fit() -> None:
    motion = random_motion(2, joints=5, frames=3)
    channels = tuple(("Zrotation", "Yrotation", f"X{j}") for j in range(5))
    motion = replace(motion, channels=channels)
    names = motion.skeleton.names
    assert motion.pick(names).channels == channels
    assert motion.subtree(names[4]).channels is None


def test_joints_without_a_common_top_are_refused_with_advice() -> None:
    skeleton = Skeleton(("hips", "spine", "left", "right"), [-1, 0, 1, 1], np.ones((4, 3)))
    motion = Motion(skeleton, so3.identity((1, 4)), [[0, 0, 0]], 30.0)
    with pytest.raises(
        InputError, match="'left' and 'right' have no kept joint above both; keep 'spine' too"
    ):
        motion.pick(["left", "right"])
    with pytest.raises(InputError, match="no joint is left"):
        motion.without(["hips"])
    with pytest.raises(InputError, match="did you mean spine"):
        motion.pick(["spin"])
