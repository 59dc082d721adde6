"""Lever arms and the kinetic metric: against hand counts, and against the displacements they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.body import Skeleton
from marey.body.kinematics import global_frames
from marey.body.pose_metric import SPREAD, kinetic_matrix, lever_weights
from marey.geometry import rotations as so3

from .trees import random_skeleton

ARM = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 0, 0], [0.3, 0, 0]], [1], [[0.2, 0, 0]])


def test_lever_arms_by_hand():
    bent = so3.exp([[[0, 0, 0], [0, 0, np.pi / 2]]])
    expected = np.array([0.3**2 + 0.3**2 + 0.2**2, 0.2**2])
    assert lever_weights(ARM, bent) == pytest.approx(expected / expected.max())


def test_a_joint_that_carries_nothing_keeps_a_small_weight():
    stick = Skeleton(("a", "b"), [-1, 0], [[0, 0, 0], [1, 0, 0]])
    assert lever_weights(stick, so3.identity((1, 2))).tolist() == [1.0, 1e-6]


def test_a_skeleton_without_extent_weighs_all_joints_alike():
    point = Skeleton(("a", "b"), [-1, 0], np.zeros((2, 3)))
    assert lever_weights(point, so3.identity((1, 2))).tolist() == [1.0, 1.0]
    assert kinetic_matrix(point, so3.identity(2), so3.identity((1, 2))) == pytest.approx(np.eye(6), abs=1e-5)


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_kinetic_energy_is_the_squared_displacement_of_masses(seed):
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, 6)
    mean = so3.random(6, rng=rng)
    logs = 0.5 * rng.standard_normal((6, 3))
    pose = so3.multiply(mean, so3.exp(logs))
    matrix = kinetic_matrix(skeleton, mean, pose[None])
    change = rng.standard_normal(18)

    def points(step):
        turned = so3.multiply(mean, so3.exp(logs + step * change.reshape(6, 3)))
        frames = global_frames(skeleton.parents, skeleton.offsets, turned, np.zeros(3))
        ends = frames.positions[skeleton.end_parents] + so3.rotate(
            frames.rotations[skeleton.end_parents], skeleton.end_offsets
        )
        return np.concatenate([frames.positions, ends]), frames.rotations

    ahead, behind = points(1e-5), points(-1e-5)
    moved = (ahead[0] - behind[0]) / 2e-5
    turned = so3.log(so3.multiply(ahead[1], so3.inverse(behind[1]))) / 2e-5
    here = points(0.0)[0]
    reach = np.linalg.norm(here - here[0], axis=1).max()
    energy = (moved**2).sum() + ((SPREAD * reach * turned) ** 2).sum()
    # The matrix is scaled; so compare with the same of another change.
    other = np.zeros(18)
    other[0] = 1.0
    unit = (matrix - 1e-6 * np.eye(18))[0, 0]
    change_before, change = change, other
    ahead, behind = points(1e-5), points(-1e-5)
    moved = (ahead[0] - behind[0]) / 2e-5
    turned = so3.log(so3.multiply(ahead[1], so3.inverse(behind[1]))) / 2e-5
    unit_energy = (moved**2).sum()
    unit_energy += ((SPREAD * reach * turned) ** 2).sum()
    found = change_before @ (matrix - 1e-6 * np.eye(18)) @ change_before
    assert found / unit == pytest.approx(energy / unit_energy, rel=1e-5)


def test_turning_about_a_bone_still_costs_something():
    matrix = kinetic_matrix(ARM, so3.identity(2), so3.identity((1, 2)))
    assert 1e-3 < matrix[3, 3] < 0.1
