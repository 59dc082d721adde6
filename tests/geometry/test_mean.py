"""The intrinsic mean of rotations: what defines it, what it is invariant to, what it reports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.geometry import _batch_kernels
from marey.geometry import rotations as rot
from marey.geometry.mean import log_sums, rotation_mean

from .strategies import directions, rotations


def cloud(spread, frames=60, joints=4, seed=0):
    """Rotations scattered about one centre a joint."""
    rng = np.random.default_rng(seed)
    centre = rot.random(joints, rng=rng)
    return rot.multiply(centre, rot.exp(spread * rng.standard_normal((frames, joints, 3)))), centre


@given(rotations)
def test_mean_of_a_quaternion_and_its_antipode_is_itself(q):
    assert np.abs(rotation_mean([q, -q]).mean - q).max() < 1e-15


@pytest.mark.parametrize("spread", [1e-9, 1e-3, 0.4, 0.8])
def test_gradient_vanishes_at_the_mean(spread):
    q, _ = cloud(spread)
    result = rotation_mean(q)
    gradient = rot.log(rot.multiply(rot.inverse(result.mean), q)).mean(axis=0)
    assert np.linalg.norm(gradient, axis=-1).max() < 1e-11
    assert result.converged.all()
    assert (result.residual <= 1e-12).all()


def test_mean_has_less_mean_squared_distance_than_its_neighbours():
    q, _ = cloud(0.5)
    mean = rotation_mean(q).mean
    best = (rot.distance(mean, q) ** 2).mean(axis=0)
    for step in 0.05 * np.random.default_rng(1).standard_normal((50, 4, 3)):
        assert ((rot.distance(rot.multiply(mean, rot.exp(step)), q) ** 2).mean(axis=0) > best).all()


@settings(max_examples=50)
@given(directions, st.lists(st.floats(-1.5, 1.5), min_size=1, max_size=12), st.floats(-3.0, 3.0))
def test_about_one_axis_it_is_the_arithmetic_mean_angle(axis, angles, offset):
    angles = np.array(angles) + offset
    expected = rot.exp(angles.mean() * axis)
    assert rot.distance(rotation_mean(rot.exp(angles[:, None] * axis)).mean, expected) < 1e-12


@settings(max_examples=30)
@given(rotations, rotations)
def test_mean_is_equivariant_under_constant_rotations(left, right):
    q, _ = cloud(0.5, seed=3)
    moved = rotation_mean(rot.multiply(rot.multiply(left, q), right)).mean
    assert rot.distance(moved, rot.multiply(rot.multiply(left, rotation_mean(q).mean), right)).max() < 1e-11


def test_mean_does_not_depend_on_signs_or_order():
    q, _ = cloud(0.6)
    rng = np.random.default_rng(4)
    shuffled = rng.permutation(q * rng.choice([-1.0, 1.0], (*q.shape[:-1], 1)))
    assert rot.distance(rotation_mean(shuffled).mean, rotation_mean(q).mean).max() < 1e-12


def test_whole_weights_count_as_repeated_samples():
    q, _ = cloud(0.5, frames=5)
    weights = np.array([3, 0, 1, 2, 1])
    repeated = rotation_mean(np.repeat(q, weights, axis=0))
    weighted = rotation_mean(q, weights)
    assert rot.distance(weighted.mean, repeated.mean).max() < 1e-12
    assert np.allclose(weighted.radius, repeated.radius, atol=1e-12)


def test_joints_are_independent_and_axes_can_be_chosen():
    q, _ = cloud(0.5)
    together = rotation_mean(q)
    assert together.mean.shape == (4, 4)
    for joint in range(4):
        alone = rotation_mean(q[:, joint])
        assert alone.mean.shape == (4,)
        assert rot.distance(alone.mean, together.mean[joint]) < 1e-14
    assert np.array_equal(rotation_mean(np.swapaxes(q, 0, 1), axis=1).mean, together.mean)


def test_a_rotation_averaged_alone_needs_no_iteration():
    result = rotation_mean(rot.random((1, 3), rng=0))
    assert result.converged.all()
    assert result.radius.max() < 1e-7


def test_radius_and_its_warnings_tell_scattered_joints_apart():
    axis = np.array([0.0, 1.0, 0.0])
    angles = np.stack([[-0.2, 0.0, 0.2], [-1.8, 0.0, 1.8], [-2.9, 0.0, 2.9]], axis=1)
    many = np.concatenate([angles, np.zeros((40, 3))])
    result = rotation_mean(rot.exp(many[..., None] * axis))
    np.testing.assert_allclose(result.radius, [0.2, 1.8, 2.9], atol=1e-12)
    assert result.unique.tolist() == [True, False, False]


def test_too_few_iterations_are_reported():
    q, _ = cloud(0.8)
    result = rotation_mean(q, max_iterations=1)
    assert not result.converged.any()
    assert (result.residual > 1e-12).all()
    assert (result.iterations == 1).all()


def test_even_uniformly_spread_samples_end_with_a_report():
    result = rotation_mean(rot.random((300, 6), rng=5), max_iterations=200)
    assert np.abs(np.linalg.norm(result.mean, axis=-1) - 1.0).max() < 1e-15
    assert (result.residual < 1e-2).all()
    assert not result.unique.any()


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0, 2.0], "one for each sample"), ([1.0, -1.0, 1.0], "not negative"), ([0, 0, 0], "not all zero")],
)
def test_wrong_weights_are_named(weights, message):
    with pytest.raises(InputError, match=message):
        rotation_mean(rot.identity(3), weights)


def test_no_samples_are_named():
    with pytest.raises(InputError, match="at least one"):
        rotation_mean(np.zeros((0, 4)))
    with pytest.raises(InputError, match="length nan"):
        rotation_mean(np.full((2, 4), np.nan))


def fixed_point(q, steps=200):
    """The published iteration: mu <- mu exp(mean log(mu^-1 q))."""
    mean = rot.normalise(q[0])
    for _ in range(steps):
        mean = rot.multiply(mean, rot.exp(rot.log(rot.multiply(rot.inverse(mean), q)).mean(axis=0)))
    return rot.normalise(mean)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 0.6), st.integers(1, 60))
def test_newton_finds_the_mean_of_the_fixed_point(seed, spread, samples):
    q, _ = cloud(spread, frames=samples, seed=seed)
    found = rotation_mean(q)
    assert np.linalg.norm(found.logs.mean(axis=0), axis=-1).max() < 1e-10
    assert rot.distance(found.mean, fixed_point(q))[found.unique].max(initial=0.0) < 1e-9


def test_compiled_and_plain_sums_agree():
    q, _ = cloud(1.5, frames=700, joints=3)
    mean, weights = rotation_mean(q).mean, np.random.default_rng(1).random(700)
    logs, sums = np.empty((700, 9)), np.zeros((12, 3))
    _batch_kernels.sum_logarithms(mean, q, weights, logs, sums)
    assert np.abs(logs - rot.log(rot.multiply(rot.inverse(mean), q)).reshape(700, 9)).max() < 1e-13
    parts = [log_sums(mean, q[part], weights[part])[1] for part in np.array_split(np.arange(700), 7)]
    assert np.sum(parts, axis=0)[:11] == pytest.approx(sums[:11], abs=1e-9)
    assert np.max(parts, axis=0)[11] == pytest.approx(sums[11], abs=1e-12)


def test_half_turns_have_the_logarithm_of_the_plain_function():
    q = np.array([[[0.0, -1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0, 0.0]], [[0.0, 0.0, 0.0, -1.0]]])
    logs, sums = np.empty((3, 3)), np.zeros((12, 1))
    _batch_kernels.sum_logarithms(rot.identity(1), q, np.ones(3), logs, sums)
    assert np.abs(logs - rot.log(q)[:, 0]).max() < 1e-14


def test_scattered_rotations_still_end_at_a_stationary_point():
    found = rotation_mean(rot.random((400, 3), rng=5))
    assert np.abs(found.logs.mean(axis=0)).max() < 1e-9
