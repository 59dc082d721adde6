"""Euler angles of all twelve orders: against scipy, in gimbal lock, and along time."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry.matrices import ORDERS

from .strategies import rotations

AXES = {"X": [1.0, 0.0, 0.0], "Y": [0.0, 1.0, 0.0], "Z": [0.0, 0.0, 1.0]}


def is_proper(order):
    return order[0] == order[2]


def test_there_are_twelve_orders():
    assert len(set(ORDERS)) == 12


@pytest.mark.parametrize("order", ORDERS)
def test_letters_multiply_from_left_to_right(order):
    angles = np.random.default_rng(0).uniform(-7.0, 7.0, (50, 3))
    q = rot.identity()
    for letter, angle in zip(order, angles.T):
        q = rot.multiply(q, rot.exp(angle[:, None] * np.array(AXES[letter])))
    assert np.abs(rot.from_euler(angles, order) - q).max() < 1e-15


@pytest.mark.parametrize("order", ORDERS)
def test_both_directions_agree_with_scipy(order):
    q = rot.random(500, rng=1)
    scipy_angles = Rotation.from_quat(q, scalar_first=True).as_euler(order)
    assert np.abs(rot.to_euler(q, order) - scipy_angles).max() < 1e-13
    scipy_matrices = Rotation.from_euler(order, scipy_angles).as_matrix()
    assert np.abs(rot.to_matrix(rot.from_euler(scipy_angles, order)) - scipy_matrices).max() < 2e-15


@given(rotations, st.sampled_from(ORDERS))
def test_angles_reproduce_the_rotation_and_keep_their_ranges(q, order):
    a, b, c = rot.to_euler(q, order)
    assert rot.distance(rot.from_euler([a, b, c], order), q) < 5e-12
    assert -np.pi < a <= np.pi
    assert -np.pi < c <= np.pi
    assert 0.0 <= b <= np.pi if is_proper(order) else abs(b) <= np.pi / 2


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-10, 1e-8, 1e-4])
def test_gimbal_lock_loses_no_digit_and_raises_no_warning(order, gap):
    rng = np.random.default_rng(2)
    angles = rng.uniform(-np.pi, np.pi, (100, 3))
    locks = [0.0, np.pi] if is_proper(order) else [-np.pi / 2, np.pi / 2]
    angles[:, 1] = rng.choice(locks, 100) + gap
    q = rot.from_euler(angles, order)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = rot.to_euler(q, order)
    assert np.isfinite(read).all()
    assert rot.distance(rot.from_euler(read, order), q).max() < 5e-12
    if gap == 0.0:
        assert np.abs(read[:, 2]).max() < 1e-15
        assert rot.distance(rot.from_euler(read, order), q).max() < 2e-15


@pytest.mark.parametrize("order", ORDERS)
def test_unwrapping_recovers_a_smooth_curve_through_every_branch(order):
    t = np.linspace(0.0, 20.0, 4_000)[:, None, None]
    rate = np.random.default_rng(3).uniform(0.3, 1.5, (2, 3))
    truth = np.sin(rate * t) * [4.0, 2.0, 5.0] + [0.0, 1.0, 0.0] + [0.5, 0.0, 0.0] * t
    read = rot.to_euler(rot.from_euler(truth, order), order)
    assert np.abs(np.diff(read, axis=0)).max() > 1.0
    smooth = rot.unwrap_euler(read, order)
    assert np.abs(np.diff(smooth, axis=0)).max() < 0.05
    assert rot.distance(rot.from_euler(smooth, order), rot.from_euler(truth, order)).max() < 1e-13
    along_last = rot.unwrap_euler(np.moveaxis(read, 0, 1), order, axis=1)
    assert np.array_equal(np.moveaxis(along_last, 1, 0), smooth)


@pytest.mark.parametrize("order", ORDERS)
def test_unwrapping_holds_the_first_angle_while_locked(order):
    lock = 0.0 if is_proper(order) else np.pi / 2
    truth = np.array([[2.0, lock + 0.1, 1.0]] * 3 + [[2.0, lock, 1.1]] * 4 + [[2.0, lock - 0.1, 1.2]] * 3)
    smooth = rot.unwrap_euler(rot.to_euler(rot.from_euler(truth, order), order), order)
    assert np.abs(np.diff(smooth, axis=0)).max() < 0.1 + 1e-12
    assert rot.distance(rot.from_euler(smooth, order), rot.from_euler(truth, order)).max() < 1e-14


def test_unwrapping_takes_clips_without_or_with_one_frame():
    assert rot.unwrap_euler(np.zeros((0, 2, 3)), "ZXY").shape == (0, 2, 3)
    one = np.array([[[3.0, 1.0, -3.0]]])
    assert np.array_equal(rot.unwrap_euler(one, "ZXY"), one)


def test_wrong_orders_and_axes_are_named():
    for order in ("XXY", "xyz", "ZY", ""):
        with pytest.raises(InputError, match="choose one of XYZ"):
            rot.from_euler(np.zeros(3), order)
        with pytest.raises(InputError, match="choose one of XYZ"):
            rot.to_euler(rot.identity(), order)
    with pytest.raises(InputError, match="not a time axis"):
        rot.unwrap_euler(np.zeros((5, 3)), "XYZ", axis=1)
