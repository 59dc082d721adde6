"""Masses, priorities and which way figures face."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body import Skeleton
from marey.body.ik import PointMasses
from marey.body.ik.hierarchy import hierarchical_step
from marey.body.ik.targets import forward_axis


def test_masses_follow_the_segment_table() -> None:
    skeleton = marey.samples.walk().skeleton
    body = PointMasses.of(skeleton)
    mass = dict(zip(skeleton.names, body.masses))
    assert mass["LeftUpLeg"] == pytest.approx(0.1416) and mass["LeftLeg"] == pytest.approx(0.0433)
    assert mass["RightArm"] == pytest.approx(0.0271) and mass["RightHand"] == pytest.approx(0.0061)
    assert mass["Head"] == pytest.approx(0.0694) and mass["LeftThumb"] == 0
    np.testing.assert_allclose(
        body.points[skeleton.index("LeftLeg")], skeleton.offsets[skeleton.index("LeftFoot")] / 2
    )


def test_a_skeleton_whose_names_say_nothing_has_mass_along_its_bones() -> None:
    body = PointMasses.of(Skeleton(("p", "q", "r"), [-1, 0, 1], [[0, 0, 0], [0, 1, 0], [0, 3, 0]]))
    np.testing.assert_allclose(body.masses, [0.25, 0.75, 0])
    alone = PointMasses.of(Skeleton(("p",), [-1], [[0, 0, 0]]))
    assert alone.masses.tolist() == [1.0]


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_secondary_targets_leave_the_first_unchanged_to_first_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (
        (rng.normal(size=3), rng.normal(size=(3, 10))),
        (rng.normal(size=6), rng.normal(size=(6, 10))),
    )
    scale = rng.uniform(0.5, 2, size=10)
    alone = hierarchical_step([first], 1e-3, scale)
    both = hierarchical_step([first, second], 1e-3, scale)
    np.testing.assert_allclose(first[1] @ both, first[1] @ alone, atol=1e-9)
    assert (
        np.linalg.norm(second[0] - second[1] @ both) <= np.linalg.norm(second[0] - second[1] @ alone) + 1e-9
    )


def test_a_third_level_has_what_is_left() -> None:
    eye = np.eye(4)
    levels = [(np.array([1.0]), eye[:1]), (np.array([2.0, 9.0]), eye[[1, 0]]), (np.full(4, 5.0), eye)]
    np.testing.assert_allclose(hierarchical_step(levels, 1e-12, np.ones(4)), [1, 2, 5, 5], atol=1e-6)


def test_which_way_a_figure_faces() -> None:
    offsets = np.array([[0, 0, 0], [0, 0, 1.0], [0, 0, -1.0]])
    turned = Skeleton(("hips", "l_leg", "r_leg"), [-1, 0, 0], offsets)
    np.testing.assert_allclose(forward_axis(turned), [-1, 0, 0], atol=1e-12)
    for pair in (("calf_l", "calf_r"), ("LowerLeg_L", "LowerLeg_R"), ("clavicle.R", "clavicle.L")):
        ahead = forward_axis(Skeleton(("pelvis", *pair), [-1, 0, 0], offsets))
        np.testing.assert_allclose(ahead, [1, 0, 0] if pair[0].endswith("R") else [-1, 0, 0], atol=1e-12)
    unknown = Skeleton(("a", "b", "c"), [-1, 0, 0], offsets)
    np.testing.assert_allclose(forward_axis(unknown), [0, 0, 1])
