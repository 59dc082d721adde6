from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from marey.body import Motion, forward_kinematics
from marey.body.kinematics import end_positions, global_frames, sweep_in_numpy
from marey.body.motion import local_positions
from marey.errors import InputError
from marey.geometry import rotations as so3

from .trees import motions, random_motion


def homogeneous(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3] = so3.to_matrix(rotation)
    matrix[:3, 3] = translation
    return matrix


@given(motions)
@settings(max_examples=40)
def test_frames_are_the_products_of_homogeneous_matrices_along_the_chain(motion: Motion) -> None:
    pose = forward_kinematics(motion)
    local = local_positions(motion)
    for t in range(motion.frames):
        for joint in range(motion.joints):
            product = np.eye(4)
            for j in reversed(motion.skeleton.ancestors(joint)):
                product = product @ homogeneous(motion.rotations[t, j], local[t, j])
            got = homogeneous(pose.rotations[t, joint], pose.positions[t, joint])
            np.testing.assert_allclose(got, product, atol=1e-12, rtol=0)


@given(motions)
@settings(max_examples=30)
def test_bone_lengths_are_constant(motion: Motion) -> None:
    positions, parents = motion.positions(), motion.skeleton.parents[1:]
    bones = np.linalg.norm(positions[:, 1:] - positions[:, parents], axis=-1)
    np.testing.assert_allclose(bones, np.linalg.norm(local_positions(motion)[:, 1:], axis=-1), atol=1e-12)


@pytest.mark.parametrize("sliding", [False, True])
def test_the_kernel_gives_the_same_bits_as_numpy(sliding: bool) -> None:
    motion = random_motion(1, joints=31, frames=2000, sliding=sliding)
    offsets = motion.skeleton.offsets if motion.translations is None else motion.translations
    pytest.importorskip("numba")  # once it is loaded, clips of this size go through the kernel
    compiled = forward_kinematics(motion)
    twin = sweep_in_numpy(motion.skeleton.parents, offsets, motion.rotations, motion.root)
    np.testing.assert_array_equal(compiled.positions, twin.positions)
    np.testing.assert_array_equal(compiled.rotations, twin.rotations)


@pytest.mark.parametrize("leading", [(), (3,), (2, 5), (40, 100)])
def test_any_leading_shape_of_poses_works(leading: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    skeleton = random_motion(2, joints=20).skeleton
    rotations = so3.random((*leading, 20), rng=rng)
    root = rng.normal(size=(*leading, 3))
    pose = global_frames(skeleton.parents, skeleton.offsets, rotations, root)
    assert pose.positions.shape == (*leading, 20, 3)
    flat = sweep_in_numpy(
        skeleton.parents, skeleton.offsets, rotations.reshape(-1, 20, 4), root.reshape(-1, 3)
    )
    np.testing.assert_array_equal(pose.positions.reshape(-1, 20, 3), flat.positions)
    np.testing.assert_array_equal(pose.rotations.reshape(-1, 20, 4), flat.rotations)


def test_end_sites_ride_on_their_joints() -> None:
    motion = random_motion(3)
    pose = forward_kinematics(motion)
    ends = end_positions(motion)
    for e, joint in enumerate(motion.skeleton.end_parents):
        for t in range(motion.frames):
            frame = homogeneous(pose.rotations[t, joint], pose.positions[t, joint])
            expected = frame @ [*motion.skeleton.end_offsets[e], 1.0]
            np.testing.assert_allclose(ends[t, e], expected[:3], atol=1e-12)
    np.testing.assert_array_equal(motion.end_positions(), ends)


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(InputError, match=r"rotations: expected shape \(\.\.\., 2, 4\), got \(5, 3, 4\)"):
        global_frames([-1, 0], np.zeros((2, 3)), so3.identity((5, 3)), np.zeros((5, 3)))
    with pytest.raises(InputError, match=r"root: expected shape \(\.\.\., 3\), got \(5, 1\)"):
        global_frames([-1, 0], np.zeros((2, 3)), so3.identity((5, 2)), np.zeros((5, 1)))
    with pytest.raises(InputError, match=r"offsets: expected shape"):
        global_frames([-1, 0], np.zeros((3, 3)), so3.identity((5, 2)), np.zeros((5, 3)))


@pytest.mark.parametrize("parents", [[-1, 2, 0], [-1, 0, 9], [-1, -1, 0], [0, 0, 1]])
def test_trees_that_are_none_are_refused_before_anything_is_read(parents: list[int]) -> None:
    with pytest.raises(InputError, match="parents: joint"):
        global_frames(parents, np.zeros((3, 3)), so3.identity((5, 3)), np.zeros((5, 3)))


@given(motions)
@settings(max_examples=20)
def test_rest_positions_are_those_without_any_rotation(motion: Motion) -> None:
    skeleton = motion.skeleton
    still = global_frames(
        skeleton.parents, skeleton.offsets, so3.identity(skeleton.joints), skeleton.offsets[0]
    )
    np.testing.assert_allclose(skeleton.rest_positions(), still.positions, atol=1e-12)
