"""The distribution of conditional draws over many seeds, and constraints met."""

from __future__ import annotations

import multiprocessing
import os

import numpy as np
import pytest

from marey.errors import InputError
from marey.io import container
from marey.statistics.processes import covariances
from marey.statistics.processes.covariances import Matern32, Matern52, SquaredExponential
from marey.statistics.processes.process import (
    GaussianProcesses,
    LinearConstraint,
    average,
    closure,
    draw,
    velocity,
)
from marey.statistics.processes.trend import Trend
from tests.statistics.processes import dense

FRAME_RATE = 30.0
FRAMES = 48
TIMES = np.arange(FRAMES) / FRAME_RATE
DRAWS = 40_000
# Of some thousand means and covariances the largest deviates by four to five standard errors.
MOST_ERRORS = 5.5


def model(covariance):
    return GaussianProcesses(covariance, 0.0, dense.level(covariance.components), FRAME_RATE)


def conditioned(covariance, constraints=(), seed=0, frames=FRAMES):
    rng = np.random.default_rng(seed)
    known = np.zeros((frames, 1), bool)
    known[[3, 4, 20, 21, 22, 40]] = True
    noise = np.zeros((frames, 1))
    noise[[20, 21]] = 0.1
    values = rng.normal(size=(frames, 1))
    return model(covariance).condition(values, known, noise=noise, constraints=constraints)


def expected(given):
    at = np.flatnonzero(given.known[:, 0])
    C = dense.matrix(given.model.covariance, np.arange(len(given.values)) / FRAME_RATE)
    rows = [np.eye(len(C))[i] for i in at]
    values, noise = [*given.values[at, 0]], [*given.noise[at, 0]]
    for functional in given.constraints:
        row = np.zeros(len(C))
        np.add.at(row, functional.frames, functional.weights)
        rows.append(row)
        values.append(float(functional.value))
        noise.append(float(functional.variance))
    return dense.posterior_of_sums(C, np.array(rows), np.array(values), np.array(noise))


@pytest.mark.parametrize("name", dense.ALL)
def test_unconditional_draws_have_the_covariance_at_all_lags(name):
    covariance = dense.ALL[name]
    drawn = draw(covariance, FRAME_RATE, FRAMES, draws=DRAWS, rng=np.random.default_rng(1))
    errors = dense.worst_in_errors(drawn[:, :, 0], np.zeros(FRAMES), dense.matrix(covariance, TIMES))
    assert max(errors) < MOST_ERRORS


@pytest.mark.parametrize("name", dense.ALL)
def test_conditional_draws_follow_the_joint_posterior(name):
    given = conditioned(dense.ALL[name])
    mean, covariance = expected(given)
    drawn = given.sample(DRAWS, rng=2)[:, :, 0]
    assert max(dense.worst_in_errors(drawn, mean, covariance)) < MOST_ERRORS
    hard = given.known[:, 0] & (given.noise[:, 0] == 0)
    assert np.abs(drawn[:, hard] - given.values[hard, 0]).max() < 1e-9
    assert np.allclose(given.mean[:, 0], mean, atol=1e-8)
    assert np.allclose(given.variance[:, 0], np.diagonal(covariance), atol=1e-8)


@pytest.mark.parametrize("name", ["squared-exponential", "matern12", "matern52"])
def test_velocities_averages_and_closure_follow_the_joint_posterior(name):
    constraints = [
        velocity(30, 2.0, FRAME_RATE),
        average(10, 15, 0.4, variance=0.05),
        closure(0, FRAMES - 1),
    ]
    given = conditioned(dense.ALL[name], constraints)
    mean, covariance = expected(given)
    drawn = given.sample(DRAWS, rng=3)
    assert max(dense.worst_in_errors(drawn[:, :, 0], mean, covariance)) < MOST_ERRORS
    assert np.abs(constraints[0].of(drawn) - 2.0).max() < 1e-9
    assert np.abs(drawn[:, 0] - drawn[:, -1]).max() < 1e-9
    assert np.allclose(given.mean[:, 0], mean, atol=1e-8)
    assert np.allclose(given.variance[:, 0], np.diagonal(covariance), atol=1e-8)


def test_double_kriging_is_matherons_rule():
    rng = np.random.default_rng(4)
    C = dense.matrix(dense.SMOOTH, TIMES)
    at = np.array([5, 20, 40])
    values, path, mean = rng.normal(size=3), rng.normal(size=FRAMES), 0.7
    gain = C[:, at] @ np.linalg.inv(C[np.ix_(at, at)])
    guess = mean + gain @ (values - mean)
    guess_of_path = mean + gain @ (path[at] - mean)
    assert np.allclose(guess + path - guess_of_path, path + gain @ (values - path[at]), atol=1e-12)


