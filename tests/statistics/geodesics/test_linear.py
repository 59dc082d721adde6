"""Principal geodesic analysis: invariances, metrics, extremes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.statistics.geodesics import (
    PrincipalGeodesics,
    number_of_modes,
    principal_axes,
    principal_geodesics,
)
from marey.statistics.geodesics.linear import principal_components
from marey.statistics.geodesics.published import log_components
from tests.statistics.clouds import cloud


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_spectrum_does_not_depend_on_the_joints_frames(seed):
    rotations = cloud(seed=seed)
    left, right = so3.random((2, rotations.shape[1]), rng=seed)
    moved = so3.multiply(left, so3.multiply(rotations, right))
    before, after = principal_geodesics(rotations, modes=4), principal_geodesics(moved, modes=4)
    assert after.spectrum == pytest.approx(before.spectrum, abs=1e-12)
    assert np.abs(after.encode(moved)) == pytest.approx(np.abs(before.encode(rotations)), abs=1e-7)


def test_pca_of_logarithms_does_depend_on_the_joints_frames():
    rotations = cloud(spread=0.8)
    moved = so3.multiply(so3.exp([2.5, 0.0, 0.0]), rotations)

    def spectrum(turns):
        logs = so3.log(turns).reshape(len(turns), -1)
        joints = turns.shape[1]
        middle = logs.mean(axis=0).reshape(-1, 3)
        return log_components(middle, np.cov(logs.T, bias=True), np.ones(joints)).spectrum

    assert np.abs(spectrum(moved) - spectrum(rotations)).max() > 1e-3


def test_all_modes_give_the_rotations_back():
    rotations = cloud()
    found = principal_geodesics(rotations, modes=12)
    assert so3.distance(found.decode(found.encode(rotations)), rotations).max() < 1e-9


@pytest.mark.parametrize("metric", [None, "weights", "matrix"])
def test_coordinates_have_the_variances_and_are_uncorrelated(metric):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((12, 12)) + 4 * np.eye(12)
    metric = {"weights": rng.uniform(0.1, 3, 4), "matrix": root @ root.T}.get(metric)
    rotations = cloud()
    found = principal_geodesics(rotations, modes=12, metric=metric)
    values = found.encode(rotations)
    assert values.T @ values / len(values) == pytest.approx(np.diag(found.variances), abs=1e-9)
    assert so3.distance(found.decode(values), rotations).max() < 1e-7
    dual = found.duals.reshape(12, 12) @ found.directions.reshape(12, 12).T
    assert dual == pytest.approx(np.eye(12), abs=1e-9)


def test_whole_variance_is_the_mean_squared_distance_from_the_mean():
    rotations = cloud(spread=0.9)
    found = principal_geodesics(rotations)
    assert found.spectrum.sum() == pytest.approx((so3.distance(found.mean, rotations) ** 2).sum(1).mean())


def test_heavier_joints_are_rebuilt_better():
    rotations = cloud(joints=4, modes=10)
    errors = []
    for weight in (1.0, 100.0):
        found = principal_geodesics(rotations, modes=3, metric=[weight, 1, 1, 1])
        errors.append(so3.distance(found.decode(found.encode(rotations)), rotations)[:, 0].mean())
    assert errors[1] < 0.5 * errors[0]


def test_jacobian_agrees_with_finite_differences():
    rotations = cloud(spread=1.0)
    found = principal_geodesics(rotations, modes=5)
    values = found.encode(rotations)[:6]
    for mode in range(5):
        step = 1e-6 * np.eye(5)[mode]
        ahead, behind = found.decode(values + step), found.decode(values - step)
        numeric = so3.log(so3.multiply(so3.inverse(found.decode(values)), ahead)) - so3.log(
            so3.multiply(so3.inverse(found.decode(values)), behind)
        )
        assert found.jacobian(values)[:, mode] == pytest.approx(numeric / 2e-6, abs=1e-8)


def test_a_constant_joint_has_no_part_in_any_direction():
    rotations = cloud()
    rotations[:, 2] = rotations[0, 2]
    found = principal_geodesics(rotations, variance=1.0)
    assert np.abs(found.directions[:, 2]).max() < 1e-6
    assert number_of_modes(found.spectrum, variance=1.0) <= 9


def test_fewer_samples_than_dimensions_leave_the_rest_of_the_spectrum_at_zero():
    found = principal_geodesics(cloud(samples=5, joints=8))
    assert found.spectrum[4:].max() < 1e-15
    assert found.modes <= 4


def test_one_sample_has_no_modes_and_is_the_mean():
    one = so3.random((1, 3), rng=2)
    found = principal_geodesics(one)
    assert found.modes == 0
    assert found.encode(one).shape == (1, 0)
    assert so3.distance(found.decode(np.empty((7, 0))), one).max() < 1e-7
    assert found.jacobian(np.empty((7, 0))).shape == (7, 0, 3, 3)


def test_asking_for_no_modes_decodes_to_the_mean():
    found = principal_geodesics(cloud(), modes=0)
    assert found.decode(np.empty(0)) == pytest.approx(found.mean)
    assert found.explained.shape == (0,)


def test_choice_of_modes_by_share():
    spectrum = np.array([5.0, 3.0, 1.5, 0.5, 0.0])
    shares = (0.4, 0.5, 0.51, 0.8, 0.95, 0.96, 1.0)
    assert [number_of_modes(spectrum, variance=v) for v in shares] == [1, 1, 2, 2, 3, 4, 4]
    assert number_of_modes(np.zeros(4)) == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"modes": 99}, "modes"),
        ({"modes": -1}, "modes"),
        ({"variance": 0.0}, "variance"),
        ({"variance": 1.5}, "variance"),
        ({"metric": [1, 1, 1, 0]}, "above 0"),
        ({"metric": [1, 1]}, "shape"),
        ({"metric": -np.eye(12)}, "positive definite"),
    ],
)
def test_senseless_options_are_refused(options, says):
    with pytest.raises(InputError, match=says):
        principal_geodesics(cloud(), **options)


def test_damaged_geodesics_are_refused():
    found = principal_geodesics(cloud(), modes=2)
    with pytest.raises(InputError, match="length 1"):
        PrincipalGeodesics(2 * found.mean, found.directions, found.duals, found.variances, found.spectrum)
    with pytest.raises(InputError, match="duals"):
        PrincipalGeodesics(found.mean, found.directions, found.duals[:1], found.variances, found.spectrum)


def test_axes_in_a_metric_solve_the_generalised_eigenproblem():
    rng = np.random.default_rng(1)
    samples, root = rng.standard_normal((50, 6)), rng.standard_normal((6, 6))
    covariance, metric = samples.T @ samples / 50, root @ root.T + np.eye(6)
    axes = principal_axes(covariance, metric)
    for value, vector in zip(axes.spectrum, axes.directions, strict=True):
        assert covariance @ metric @ vector == pytest.approx(value * vector, abs=1e-9)
        assert vector @ metric @ vector == pytest.approx(1.0)


def test_principal_components_rebuild_numbers():
    samples = np.random.default_rng(0).standard_normal((30, 7))
    found = principal_components(samples, variance=1.0)
    assert found.decode(found.encode(samples)) == pytest.approx(samples, abs=1e-9)
    assert found.modes == 7
