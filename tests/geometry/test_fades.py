"""Claims about smooth transitions."""

from __future__ import annotations

import numpy as np
import pytest

from marey._arrays import runs
from marey.errors import InputError
from marey.geometry import rotations
from marey.geometry.fades import distance_to, fade, minimum_jerk
from marey.geometry.rotations import like


def test_minimum_jerk_starts_and_ends_at_rest():
    x = np.linspace(0, 1, 1001)
    y = minimum_jerk(x)
    assert (y[0], y[-1]) == (0.0, 1.0)
    assert (np.diff(y) >= 0).all()
    velocity = np.gradient(y, x)
    assert abs(velocity[[0, -1]]).max() < 1e-5
    assert abs(np.gradient(velocity, x)[[0, -1]]).max() < 0.05


def test_a_fade_is_one_inside_and_zero_beyond_its_frames():
    mask = np.zeros(30, dtype=bool)
    mask[10:14] = True
    found = fade(mask, 4)
    assert (found[10:14] == 1.0).all()
    assert not found[:6].any()
    assert not found[18:].any()
    assert (np.diff(found[5:11]) > 0).all()
    np.testing.assert_allclose(found[5:10], found[14:19][::-1])


def test_a_fade_of_no_frames_is_the_mask_and_of_an_empty_mask_zero():
    assert fade([True, False, True], 0).tolist() == [1.0, 0.0, 1.0]
    assert fade([False, False], 3).tolist() == [0.0, 0.0]
    with pytest.raises(InputError, match="fade"):
        fade([True], -1)


def test_distances_are_to_the_nearest_marked_entry():
    mask = np.random.default_rng(0).random(60) < 0.1
    places = np.arange(60)
    expected = np.abs(places[:, None] - np.flatnonzero(mask)).min(axis=1)
    assert (distance_to(mask) == expected).all()


def test_runs_are_those_of_true_values():
    mask = np.random.default_rng(1).random(50) < 0.5
    again = np.zeros(50, dtype=bool)
    for first, stop in runs(mask):
        assert mask[first:stop].all()
        again[first:stop] = True
    assert (again == mask).all()
    assert runs([]) == []


def test_rotations_keep_but_take_the_sign_of_their_reference():
    rng = np.random.default_rng(2)
    q, reference = (rotations.normalise(rng.normal(size=(9, 4))) for _ in range(2))
    found = like(q, reference)
    assert ((found * reference).sum(axis=-1) >= 0).all()
    np.testing.assert_allclose(rotations.distance(found, q), 0, atol=1e-7)
