"""The sample crowd, its footage and the sample field."""

from __future__ import annotations

import numpy as np
import pytest

from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.samples import crowd, field, video
from marey.samples.street import LENGTH, MEAN_SPEED, SPREAD, WIDTH
from marey.samples.swirl import vortex


@pytest.fixture(scope="module")
def street() -> Tracks:
    return crowd(people=60, seconds=12.0, rng=0)


def test_nobody_walks_through_anybody(street: Tracks) -> None:
    nearest = []
    for frame in street.positions:
        there = frame[np.isfinite(frame[:, 0])]
        distance = np.linalg.norm(there[:, None] - there[None], axis=-1)
        nearest.append((distance + 9 * np.eye(len(there))).min())
    assert min(nearest) > 0.4


def test_everybody_comes_once_and_stays_until_they_leave(street: Tracks) -> None:
    present = street.present
    assert present.any(axis=0).all()
    arrivals = np.diff(present.astype(int), axis=0, prepend=0)
    assert ((arrivals == 1).sum(axis=0) == 1).all()
    assert present[0].any()
    assert not present[0].all()
    assert (~present[-1] & present.any(axis=0)).any()


def test_people_enter_at_one_end_and_leave_at_the_other(street: Tracks) -> None:
    present = street.present
    for agent in range(street.agents):
        frames = np.flatnonzero(present[:, agent])
        x = street.positions[frames, agent, 0]
        if frames[0] > 0:
            assert abs(x[0]) > LENGTH / 2 - 0.2
        if frames[-1] < street.frames - 1:
            assert abs(x[-1]) > LENGTH / 2 - 0.2
        if frames[0] > 0 and frames[-1] < street.frames - 1:
            assert x[0] * x[-1] < 0


def test_both_directions_are_walked_at_human_speeds(street: Tracks) -> None:
    velocity = np.diff(street.positions, axis=0) * street.frame_rate
    towards = np.nanmean(velocity[..., 0], axis=0)
    assert 0.35 < np.mean(towards > 0) < 0.65
    speed = np.linalg.norm(velocity, axis=-1)
    assert np.nanmean(speed) == pytest.approx(MEAN_SPEED, abs=SPREAD)
    assert np.nanmax(speed) < 2.5
    acceleration = np.linalg.norm(np.diff(velocity, axis=0), axis=-1) * street.frame_rate
    assert np.nanpercentile(acceleration, 99) < 3


def test_nobody_walks_through_the_walls(street: Tracks) -> None:
    assert np.nanmax(np.abs(street.positions[..., 1])) < WIDTH / 2 - 0.1


def test_the_seed_decides_everything() -> None:
    again = [crowd(people=12, seconds=2, rng=seed).positions for seed in (3, 3, 4)]
    np.testing.assert_array_equal(again[0], again[1])
    assert not np.array_equal(again[0], again[2])


@pytest.mark.parametrize("rate", [10.0, 24.0, 30.0])
def test_frame_rates_that_do_not_divide_the_steps_see_the_same_walk(rate: float) -> None:
    coarse, fine = crowd(people=8, seconds=3, frame_rate=rate), crowd(people=8, seconds=3, frame_rate=50)
    common = [(i, round(50 * i / rate)) for i in range(coarse.frames) if abs(50 * i / rate % 1) < 1e-6]
    assert len(common) > 3
    for a, b in common:
        np.testing.assert_allclose(coarse.positions[a], fine.positions[b], atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"people": 0},
        {"people": 10**9},
        {"people": 400, "seconds": 2.0},
        {"seconds": 0.0},
        {"seconds": float("nan")},
        {"seconds": 1e9},
        {"frame_rate": -1.0},
    ],
)
def test_senseless_crowds_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        crowd(**options)  # type: ignore[arg-type]


def test_footage_shows_people_where_the_tracks_say(street: Tracks) -> None:
    scale = 32
    film = video(street, pixels_per_metre=scale)
    empty = np.asarray(next(iter(video(crowd(people=1, seconds=0.04), pixels_per_metre=scale))))
    image = next(iter(film[100:101]))
    assert image.shape == (film.rows, film.columns, 3)
    here = street.positions[100][street.present[100]]
    columns = np.round((here[:, 0] + LENGTH / 2) * scale).astype(int)
    rows = np.round((WIDTH / 2 - here[:, 1]) * scale).astype(int)
    inside = (columns > 2) & (columns < film.columns - 2)
    assert inside.sum() > 10
    heads = image[rows[inside], columns[inside]].astype(int)
    # Hair is dark; the pavement is not.
    assert heads.max() < 100
    assert np.median(empty) > 130


def test_footage_frames_can_be_read_from_anywhere(street: Tracks) -> None:
    film = video(street)
    third = list(film)[3] if film.frames < 5 else list(film[:4])[3]
    np.testing.assert_array_equal(third, next(iter(film[3:])))


def test_field_has_no_divergence_and_the_vorticity_of_its_vortices() -> None:
    velocities = field(rows=120, columns=160, seconds=0.2).velocities[2].astype(float)
    du_dy, du_dx = np.gradient(velocities[..., 0])
    dv_dy, dv_dx = np.gradient(velocities[..., 1])
    assert np.abs(du_dx + dv_dy)[1:-1, 1:-1].max() < 0.005
    vorticity = dv_dx - du_dy
    assert vorticity.max() > 0.1
    assert vorticity.min() < -0.1


def test_vortex_turns_like_a_solid_inside_and_decays_outside() -> None:
    r = np.array([1e-9, 0.01, 10.0, 20.0])
    speed = np.abs(vortex(r, np.zeros(4), core=1.0, top_speed=1.0)[:, 1])
    assert speed[1] / r[1] == pytest.approx(speed[0] / r[0], rel=1e-3)
    assert speed[2] == pytest.approx(2 * speed[3], rel=1e-6)
    around = vortex(np.cos(np.arange(9.0)), np.sin(np.arange(9.0)), core=0.7, top_speed=1.0)
    np.testing.assert_allclose(np.linalg.norm(around, axis=1), np.linalg.norm(around[0]))


@pytest.mark.parametrize("options", [{"rows": 0}, {"seconds": 0.0}, {"rows": 10**6, "columns": 10**6}])
def test_senseless_fields_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError):
        field(**options)  # type: ignore[arg-type]


def test_footage_scale_is_bounded() -> None:
    with pytest.raises(InputError):
        video(pixels_per_metre=10_000)
