"""The root's way as velocities, and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.root_motion import (
    RootMotion,
    RootMotionModes,
    integrate_root_motion,
    positions_in_heading_frame,
    root_motion,
    yaw,
)
from marey.errors import InputError
from marey.geometry import rotations as so3

from .trees import random_motion


def back(motion, frame):
    facing = yaw(motion)[0] if frame == "heading" else 0.0
    return integrate_root_motion(
        root_motion(motion, frame), motion.frame_rate, start=motion.root[0], heading=facing
    )


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from(["heading", "world"]))
def test_any_path_comes_back_without_drift(seed, frames, frame):
    motion = random_motion(seed, joints=2, frames=frames)
    found = back(motion, frame)
    assert np.abs(found.positions - motion.root).max() < 1e-9
    assert so3.distance(found.rotations, motion.rotations[:, 0]).max() < 1e-9


def test_a_long_path_comes_back_without_drift():
    rng = np.random.default_rng(0)
    walk = random_motion(0, joints=1, frames=20_000)
    turns = so3.exp(np.cumsum(0.02 * rng.standard_normal((20_000, 3)), axis=0))
    walk = replace(
        walk,
        root=np.cumsum(0.01 * rng.standard_normal((20_000, 3)), axis=0),
        rotations=so3.continuous(turns)[:, None],
    )
    for frame in ("heading", "world"):
        found = back(walk, frame)
        assert np.abs(found.positions - walk.root).max() < 1e-9
        assert so3.distance(found.rotations, walk.rotations[:, 0]).max() < 1e-9


def test_heading_features_do_not_see_where_the_walk_leads():
    walk = marey.samples.walk()
    elsewhere = walk.transform(rotation=so3.exp([0, 1.2, 0]), translation=[3, 0, -5])
    assert root_motion(elsewhere).features == pytest.approx(root_motion(walk).features, abs=1e-9)
    assert so3.distance(root_motion(elsewhere).rotations, root_motion(walk).rotations).max() < 1e-9


def test_walking_on_a_circle_is_steady_in_the_heading_frame():
    angle = np.linspace(0, 3 * np.pi, 400)
    circle = random_motion(0, joints=1, frames=400)
    circle = replace(
        circle,
        root=np.stack([2 * np.sin(angle), np.ones(400), 2 * np.cos(angle)], axis=1),
        rotations=so3.exp(angle[:, None] * [0, 1, 0])[:, None],
    )
    assert np.ptp(root_motion(circle).features, axis=0).max() < 1e-9
    assert np.ptp(root_motion(circle, "world").features, axis=0).max() > 1.0


def test_unknown_frames_are_refused():
    with pytest.raises(InputError, match="none, heading, world"):
        root_motion(marey.samples.walk(), "sideways")
    with pytest.raises(InputError, match="heading, world"):
        RootMotionModes("none", np.zeros(3), np.zeros((1, 3)), np.zeros((1, 3)))
    with pytest.raises(InputError, match="mean"):
        RootMotionModes("heading", np.zeros(3), np.zeros((1, 4)), np.zeros((1, 4)))


def test_positions_in_the_heading_frame_do_not_depend_on_where_and_which_way_a_clip_goes() -> None:
    walk = marey.samples.walk(seconds=0.5)
    elsewhere = walk.transform(rotation=so3.exp([0, 1.3, 0]), translation=[4.0, 0.0, -2.0])
    places = positions_in_heading_frame(walk)
    assert positions_in_heading_frame(elsewhere) == pytest.approx(places, abs=1e-9)
    assert places[:, 0, [0, 2]] == pytest.approx(np.zeros((walk.frames, 2)), abs=1e-12)


def test_the_frame_of_root_motion_is_what_it_says_whatever_the_number_of_features() -> None:
    turns = so3.identity(3)
    features = np.array([[1.0, 0.0, 0.5, 0.0]] * 3)
    ahead = integrate_root_motion(RootMotion(features, turns, "heading"), 1.0, heading=np.pi / 2)
    assert ahead.positions == pytest.approx(np.array([[0, 0.5, 0], [0, 0.5, -1], [0, 0.5, -2]]), abs=1e-12)
    world = integrate_root_motion(RootMotion(features[:, :3], turns, "world"), 1.0, heading=np.pi / 2)
    assert world.positions == pytest.approx(np.array([[0, 0, 0], [1, 0, 0.5], [2, 0, 1.0]]), abs=1e-12)
