"""Crowds as a fluid: nobody is lost, and known flows have their divergence and vorticity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd.density import DensityGrid
from marey.crowd.polygons import rectangle
from marey.crowd.scenes import Scene, cell_centres
from marey.crowd.tracks import Tracks
from marey.errors import InputError

ROOM = Scene((10, 6), (rectangle(0, 0, 10, 1), rectangle(4, 2, 5, 4)))
FLOOR = DensityGrid(ROOM)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_the_density_sums_to_the_number_of_people(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    places = rng.uniform([0, 1], [10, 6], (20 * count, 2))
    free = ~((places[:, 0] > 4) & (places[:, 0] < 5) & (places[:, 1] > 2) & (places[:, 1] < 4))
    places = places[free][:count]
    density = FLOOR.frame(places, np.zeros_like(places)).density
    assert np.nansum(density) * FLOOR.spacing**2 == pytest.approx(len(places), rel=0.01)
    assert np.nanmin(density) >= 0


def test_obstacles_have_no_density() -> None:
    moment = FLOOR.frame([[3.9, 3.0]], [[1.0, 0.0]])
    for field in (moment.density, moment.divergence, moment.vorticity, moment.velocity[..., 0]):
        np.testing.assert_array_equal(np.isnan(field), ~ROOM.walkable(0.25))


def test_one_person_is_a_gaussian_of_the_width() -> None:
    floor = DensityGrid(Scene((6, 6)), spacing=0.1, width=0.4)
    density = floor.frame([[3.03, 2.98]], [[0, 0]]).density
    apart = cell_centres(density.shape, 0.1) - [3.03, 2.98]
    expected = np.exp(-0.5 * np.sum(apart**2, axis=-1) / 0.16) / (2 * np.pi * 0.16)
    np.testing.assert_allclose(density, expected, atol=0.01 * expected.max())


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_turning_and_a_spreading_crowd_have_their_vorticity_and_divergence(adaptive: bool) -> None:
    floor = DensityGrid(Scene((16, 16)), spacing=0.2, width=0.6, adaptive=adaptive)
    places = cell_centres((40, 40), 0.4).reshape(-1, 2)
    middle = places - 8.0
    turning = floor.frame(places, 0.3 * np.stack([-middle[:, 1], middle[:, 0]], axis=1))
    spreading = floor.frame(places, 0.2 * middle)
    inner = (slice(25, 55), slice(25, 55))
    np.testing.assert_allclose(turning.vorticity[inner], 0.6, atol=0.02)
    np.testing.assert_allclose(turning.divergence[inner], 0.0, atol=0.02)
    np.testing.assert_allclose(spreading.divergence[inner], 0.4, atol=0.02)
    np.testing.assert_allclose(spreading.vorticity[inner], 0.0, atol=0.02)


@pytest.mark.parametrize("adaptive", [False, True])
def test_slopes_are_those_of_the_velocity(adaptive: bool) -> None:
    rng = np.random.default_rng(5)
    floor = DensityGrid(Scene((8, 8)), spacing=0.05, width=0.5, adaptive=adaptive)
    places, speeds = rng.uniform(0, 8, (80, 2)), rng.normal(size=(80, 2))
    moment = floor.frame(places, speeds)
    u, v = moment.velocity[..., 0], moment.velocity[..., 1]
    divergence = np.gradient(u, 0.05, axis=1) + np.gradient(v, 0.05, axis=0)
    vorticity = np.gradient(v, 0.05, axis=1) - np.gradient(u, 0.05, axis=0)
    inner = (slice(2, -2), slice(2, -2))
    scale = np.abs(moment.divergence).max()
    for found, expected in ((moment.divergence, divergence), (moment.vorticity, vorticity)):
        # The adaptive width is interpolated between a few: there are kinks, on few cells.
        assert np.percentile(np.abs(found - expected)[inner], 95) < 0.02 * scale


def test_fields_lie_on_the_ground_by_their_homography() -> None:
    tracks = Tracks(np.array([[[3.0, 5.0]], [[3.1, 5.0]]]), 10)
    fields = FLOOR.series(tracks)
    assert fields.foreground is not None and fields.homography is not None
    rows, columns = np.nonzero(fields.foreground[0] == 255)
    row, column = rows.mean(), columns.mean()
    ground = fields.homography @ [column, row, 1.0]
    assert np.linalg.norm(ground[:2] - [3.0, 5.0]) < 0.15
    row, column = round(row), round(column)
    np.testing.assert_allclose(fields.velocities[0, row, column], [0.1 / 0.25, 0.0], atol=1e-6)
    np.testing.assert_array_equal(fields.mask, ROOM.walkable(0.25)[::-1])


def test_an_empty_place_is_still() -> None:
    moment = FLOOR.frame(np.zeros((0, 2)), np.zeros((0, 2)))
    assert np.nansum(moment.density) == 0 and np.nanmax(np.abs(moment.velocity)) == 0


def test_cells_wider_than_kernels_and_closed_ground_are_refused() -> None:
    with pytest.raises(InputError, match="spacing"):
        DensityGrid(ROOM, spacing=0.5)
    with pytest.raises(InputError, match="no free ground"):
        DensityGrid(Scene((4, 4), (rectangle(-1, -1, 5, 5),)))
