"""Smooth time through a staircase."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.statistics.graphs.transitions import Transition, smooth_path, standard, warped
from tests.statistics.graphs.plain import random_matrix


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 40), st.integers(3, 40), st.integers(2, 5))
def test_time_never_stops_and_stays_near_the_staircase(
    seed: int, rows: int, columns: int, slope: int
) -> None:
    if max(rows, columns) - 1 > slope * (min(rows, columns) - 1):
        return
    distances = random_matrix(np.random.default_rng(seed), [0, rows, rows + columns])
    found = warped(distances, 0, rows + columns - 1, rows, columns, slope=slope)
    times = smooth_path(found)
    assert times.shape == found.path.shape
    assert np.array_equal(times[[0, -1]], found.path[[0, -1]])
    assert (np.diff(times, axis=0) > 0.02).all()
    assert np.abs(times - found.path).max() < slope / 2


def test_blending_in_step_keeps_its_time() -> None:
    distances = random_matrix(np.random.default_rng(0), [0, 9, 18])
    in_step = standard(distances, 1, 16, 6)
    assert np.array_equal(smooth_path(in_step), in_step.path)


@pytest.mark.parametrize("path", [[[4, 9]], [[4, 9], [5, 10]], [[4, 9], [4, 10], [4, 11]]])
def test_the_shortest_transitions_are_left_as_they_are(path: list[list[int]]) -> None:
    assert smooth_path(Transition(np.array(path), 0.0)).tolist() == path
