"""Curves of rotations without jumps of representation."""

from __future__ import annotations

import numpy as np
import pytest

from marey.errors import InputError
from marey.geometry import rotations as rot


def tumbling(frames=600, joints=3, seed=0):
    """Smooth curves that turn many times over."""
    rng = np.random.default_rng(seed)
    steps = 0.02 * rng.standard_normal((frames, joints, 3)).cumsum(axis=0) / np.sqrt(frames)
    q = [rot.random(joints, rng=rng)]
    for step in steps + np.array([0.0, 0.1, 0.0]):
        q.append(rot.multiply(q[-1], rot.exp(step)))
    return rot.normalise(q)


def test_continuous_undoes_arbitrary_sign_flips():
    smooth = tumbling()
    flips = np.random.default_rng(1).choice([-1.0, 1.0], smooth.shape[:-1])
    flips[0] = 1.0
    assert np.array_equal(rot.continuous(flips[..., None] * smooth), smooth)
    sideways = rot.continuous(np.swapaxes(flips[..., None] * smooth, 0, 1), axis=1)
    assert np.array_equal(sideways, np.swapaxes(smooth, 0, 1))
    assert np.array_equal(rot.continuous(np.swapaxes(smooth, 0, 1), axis=-2), np.swapaxes(smooth, 0, 1))


def test_continuous_takes_clips_without_or_with_one_frame():
    assert rot.continuous(np.zeros((0, 5, 4))).shape == (0, 5, 4)
    assert np.array_equal(rot.continuous(-rot.identity((1, 5))), -rot.identity((1, 5)))


def test_unwrapped_rotation_vectors_follow_a_turn_beyond_pi():
    angle = np.concatenate([np.linspace(0.0, 15.0, 200), np.linspace(15.0, -15.0, 400)])
    axis = np.array([0.6, -0.48, 0.64])
    unwrapped = rot.unwrap(rot.log(rot.exp(angle[:, None] * axis)))
    assert np.abs(unwrapped - angle[:, None] * axis).max() < 1e-13


def test_unwrapping_passes_through_whole_turns():
    v = np.array([[6.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.3, 0.0, 0.0]])
    expected = [[6.0, 0.0, 0.0], [2 * np.pi, 0.0, 0.0], [2 * np.pi + 0.3, 0.0, 0.0]]
    assert np.allclose(rot.unwrap(v), expected, atol=1e-15)


def test_unwrapped_rotation_vectors_give_the_same_rotations_with_shorter_steps():
    q = tumbling()
    wrapped = rot.log(q)
    unwrapped = rot.unwrap(wrapped)
    assert rot.distance(rot.exp(unwrapped), q).max() < 1e-13
    step = np.linalg.norm(np.diff(wrapped, axis=0), axis=-1)
    assert step.max() > 5.0
    smooth_step = np.linalg.norm(np.diff(unwrapped, axis=0), axis=-1)
    assert smooth_step.sum() < step.sum()


def test_small_rotation_vectors_stay_bit_for_bit():
    v = 0.4 * np.random.default_rng(2).standard_normal((50, 4, 3))
    assert np.array_equal(rot.unwrap(v), v)
    assert np.array_equal(rot.unwrap(np.swapaxes(v, 0, 1), axis=1), np.swapaxes(v, 0, 1))
    assert rot.unwrap(np.zeros((0, 2, 3))).shape == (0, 2, 3)


@pytest.mark.parametrize("function", [rot.continuous, rot.unwrap])
def test_the_component_axis_is_not_a_time_axis(function):
    array = np.ones((5, 4 if function is rot.continuous else 3))
    for axis in (1, -1, 2):
        with pytest.raises(InputError, match="not a time axis"):
            function(array, axis=axis)
