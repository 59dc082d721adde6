"""The intrinsic mean of rotations: what defines it, what it is invariant to, what it reports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry.mean import karcher_mean

from .strategies import directions, rotations


def cloud(spread, frames=60, joints=4, seed=0):
    """Rotations scattered about one centre a joint."""
    rng = np.random.default_rng(seed)
    centre = rot.random(joints, rng=rng)
    return rot.multiply(centre, rot.exp(spread * rng.standard_normal((frames, joints, 3)))), centre


@given(rotations)
def test_mean_of_a_quaternion_and_its_antipode_is_itself(q):
    assert np.abs(karcher_mean([q, -q]).mean - q).max() < 1e-15


@pytest.mark.parametrize("spread", [1e-9, 1e-3, 0.4, 0.8])
def test_gradient_vanishes_at_the_mean(spread):
    q, _ = cloud(spread)
    result = karcher_mean(q)
    gradient = rot.log(rot.multiply(rot.inverse(result.mean), q)).mean(axis=0)
    assert np.linalg.norm(gradient, axis=-1).max() < 1e-11
    assert result.converged.all()
    assert (result.residual <= 1e-12).all()


def test_mean_has_less_mean_squared_distance_than_its_neighbours():
    q, _ = cloud(0.5)
    mean = karcher_mean(q).mean
    best = (rot.distance(mean, q) ** 2).mean(axis=0)
    for step in 0.05 * np.random.default_rng(1).standard_normal((50, 4, 3)):
        assert ((rot.distance(rot.multiply(mean, rot.exp(step)), q) ** 2).mean(axis=0) > best).all()


@settings(max_examples=50)
@given(directions, st.lists(st.floats(-1.5, 1.5), min_size=1, max_size=12), st.floats(-3.0, 3.0))
def test_about_one_axis_it_is_the_arithmetic_mean_angle(axis, angles, offset):
    angles = np.array(angles) + offset
    expected = rot.exp(angles.mean() * axis)
    assert rot.distance(karcher_mean(rot.exp(angles[:, None] * axis)).mean, expected) < 1e-12


@settings(max_examples=30)
@given(rotations, rotations)
def test_mean_is_equivariant_under_constant_rotations(left, right):
    q, _ = cloud(0.5, seed=3)
    moved = karcher_mean(rot.multiply(rot.multiply(left, q), right)).mean
    assert rot.distance(moved, rot.multiply(rot.multiply(left, karcher_mean(q).mean), right)).max() < 1e-11


def test_mean_does_not_depend_on_signs_or_order():
    q, _ = cloud(0.6)
    rng = np.random.default_rng(4)
    shuffled = rng.permutation(q * rng.choice([-1.0, 1.0], (*q.shape[:-1], 1)))
    assert rot.distance(karcher_mean(shuffled).mean, karcher_mean(q).mean).max() < 1e-12


def test_whole_weights_count_as_repeated_samples():
    q, _ = cloud(0.5, frames=5)
    weights = np.array([3, 0, 1, 2, 1])
    repeated = karcher_mean(np.repeat(q, weights, axis=0))
    weighted = karcher_mean(q, weights)
    assert rot.distance(weighted.mean, repeated.mean).max() < 1e-12
    assert np.allclose(weighted.radius, repeated.radius, atol=1e-12)


def test_joints_are_independent_and_axes_can_be_chosen():
    q, _ = cloud(0.5)
    together = karcher_mean(q)
    assert together.mean.shape == (4, 4)
    for joint in range(4):
        alone = karcher_mean(q[:, joint])
        assert alone.mean.shape == (4,)
        assert rot.distance(alone.mean, together.mean[joint]) < 1e-14
    assert np.array_equal(karcher_mean(np.swapaxes(q, 0, 1), axis=1).mean, together.mean)


def test_a_rotation_averaged_alone_needs_no_iteration():
    result = karcher_mean(rot.random((1, 3), rng=0))
    assert result.converged.all()
    assert result.radius.max() < 1e-7


def test_radius_and_its_warnings_tell_scattered_joints_apart():
    axis = np.array([0.0, 1.0, 0.0])
    angles = np.stack([[-0.2, 0.0, 0.2], [-1.8, 0.0, 1.8], [-2.9, 0.0, 2.9]], axis=1)
    many = np.concatenate([angles, np.zeros((40, 3))])
    result = karcher_mean(rot.exp(many[..., None] * axis))
    np.testing.assert_allclose(result.radius, [0.2, 1.8, 2.9], atol=1e-12)
    assert result.unique.tolist() == [True, False, False]
    assert result.wrap_hazard.tolist() == [False, False, True]


def test_too_few_iterations_are_reported():
    q, _ = cloud(0.8)
    result = karcher_mean(q, max_iterations=1)
    assert not result.converged.any()
    assert (result.residual > 1e-12).all()
    assert (result.iterations == 1).all()


def test_even_uniformly_spread_samples_end_with_a_report():
    result = karcher_mean(rot.random((300, 6), rng=5), max_iterations=200)
    assert np.abs(np.linalg.norm(result.mean, axis=-1) - 1.0).max() < 1e-15
    assert (result.residual < 1e-2).all()
    assert not result.unique.any()


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0, 2.0], "one for each sample"), ([1.0, -1.0, 1.0], "not negative"), ([0, 0, 0], "not all zero")],
)
def test_wrong_weights_are_named(weights, message):
    with pytest.raises(InputError, match=message):
        karcher_mean(rot.identity(3), weights)


def test_no_samples_are_named():
    with pytest.raises(InputError, match="at least one"):
        karcher_mean(np.zeros((0, 4)))
    with pytest.raises(InputError, match="length nan"):
        karcher_mean(np.full((2, 4), np.nan))
