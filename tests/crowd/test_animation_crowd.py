"""Crowds without end: where people start, come in, step aside and leave."""

from __future__ import annotations

import time
from itertools import islice

import numpy as np
import pytest
from scipy.spatial import cKDTree

from marey import samples
from marey.crowd import FieldSeries
from marey.crowd.animation import AgentSettings, AnimatedCrowd, Entrance
from marey.crowd.animation.agents import inflow_seeds, poisson_disk_seeds
from marey.crowd.animation.ground import WALKABLE, WalkableGround
from marey.crowd.cameras import apply, orthographic
from marey.crowd.evaluation.pedestrians import flow_deviation, overlaps
from marey.errors import InputError


def stream(rows=60, columns=120, speed=(2.0, 0.0), foreground=None, mask=None) -> FieldSeries:
    velocities = np.full((5, rows, columns, 2), speed, dtype=np.float32)
    return FieldSeries(velocities, 10, mask=mask, homography=orthographic(0.1), foreground=foreground)


def converging() -> FieldSeries:
    """Everybody is drawn to the middle row."""
    row, _ = np.mgrid[:60, :160].astype(np.float64)
    field = np.stack([np.full_like(row, 1.0), -0.04 * (row - 30)], axis=-1)
    return FieldSeries(np.repeat(field[None], 3, axis=0), 10, homography=orthographic(0.1))


def test_the_number_of_people_stays_and_newcomers_are_new():
    tracks = AnimatedCrowd(stream(), 60, frame_rate=20).tracks(8.0)
    assert (tracks.present.sum(axis=1) == 60).all()
    assert tracks.agents > 100
    assert len(np.unique(tracks.ids)) == tracks.agents
    # Nobody comes back: each is there in one run of frames.
    runs = np.diff(tracks.present.astype(int), axis=0)
    assert (np.sum(runs == 1, axis=0) <= 1).all()


def test_newcomers_come_in_where_the_field_streams_in():
    tracks = AnimatedCrowd(stream(), 40, frame_rate=20).tracks(5.0)
    first = tracks.present.argmax(axis=0)
    late = np.flatnonzero(first > 0)
    places = tracks.positions[first[late], late]
    assert len(late) > 20
    assert (places[:, 0] < 0.2).all()


def test_the_inflow_is_shared_by_flux():
    row, _ = np.mgrid[:60, :120]
    velocities = np.zeros((1, 60, 120, 2))
    velocities[..., 0] = np.where(row < 30, 3.0, 1.0)
    fields = FieldSeries(velocities, 10, homography=orthographic(0.1))
    places = inflow_seeds(WalkableGround.of(fields), velocities[0], None, 4000, np.random.default_rng(0))
    assert np.mean(places[:, 1] > -2.95) == pytest.approx(0.75, abs=0.03)


def test_where_nothing_streams_in_nobody_comes():
    crowd = AnimatedCrowd(stream(speed=(0.0, 0.0)), 5, frame_rate=10)
    assert [len(moment.ids) for moment in crowd.frames(5)] == [5] * 5
    gone = AnimatedCrowd(stream(), 30, frame_rate=10, settings=AgentSettings(recycle=False))
    assert len(list(gone.frames(80))[-1].ids) == 0


def test_a_crowd_is_the_same_for_the_same_seed_only():
    def ways(seed):
        social = AgentSettings(avoid="social")
        return AnimatedCrowd(converging(), 50, frame_rate=10, rng=seed, settings=social).tracks(3.0)

    assert np.array_equal(ways(3).positions, ways(3).positions, equal_nan=True)
    assert not np.array_equal(ways(3).positions[0], ways(4).positions[0])


def test_playback_has_no_end():
    crowd = AnimatedCrowd(samples.field(rows=30, columns=50, seconds=0.4), 20)
    later = next(islice(crowd.frames(), 200, None))
    assert later.seconds == pytest.approx(200 / 60)
    assert np.isfinite(later.positions).all()


