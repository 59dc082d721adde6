"""Exact principal geodesics and coordinates of the second kind."""

from __future__ import annotations

import numpy as np
import pytest

from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.statistics.geodesics import principal_geodesics
from marey.statistics.geodesics.exact import (
    _objective,
    _with_directions,
    decode_second_kind,
    deflate,
    encode_second_kind,
    jacobian_second_kind,
    nearest_coordinates,
    project,
    project_on_geodesic,
    refine,
)
from tests.statistics.clouds import cloud

WEIGHTS = np.array([2.0, 0.3, 1.0, 0.1])


def squared_error(rotations, rebuilt, weights=1.0):
    return (weights * so3.distance(rotations, rebuilt) ** 2).sum(axis=1).mean()


def test_projection_of_one_joint_has_the_closed_form():
    q = so3.random((40, 1), rng=4)
    axis = np.array([[0.6, 0.0, 0.8]])
    known = 2.0 * np.arctan2(q[:, 0, 1:] @ axis[0], q[:, 0, 0])
    known = np.remainder(known + np.pi, 2 * np.pi) - np.pi
    found = np.remainder(project_on_geodesic(q, axis) + np.pi, 2 * np.pi) - np.pi
    assert found == pytest.approx(known, abs=1e-7)


def test_projection_on_a_geodesic_beats_a_fine_search():
    rotations = so3.exp(1.2 * np.random.default_rng(0).standard_normal((20, 3, 3)))
    v = np.random.default_rng(1).standard_normal((3, 3))
    weights = np.array([1.0, 3.0, 0.2])
    found = project_on_geodesic(rotations, v, weights=weights)

    def cost(alpha):
        return (weights * so3.distance(rotations, so3.exp(np.reshape(alpha, (-1, 1, 1)) * v)) ** 2).sum(
            axis=1
        )

    near = np.array([cost(found + step) for step in np.linspace(-0.05, 0.05, 41)])
    assert (cost(found) <= near.min(axis=0) + 1e-9).all()


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_exact_projection_is_nearer_than_the_tangent_one_and_stationary(weights):
    rotations = cloud(spread=1.1, modes=9)
    found = principal_geodesics(rotations, modes=3, metric=weights)
    values = project(found, rotations, weights=weights)
    counted = 1.0 if weights is None else weights
    exact = squared_error(rotations, found.decode(values), counted)
    assert exact < squared_error(rotations, found.decode(found.encode(rotations)), counted)
    for step in 1e-4 * np.vstack([np.eye(3), -np.eye(3)]):
        assert squared_error(rotations, found.decode(values + step), counted) > exact


def test_schemes_improve_what_they_are_meant_to():
    rotations = cloud(spread=1.3, modes=9, samples=60)
    start = principal_geodesics(rotations, modes=1)
    before = project(start, rotations)
    steadier = refine(rotations, start, scheme="error")
    wider = refine(rotations, start, scheme="variance")
    error = squared_error(rotations, start.decode(before))
    assert squared_error(rotations, steadier.decode(project(steadier, rotations))) <= error * (1 + 1e-12)
    assert wider.variances.sum() >= (before**2).sum(axis=1).mean() * (1 - 1e-12)


@pytest.mark.parametrize("scheme", ["error", "variance"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_refined_directions_stay_orthonormal_in_the_metric(scheme, weights):
    rotations = cloud(spread=1.0, samples=40)
    start = principal_geodesics(rotations, modes=3, metric=weights)
    found = refine(rotations, start, scheme=scheme, weights=weights, most=3)
    rows = found.directions.reshape(3, -1)
    assert found.duals.reshape(3, -1) @ rows.T == pytest.approx(np.eye(3), abs=1e-9)
    assert (np.diff(found.variances) < 0).all()


@pytest.mark.parametrize("scheme", ["error", "variance"])
def test_slope_of_a_scheme_agrees_with_finite_differences(scheme):
    # Close to the mean: the slope of the variance leaves out terms of the order of curvature times error.
    rotations = cloud(spread=0.2, samples=30)
    start, ones = principal_geodesics(rotations, modes=1), np.ones(4)
    direction, change = np.random.default_rng(0).standard_normal((2, 4, 3))
    direction = start.directions[0] + 0.3 * direction / np.linalg.norm(direction)
    direction /= np.linalg.norm(direction)
    change -= (change * direction).sum() * direction

    def tried(v):
        trial = _with_directions(start, v[None], ones)
        guess = np.zeros((len(rotations), 1))
        found = nearest_coordinates(rotations, guess, trial.decode, trial.jacobian, ones)
        return _objective(rotations, trial, found, ones, scheme)

    numeric = (tried(direction + 1e-4 * change).value - tried(direction - 1e-4 * change).value) / 2e-4
    assert float((tried(direction).slope * change).sum()) == pytest.approx(numeric, rel=0.02)


def test_deflation_leaves_less_with_every_mode():
    rotations = cloud(spread=1.0)
    errors = []
    for modes in (1, 2, 4, 8):
        found = refine(rotations, principal_geodesics(rotations, modes=modes), scheme="deflation", most=2)
        errors.append(squared_error(rotations, decode_second_kind(found, deflate(found, rotations))))
    assert (np.diff(errors) < 0).all()


def test_unknown_scheme_lists_the_known_ones():
    with pytest.raises(InputError, match="variance, error, deflation"):
        refine(cloud(), principal_geodesics(cloud()), scheme="best")


def test_kinds_agree_when_one_coordinate_is_not_zero():
    found = principal_geodesics(cloud(), modes=5)
    for mode in range(5):
        values = 0.8 * np.eye(5)[mode]
        assert decode_second_kind(found, values) == pytest.approx(found.decode(values), abs=1e-12)


def test_second_kind_jacobian_agrees_with_finite_differences():
    found = principal_geodesics(cloud(spread=1.0), modes=5)
    values = np.random.default_rng(0).standard_normal((6, 5))
    here = so3.inverse(decode_second_kind(found, values))
    columns = jacobian_second_kind(found, values)
    for mode in range(5):
        step = 1e-6 * np.eye(5)[mode]
        ahead, behind = (
            so3.log(so3.multiply(here, decode_second_kind(found, values + s))) for s in (step, -step)
        )
        assert columns[:, mode] == pytest.approx((ahead - behind) / 2e-6, abs=1e-8)


def test_second_kind_does_not_return_to_the_data_with_tangent_coordinates_but_does_when_refitted():
    rotations = cloud(spread=1.2, samples=40)
    found = principal_geodesics(rotations, modes=12)
    tangent = found.encode(rotations)
    assert so3.distance(found.decode(tangent), rotations).max() < 1e-8
    assert so3.distance(decode_second_kind(found, tangent), rotations).max() > 0.1
    refitted = encode_second_kind(found, rotations)
    assert squared_error(rotations, decode_second_kind(found, refitted)) < 1e-6


def test_refitting_is_never_worse_than_deflation():
    rotations = cloud(spread=1.0)
    found = principal_geodesics(rotations, modes=4, metric=WEIGHTS)
    deflated = decode_second_kind(found, deflate(found, rotations, weights=WEIGHTS))
    refitted = decode_second_kind(found, encode_second_kind(found, rotations, weights=WEIGHTS))
    assert squared_error(rotations, refitted, WEIGHTS) <= squared_error(rotations, deflated, WEIGHTS)


def test_wrong_weights_are_refused():
    with pytest.raises(InputError, match="4 numbers above 0"):
        project(principal_geodesics(cloud(), modes=2), cloud(), weights=[1, 2])
