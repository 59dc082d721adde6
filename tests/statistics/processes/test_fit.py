"""Likelihoods against full matrices, gradients against differences, and parameters found again."""

from __future__ import annotations

import numpy as np
import pytest

from marey.errors import InputError
from marey.statistics.processes import covariances, fit
from marey.statistics.processes.covariances import KERNELS, Matern52, SquaredExponential
from marey.statistics.processes.process import draw
from tests.statistics.processes import dense

FRAME_RATE = 30.0
TIMES = np.arange(150) / FRAME_RATE


def series(covariance, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    C = dense.matrix(covariance, TIMES) + noise * np.eye(len(TIMES))
    return np.linalg.cholesky(C) @ rng.normal(size=len(TIMES))


def differences(function, covariance, noise):
    """Central differences by log-parameters and log-noise."""
    found, step = [], 1e-5
    for shift in np.eye(2) * step:
        up, down = (
            type(covariance)(*(np.exp(sign * shift) * [covariance.variance[0], covariance.length[0]]))
            for sign in (1, -1)
        )
        found.append((function(up, noise) - function(down, noise)) / (2 * step))
    up, down = noise * np.exp(step), noise * np.exp(-step)
    return np.array([*found, (function(covariance, up) - function(covariance, down)) / (2 * step)])


@pytest.mark.parametrize("name", dense.ALL)
def test_durbin_equals_the_full_matrix(name):
    covariance = dense.ALL[name]
    values = series(covariance)
    found, slopes = fit.innovation_sums(covariance, 0.05, FRAME_RATE, values).log_likelihood
    assert found == pytest.approx(dense.log_likelihood(covariance, 0.05, TIMES, values), abs=1e-10 * 150)
    numeric = differences(lambda c, n: dense.log_likelihood(c, n, TIMES, values), covariance, 0.05)
    assert np.allclose(slopes, numeric, atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("name", dense.MARKOV)
def test_filter_equals_the_full_matrix_with_gaps(name):
    covariance = dense.MARKOV[name]
    rng = np.random.default_rng(1)
    values = series(covariance)
    known = rng.random(len(TIMES)) > 0.2
    known[60:80] = False
    found, slopes = covariances.innovation_sums(covariance, 0.05, FRAME_RATE, values, known).log_likelihood

    def full(c, n):
        return dense.log_likelihood(c, n, TIMES[known], values[known])

    assert found == pytest.approx(full(covariance, 0.05), abs=1e-9)
    assert np.allclose(slopes, differences(full, covariance, 0.05), atol=1e-5, rtol=1e-6)


def test_a_settled_filter_stays_exact():
    covariance = Matern52(1.0, 0.1)
    rng = np.random.default_rng(2)
    values = rng.normal(size=600)
    times = np.arange(600) / FRAME_RATE
    found, _ = covariances.innovation_sums(covariance, 0.1, FRAME_RATE, values).log_likelihood
    assert found == pytest.approx(dense.log_likelihood(covariance, 0.1, times, values), abs=1e-8)


@pytest.mark.parametrize(
    ("kernel", "covariance", "count"),
    [
        ("se", SquaredExponential(1.0, 0.2), 50),
        ("matern52", Matern52(1.0, 0.4), 25),
    ],
)
def test_parameters_are_found_again(kernel, covariance, count):
    rng = np.random.default_rng(4)
    drawn = draw(covariance, FRAME_RATE, 500, draws=count, rng=rng)[:, :, 0].T
    drawn = drawn + 0.1 * rng.normal(size=drawn.shape)
    found, noise = fit.fit(drawn, FRAME_RATE, kernel=kernel, searches=1)
    ratios = np.array(
        [np.median(found.variance) / covariance.variance[0], np.median(found.length) / covariance.length[0]]
    )
    assert np.all(np.abs(ratios - 1) < 0.15), ratios
    assert np.median(noise) == pytest.approx(0.01, rel=0.15)


@pytest.mark.parametrize("kernel", ["se", "matern32"])
def test_gaps_do_not_bias_the_fit(kernel):
    rng = np.random.default_rng(5)
    covariance = KERNELS[kernel](1.0, 0.25)
    drawn = draw(covariance, FRAME_RATE, 900, draws=8, rng=rng)[:, :, 0].T
    drawn = drawn + 0.1 * rng.normal(size=drawn.shape)
    mask = np.ones(900, bool)
    mask[::100] = False
    mask[300:420] = False
    found, noise = fit.fit(np.where(mask[:, None], drawn, np.nan), FRAME_RATE, kernel=kernel, mask=mask)
    assert np.median(found.length) == pytest.approx(0.25, rel=0.15)
    assert np.median(noise) == pytest.approx(0.01, rel=0.2)


def test_a_still_component_can_be_fitted():
    found, noise = fit.fit(np.zeros((50, 1)), FRAME_RATE)
    assert np.isfinite(found.length).all()
    assert noise[0] < 1e-200


def test_an_unknown_kernel_is_refused_by_name():
    with pytest.raises(InputError, match="wavelet"):
        fit.fit(np.ones((50, 1)), FRAME_RATE, kernel="wavelet")
