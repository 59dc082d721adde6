"""The built-in subject: behaviours that look like what they are called, feet that stay where they stand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.human.gaits import RUN_SPEED, bent, jump, motions, run, stand

from marey import Motion, samples
from marey.geometry import rotations as so3
from marey.samples.human import gaits
from marey.surface.sequence import Library

BALLS = ("LeftToeBase", "RightToeBase")


@pytest.fixture(scope="module")
def library() -> Library:
    return samples.mesh_library(vertices=800)


def balls(motion: Motion) -> NDArray[np.float64]:
    return np.asarray(motion.positions()[:, motion.skeleton.indices(BALLS)], np.float64)


def test_every_behaviour_is_there(library: Library) -> None:
    assert set(library.labels) == {"walk", "turn-left", "turn-right", "idle", "run", "jump"}
    assert len(library) >= 6 and library.frames > 500 and library.frame_rate == 30


def test_it_is_made_once(library: Library) -> None:
    assert samples.mesh_library(vertices=800) is library


def test_the_stored_clips_are_what_their_script_makes() -> None:
    made = motions(30.0)
    assert [(label, clip.name) for label, clip in made] == [
        (label, name) for name, (label, _) in gaits().items()
    ]
    for _, clip in made:
        np.testing.assert_allclose(gaits()[clip.name][1].positions(), clip.positions(), atol=1e-6)


def test_soles_do_not_slide(library: Library) -> None:
    for sequence in library.sequences:
        places = np.asarray(sequence.vertices, np.float64)
        low = (places[1:, :, 1] < 0.003) & (places[:-1, :, 1] < 0.003)
        steps = np.linalg.norm(np.diff(places[..., 0::2], axis=0), axis=-1)
        assert np.median(steps[low]) * 30 < 0.02, sequence.name


def test_nobody_sinks_into_the_ground_or_floats(library: Library) -> None:
    for sequence, label in zip(library.sequences, library.labels, strict=True):
        lowest = sequence.vertices[..., 1].min(axis=1)
        assert lowest.min() > -0.025, sequence.name
        assert lowest.max() < (0.25 if label in ("run", "jump") else 0.01), sequence.name


def test_turns_lead_to_their_side(library: Library) -> None:
    for sequence, label in zip(library.sequences, library.labels, strict=True):
        if label.startswith("turn"):
            middle = np.asarray(sequence.vertices, np.float64).mean(axis=1)
            # Left of a walk along +z is +x.
            assert (middle[-1, 0] > 0.5) == (label == "turn-left"), sequence.name


def test_a_bent_walk_keeps_its_footprints() -> None:
    straight = samples.walk(seconds=3, frame_rate=60)
    curved = bent(straight, turn=2.0, start=0.5, stop=2.5)
    planted = (np.diff(balls(straight), axis=0) ** 2).sum(axis=-1) < (0.02 / 60) ** 2
    moved = np.linalg.norm(np.diff(balls(curved), axis=0), axis=-1)[planted] * 60
    assert planted.mean() > 0.2
    assert np.percentile(moved, 95) < 0.04


def test_a_bent_walk_ends_facing_where_it_was_turned() -> None:
    straight = samples.walk(seconds=4, frame_rate=30)
    curved = bent(straight, turn=-1.2, start=0.5, stop=2.0)
    ahead = so3.rotate(curved.rotations[-1, 0], [0.0, 0.0, 1.0])
    before = so3.rotate(straight.rotations[-1, 0], [0.0, 0.0, 1.0])
    turned = np.arctan2(ahead[0], ahead[2]) - np.arctan2(before[0], before[2])
    assert turned == pytest.approx(-1.2, abs=1e-6)


def test_a_bend_of_nothing_changes_nothing() -> None:
    straight = samples.walk(seconds=1, frame_rate=30)
    same = bent(straight, turn=0.0, start=0.2, stop=1.0)
    np.testing.assert_allclose(same.positions(), straight.positions(), atol=2e-3)


def test_a_run_has_flight_and_its_speed() -> None:
    motion = run(4, frame_rate=60)
    lowest = balls(motion)[..., 1].min(axis=1)
    assert (lowest > 0.05).mean() > 0.1
    speed = (motion.root[-1, 2] - motion.root[0, 2]) / (motion.frames - 1) * 60
    assert speed == pytest.approx(RUN_SPEED, rel=1e-6)


def test_a_jump_flies_by_gravity() -> None:
    motion = jump(frame_rate=100)
    top = int(motion.root[:, 1].argmax())
    fall = np.diff(motion.root[top - 10 : top + 10, 1], 2) * 100**2
    np.testing.assert_allclose(fall, -9.81, rtol=1e-6)
    np.testing.assert_allclose(motion.root[-1, 1], motion.root[0, 1], atol=1e-3)


def test_standing_feet_stay() -> None:
    places = balls(stand(3.0))
    assert np.abs(places - places[0]).max() < 1e-3
