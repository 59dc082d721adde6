"""Pedestrians of rendered videos: their bodies, who looks like whom, and how they walk."""

from __future__ import annotations

import numpy as np
import pytest

from marey import samples
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.filming.pedestrians import DISTANCE, START_DISTANCE, RenderedPedestrians, assign_looks
from marey.stage.walk.figure import figure, outfits


@pytest.fixture(scope="module")
def street() -> Tracks:
    return samples.crowd(people=60, seconds=12)


def straight(speed: float, seconds: float = 4.0) -> Tracks:
    """One person who walks along x."""
    time = np.arange(round(25 * seconds)) / 25
    return Tracks(np.stack([speed * time, np.zeros_like(time)], axis=1)[:, None], 25)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_figure_is_a_closed_surface_turned_outwards(level: int) -> None:
    # Faces that turn away from the camera are left out.
    skin = figure(level).skin
    edges = np.concatenate([skin.faces[:, [0, 1]], skin.faces[:, [1, 2]], skin.faces[:, [2, 0]]])
    assert set(map(tuple, edges.tolist())) == set(map(tuple, edges[:, ::-1].tolist()))
    corner = skin.vertices[skin.faces]
    assert np.einsum("fi,fi->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])) > 0


def test_there_are_more_than_26_distinct_looks() -> None:
    assert len(np.unique(outfits().reshape(-1, 15).round(3), axis=0)) >= 26


def test_equal_looks_never_start_close_and_hardly_ever_meet(street: Tracks) -> None:
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[:12, :25]
    start = 0.7 * np.stack([columns, rows], axis=-1).reshape(-1, 2) + rng.uniform(-0.1, 0.1, (300, 2))
    ways = rng.normal(0.0, 0.7, (300, 2))
    times = np.arange(100) / 25
    for tracks in (street, Tracks(start[None] + times[:, None, None] * ways, 25)):
        looks = assign_looks(tracks)
        alike = looks[:, None] == looks[None]
        np.fill_diagonal(alike, False)
        first = tracks.present.argmax(axis=0)
        close = 0
        for frame, places in enumerate(tracks.positions):
            apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
            close += bool((alike & (apart < DISTANCE)).any())
            new = first == frame
            assert not (alike & (apart < START_DISTANCE))[new].any()
        assert close / tracks.frames < 0.05


def test_feet_on_the_ground_stay_where_they_are() -> None:
    people = RenderedPedestrians(straight(1.2, 6.0), rng=1)
    soles = np.unique(figure().skin.faces[figure().parts == 2])
    low = []
    for frame in range(40, 100):
        bodies = people.bodies(frame)
        down = soles[bodies.points[soles, 1] < 0.01]
        # Of the soles, those which are down now and in the next frame do not move.
        down = down[bodies.following[down, 1] < 0.01]
        low.append(np.linalg.norm((bodies.following - bodies.points)[down][:, [0, 2]], axis=1))
    slides = np.concatenate(low) * 25
    assert len(slides) > 100 and np.median(slides) < 0.01 and (slides < 0.1).all()


def test_soles_stay_on_the_ground_and_bodies_do_not_shrink() -> None:
    for speed in (0.0, 0.4, 1.3, 4.5):
        people = RenderedPedestrians(straight(speed), rng=1)
        for frame in range(30, 60, 3):
            heights = people.bodies(frame).points[:, 1]
            assert -0.05 < heights.min() < (0.05 if speed < 2 else 0.2)
            # Runners stoop.
            assert 0.88 < heights.max() / people.crowd.heights[0] < 1.12


def test_people_who_leave_go_on_along_their_path() -> None:
    path = straight(1.2, 2.0).positions.repeat(2, axis=1).copy()
    path[:, 1, 1] = 2.0
    path[30:, 1] = np.nan
    people = RenderedPedestrians(Tracks(path, 25), rng=1)
    for frame, there in ((29, 2), (49, 1)):
        before, bodies = people.bodies(frame - 1), people.bodies(frame)
        moves = [
            (one.following - one.points).reshape(-1, len(figure().skin.vertices), 3)[there - 1]
            for one in (before, bodies)
        ]
        upper = figure().skin.vertices[:, 1] > 1.0
        assert 0.5 < moves[1][upper, 0].mean() / (1.2 / 25) < 1.5
        # Arms and heads sway: their velocities change by a little between frames.
        assert np.linalg.norm((moves[1] - moves[0])[upper], axis=1).mean() < 0.25 * 1.2 / 25


def test_people_who_jump_are_refused() -> None:
    path = straight(1.2).positions.copy()
    path[50:, 0, 1] = 30.0
    with pytest.raises(InputError, match="jumps"):
        RenderedPedestrians(Tracks(path, 25))


def test_same_seed_same_people(street: Tracks) -> None:
    one, again, other = (RenderedPedestrians(street, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.bodies(50).points, again.bodies(50).points)
    assert not np.array_equal(one.looks, other.looks)
