"""The distribution of a series given gaps, evidence and constraints, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from marey.errors import InputError
from marey.statistics.autoregression import VectorAutoregression, condition, fit
from marey.statistics.autoregression.condition import evidence

FRAMES, SIZE = 24, 3


def model(seed: int = 0) -> VectorAutoregression:
    rng = np.random.default_rng(seed)
    first = 1.6 * np.eye(SIZE) + 0.05 * rng.standard_normal((SIZE, SIZE))
    return VectorAutoregression(np.ones(SIZE), [first, -0.75 * np.eye(SIZE)], 0.1 * np.eye(SIZE) + 0.05)


def dense_covariance(one: VectorAutoregression, frames: int) -> np.ndarray:
    lags = one.covariances(frames)
    both_ways = np.concatenate([lags[:0:-1].swapaxes(1, 2), lags])
    apart = np.subtract.outer(np.arange(frames), np.arange(frames))
    whole = both_ways[apart + frames - 1].swapaxes(1, 2)
    return whole.reshape(frames * one.components, -1)


def dense_law(one, rows, values, noise, frames=FRAMES):
    prior, centre = dense_covariance(one, frames), np.tile(one.mean, frames)
    gain = np.linalg.solve(rows @ prior @ rows.T + np.diag(noise), rows @ prior).T
    return centre + gain @ (values - rows @ centre), prior - gain @ rows @ prior


def holed(one: VectorAutoregression) -> np.ndarray:
    series = one.sample(FRAMES, rng=1)
    series[5:12] = np.nan
    series[13], series[14, 1], series[0, 0], series[-1] = np.nan, np.nan, np.nan, np.nan
    return series


def test_holes_evidence_and_conditions_match_the_dense_conditional():
    one, rng = model(), np.random.default_rng(2)
    known = holed(one)
    frames, matrix = np.array([6, 8, 14]), rng.standard_normal((4, SIZE))
    measured, noise = rng.standard_normal((3, 4)), np.array([0.1, 0.2, 0.3, 0.4])
    measured[1, 2] = np.nan
    functionals = rng.standard_normal((2, FRAMES, SIZE))
    law = condition(one, known, soft=evidence(frames, matrix, measured, noise))
    law = law.condition(functionals[:1], [1.0]).condition(functionals[1:], [2.0], 0.3)

    exact = np.eye(FRAMES * SIZE)[np.isfinite(known).ravel()]
    rows, values, spread = [*exact], [*known[np.isfinite(known)]], [0.0] * len(exact)
    for frame, row in zip(frames, measured, strict=True):
        for h, z, r in zip(matrix, row, noise, strict=True):
            if np.isfinite(z):
                whole = np.zeros((FRAMES, SIZE))
                whole[frame] = h
                rows, values, spread = [*rows, whole.ravel()], [*values, z], [*spread, r]
    rows = np.array([*rows, *functionals.reshape(2, -1)])
    mean, covariance = dense_law(one, rows, np.array([*values, 1.0, 2.0]), np.array([*spread, 0.0, 0.3]))
    assert np.abs(law.mean.ravel() - mean).max() < 1e-9
    blocks = covariance.reshape(FRAMES, SIZE, FRAMES, SIZE)
    for t in range(FRAMES):
        assert np.abs(law.covariances[t] - blocks[t, :, t]).max() < 1e-9
    drawn = law.sample(rng=3, count=20000)
    found = np.cov(drawn.reshape(len(drawn), -1).T, bias=True)
    variance = np.maximum(np.diag(covariance), 0.0)
    deviation = np.sqrt((np.outer(variance, variance) + covariance**2) / len(drawn))
    assert (np.abs(found - covariance) <= 5 * deviation + 1e-12).all()
    assert np.abs(np.einsum("tc,ntc->n", functionals[0], drawn) - 1.0).max() < 1e-9
    assert (drawn[:, np.isfinite(known)] == known[np.isfinite(known)]).all()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_long_gaps_have_the_dense_conditional(order):
    """Keys far apart, a partly known frame, evidence, free ends."""
    frames, rng = 320, np.random.default_rng(order)
    coefficients = [1.5 * np.eye(SIZE), -0.7 * np.eye(SIZE), 0.05 * np.eye(SIZE)][:order]
    coefficients[0] *= 1.0 if order > 1 else 0.6
    coefficients[0] += 0.02 * rng.standard_normal((SIZE, SIZE))
    one = VectorAutoregression(np.ones(SIZE), coefficients, 0.1 * np.eye(SIZE) + 0.05)
    known = np.full((frames, SIZE), np.nan)
    series = one.sample(frames, rng=1)
    for start, stop in ((100, 101), (201, 204), (310, 311)):
        known[start:stop] = series[start:stop]
    known[202, 1] = np.nan
    soft = evidence([240], np.eye(SIZE)[:1], [[0.3]], 0.2)
    law = condition(one, known, soft=soft)

    there = np.isfinite(known)
    measured = np.zeros((1, frames, SIZE))
    measured[0, 240, 0] = 1.0
    rows = np.concatenate([np.eye(frames * SIZE)[there.ravel()], measured.reshape(1, -1)])
    values, noise = np.append(known[there], 0.3), np.append(np.zeros(there.sum()), 0.2)
    expected, covariance = dense_law(one, rows, values, noise, frames)
    vectors = rng.standard_normal((3, frames, SIZE))
    answers = (vectors.reshape(3, -1) @ covariance).reshape(vectors.shape)
    assert np.abs(law.mean.ravel() - expected).max() < 1e-8
    assert np.abs(law.covariance_times(vectors) - answers).max() < 1e-7
    drawn = law.sample(rng=3, count=2500)
    projected = np.einsum("ktc,ntc->nk", vectors, drawn - law.mean)
    wanted = np.einsum("ktc,ktc->k", vectors, answers)
    assert np.abs(projected.var(axis=0) / wanted - 1.0).max() < 6 * np.sqrt(2 / 2500)
    blocks = covariance.reshape(frames, SIZE, frames, SIZE)
    assert max(np.abs(law.covariances[t] - blocks[t, :, t]).max() for t in range(frames)) < 1e-8


def test_a_model_near_radius_one_fills_a_long_hole_without_losing_digits():
    slow = VectorAutoregression([0.0], [[[1.9988]], [[-0.9989]]], [[1e-6]])
    series = slow.sample(3000, rng=0)
    holed = series.copy()
    holed[500:2500] = np.nan
    law = condition(slow, holed)
    steps = slow.residuals(law.sample(rng=1))[498:2502]
    assert abs(float(np.var(steps)) / 1e-6 - 1.0) < 0.2
    assert np.abs(steps).max() < 6e-3


def test_a_series_that_is_wholly_unknown_has_the_long_run_law():
    one = model()
    law = condition(one, np.full((FRAMES, SIZE), np.nan))
    assert np.abs(law.covariances - one.covariances(1)[0]).max() < 1e-8


def test_noise_of_zero_is_refused_in_words():
    still = VectorAutoregression([0.0], [[[0.5]]], [[0.0]])
    with pytest.raises(InputError, match="noise is singular"):
        condition(still, [[np.nan], [1.0], [np.nan]])


def test_learning_finds_the_coefficients_within_three_standard_errors():
    truth = model()
    found = fit(truth.sample(20000, rng=4), order=2, ridge=0.0)
    assert np.abs(found.coefficients - truth.coefficients).max() < 0.03
    assert np.abs(found.noise - truth.noise).max() < 0.01


def test_an_unstable_example_gives_a_stable_model():
    growing = 1.02 ** np.arange(200)[:, None] * np.array([1.0, -0.5])
    assert fit(growing, order=2).radius <= 0.999 + 1e-9