def test_people_who_avoid_each_other_do_not_collide():
    def found(avoid):
        manner = AgentSettings(avoid=avoid, lag=0.3)
        return overlaps(AnimatedCrowd(converging(), 150, frame_rate=30, settings=manner).tracks(6.0))

    careless, careful = found("none"), found("social")
    assert careless.pairs > 20
    assert careful.pairs < 0.05 * careless.pairs
    assert careful.deepest < 0.6 * careless.deepest


def test_who_meets_nobody_is_carried_exactly_whatever_the_manner():
    fields, starts = samples.field(rows=60, columns=90, seconds=2), [[3.0, -3.0]]
    fields = FieldSeries(fields.velocities, fields.frame_rate, homography=orthographic(0.1))
    ways = [
        AnimatedCrowd(fields, starts=starts, frame_rate=30, settings=AgentSettings(avoid=way)).tracks(1.5)
        for way in ("none", "social")
    ]
    np.testing.assert_allclose(ways[1].positions, ways[0].positions, atol=1e-9)


def test_social_people_keep_away_before_they_touch():
    """Two who are carried towards one point slow down apart from each other."""

    def nearest(way):
        crowd = AnimatedCrowd(
            converging(), starts=[[2.0, -1.0], [2.0, -5.0]], frame_rate=30, settings=AgentSettings(avoid=way)
        )
        ways = crowd.tracks(8.0).positions
        return np.nanmin(np.linalg.norm(ways[:, 0] - ways[:, 1], axis=-1))

    assert nearest("none") < 0.3
    assert nearest("social") > 0.52


def test_deviation_from_the_field_is_none_for_the_carried_and_small_for_the_careful():
    fields = converging()
    found = {
        way: flow_deviation(
            AnimatedCrowd(fields, 80, frame_rate=30, settings=AgentSettings(avoid=way)).tracks(4.0), fields
        )
        for way in ("none", "social")
    }
    assert found["none"] < 1e-3
    assert found["none"] < found["social"] < 0.3


def test_avoiding_keeps_the_direction_of_the_field():
    crowd = AnimatedCrowd(converging(), 100, frame_rate=30, settings=AgentSettings(avoid="social"))
    tracks = crowd.tracks(3.0)
    forward = np.diff(tracks.positions[..., 0], axis=0)
    assert np.nanmean(forward) * 30 == pytest.approx(1.0, rel=0.15)


def test_nobody_is_pushed_into_an_obstacle():
    mask = np.ones((60, 120), dtype=bool)
    mask[20:40, 50:70] = False
    crowd = AnimatedCrowd(stream(mask=mask), 150, frame_rate=20, settings=AgentSettings(avoid="social"))
    place = WalkableGround.of(stream(mask=mask))
    for moment in crowd.frames(120):
        assert (place.under(moment.positions) == WALKABLE).all()


def test_starts_are_spread_evenly_and_apart():
    place = WalkableGround.of(stream())
    starts = poisson_disk_seeds(place, 300, np.random.default_rng(0))
    counts, _, _ = np.histogram2d(starts[:, 0], starts[:, 1], bins=(4, 2))
    assert counts.min() > 0.7 * counts.mean()
    apart = np.linalg.norm(starts[:, None] - starts[None], axis=-1) + 9 * np.eye(300)
    assert apart.min() > 0.5 * np.sqrt(place.area / 300)


def test_starts_can_be_kept_in_a_polygon():
    corners = [[2, -4], [5, -4], [5, -2], [2, -2]]
    crowd = AnimatedCrowd(stream(), 25, area=corners)
    x, y = crowd.current.positions.T
    assert (x > 2).all() and (x < 5).all() and (y > -4).all() and (y < -2).all()
    with pytest.raises(InputError, match="no walkable ground"):
        AnimatedCrowd(stream(), 25, area=[[50, 50], [51, 50], [51, 51]])


