"""People of films: their shape, what they wear, who looks like whom, and how they walk."""

from __future__ import annotations

import numpy as np
import pytest

from marey import samples
from marey.crowd.tracks import Tracks
from marey.filming.figure import BONES, figure
from marey.filming.gaits import gait_of, pose_tables, stride
from marey.filming.people import People
from marey.filming.wardrobe import APART, APART_AT_START, given_out, wardrobe


@pytest.fixture(scope="module")
def street() -> Tracks:
    return samples.crowd(people=60, seconds=12)


def straight(speed: float, seconds: float = 4.0) -> Tracks:
    """One person who walks along x."""
    time = np.arange(round(25 * seconds)) / 25
    return Tracks(np.stack([speed * time, np.zeros_like(time)], axis=1)[:, None], 25)


@pytest.mark.parametrize("coarse", [False, True])
def test_every_part_of_the_figure_is_a_closed_surface_turned_outwards(coarse: bool) -> None:
    person = figure(coarse)
    edges = np.concatenate([person.faces[:, [0, 1]], person.faces[:, [1, 2]], person.faces[:, [2, 0]]])
    assert set(map(tuple, edges.tolist())) == set(map(tuple, edges[:, ::-1].tolist()))
    for part in np.unique(person.face_parts):
        corner = person.vertices[person.faces[person.face_parts == part]]
        corner = corner - corner.mean(axis=(0, 1))
        assert np.einsum("fi,fi->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])) > 0


def test_there_are_more_than_26_distinct_looks() -> None:
    looks = wardrobe()
    assert len(np.unique(looks.clothes.round(3), axis=0)) >= 26
    assert looks.statures.min() > 1.0 and looks.statures.max() < 2.05


def test_equal_looks_never_start_close_and_hardly_ever_meet(street: Tracks) -> None:
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[:12, :25]
    start = 0.7 * np.stack([columns, rows], axis=-1).reshape(-1, 2) + rng.uniform(-0.1, 0.1, (300, 2))
    ways = rng.normal(0.0, 0.7, (300, 2))
    times = np.arange(100) / 25
    for tracks in (street, Tracks(start[None] + times[:, None, None] * ways, 25)):
        looks = given_out(tracks)
        alike = looks[:, None] == looks[None]
        np.fill_diagonal(alike, False)
        first = tracks.present.argmax(axis=0)
        close = 0
        for frame, places in enumerate(tracks.positions):
            apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
            close += bool((alike & (apart < APART)).any())
            new = first == frame
            assert not (alike & (apart < APART_AT_START))[new].any()
        assert close / tracks.frames < 0.05


def test_steps_advance_with_the_way_gone() -> None:
    for speed in (0.5, 1.3, 4.0):
        gait = gait_of(straight(speed), np.array([1.75]), 0)
        cycles = gait.phase[75, 0] - gait.phase[25, 0]
        assert cycles == pytest.approx(2 * speed / stride(np.array(speed)), rel=0.11)
        np.testing.assert_allclose(gait.heading[25:75], 0.0, atol=1e-6)


def test_who_slows_down_stands_and_the_change_takes_a_fifth_of_a_second() -> None:
    speed = np.concatenate([np.full(60, 1.2), np.full(60, 0.05)])
    path = np.stack([np.cumsum(speed) / 25, np.zeros(120)], axis=1)[:, None]
    walking = gait_of(Tracks(path, 25), np.array([1.75])).walking[:, 0]
    assert walking[40] == 1.0 and walking[100] == 0.0
    assert 3 <= np.count_nonzero((walking > 0) & (walking < 1)) <= 6
    # Between the thresholds nothing changes: 0.25 m/s is neither enough to start nor to stop.
    slow = gait_of(straight(0.25), np.array([1.75]))
    assert slow.walking.max() == 0.0


@pytest.mark.parametrize("speed", [0.6, 1.2, 2.0])
def test_the_standing_foot_hardly_slides(speed: float) -> None:
    table = pose_tables()[1 + (0.6, 0.9, 1.2, 1.5, 2.0).index(speed)]
    foot = 1.75 * table[:, BONES.index("LeftFoot"), 9:]
    along = foot[:, 2] + np.arange(len(foot)) / len(foot) * float(stride(np.array(speed)))
    flat = slice(round(0.12 * len(foot)), round(0.26 * len(foot)))
    assert np.ptp(along[flat]) < 0.01
    assert np.ptp(foot[flat, 1]) < 0.01


def test_soles_stay_on_the_ground_and_bodies_do_not_shrink() -> None:
    for speed in (0.0, 0.4, 1.3, 4.5):
        people = People(straight(speed), rng=1)
        for frame in range(30, 60, 3):
            _, vertices, _, _ = people.bodies(frame)
            assert -0.05 < vertices[..., 1].min() < (0.05 if speed < 2 else 0.2)
            # A child's head is larger than an adult's, hats add to stature, and runners stoop.
            assert 0.88 < vertices[..., 1].max() / people.statures[0] < 1.12


def test_same_seed_same_people(street: Tracks) -> None:
    one, again, other = (People(street, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.bodies(50)[1], again.bodies(50)[1])
    assert not np.array_equal(one.looks, other.looks)
