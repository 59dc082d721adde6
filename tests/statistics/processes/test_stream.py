"""Streams: the same as the batch, stationary, of constant memory, and fit for late constraints."""

from __future__ import annotations

import numpy as np
import pytest

from marey.errors import InputError
from marey.statistics.processes.covariances import Matern12, Matern52, SquaredExponential
from marey.statistics.processes.stream import Stream
from marey.statistics.processes.trend import Trend
from tests.statistics.processes import dense

FRAME_RATE = 30.0
CONSTRAINTS = {60: 1.0, 100: -1.0, 110: 0.5, 120: 1.2, 300: 2.0, 420: -0.7}
KERNELS = {
    "squared-exponential": SquaredExponential(1.0, 1 / 3),
    "matern52": Matern52(1.0, 1 / 3),
    "matern12": Matern12(1.0, 1 / 3),
}


def stream(covariance, *, seed=0, draws=1, trend=None):
    trend = dense.level(covariance.components) if trend is None else trend
    return Stream(covariance, trend, FRAME_RATE, rng=np.random.default_rng(seed), draws=draws)


def batch(covariance, path, constraints):
    at = np.array(list(constraints))
    frames = np.arange(len(path)) / FRAME_RATE
    missed = np.array(list(constraints.values())) - path[at]
    cross = dense.matrix(covariance, frames, at / FRAME_RATE)
    return path + cross @ np.linalg.solve(dense.matrix(covariance, at / FRAME_RATE), missed)


@pytest.mark.parametrize("name", KERNELS)
def test_stream_equals_batch_with_the_same_noise(name):
    covariance = KERNELS[name]
    free, bound = stream(covariance), stream(covariance)
    for frame, value in CONSTRAINTS.items():
        bound.constrain(frame, value)
    path = free.steps(500)[:, 0, 0]
    found = bound.steps(500)[:, 0, 0]
    assert np.abs(found - batch(covariance, path, CONSTRAINTS)).max() < 1e-3
    assert max(abs(found[f] - v) for f, v in CONSTRAINTS.items()) < 1e-9


def test_constraints_may_come_while_it_runs_as_long_as_they_are_early():
    covariance = KERNELS["squared-exponential"]
    free, bound = stream(covariance), stream(covariance)
    path = free.steps(500)[:, 0, 0]
    found = [bound.step()[0, 0] for _ in range(20)]
    for frame, value in CONSTRAINTS.items():
        bound.constrain(frame, value)
    found += [bound.step()[0, 0] for _ in range(480)]
    assert np.abs(np.array(found) - batch(covariance, path, CONSTRAINTS)).max() < 1e-3


@pytest.mark.parametrize("name", KERNELS)
def test_a_late_constraint_is_met_without_a_jump(name):
    bound = stream(KERNELS[name], draws=200)
    before = bound.steps(100)
    bound.constrain(103, 1.5)
    after = bound.steps(60)
    assert np.abs(after[3] - 1.5).max() < 1e-9
    path = np.concatenate([before, after])[..., 0]
    assert np.abs(np.diff(path, axis=0)[98:100]).max() < 3 * np.abs(np.diff(path, axis=0)).max(axis=1).mean()
    bends = np.abs(np.diff(path, 2, axis=0))
    assert np.median(bends[98]) < 5 * np.median(bends[:90])


def test_a_late_constraint_leaves_the_law_given_the_past():
    covariance = KERNELS["matern52"]
    bound = stream(covariance, draws=4000, seed=3)
    past = bound.steps(64)[..., 0]
    bound.constrain(66, 0.8)
    future = bound.steps(12)[..., 0]
    at = np.r_[np.arange(32, 64), 66] / FRAME_RATE
    targets = np.arange(64, 76) / FRAME_RATE
    gain = np.linalg.solve(dense.matrix(covariance, at), dense.matrix(covariance, at, targets)).T
    mean = gain @ np.vstack([past[32:], np.full((1, 4000), 0.8)])
    expected = dense.matrix(covariance, targets) - gain @ dense.matrix(covariance, at, targets)
    found = np.cov((future - mean), bias=True)
    assert np.abs(found - expected).max() < 0.1 * np.diagonal(expected).max()


@pytest.mark.parametrize("name", KERNELS)
def test_variance_and_covariance_do_not_change_over_a_long_stream(name):
    covariance = KERNELS[name]
    run = stream(covariance, draws=50)
    path = run.steps(4000)[..., 0]
    spread = np.var(path.reshape(8, 500, 50), axis=(1, 2))
    assert np.all(np.abs(spread - 1) < 0.25), spread
    for lag in (1, 5, 12, 30):
        found = np.mean(path[lag:] * path[:-lag])
        assert found == pytest.approx(float(covariance([lag / FRAME_RATE])[0, 0]), abs=0.05)


def test_memory_stays_constant_with_constraints_for_ever():
    run = stream(KERNELS["squared-exponential"])
    sizes = []
    for frame in range(6000):
        if frame % 20 == 0:
            run.constrain(frame + 40, np.sin(frame))
        run.step()
        if frame % 1000 == 999:
            sizes.append((len(run.constraints), len(run._ahead), len(run._drawn), len(run._put_out)))
    for held in zip(*sizes, strict=True):
        assert max(held) - min(held) <= 80
        assert max(held) < 400


def test_soft_constraints_are_met_up_to_their_error():
    run = stream(KERNELS["squared-exponential"], draws=4000)
    run.constrain(60, 1.0, variance=0.5)
    at = run.steps(61)[60, :, 0]
    assert np.mean(at) == pytest.approx(1 / 1.5, abs=0.05)
    assert np.var(at) == pytest.approx(0.5 / 1.5, rel=0.1)


def test_the_trend_goes_on_and_constraints_are_values_not_deviations():
    seconds = np.arange(300) / FRAME_RATE
    trend = Trend.fit(5 + np.sin(2 * np.pi * seconds), FRAME_RATE, period=1.0)
    run = stream(SquaredExponential(1e-6, 0.3), trend=trend)
    run.constrain(500, 5.2)
    path = run.steps(520)[:, 0, 0]
    assert path[500] == pytest.approx(5.2, abs=1e-9)
    assert path[310] == pytest.approx(trend.at([310 / FRAME_RATE])[0, 0], abs=0.01)


def test_a_frame_that_is_out_cannot_be_constrained():
    run = stream(KERNELS["matern52"])
    run.steps(10)
    with pytest.raises(InputError, match="put out already"):
        run.constrain(5, 0.0)