def test_people_stand_where_the_video_shows_them():
    foreground = np.zeros((5, 60, 120), dtype=np.uint8)
    foreground[:, 10:30, 60:100] = 255
    fields = stream(foreground=foreground, speed=(0.0, 0.0))
    crowd = AnimatedCrowd(fields, 60, settings=AgentSettings(match_density=True), frame_rate=10)
    column, row = apply(np.linalg.inv(fields.homography), crowd.current.positions).T
    assert (column > 59).all() and (column < 100).all() and (row > 9).all() and (row < 30).all()
    with pytest.raises(InputError, match="foreground"):
        AnimatedCrowd(stream(), 5, settings=AgentSettings(match_density=True))


def test_the_density_of_the_video_is_kept_over_time():
    foreground = np.zeros((40, 60, 120), dtype=np.uint8)
    foreground[:20, :, :40] = 255
    foreground[20:, :, 80:] = 255
    fields = FieldSeries(
        np.zeros((40, 60, 120, 2), dtype=np.float32), 10, homography=orthographic(0.1), foreground=foreground
    )
    crowd = AnimatedCrowd(fields, 50, settings=AgentSettings(match_density=True), frame_rate=10)
    moments = list(crowd.frames(38))
    assert (moments[10].positions[:, 0] < 4.0).all()
    assert (moments[-1].positions[:, 0] > 7.9).all()


def test_entrances_let_people_in_at_their_rate_and_exits_take_them():
    doors = [Entrance([[0, -4], [1, -4], [1, -2], [0, -2]], 5.0)]
    crowd = AnimatedCrowd(
        stream(), 0, entrances=doors, exits=[[[8, -6], [12, -6], [12, 0], [8, 0]]], frame_rate=20, rng=1
    )
    tracks = crowd.tracks(20.0)
    assert tracks.agents == pytest.approx(100, abs=30)
    assert np.nanmax(tracks.positions[..., 0]) < 8.0
    assert len(crowd.current.ids) == pytest.approx(5.0 * 7.5 / 2.0, abs=10)


def test_thousands_who_come_in_at_once_keep_apart_and_do_not_stall_the_crowd():
    wide = FieldSeries(np.zeros((1, 90, 90, 2)), 10, homography=orthographic(1.0))
    doors = [Entrance([[0, 0], [90, 0], [90, -90], [0, -90]], 8000.0)]
    settings = AgentSettings(avoid="social", radius=0.2)
    crowd = AnimatedCrowd(wide, 2000, entrances=doors, frame_rate=1, settings=settings)
    crowd.agents.step = lambda start, end: None
    crowd._forces = type("Still", (), {"positions": np.zeros(2000), "apply": lambda *_: None})()
    started = time.process_time()
    crowd.advance()
    # Candidate by candidate, entering alone took four seconds.
    assert time.process_time() - started < 2.5
    positions = crowd.current.positions
    assert len(positions) > 8000
    assert len(cKDTree(positions[2000:]).query_pairs(0.39)) == 0


def test_given_starts_are_kept_in_order():
    starts = [[5.0, -1.0], [1.0, -5.0], [3.0, -3.0]]
    crowd = AnimatedCrowd(stream(), starts=starts, frame_rate=10)
    tracks = crowd.tracks(0.5)
    assert np.allclose(tracks.positions[0], starts)
    assert np.allclose(tracks.positions[-1] - tracks.positions[0], [1.0, 0.0])


def test_a_field_without_a_camera_walks_at_human_speed():
    fields = FieldSeries(np.full((3, 40, 60, 2), [1.5, 0.0]), 25)
    tracks = AnimatedCrowd(fields, 10, frame_rate=25).tracks(0.4)
    speed = np.linalg.norm(tracks.velocities(), axis=-1)
    assert np.nanmedian(speed) == pytest.approx(1.34, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"people": 0}, "people"),
        ({}, "how many"),
        ({"people": 3, "starts": [[0, 0]]}, "not both"),
        ({"people": 3, "entrances": [], "exits": [[[0, 0]]]}, "three corners"),
    ],
)
def test_senseless_crowds_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        AnimatedCrowd(stream(), **options)
