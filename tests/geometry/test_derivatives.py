"""Angular velocity and acceleration by local polynomials."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import savgol_filter

from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.derivatives import angular_motion
from marey.geometry.matrices import dexp_body
from tests.geometry.signals import shaken, wander


def swinging(rate: float, frames: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rotations exp(r(t)), and their exact body velocity and acceleration."""
    t = np.arange(frames) / rate
    f = np.array([1.0, 1.7, 0.6])
    size, phase = np.array([0.9, 0.5, 1.1]), np.array([0.0, 0.4, 1.0])
    r = size * np.sin(f * t[:, None] + phase)
    first, second = (
        size * f * np.cos(f * t[:, None] + phase),
        -size * f**2 * np.sin(f * t[:, None] + phase),
    )
    velocity = np.einsum("tij,tj->ti", dexp_body(r), first)
    h = 1e-5
    later = np.einsum("tij,tj->ti", dexp_body(r + h * first + h**2 / 2 * second), first + h * second)
    before = np.einsum("tij,tj->ti", dexp_body(r - h * first + h**2 / 2 * second), first - h * second)
    return so3.exp(r), velocity, (later - before) / (2 * h)


def test_constant_speed_is_exact_up_to_the_ends_in_both_frames() -> None:
    speed, start = np.array([0.4, -2.0, 1.0]), so3.random(rng=0)
    q = so3.multiply(start, so3.exp(np.outer(np.arange(40) / 100, speed)))
    body = angular_motion(q, 100.0)
    assert np.abs(body.velocity - speed).max() < 1e-11 and np.abs(body.acceleration).max() < 1e-6
    world = angular_motion(q, 100.0, frame="world")
    assert np.abs(world.velocity - so3.rotate(start, speed)).max() < 1e-11


def test_turns_about_one_axis_are_savitzky_and_golay_s_of_the_angle() -> None:
    angle = np.cumsum(np.random.default_rng(0).normal(scale=0.05, size=80))
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    found = angular_motion(so3.exp(np.outer(angle, axis)), 60.0, half=5, degree=3)
    for values, order in ((found.velocity, 1), (found.acceleration, 2)):
        theirs = savgol_filter(angle, 11, 3, deriv=order, delta=1 / 60)
        assert np.abs(values - np.outer(theirs, axis)).max() < 1e-10 * 60**order
    smooth = savgol_filter(angle, 11, 3)
    assert so3.distance(found.rotations, so3.exp(np.outer(smooth, axis))).max() < 1e-12


def test_true_velocities_and_accelerations_are_approached_as_the_rate_rises() -> None:
    errors = []
    for rate in (60.0, 120.0):
        q, velocity, acceleration = swinging(rate, int(2 * rate))
        found = angular_motion(q, rate, half=3, degree=4)
        errors.append(
            (np.abs(found.velocity - velocity).max(), np.abs(found.acceleration - acceleration).max())
        )
    assert errors[1][0] < 1e-4 and errors[1][1] < 2e-2
    assert errors[1][0] < errors[0][0] / 4 and errors[1][1] < errors[0][1] / 2


def test_noise_disturbs_it_less_than_differences() -> None:
    q, velocity, acceleration = swinging(120.0, 240)
    noisy = shaken(q, 0.01, 0)
    found = angular_motion(noisy, 120.0, half=8, degree=3)
    plain = so3.log(so3.multiply(so3.inverse(noisy[:-1]), noisy[1:])) * 120
    assert np.abs(found.velocity - velocity).mean() < 0.1 * np.abs(plain - velocity[:-1]).mean()
    rough = np.diff(plain, axis=0) * 120
    assert np.abs(found.acceleration - acceleration).mean() < 0.02 * np.abs(rough - acceleration[:-2]).mean()


def test_signs_and_quick_spins_within_a_window_do_not_confuse_it() -> None:
    spin = np.array([0.0, 50.0, 0.0])
    q = so3.exp(np.outer(np.arange(40) / 100, spin))
    q *= np.random.default_rng(0).choice([-1.0, 1.0], size=(40, 1))
    assert np.abs(angular_motion(q, 100.0, half=5).velocity - spin).max() < 1e-9
    many = wander(30, 0, series=(2, 3))
    assert angular_motion(many, 30.0).acceleration.shape == (30, 2, 3, 3)


def test_wrong_input_is_told_in_words() -> None:
    q = wander(10, 0)
    for given, options, words in (
        (q[:2], {}, "3 frames"),
        (q, {"frame": "screen"}, "body, world"),
        (q, {"half": 0}, "half"),
        (q, {"half": 2, "degree": 5}, "at most 4"),
    ):
        with pytest.raises(InputError, match=words):
            angular_motion(given, 30.0, **options)
