"""Gaussian processes by maximum likelihood (Courty 2013, 2.3.2; Courty & Cuzol 2010), by plain formulas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.motion import Motion
from tests.published import plain

CM11 = {
    "143_20": {1: (0.598, 45.7), 2: (0.308, 23.4), 5: (0.070, 19.6), 10: (0.022, 7.1)},
    "143_23": {1: (0.401, 11.8), 2: (0.311, 10.2), 10: (0.0096, 4.3)},
    "143_24": {1: (0.321, 20.4), 2: (0.177, 15.0)},
    "143_32": {1: (0.280, 13.9), 2: (0.096, 14.0), 3: (0.112, 8.3)},
    "35_01": {1: (0.132, 31.5), 2: (0.126, 21.2)},
}
"""alpha and rho (frames² at 30 a second) of components, of an independent implementation."""


def clip(data_dir: Path, name: str) -> Motion:
    """At 30 frames a second, without the artificial T-pose of its first frame."""
    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{name}.bvh")
    return motion[1 :: round(motion.frame_rate / 30)]


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(seconds=6)[::2]


@pytest.mark.parametrize("name", CM11)
def test_likeliest_covariances_of_captured_motion(data_dir, name):
    motion = clip(data_dir, name)
    turns = plain.matrices(motion.rotations[:, 1:])
    _, _, theirs = plain.principal_geodesics(turns)
    poses = marey.body.fit([motion], modes=10, metric="canonical")
    found = marey.statistics.processes.process.GaussianProcesses.fit(poses.encode(motion), 30.0, kernel="se")
    for component, (alpha, rho) in CM11[name].items():
        at = component - 1
        ours = float(found.covariance.variance[at]), float(30.0 * found.covariance.length[at]) ** 2
        assert ours == pytest.approx((alpha, rho), rel=0.10)
        if component == 1:
            values = theirs[:, at] - theirs[:, at].mean()
            assert ours == pytest.approx(plain.likeliest(values, starts=(16.0,))[:2], rel=0.03)


def test_learned_processes_are_the_likeliest_ones_of_principal_geodesics_of_the_whole_figure(walk):
    model = marey.body.learn(walk, method="gp", modes=4)
    assert model.trend.period is None and model.trend.degree == 0
    assert (model.poses.metric, model.poses.root) == ("canonical", "world")
    series = model.poses.encode(walk)
    series = series - series.mean(axis=0)
    for one, (alpha, rho, sigma) in enumerate(map(plain.likeliest, series.T)):
        told = [float(model.measures()[name][one]) for name in ("alpha", "rho")]
        assert told == pytest.approx([alpha, rho], rel=0.03)
        ours = plain.minus_log_likelihood(
            series[:, one],
            np.arange(len(series)),
            *(model.measures()[n][one] for n in ("alpha", "rho", "sigma")),
        )
        assert (
            ours
            < plain.minus_log_likelihood(series[:, one], np.arange(len(series)), alpha, rho, sigma) + 0.05
        )


def test_streamed_characters_have_the_fitted_covariance_at_all_lags(walk):
    model = marey.body.learn(walk, method="gp", modes=4)
    lags, seeds = 48, 200
    recorded = marey.body.stream(model, characters=seeds, seconds=20.0, rng=0)
    path = recorded.coordinates - model.trend.coefficients[0]
    frames = len(path)
    sums = [(path[h:] * path[: frames - h]).sum(axis=0) / (frames - h) for h in range(lags)]
    found = np.stack(sums, axis=1)
    rho = np.array(model.measures()["rho"])
    wanted = np.array(model.measures()["alpha"]) * np.exp(-(np.arange(lags)[:, None] ** 2) / rho)
    errors = np.abs(found.mean(axis=0) - wanted) / (found.std(axis=0) / np.sqrt(seeds))
    # Of 192 figures, many of them dependent, one is beyond 4 standard errors once in a hundred times.
    assert errors.max() < 4.0


def test_a_stream_with_pinned_poses_is_the_batch_of_the_same_noise(walk):
    model = marey.body.learn(walk, method="gp", modes=3)
    frames = [40, 46, 50, 120]
    pins = [
        (frame / walk.frame_rate, walk, when)
        for frame, when in zip(frames, (0.5, 1.0, 1.5, 2.0), strict=True)
    ]
    free = marey.body.stream(model, seconds=6.0, rng=3).coordinates[:, 0]
    bound = marey.body.stream(model, seconds=6.0, pin=pins, rng=3).coordinates[:, 0]
    given = model.poses.encode(walk)[[round(when * walk.frame_rate) for *_, when in pins]]
    at = np.arange(len(free), dtype=float)
    for one, (alpha, rho) in enumerate(zip(model.measures()["alpha"], model.measures()["rho"], strict=True)):
        among = plain.squared_exponential(np.array(frames), np.array(frames), alpha, rho)
        reach = plain.squared_exponential(at, np.array(frames), alpha, rho)
        batch = free[:, one] + reach @ np.linalg.solve(among, given[:, one] - free[frames, one])
        assert np.abs(bound[:, one] - batch).max() < 1e-3 * np.sqrt(alpha)
    assert np.abs(bound[frames] - given).max() < 1e-8


def test_conditional_simulation_has_mean_and_covariance_of_the_joint_posterior(walk):
    model = marey.body.learn(walk, method="gp", modes=2)
    known, draws, frames = np.array([5, 20, 30]), 20_000, 40
    marks = np.isin(np.arange(frames), known)
    values = np.zeros((frames, 2))
    values[known] = [[0.3, -0.2], [-0.1, 0.4], [0.2, 0.1]]
    drawn = model.dynamics.condition(values, marks).sample(draws, rng=0)
    assert np.abs(drawn[:, known] - values[known]).max() < 1e-8
    at = np.arange(frames, dtype=float)
    for one, (alpha, rho) in enumerate(zip(model.measures()["alpha"], model.measures()["rho"], strict=True)):
        among = plain.squared_exponential(at[known], at[known], alpha, rho)
        gain = np.linalg.solve(among, plain.squared_exponential(at[known], at, alpha, rho)).T
        middle = gain @ values[known, one]
        spread = plain.squared_exponential(at, at, alpha, rho) - gain @ plain.squared_exponential(
            at[known], at, alpha, rho
        )
        size = np.maximum(np.diag(spread), 0.0)
        floor = 1e-4 * alpha
        away = np.abs(drawn[:, :, one].mean(axis=0) - middle) / (np.sqrt(size / draws) + floor / draws**0.5)
        assert away.max() < 4.0
        found = np.cov(drawn[:, :, one].T)
        error = np.sqrt((np.outer(size, size) + spread**2) / draws) + floor / draws**0.5
        assert (np.abs(found - spread) / error).max() < 4.5


def test_the_published_interval_is_twice_the_largest_length(data_dir):
    motion = clip(data_dir, "143_20")
    turns = plain.matrices(motion.rotations[:, 1:])
    _, _, theirs = plain.principal_geodesics(turns)
    longest = max(
        np.sqrt(plain.likeliest(values - values.mean(), starts=(40.0,))[1]) for values in theirs[:, :2].T
    )
    asked = [
        marey.body.TimedReach(f"{side}Hand", 3.1, [0.0, 0.15, 0.0], relative=True)
        for side in ("Left", "Right")
    ]
    found = marey.body.steer(motion, asked, method="gp", interval="published", rng=0)
    first, last = found.intervals[0]
    assert (93 - first, last - 93) == (int(longest), int(longest))
    assert max(found.residual_cm) < 1.0
    outside = np.r_[0:first, last + 1 : motion.frames]
    assert (found.motion.rotations[outside] == motion.rotations[outside]).all()
    assert (found.motion.root == motion.root).all()
    again = marey.body.steer(motion, asked, method="gp", interval="published", rng=1).motion
    assert np.abs(again.rotations[93] - found.motion.rotations[93]).max() < 1e-6
    assert np.abs(again.rotations[first:last] - found.motion.rotations[first:last]).max() > 1e-3


def test_gaps_are_kriged_from_principal_geodesics_of_the_known_frames(walk):
    gap = (60, 72)
    known = np.r_[0 : gap[0], gap[1] : walk.frames].astype(float)
    told = marey.body.fill(walk, [gap], method="gp")
    parts = [walk[: gap[0]], walk[gap[1] :]]
    poses = marey.body.fit(parts, variance=0.999, metric="canonical", root="world")
    series = np.concatenate([poses.encode(part) for part in parts])
    theirs = np.empty((gap[1] - gap[0], poses.modes))
    at = np.arange(*gap, dtype=float)
    for one, values in enumerate(series.T):
        middle = values.mean()
        alpha, rho, sigma = plain.likeliest(values - middle, known, starts=(4.0, 12.0))
        among = plain.squared_exponential(known, known, alpha, rho) + sigma * np.eye(len(known))
        across = plain.squared_exponential(at, known, alpha, rho)
        theirs[:, one] = middle + across @ np.linalg.solve(among, values - middle)
    expected, found = poses.decode(theirs), told.motion.rotations[gap[0] : gap[1]]
    assert np.degrees(marey.geometry.rotations.distance(expected, found)).max() < 1.0
    truth = walk.rotations[gap[0] : gap[1]]
    still = marey.body.fill(walk, [gap], method="slerp").motion.rotations[gap[0] : gap[1]]
    away = [marey.geometry.rotations.distance(truth, one).mean() for one in (found, still)]
    assert away[0] < away[1]
