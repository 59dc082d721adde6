from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.geometry import resampling


@given(frames=st.integers(1, 400), rate_in=st.floats(1, 500), rate_out=st.floats(1, 500))
@settings(max_examples=200)
def test_positions_start_at_the_first_frame_step_evenly_and_stay_inside(
    frames: int, rate_in: float, rate_out: float
) -> None:
    positions = resampling.sample_positions(frames, rate_in, rate_out)
    assert positions[0] == 0
    assert positions[-1] <= frames - 1
    assert frames - 1 - positions[-1] < rate_in / rate_out + 1e-6
    np.testing.assert_allclose(np.diff(positions), rate_in / rate_out, atol=3e-6, rtol=1e-9)


def test_the_same_rate_gives_every_frame_exactly() -> None:
    for rate in (30.0, 1 / 0.0083333, 29.97, 60000 / 1001):
        np.testing.assert_array_equal(resampling.sample_positions(1000, rate, rate), np.arange(1000))


def test_linear_copies_whole_positions_bit_by_bit() -> None:
    values = np.random.default_rng(0).normal(size=(7, 5, 3))
    order = [3.0, 0.0, 6.0, 6.0]
    np.testing.assert_array_equal(resampling.linear(values, order), values[[3, 0, 6, 6]])


def test_a_gap_does_not_spread_to_the_whole_frames_beside_it() -> None:
    sampled = resampling.linear([0.0, np.nan, 2.0], [0.0, 0.5, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(sampled, [0.0, np.nan, np.nan, np.nan, 2.0])


def test_linear_reproduces_straight_lines_and_keeps_float32() -> None:
    values = np.arange(10, dtype=np.float32)[:, None] * np.array([1, -2, 4], dtype=np.float32)
    positions = np.array([0.25, 3.5, 8.75])
    got = resampling.linear(values, positions)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, positions[:, None] * [1, -2, 4], rtol=1e-6)


def test_linear_leaves_its_input_alone() -> None:
    values = np.arange(6.0).reshape(3, 2)
    values.flags.writeable = False
    resampling.linear(values, [0.5, 1.5])
    np.testing.assert_array_equal(values, np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("positions", [[-0.1], [2.1], [np.nan], [[0.0]]])
def test_positions_outside_the_clip_are_refused(positions: list[float]) -> None:
    with pytest.raises(InputError, match="positions"):
        resampling.linear(np.zeros((3, 2)), positions)


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_impossible_rates_are_refused(rate: float) -> None:
    with pytest.raises(InputError, match="frame rate"):
        resampling.sample_positions(10, 30.0, rate)


def test_a_rate_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(InputError, match="frames; at most"):
        resampling.sample_positions(1000, 30.0, 1e12)
