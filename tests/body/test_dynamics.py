"""Motion models: what they learn, keep and give back."""

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.dynamics import MotionModel, fit_autoregression, match_covariance
from marey.body.motion import Motion
from marey.errors import InputError
from marey.statistics.autoregression import VectorAutoregression


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(seconds=6)


def swings(frames: int = 1500) -> np.ndarray:
    """A slow swing with noise, as captured at a high rate: neighbouring frames hardly differ."""
    truth = VectorAutoregression(
        np.zeros(2),
        [[[1.98, 0.0], [0.0, 1.96]], [[-0.985, 0.0], [0.0, -0.97]]],
        [[1e-4, 2e-5], [2e-5, 1e-4]],
    )
    return np.asarray(truth.sample(frames, rng=3))


def test_dynamics_spread_as_the_example_does() -> None:
    rest = swings()
    rest = rest - rest.mean(axis=0)
    found = fit_autoregression(rest)
    assert found.order >= 2 and found.radius < 1
    assert np.allclose(found.stationary[:2, :2], rest.T @ rest / len(rest), rtol=1e-6)


def test_dynamics_predict_as_well_as_plain_least_squares() -> None:
    rest = swings()
    errors = fit_autoregression(rest, order=2).residuals(rest)
    past = np.concatenate([rest[1:-1], rest[:-2]], axis=1)
    plain = rest[2:] - past @ np.linalg.lstsq(past, rest[2:], rcond=None)[0]
    assert (errors**2).mean() < 1.05 * (plain**2).mean()


def test_a_change_of_spread_keeps_the_rhythm() -> None:
    model = VectorAutoregression(np.zeros(2), [np.diag([0.9, 0.5])], np.eye(2))
    wanted = np.array([[6.0, 1.0], [1.0, 2.0]])
    found = match_covariance(model, wanted)
    assert np.allclose(found.stationary, wanted)
    assert np.allclose(sorted(np.linalg.eigvals(found.coefficients[0])), [0.5, 0.9])


def test_a_model_keeps_the_period_of_a_walk_and_goes_where_it_goes(walk: Motion) -> None:
    model = MotionModel.fit(walk)
    assert model.trend.period is not None
    again = model.decode(model.poses.encode(walk))
    assert np.allclose(again.root[0], walk.root[0], atol=0.01)
    assert np.linalg.norm(again.root[-1] - walk.root[-1]) < 0.05 * np.linalg.norm(
        walk.root[-1] - walk.root[0]
    )


def test_the_example_is_likelier_than_its_reverse(walk: Motion) -> None:
    rng = np.random.default_rng(0)
    noisy = marey.body.Motion(
        walk.skeleton,
        marey.geometry.rotations.multiply(
            walk.rotations,
            marey.geometry.rotations.exp(
                np.cumsum(0.002 * rng.normal(size=(walk.frames, walk.joints, 3)), 0)
            ),
        ),
        walk.root,
        walk.frame_rate,
    )
    model = MotionModel.fit(noisy, modes=5)
    assert model.log_likelihood(noisy) > model.log_likelihood(noisy[::-1])


def test_models_of_both_methods_survive_a_file(walk: Motion, tmp_path: Path) -> None:
    for method in ("joint", "gp"):
        model = MotionModel.fit(walk[::2], modes=3, method=method)
        marey.save(model, tmp_path / "model.mry")
        back = marey.load(tmp_path / "model.mry")
        assert back.method == method
        assert np.array_equal(back.sample(30, rng=1).rotations, model.sample(30, rng=1).rotations)


def test_an_unknown_method_is_refused(walk: Motion) -> None:
    with pytest.raises(InputError, match="joint, gp"):
        MotionModel.fit(walk, method="magic")


def test_a_pose_is_no_motion_to_learn_from(walk: Motion) -> None:
    with pytest.raises(InputError, match="does not move"):
        MotionModel.fit(walk[:1])


def test_a_clip_of_a_few_frames_can_be_learned_from(walk: Motion) -> None:
    assert MotionModel.fit(walk[:6]).sample(20, rng=0).frames == 20
