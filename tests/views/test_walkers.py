"""People of a crowd: one place each, looking where they walk."""

from __future__ import annotations

import numpy as np
import pytest

from marey.crowd.tracks import Tracks
from marey.views import walkers
from tests.views.things import SMALL, centroid, coloured, two_people


def test_those_present_at_one_time_have_different_slots_and_few_are_needed():
    rng = np.random.default_rng(0)
    present = np.zeros((50, 40), dtype=bool)
    for agent in range(40):
        start = rng.integers(0, 45)
        present[start : start + rng.integers(2, 12), agent] = True
    positions = np.where(present[..., None], rng.normal(size=(50, 40, 2)), np.nan)
    slots = walkers._slots(Tracks(positions, 25))
    for row in present:
        assert len(set(slots[row])) == row.sum()
    assert slots.max() + 1 == present.sum(axis=1).max()


@pytest.mark.parametrize("step", [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
def test_people_look_where_they_walk(step):
    path = np.arange(30)[:, None, None] * np.array(step) / 25
    heading, _, swing = walkers.steps(Tracks(path, 25))
    ahead = np.array([np.sin(heading[15, 0]), -np.cos(heading[15, 0])])
    assert ahead == pytest.approx(np.array(step) / np.linalg.norm(step), abs=1e-6)
    assert swing[15, 0] > 0.3


def test_who_stops_keeps_looking_ahead_and_stands():
    path = np.minimum(np.arange(100), 30)[:, None, None] * np.array([0.05, 0.0])
    heading, _, swing = walkers.steps(Tracks(path, 25))
    assert heading[99, 0] == pytest.approx(heading[15, 0], abs=1e-6)
    assert swing[99, 0] < 0.02


def test_pictures_show_as_many_people_as_are_there():
    images = list(walkers.clip(two_people(), SMALL))
    sizes = [coloured(image).sum() for image in images]
    assert max(sizes[13:]) < 0.75 * min(sizes[2:10])


def test_people_move_with_their_tracks():
    walk = Tracks(np.linspace([0, 0], [4, 0], 10)[:, None], 10)
    columns = [centroid(coloured(image))[1] for image in walkers.clip(walk, SMALL)]
    assert np.diff(columns).min() > 3


def test_an_empty_moment_is_an_empty_stage():
    positions = np.linspace([0, 0], [4, 0], 10)[:, None].copy()
    positions[4:7] = np.nan
    images = list(walkers.clip(Tracks(positions, 10), SMALL))
    assert not coloured(images[5]).any() and coloured(images[3]).any()


def test_a_large_crowd_is_drawn_from_coarser_figures():
    rng = np.random.default_rng(1)
    crowd = Tracks(rng.uniform(0, 30, (1, 300, 2)).repeat(2, axis=0), 25)
    image = next(walkers.clip(crowd, SMALL))
    assert coloured(image, threshold=10).sum() > 2000
    assert len(walkers.person(coarse=True)[0].faces) < 0.4 * len(walkers.person(coarse=False)[0].faces)
