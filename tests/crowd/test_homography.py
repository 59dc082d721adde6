"""Homographies: points and velocities through them, and fitting them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd import cameras as plane
from marey.crowd.cameras import Camera
from marey.errors import InputError

CAMERA = Camera.looking((3, -12, 7), (4, 4, 0), size=(640, 480), field_of_view=0.9)
pixels = st.tuples(st.floats(0, 639), st.floats(150, 479))


@given(pixels)
@settings(deadline=None, max_examples=60)
def test_to_the_ground_and_back_is_exact(pixel):
    matrix = CAMERA.homography
    ground = plane.apply(matrix, pixel)
    again = plane.apply(matrix, plane.apply(plane.inverse(matrix), ground))
    assert np.linalg.norm(again - ground) < 1e-9


@given(pixels, st.tuples(st.floats(-5, 5), st.floats(-5, 5)))
@settings(deadline=None, max_examples=60)
def test_transported_velocities_are_finite_differences_of_positions(pixel, velocity):
    matrix, rate, step = CAMERA.homography, 25.0, 1e-5
    pixel, velocity = np.array(pixel), np.array(velocity)
    moved = plane.apply(matrix, pixel + step * velocity) - plane.apply(matrix, pixel - step * velocity)
    found = plane.ground_velocities(matrix, pixel, velocity, frame_rate=rate)
    assert np.allclose(found, rate * moved / (2 * step), atol=1e-6, rtol=1e-6)
    back = plane.ground_velocities(
        plane.inverse(matrix), plane.apply(matrix, pixel), found, frame_rate=1 / rate
    )
    assert np.allclose(back, velocity, atol=1e-9)


def test_four_points_fix_the_homography():
    corners = np.array([[50.0, 200], [600, 220], [520, 470], [20, 460]])
    found = plane.fit(corners, plane.apply(CAMERA.homography, corners))
    expected = CAMERA.homography
    assert np.allclose(found / found[2, 2], expected / expected[2, 2], rtol=1e-6, atol=1e-9)


def test_many_noisy_points_beat_four():
    rng = np.random.default_rng(3)
    seen = np.column_stack([rng.uniform(0, 640, 60), rng.uniform(180, 480, 60)])
    ground = plane.apply(CAMERA.homography, seen)
    clicked = seen + rng.normal(0, 1.0, seen.shape)
    places = ground[rng.permutation(60)[:20]]
    exact = plane.apply(plane.inverse(CAMERA.homography), places)

    def off(matrix):
        return np.linalg.norm(plane.apply(plane.inverse(matrix), places) - exact, axis=1).mean()

    assert off(plane.fit(clicked, ground)) < 0.5
    assert off(plane.fit(clicked, ground)) < off(plane.fit(clicked[:4], ground[:4]))


def test_the_fit_is_least_in_the_picture():
    rng = np.random.default_rng(5)
    seen = np.column_stack([rng.uniform(0, 640, 30), rng.uniform(180, 480, 30)])
    ground = plane.apply(CAMERA.homography, seen)
    clicked = seen + rng.normal(0, 2.0, seen.shape)
    fitted = plane.inverse(plane.fit(clicked, ground))

    def cost(matrix):
        return np.sum((plane.apply(matrix, ground) - clicked) ** 2)

    best = cost(fitted)
    for entry in np.ndindex(3, 3):
        for sign in (-1, 1):
            nudged = fitted.copy()
            nudged[entry] *= 1 + sign * 1e-4
            assert cost(nudged) >= best - 1e-9


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ([[0, 0], [1, 0], [2, 0], [3, 0]], "lie on a line"),
        ([[0, 0], [1, 0], [2, 0], [1, 5]], "lie on a line"),
        ([[0, 0], [0, 0], [5, 0], [1, 5]], "lie on a line"),
        ([[7, 7]] * 4, "one point"),
        ([[0, 0], [1, 0], [0, 1]], "four points"),
    ],
)
def test_points_that_fix_nothing_are_refused_in_words(seen, words):
    ground = [[0, 0], [4, 0], [4, 4], [0, 4]][: len(seen)]
    with pytest.raises(InputError, match=words):
        plane.fit(seen, ground)


def test_a_camera_far_above_turns_and_shifts():
    matrix = plane.orthographic(0.25, rotation=np.pi / 2, offset=(3.0, 1.0))
    assert np.allclose(plane.apply(matrix, [[0, 0], [4, 0], [0, 4]]), [[3, 1], [3, 2], [4, 1]])
    with pytest.raises(InputError, match="metres per pixel"):
        plane.orthographic(0.0)


def test_a_singular_matrix_is_refused():
    with pytest.raises(InputError, match="singular"):
        plane.Homography(np.ones((3, 3)))
