"""End effectors: found by name, or by the shape of the tree."""

from __future__ import annotations

import numpy as np

import marey
from marey.body import Skeleton
from marey.body.anatomy import end_effectors


def test_end_effectors_are_found_by_name() -> None:
    ends = end_effectors(marey.samples.walk().skeleton)
    assert [end.part for end in ends] == ["head", "hand", "hand", "foot", "foot"]


def test_end_effectors_of_a_nameless_figure_are_its_limb_tips() -> None:
    # Five limbs of two bones; one of them forks into two close fingers.
    parents = [-1, 0, 1, 0, 3, 0, 5, 0, 7, 0, 9, 10, 10]
    rng = np.random.default_rng(0)
    offsets = rng.normal(size=(13, 3))
    offsets[11:] *= 0.01
    ends = end_effectors(Skeleton(tuple(f"j{i}" for i in range(13)), parents, offsets))
    assert len(ends) == 5
    assert len({end.joint for end in ends} & {11, 12}) == 1
