"""People of a crowd: one place each, looking where they walk."""

from __future__ import annotations

import numpy as np
import pytest

from marey.crowd.polygons import area, rectangle
from marey.crowd.scenes import Scene
from marey.crowd.tracks import Tracks, shared_columns
from marey.views import pedestrians
from marey.views.shapes import blocks
from tests.views.things import SMALL, centroid, coloured, two_people


def test_those_present_at_one_time_have_different_slots_and_few_are_needed():
    rng = np.random.default_rng(0)
    present = np.zeros((50, 40), dtype=bool)
    for agent in range(40):
        start = rng.integers(0, 45)
        present[start : start + rng.integers(2, 12), agent] = True
    positions = np.where(present[..., None], rng.normal(size=(50, 40, 2)), np.nan)
    slots = shared_columns(Tracks(positions, 25))
    for row in present:
        assert len(set(slots[row])) == row.sum()
    assert slots.max() + 1 == present.sum(axis=1).max()


@pytest.mark.parametrize("step", [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
def test_people_look_where_they_walk(step):
    path = np.arange(30)[:, None, None] * np.array(step) / 25
    heading, _, swing = pedestrians.steps(Tracks(path, 25))
    ahead = np.array([np.sin(heading[15, 0]), -np.cos(heading[15, 0])])
    assert ahead == pytest.approx(np.array(step) / np.linalg.norm(step), abs=1e-6)
    assert swing[15, 0] > 0.3


def test_who_stops_keeps_looking_ahead_and_stands():
    path = np.minimum(np.arange(100), 30)[:, None, None] * np.array([0.05, 0.0])
    heading, _, swing = pedestrians.steps(Tracks(path, 25))
    assert heading[99, 0] == pytest.approx(heading[15, 0], abs=1e-6)
    assert swing[99, 0] < 0.02


def test_pictures_show_as_many_people_as_are_there():
    images = list(pedestrians.tracks_clip(two_people(), SMALL))
    sizes = [coloured(image).sum() for image in images]
    assert max(sizes[13:]) < 0.75 * min(sizes[2:10])


def test_people_move_with_their_tracks():
    walk = Tracks(np.linspace([0, 0], [4, 0], 10)[:, None], 10)
    columns = [centroid(coloured(image))[1] for image in pedestrians.tracks_clip(walk, SMALL)]
    assert np.diff(columns).min() > 3


def test_an_empty_moment_is_an_empty_stage():
    positions = np.linspace([0, 0], [4, 0], 10)[:, None].copy()
    positions[4:7] = np.nan
    images = list(pedestrians.tracks_clip(Tracks(positions, 10), SMALL))
    assert not coloured(images[5]).any() and coloured(images[3]).any()


def test_a_large_crowd_is_drawn_from_coarser_figures():
    rng = np.random.default_rng(1)
    crowd = Tracks(rng.uniform(0, 30, (1, 300, 2)).repeat(2, axis=0), 25)
    image = next(pedestrians.tracks_clip(crowd, SMALL))
    assert coloured(image, threshold=10).sum() > 2000
    assert len(pedestrians.person(coarse=True)[0].faces) < 0.4 * len(
        pedestrians.person(coarse=False)[0].faces
    )


def test_walls_of_a_place_stand_around_its_people_and_stay():
    walk = Tracks(np.linspace([1, 2], [5, 2], 4)[:, None], 10)
    place = Scene((6, 4), [rectangle(-50, 3, 56, 80), [[2, 0], [4, 0], [4, 1], [3, 0.5], [2, 1]]])
    bare = next(pedestrians.tracks_clip(walk, SMALL, Scene((6, 4))))
    images = list(pedestrians.tracks_clip(walk, SMALL, place))
    dark = [(image.astype(int).max(axis=-1) < 215).sum() for image in (bare, *images)]
    assert min(dark[1:]) > dark[0] + 1000
    # Walls end where the ground does, so the camera is no further away than the place is large.
    assert coloured(images[0], threshold=20).sum() > 50


def test_polygons_are_cut_into_triangles_of_their_area():
    star = np.array(
        [
            [3 + (1 + n % 2) * np.cos(t), (1 + n % 2) * np.sin(t)]
            for n, t in enumerate(np.arange(10) * np.pi / 5)
        ]
    )
    shape = blocks([(star, ())], 1.0)
    cut = shape.vertices[shape.faces[:-20]][..., [0, 2]] * [1, -1]
    a, b, c = cut.transpose(1, 0, 2)
    sizes = 0.5 * ((b - a)[:, 0] * (c - b)[:, 1] - (b - a)[:, 1] * (c - b)[:, 0])
    assert len(cut) == 8 and (sizes > 0).all() and sizes.sum() == pytest.approx(area(star))


@pytest.mark.parametrize("turned", [1, -1])
def test_blocks_are_closed_and_face_outwards(turned):
    shape = blocks([(rectangle(0, 0, 2, 1)[::turned], ())], 0.5)
    a, b, c = shape.vertices[shape.faces].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    middle = np.array([1.0, 0.25, -0.5])
    assert ((normals * ((a + b + c) / 3 - middle)).sum(axis=1) > 0).all()
