"""Cameras hold what they should hold, and follow without jerks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.views.camera import Camera, direction, framing, smooth_path

SIZE = (1280, 720)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(-3.1, 3.1), st.floats(-0.3, 1.2), st.floats(1e-3, 1e3))
def test_framing_sees_every_point_within_its_margin(seed, azimuth, elevation, scale):
    points = np.random.default_rng(seed).normal(size=(40, 3)) * scale * [1, 2, 0.5] + scale
    screen = framing(points, direction(azimuth, elevation), SIZE, margin=0.8).project(points, SIZE)
    share = np.abs(screen[:, :2] / SIZE - 0.5).max(axis=0) / 0.5
    assert share.max() <= 0.8 + 1e-9
    assert share.max() > 0.8 - 1e-6, "it could be nearer"


def test_a_single_point_is_seen_from_outside():
    camera = framing(np.array([[5.0, 1.0, 2.0]]), direction(0.3, 0.2), SIZE)
    screen = camera.project(np.array([[5.0, 1.0, 2.0]]), SIZE)
    assert screen[0, :2] == pytest.approx([640, 360])
    assert screen[0, 2] > 0


def test_up_is_up_and_right_is_right():
    camera = Camera(np.array([0.0, 1.0, 5.0]), np.array([0.0, 0.0, -1.0]))
    middle, right, up = camera.project(np.array([[0.0, 1, 0], [1, 1, 0], [0, 2, 0]]), SIZE)
    assert right[0] > middle[0] and right[1] == pytest.approx(middle[1])
    assert up[1] < middle[1] and up[0] == pytest.approx(middle[0])


def test_what_is_behind_is_not_projected():
    camera = Camera(np.zeros(3), np.array([0.0, 0.0, -1.0]))
    assert not camera.project(np.array([[0.0, 0.0, 1.0]]), SIZE)[0, 2] > 0


def test_smoothing_keeps_a_steady_walk_to_its_last_frame():
    walk = np.linspace([0.0, 0, 0], [10.0, 0, 3.0], 90)
    assert smooth_path(walk, 30.0) == pytest.approx(walk, abs=1e-9)


def test_smoothing_takes_away_wobbles():
    time = np.arange(300) / 30.0
    path = np.stack([time, 0.2 * np.sin(2 * np.pi * 4 * time)], axis=1)
    assert np.abs(smooth_path(path, 30.0)[30:-30, 1]).max() < 0.01


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_short_paths_are_smoothed_too(frames):
    path = np.arange(3.0 * frames).reshape(frames, 3)
    assert smooth_path(path, 120.0) == pytest.approx(path)
