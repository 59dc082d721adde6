"""Cameras over the ground: what they see, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd.cameras import Camera
from marey.errors import InputError


def oblique(distortion=(0.0, 0.0)) -> Camera:
    plain = Camera.looking((0, -15, 8), (2, 3, 0), size=(640, 480), field_of_view=1.0)
    return Camera(plain.intrinsics, plain.rotation, plain.translation, plain.size, distortion)


@given(
    st.tuples(st.floats(-4, 8), st.floats(-2, 8)),
    st.sampled_from([(0.0, 0.0), (0.15, 0.0), (-0.1, 0.02)]),
    st.sampled_from([0.0, 0.9, 1.7]),
)
@settings(deadline=None, max_examples=60)
def test_ground_to_picture_and_back_is_exact(place, distortion, height):
    camera = oblique(distortion)
    back = camera.to_ground(camera.project([*place, height]), height=height)
    assert np.linalg.norm(back - place) < 1e-9


def test_the_homography_agrees_with_the_rays_of_a_straight_lens():
    camera = oblique()
    pixels = np.array([[100.0, 300.0], [500.0, 400.0], [320.0, 250.0]])
    for height in (0.0, 0.9):
        through = np.column_stack([pixels, np.ones(3)]) @ camera.homography_at(height).T
        ground = camera.to_ground(pixels, height=height)
        assert np.allclose(through[:, :2] / through[:, 2:], ground, atol=1e-9)


def test_straightened_and_bent_undo_each_other():
    camera = oblique((0.2, -0.01))
    pixels = np.array([[10.0, 20.0], [630.0, 470.0], [300.0, 240.0]])
    assert np.allclose(camera.bent(camera.straightened(pixels)), pixels, atol=1e-9)
    assert np.abs(camera.straightened(pixels) - pixels).max() > 1


def test_what_is_behind_or_above_the_horizon_is_nowhere():
    camera = oblique()
    assert np.isnan(camera.project([0.0, -60.0, 0.0])).all()
    level = Camera.looking((0, 0, 2), (10, 0, 2), size=(640, 480), field_of_view=1.0)
    assert np.isnan(level.to_ground([320.0, 10.0])).all()


def test_a_mirror_is_no_rotation():
    plain = oblique()
    with pytest.raises(InputError, match="not a rotation"):
        Camera(plain.intrinsics, np.diag([1.0, 1.0, -1.0]), plain.translation, plain.size)
