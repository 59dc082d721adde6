"""The fast intrinsic mean: that it is the mean, of however many rotations, whichever way they go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.mean import karcher_mean
from marey.statistics.rotation_mean import centred, log_sums

from .clouds import cloud


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.floats(0.01, 1.2), st.integers(1, 60))
def test_newton_finds_the_mean_of_the_fixed_point(seed, spread, samples):
    rotations = cloud(samples, spread=spread, seed=seed)
    found, known = centred(rotations), karcher_mean(rotations)
    gradient = found.logs.mean(axis=0).reshape(-1, 3)
    assert np.linalg.norm(gradient, axis=1).max() < 1e-10
    assert so3.distance(found.mean, known.mean)[known.unique].max(initial=0.0) < 1e-9
    assert found.radius == pytest.approx(known.radius, abs=1e-8) or not known.unique.all()


def test_mean_of_turns_about_one_axis_has_the_mean_angle():
    angles = np.array([0.3, 1.0, 1.1, 2.9])
    found = centred(so3.exp(angles[:, None, None] * [[0.0, 0.6, 0.8]]))
    assert so3.log(found.mean[0]) == pytest.approx(angles.mean() * np.array([0.0, 0.6, 0.8]), abs=1e-12)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_mean_moves_with_rotations_on_either_side(seed):
    rotations = cloud(seed=seed)
    left, right = so3.random((2, rotations.shape[1]), rng=seed)
    moved = so3.multiply(left, so3.multiply(rotations, right))
    expected = so3.multiply(left, so3.multiply(centred(rotations).mean, right))
    assert so3.distance(centred(moved).mean, expected).max() < 1e-9


def test_signs_of_quaternions_do_not_matter():
    rotations = cloud(seed=3)
    signs = np.where(np.random.default_rng(0).random(rotations.shape[:2]) < 0.5, -1.0, 1.0)
    signs[0] = 1.0
    assert np.abs(centred(rotations * signs[..., None]).mean - centred(rotations).mean).max() < 1e-12


def test_compiled_and_plain_sums_agree():
    rotations = cloud(samples=700, joints=3, spread=1.5)
    mean = karcher_mean(rotations).mean
    from marey.statistics import _kernels

    logs, sums = np.empty((700, 9)), np.zeros((12, 3))
    _kernels.logarithms(mean, rotations, logs, sums)
    vectors = so3.log(so3.multiply(so3.inverse(mean), rotations)).reshape(700, 9)
    assert np.abs(logs - vectors).max() < 1e-13
    parts = [log_sums(mean, part)[1] for part in np.array_split(rotations, 7)]
    assert np.sum(parts, axis=0)[:11] == pytest.approx(sums[:11], abs=1e-9)
    assert np.max(parts, axis=0)[11] == pytest.approx(sums[11], abs=1e-12)


def test_half_turns_have_the_logarithm_of_the_plain_function():
    from marey.statistics import _kernels

    rotations = np.array([[[0.0, -1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0, 0.0]], [[0.0, 0.0, 0.0, -1.0]]])
    logs, sums = np.empty((3, 3)), np.zeros((12, 1))
    _kernels.logarithms(so3.identity(1), rotations, logs, sums)
    assert np.abs(logs - so3.log(rotations)[:, 0]).max() < 1e-14


def test_scattered_rotations_still_end_at_a_stationary_point():
    found = centred(so3.random((400, 3), rng=5))
    assert np.abs(found.logs.mean(axis=0)).max() < 1e-9


def test_one_rotation_is_its_own_mean():
    one = so3.random((1, 4), rng=0)
    assert so3.distance(centred(one).mean, one[0]).max() < 1e-7


def test_no_rotations_have_no_mean():
    with pytest.raises(InputError, match="at least one"):
        centred(np.empty((0, 3, 4)))
