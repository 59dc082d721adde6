"""Steps by priority."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.body.ik.hierarchy import hierarchical_step


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
