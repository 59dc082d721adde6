"""People against people: distances, distributions, the fundamental diagram, who has left."""

from __future__ import annotations

import numpy as np
import pytest

from marey.crowd import Tracks
from marey.crowd.evaluation.pedestrians import crowd_errors, fundamental_diagram


def walking(
    speed: float, *, people: int = 40, seconds: float = 6.0, rate: float = 10.0, seed: int = 0
) -> Tracks:
    rng = np.random.default_rng(0)
    starts = rng.uniform(0, 12, size=(people, 2))
    time = np.arange(round(seconds * rate) + 1) / rate
    return Tracks(starts + time[:, None, None] * np.array([speed, 0.0]), rate)


def test_a_crowd_is_like_itself():
    found = crowd_errors(walking(1.2), walking(1.2))
    assert found.trajectory_m == found.density == found.evacuation == found.fundamental_diagram == 0
    assert found.speeds == pytest.approx(0, abs=1e-6) and found.shared == 40


def test_rates_may_differ():
    found = crowd_errors(walking(1.2, rate=20), walking(1.2, rate=10))
    assert found.trajectory_m == pytest.approx(0, abs=1e-9)


def test_slower_people_are_behind_and_their_diagram_is_lower():
    found = crowd_errors(walking(0.9), walking(1.2))
    assert found.trajectory_m == pytest.approx(0.3 * 3.0, rel=0.01)
    assert found.after["5 s"] == pytest.approx(1.5, rel=0.01)
    assert found.fundamental_diagram == pytest.approx(0.3, rel=0.01)
    assert found.speeds > 0.9 and found.directions < 0.1


def test_people_who_turn_back_differ_in_direction_alone():
    found = crowd_errors(walking(-1.2), walking(1.2))
    assert found.directions > 0.9 and found.speeds < 0.01


def test_evacuation_is_the_mean_difference_of_who_has_left():
    positions = np.zeros((101, 10, 2))
    positions[..., 0] = np.arange(10)
    late = positions.copy()
    for person in range(10):
        positions[10 * person + 5 :, person] = np.nan
        late[10 * person + 10 :, person] = np.nan
    # Everyone leaves half a second later: 5 frames of 101, for each of the ten.
    found = crowd_errors(Tracks(late, 10), Tracks(positions, 10))
    assert found.evacuation == pytest.approx(10 * 5 * 0.1 / 101)


def test_the_fundamental_diagram_counts_neighbours_on_a_lattice():
    x, y = np.meshgrid(np.arange(20) * 0.5, np.arange(20) * 0.5)
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    tracks = Tracks(places + 0.1 * np.arange(5)[:, None, None] * np.array([1.0, 0.0]), 10)
    speeds, counts = fundamental_diagram(tracks)
    # Four people a square metre, fewer at the edges; 28 neighbours within 1.5 m.
    assert counts.argmax() == 8 and speeds[8] == pytest.approx(1.0)
    assert counts.sum() == 5 * 400


def test_crowds_elsewhere_share_no_place():
    here, there = walking(1.0), walking(1.0)
    away = Tracks(np.asarray(there.positions) + np.array([100.0, 0.0]), 10)
    assert crowd_errors(away, here).density == pytest.approx(1.0)
