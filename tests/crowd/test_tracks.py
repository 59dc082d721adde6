"""Tracks: tables and dense arrays, sampling without inventing, differentiating, joining."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey.crowd.tracks
from marey.crowd.tracks import RowError, Tracks, annotation_stride
from marey.errors import InputError

NAN = float("nan")


def walkers(frames=12, agents=5, seed=0, frame_rate=10.0, first_frame=0):
    """People who come and go, each present for one stretch of at least two frames."""
    rng = np.random.default_rng(seed)
    positions = np.cumsum(rng.normal(size=(frames, agents, 2)), axis=0)
    for agent in range(agents):
        start = rng.integers(0, frames - 2)
        stop = rng.integers(start + 2, frames + 1)
        positions[:start, agent] = positions[stop:, agent] = NAN
    return Tracks(positions, frame_rate, rng.permutation(100)[:agents], first_frame)


@st.composite
def tables(draw):
    step = draw(st.integers(1, 12))
    cells = draw(
        st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), min_size=1, max_size=60, unique=True)
    )
    offset = draw(st.integers(-50, 1000))
    frame, person = (np.array(c) for c in zip(*cells, strict=True))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return offset + step * frame, person, rng.normal(size=len(cells)), rng.normal(size=len(cells))


@settings(max_examples=100)
@given(tables())
def test_rows_survive_the_way_through_dense_arrays_wherever_nothing_moves(table):
    frame, person, x, y = table
    dense = marey.crowd.tracks.dense_from_rows(frame, person, x, y)
    tracks = Tracks.from_rows(frame, person, x, y, 25.0)
    back = np.stack(tracks.to_rows(), axis=-1)
    given = np.stack([frame, person, x, y], axis=-1)
    if dense.moved:
        back, given = back[:, 1:], given[:, 1:]
        assert dense.moved < dense.frame_step
    assert {tuple(row) for row in back} == {tuple(row) for row in given}


def test_the_annotation_raster_becomes_the_frame_rate():
    tracks = Tracks.from_rows([780, 786, 792, 786], [1, 1, 1, 2], [0, 1, 2, 9], [0, 0, 0, 9], 15.0)
    assert (tracks.frame_rate, tracks.first_frame, tracks.frame_step) == (2.5, 780, 6)
    assert tracks.frame_numbers.tolist() == [780, 786, 792]
    assert tracks.present.tolist() == [[True, False], [True, True], [True, False]]


def test_an_annotation_that_resumes_off_its_raster_moves_by_less_than_a_step():
    first, second = np.arange(0, 30, 6), np.arange(100, 130, 6)
    frame = np.concatenate([first, second])
    table = marey.crowd.tracks.dense_from_rows(frame, np.repeat([1, 2], 5), frame * 0.1, frame * 0.0)
    assert (table.frame_step, table.moved) == (6, 2)
    assert np.isfinite(table.positions[:5, 0]).all() and np.isfinite(table.positions[17:22, 1]).all()


def test_people_annotated_in_turns_keep_the_finer_raster():
    frame = [0, 6, 12, 3, 9, 15]
    table = marey.crowd.tracks.dense_from_rows(frame, [1, 1, 1, 2, 2, 2], range(6), range(6))
    assert (table.frame_step, table.moved, len(table.positions)) == (3, 0, 6)


def test_a_table_too_large_for_memory_is_refused_before_it_is_made():
    with pytest.raises(InputError, match="GB"):
        Tracks.from_rows([0, 1, 2_000_000_000], [1, 1, 2], [0, 0, 0], [0, 0, 0], 25)


def test_a_person_at_two_places_is_an_error_that_names_the_row():
    with pytest.raises(RowError, match="person 7 is at two places in frame 3") as error:
        Tracks.from_rows([3, 4, 3], [7, 7, 7], [0, 0, 1], [0, 0, 0], 25)
    assert error.value.row == 2
    assert Tracks.from_rows([3, 4, 3], [7, 7, 7], [0, 0, 0], [0, 0, 0], 25).frames == 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0.5], [1], [0], [0]), "frame is 0.5"),
        (([0], [NAN], [0], [0]), "id is nan"),
        (([0], [1], [float("inf")], [0]), "x is inf"),
        (([0, 1], [1], [0], [0]), "2 frames, 1 ids"),
        (([], [], [], []), "there is none"),
        ((["a"], [1], [0], [0]), "frame: not a list of numbers"),
        (([1e300], [1], [0], [0]), "whole number"),
    ],
)
def test_rows_that_make_no_sense_are_named(columns, message):
    with pytest.raises(InputError, match=message):
        Tracks.from_rows(*columns, 25)


def test_centimetres_become_metres():
    tracks = Tracks.from_rows([0], [1], [150.0], [-20.0], 25, unit="cm")
    assert np.allclose(tracks.positions, [[[1.5, -0.2]]])
    assert np.allclose(tracks.scaled(100).positions, [[[150, -20]]])


def test_resampling_to_the_same_rate_changes_nothing():
    tracks = walkers()
    assert np.array_equal(tracks.resample(10).positions, tracks.positions, equal_nan=True)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([3.0, 7.5, 10.0, 25.0, 60.0]))
def test_resampled_paths_lie_on_the_old_segments_and_nowhere_else(seed, rate):
    tracks = walkers(seed=seed)
    new = tracks.resample(rate)
    for agent, number in enumerate(new.ids):
        old = tracks.positions[:, tracks.ids.tolist().index(number)]
        here = np.flatnonzero(np.isfinite(old[:, 0]))
        times = np.arange(new.frames) / rate
        inside = (times >= here[0] / 10 - 1e-9) & (times <= here[-1] / 10 + 1e-9)
        assert np.array_equal(new.present[:, agent], inside)
        wanted = np.stack([np.interp(times, here / 10, old[here, k]) for k in range(2)], axis=-1)
        assert np.allclose(new.positions[inside, agent], wanted[inside], atol=1e-9)


def test_nobody_is_interpolated_over_an_absence():
    path = np.array([0.0, 1.0, 2.0, NAN, NAN, 5.0, 6.0])
    tracks = Tracks(np.stack([path, path], axis=-1)[:, None], 10)
    present = tracks.resample(20).present[:, 0]
    assert present.tolist() == [True] * 5 + [False] * 5 + [True] * 3


def test_a_gap_of_the_annotation_stride_is_no_absence():
    positions = np.full((13, 2, 2), NAN)
    positions[0::3, 0] = np.arange(5)[:, None]
    positions[1::3, 1] = np.arange(4)[:, None]
    tracks = Tracks(positions, 30)
    assert annotation_stride(tracks.present) == 3
    dense = tracks.resample(30)
    assert np.allclose(dense.positions[:, 0, 0], np.arange(13) / 3)
    assert np.array_equal(dense.present[:, 1], [False] + [True] * 10 + [False] * 2)


def test_resampled_tracks_start_at_the_same_time():
    tracks = Tracks.from_rows([100, 110, 120], [1, 1, 1], [0, 1, 2], [0, 0, 0], 25)
    fine = tracks.resample(25)
    assert (fine.first_frame, fine.frame_step, fine.frames) == (100, 1, 21)


def test_resampling_beyond_memory_is_refused():
    with pytest.raises(InputError, match="GB|frames"):
        Tracks(np.zeros((1000, 100, 2)), 1).resample(5000)


def test_velocity_of_uniform_motion_is_exact_everywhere():
    positions = np.arange(10)[:, None, None] * np.array([[[0.1, -0.2], [0.0, 0.3]]])
    positions[:4, 1] = NAN
    velocities = Tracks(positions, 25).velocities()
    assert np.allclose(velocities[:, 0], [2.5, -5.0])
    assert np.allclose(velocities[4:, 1], [0.0, 7.5])
    assert np.isnan(velocities[:4, 1]).all()


def test_velocity_agrees_with_numpy_gradient_on_each_presence():
    tracks = walkers(frames=30, agents=8, seed=3)
    velocities = tracks.velocities()
    for agent in range(tracks.agents):
        here = tracks.present[:, agent]
        assert np.allclose(velocities[here, agent], np.gradient(tracks.positions[here, agent], 0.1, axis=0))


def test_someone_seen_once_has_no_velocity():
    positions = np.full((3, 2, 2), NAN)
    positions[:, 0] = 1.0
    positions[1, 1] = 2.0
    assert np.isnan(Tracks(positions, 25).velocities()[:, 1]).all()


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf])
def test_tracks_are_not_scaled_away(factor):
    with pytest.raises(InputError, match="factor"):
        Tracks([[[0.0, 1.0]]], 25).scaled(factor)


def test_mirroring_twice_is_the_identity():
    tracks = walkers()
    assert np.array_equal(tracks.mirror().mirror().positions, tracks.positions, equal_nan=True)
    assert np.array_equal(tracks.mirror().positions[..., 0], -tracks.positions[..., 0], equal_nan=True)


def test_slices_keep_the_numbers_of_the_file():
    tracks = Tracks(np.zeros((10, 1, 2)), 2.5, first_frame=780, frame_step=6)
    assert tracks[2:].frame_numbers[0] == 792
    assert tracks[1::3].frame_numbers.tolist() == [786, 804, 822]
    assert tracks[::3].frame_rate == pytest.approx(2.5 / 3)
    assert tracks.between(0.4, 0.8).frame_numbers.tolist() == [786, 792]


def test_blocks_of_agents_change_nothing(monkeypatch):
    tracks = walkers(frames=30, agents=9)
    whole = tracks.resample(33).positions, tracks.velocities()
    monkeypatch.setattr("marey._arrays.BLOCK_BYTES", 1000)
    parts = tracks.resample(33).positions, tracks.velocities()
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(whole, parts, strict=True))