def test_the_mean_equals_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    rng = np.random.default_rng(6)
    known, values = rng.random(FRAMES) < 0.4, rng.normal(size=FRAMES)
    peer = GaussianProcessRegressor(Matern(0.4, nu=1.5), alpha=0.05, optimizer=None)
    peer.fit(TIMES[known, None], values[known])
    mean, deviation = peer.predict(TIMES[:, None], return_std=True)
    given = model(Matern32(1.0, 0.4)).condition(values, known, noise=0.05)
    assert np.allclose(given.mean[:, 0], mean, atol=1e-8)
    assert np.allclose(np.sqrt(given.variance[:, 0]), deviation, atol=1e-8)


@pytest.mark.parametrize("holes", [[(300, 340)], [(100, 110), (115, 200), (600, 603)]])
def test_windows_of_a_long_clip_equal_the_full_matrix(holes):
    covariance = SquaredExponential(1.0, 0.2)
    frames = 800
    times = np.arange(frames) / FRAME_RATE
    known = np.ones((frames, 1), bool)
    for first, last in holes:
        known[first:last] = False
    values = draw(covariance, FRAME_RATE, frames, draws=1, rng=np.random.default_rng(7))[0]
    noise = np.full((frames, 1), 1e-3)
    given = model(covariance).condition(values, known, noise=noise)
    at = np.flatnonzero(known[:, 0])
    mean, matrix = dense.posterior(covariance, times[at], values[at, 0], noise[at, 0], times)
    assert np.abs(given.mean[:, 0] - mean).max() < 1e-5
    assert np.abs(given.variance[:, 0] - np.diagonal(matrix)).max() < 1e-9


def test_components_do_not_mix():
    covariance = SquaredExponential([1.0, 4.0], [0.1, 0.3])
    rng = np.random.default_rng(8)
    values = rng.normal(size=(FRAMES, 2))
    known = rng.random((FRAMES, 2)) > 0.9
    both = model(covariance).condition(values, known).mean
    for c in range(2):
        alone = model(covariance.component(c)).condition(values[:, [c]], known[:, [c]]).mean
        assert np.allclose(both[:, [c]], alone, atol=1e-12)


def test_a_key_is_met_and_a_measured_value_is_not():
    keyed = model(SquaredExponential(1.0, 0.3)).condition([0.0, 2.0, 0.0], np.arange(3) == 1)
    assert keyed.mean[1, 0] == 2.0
    noisy = model(SquaredExponential(1.0, 0.3)).condition([0.0, 2.0, 0.0], np.arange(3) == 1, noise=0.1)
    assert noisy.mean[1, 0] == pytest.approx(2 / 1.1)


def test_a_model_fills_a_hole_and_keeps_what_is_known():
    rng = np.random.default_rng(10)
    seconds = np.arange(400) / 60
    clip = np.c_[np.sin(2 * np.pi * seconds), 0.3 * seconds] + 0.01 * rng.normal(size=(400, 2))
    known = np.ones(400, bool)
    known[150:200] = False
    trend = Trend.fit(clip, 60.0, mask=known)
    fitted = GaussianProcesses.fit(clip, 60.0, trend=trend, mask=known)
    posterior = fitted.condition(clip, known)
    drawn = posterior.sample(3, rng=rng)
    assert np.array_equal(drawn[:, known], np.broadcast_to(clip[known], (3, 350, 2)))
    assert posterior.variance[known].max() == 0.0
    smooth = fitted.condition(clip, known, noise=fitted.noise).mean
    assert np.abs(smooth - clip).max() < 0.05


def test_same_seed_same_draws():
    one, other = (model(dense.SMOOTH).sample(50, draws=2, rng=np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, other)


def test_constraints_outside_the_frames_are_refused():
    with pytest.raises(InputError, match="outside"):
        model(dense.SMOOTH).condition(np.zeros((10, 1)), np.zeros(10, bool), constraints=[closure(0, 10)])
    with pytest.raises(InputError, match="whole frames"):
        LinearConstraint([0.5], [1.0], 0.0)


@pytest.mark.parametrize("name", dense.ALL)
def test_processes_can_be_stored(name, tmp_path):
    stored = GaussianProcesses(dense.ALL[name], 0.01, dense.level(value=2.0), FRAME_RATE)
    container.write(stored, tmp_path / "model.mry")
    again = container.read(tmp_path / "model.mry")
    assert np.array_equal(again.autocovariance(20), stored.autocovariance(20))
    one, other = (m.sample(30, rng=np.random.default_rng(0)) for m in (stored, again))
    assert np.array_equal(one, other)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_smooths_as_well():
    known = np.ones((3000, 20), dtype=bool)
    covariance, given = Matern52(np.ones(20), 0.3), np.zeros((3000, 20))
    arguments = (covariance, 30.0, given, known, 0.1)
    covariances.smoothed(*arguments)
    child = multiprocessing.get_context("fork").Process(target=covariances.smoothed, args=arguments)
    child.start()
    child.join(30)
    assert child.exitcode == 0
