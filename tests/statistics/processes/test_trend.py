"""Trends: what is drift, what repeats, and when nothing does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.io import container
from marey.statistics.processes.covariances import SquaredExponential
from marey.statistics.processes.process import draw
from marey.statistics.processes.trend import Trend, find_period


@settings(deadline=None, max_examples=12)
@given(st.floats(0.4, 2.0), st.floats(-1, 1), st.integers(0, 10))
def test_period_and_drift_are_found_in_noise(period, slope, seed):
    rng = np.random.default_rng(seed)
    seconds = np.arange(400) / 60
    phases = rng.uniform(0, 6, (3, 2))
    waves = sum(
        np.sin(2 * np.pi * (k + 1) * seconds[:, None] / period + phases[k]) / (k + 1) for k in range(3)
    )
    clip = waves + slope * seconds[:, None] + 0.05 * rng.normal(size=(400, 2))
    trend = Trend.fit(clip, 60.0)
    assert trend.period == pytest.approx(period, rel=0.01)
    assert np.sqrt(np.mean((trend.at(seconds) - waves - slope * seconds[:, None]) ** 2)) < 0.06


def test_stationary_noise_has_no_period():
    rng = np.random.default_rng(3)
    found = 0
    for length in (0.1, 0.3, 0.8):
        drawn = draw(SquaredExponential([1.0] * 3, length), 30.0, 200, draws=6, rng=rng)
        found += sum(find_period(series, 30.0) is not None for series in drawn)
    assert found <= 1


def test_a_walk_has_a_period_and_a_catch_has_none(data_dir):
    import marey
    from marey.body.pose_model import PoseModel

    for name, repeats in {"02_01": True, "91_62": True, "143_20": False, "143_23": False}.items():
        clip = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{name}.bvh", clean=True)
        period = find_period(PoseModel.fit([clip]).encode(clip), clip.frame_rate)
        assert (period is not None) == repeats, f"{name}: {period}"


def test_gaps_do_no_harm():
    seconds = np.arange(500) / 50
    clip = np.c_[np.sin(2 * np.pi * seconds), np.cos(2 * np.pi * seconds) + 0.2 * seconds]
    mask = np.ones((500, 2), bool)
    mask[100:160] = False
    mask[300:310, 1] = False
    trend = Trend.fit(np.where(mask, clip, np.nan), 50.0, mask=mask)
    assert np.abs(trend.at(seconds) - clip).max() < 1e-4


def test_the_cycle_goes_on_after_the_clip_and_the_drift_stays():
    seconds = np.arange(300) / 60
    trend = Trend.fit(np.sin(2 * np.pi * seconds) + seconds, 60.0, period=1.0)
    assert trend.at([7.25])[0, 0] == pytest.approx(1 + seconds[-1], abs=1e-6)


def test_a_trend_can_be_stored(tmp_path):
    seconds = np.arange(300) / 60
    for period in (None, 1.0):
        trend = Trend.fit(np.sin(2 * np.pi * seconds), 60.0, period=period)
        container.write(trend, tmp_path / "trend.mry")
        again = container.read(tmp_path / "trend.mry")
        assert again.period == period
        assert np.array_equal(again.at(seconds), trend.at(seconds))


@pytest.mark.parametrize("series", [np.zeros((1, 2)), np.full((9, 1), np.nan), np.zeros((3, 3, 3))])
def test_bad_series_are_refused(series):
    with pytest.raises(InputError):
        Trend.fit(series, 30.0)
