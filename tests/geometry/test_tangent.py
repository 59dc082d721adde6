"""Differentials of exp and log against finite differences and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from marey.geometry import matrices
from marey.geometry import rotations as rot

from .strategies import rotation_vectors, vectors
from .twists import vector_of as vee


def central(function, x, h=2e-5):
    """Fourth-order central differences, one column a coordinate."""
    columns = []
    for i in range(3):
        e = np.zeros(3)
        e[i] = h
        columns.append(
            (8 * (function(x + e) - function(x - e)) - (function(x + 2 * e) - function(x - 2 * e))) / (12 * h)
        )
    return np.stack(columns, axis=-1)


@given(vectors(3.0))
def test_dexp_body_matches_central_differences(w):
    R = rot.to_matrix(rot.exp(w))
    numeric = central(lambda x: vee(R.T @ rot.to_matrix(rot.exp(x))), w)
    assert np.abs(matrices.dexp_body(w) - numeric).max() < 1e-9


@given(vectors(3.0))
def test_the_transpose_is_the_spatial_differential(w):
    R = rot.to_matrix(rot.exp(w))
    numeric = central(lambda x: vee(rot.to_matrix(rot.exp(x)) @ R.T), w)
    assert np.abs(matrices.dexp_body(w).T - numeric).max() < 1e-9


@given(vectors(1.7))
def test_dexp_inverses_are_the_differentials_of_log(w):
    q = rot.exp(w)
    body = central(lambda x: rot.log(rot.multiply(q, rot.exp(x))), np.zeros(3))
    spatial = central(lambda x: rot.log(rot.multiply(rot.exp(x), q)), np.zeros(3))
    assert np.abs(matrices.dexp_body_inverse(w) - body).max() < 1e-9
    assert np.abs(matrices.dexp_body_inverse(w).T - spatial).max() < 1e-9


@given(rotation_vectors)
def test_dexp_times_its_inverse_is_identity(w):
    assert np.abs(matrices.dexp_body(w) @ matrices.dexp_body_inverse(w) - np.eye(3)).max() < 1e-14


@given(rotation_vectors)
def test_the_transpose_is_the_rotated_body_differential(w):
    body, spatial = matrices.dexp_body(w), matrices.dexp_body(w).T
    assert np.abs(spatial - matrices.dexp_body(-w)).max() < 1e-15
    assert np.abs(spatial - rot.to_matrix(rot.exp(w)) @ body).max() < 2e-15


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.00999, 0.01001, 1.0, np.pi, 6.0])
def test_determinant_of_dexp(angle):
    w = angle * np.array([0.6, -0.48, 0.64])
    expected = np.sinc(0.5 * angle / np.pi) ** 2  # 2 (1 - cos) / angle^2
    assert abs(np.linalg.det(matrices.dexp_body(w)) - expected) < 1e-14


@given(rotation_vectors)
def test_along_its_own_direction_exp_moves_at_unit_rate(w):
    assert np.abs(matrices.dexp_body(w) @ w - w).max() < 1e-14


def test_series_and_formula_meet():
    """Both sides of the switch, as curves without a step larger than their slope allows."""
    below, above = np.array([0.01 - 1e-12, 0.01 + 1e-12]) ** 2
    for function in (matrices.one_minus_cosine, matrices.angle_minus_sine, matrices.inverse_second):
        # What multiplies these is at least the squared angle, 1e-4.
        assert abs(function(np.array(below)) - function(np.array(above))) * 1e-4 < 1e-15


def test_any_leading_shape():
    w = np.random.default_rng(0).standard_normal((2, 5, 3))
    for function in (matrices.dexp_body, matrices.dexp_body_inverse):
        assert function(w).shape == (2, 5, 3, 3)
        assert np.array_equal(function(w)[1, 3], function(w[1, 3]))
