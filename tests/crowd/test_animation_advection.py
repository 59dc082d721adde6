"""People carried by a field: exact where the field is, obstacles respected."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd import FieldSeries
from marey.crowd.animation import advect
from marey.crowd.animation.ground import SOLID, WALKABLE, Flow, WalkableGround
from marey.crowd.cameras import Camera, apply, inverse, orthographic
from marey.crowd.spectrum import compress
from marey.errors import InputError


def grid(rows: int, columns: int):
    return np.mgrid[:rows, :columns].astype(np.float64)


def rotation(turn_seconds: float = 10.0, rate: float = 10.0) -> FieldSeries:
    """Rigid rotation about pixel (50, 50), a pixel a metre."""
    row, column = grid(101, 101)
    speed = 2 * np.pi / turn_seconds / rate
    field = np.stack([-(row - 50) * speed, (column - 50) * speed], axis=-1)
    frames = round(turn_seconds * rate) + 1
    return FieldSeries(np.repeat(field[None], frames, axis=0), rate, homography=orthographic(1.0))


def turn_error(steps: int) -> float:
    ways = advect(rotation(), [[70.0, -50.0]], seconds=10, frame_rate=steps / 10)
    return float(np.linalg.norm(ways.positions[-1] - ways.positions[0]) / 20)


def test_after_one_turn_in_a_hundred_steps_people_are_back():
    assert turn_error(100) < 1e-5


def test_half_the_step_is_a_sixteenth_of_the_error():
    errors = [turn_error(steps) for steps in (100, 200, 400)]
    assert 14 < errors[0] / errors[1] < 18
    assert 14 < errors[1] / errors[2] < 18


def speeding_up() -> FieldSeries:
    """Field n: the way from frame n to n + 1 of what gains 2 m/s a second."""
    middles = np.arange(31.0) + 0.5
    velocities = np.zeros((31, 5, 400, 2))
    velocities[..., 0] = (0.2 * middles)[:, None, None]
    return FieldSeries(velocities, 10, homography=orthographic(0.1))


@pytest.mark.parametrize("rate", [7, 10, 60])
def test_fields_hold_in_the_middle_between_their_frames(rate):
    # Motion of constant acceleration: linear mixing in time is exact, but for half a frame at both ends.
    ways = advect(speeding_up(), [[1.0, -0.2]], begin=0.05, frame_rate=rate)
    seconds = 0.05 + np.arange(ways.frames) / rate
    inner = seconds <= 3.05
    expected = 1.0 + seconds**2 - 0.05**2
    assert ways.frames == int(3.05 * rate) + 1
    assert np.allclose(ways.positions[inner, 0, 0], expected[inner], atol=1e-9)


def test_captured_motion_carries_people_to_where_they_truly_are_frame_by_frame():
    # A swing: taken at frame n instead of half a frame later, people would be 0.03 m off on the way.
    frames = np.arange(201)
    true = 10.0 + 2.0 * np.sin(2 * np.pi * frames / 50)
    velocities = np.zeros((200, 4, 220, 2))
    velocities[..., 0] = (np.diff(true) / 0.1)[:, None, None]
    fields = FieldSeries(velocities, 25, homography=orthographic(0.1))
    ways = advect(fields, [[10.0, -0.2]], frame_rate=25)
    assert ways.frames == 201
    assert np.abs(ways.positions[:, 0, 0] - true).max() < 0.004


def test_a_repeated_series_closes_without_a_shift():
    phase = 2 * np.pi * (np.arange(20) + 0.5) / 20
    velocities = np.zeros((20, 4, 200, 2))
    velocities[..., 0] = np.cos(phase)[:, None, None]
    fields = FieldSeries(velocities, 10, homography=orthographic(0.1))
    ways = advect(fields, [[10.0, -0.2]], seconds=6, frame_rate=10, repeat=True)
    np.testing.assert_allclose(ways.positions[::20, 0, 0], 10.0, atol=1e-9)
    np.testing.assert_allclose(ways.positions[20:41], ways.positions[:21], atol=1e-9)


def test_temporal_coefficients_are_taken_at_the_exact_time():
    phase = 2 * np.pi * (np.arange(20) + 0.5) / 20
    velocities = np.zeros((20, 4, 200, 2))
    velocities[..., 0] = np.cos(phase)[:, None, None]
    fields = FieldSeries(velocities, 10, homography=orthographic(0.1))
    waves = compress(fields, keep=0.2, basis="dft")
    ways = advect(waves, [[10.0, -0.2]], seconds=2, frame_rate=60)
    seconds = np.arange(ways.frames) / 60
    expected = 10.0 + np.sin(np.pi * seconds) / np.pi
    assert np.abs(ways.positions[:, 0, 0] - expected).max() < 1e-6
    mixed = advect(fields, [[10.0, -0.2]], seconds=2, frame_rate=60, repeat=True)
    assert np.abs(mixed.positions[:, 0, 0] - expected).max() > 1e-3


@given(st.floats(-3, 3), st.floats(-3, 3))
@settings(deadline=None, max_examples=20)
def test_ways_on_the_ground_are_those_of_the_picture(u, v):
    camera = Camera.looking((4, -10, 6), (4, 4, 0), size=(160, 120), field_of_view=0.9)
    fields = FieldSeries(np.full((11, 120, 160, 2), [u, v]), 10, homography=camera.homography)
    ways = advect(fields, apply(camera.homography, [[80.0, 60.0]]), seconds=1, frame_rate=50)
    assert np.allclose(
        apply(inverse(camera.homography), ways.positions[-1]), [[80 + 10 * u, 60 + 10 * v]], atol=1e-4
    )


def test_a_late_follower_takes_up_speed_exponentially():
    fields = FieldSeries(np.full((2, 5, 400, 2), [1.0, 0.0]), 10, homography=orthographic(0.1))
    ways = advect(fields, [[1.0, -0.2]], seconds=2, frame_rate=200, lag=0.4)
    expected = 1.0 + (2 - 0.4 * (1 - np.exp(-2 / 0.4)))
    assert ways.positions[-1, 0, 0] == pytest.approx(expected, abs=5e-3)


def test_who_leaves_the_picture_is_gone():
    fields = FieldSeries(np.full((2, 10, 20, 2), [2.0, 0.0]), 10, homography=orthographic(0.1))
    ways = advect(fields, [[1.0, -0.5], [-4.0, -0.5]], seconds=2, frame_rate=10)
    assert np.isfinite(ways.positions[4, 0]).all()
    assert np.isnan(ways.positions[6:, 0]).all()
    assert np.isnan(ways.positions[:, 1]).all()


def around_a_cylinder() -> FieldSeries:
    """A stream straight at a round obstacle, which the field does not know of."""
    row, column = grid(60, 80)
    mask = np.hypot(row - 30, column - 40) > 9
    field = np.zeros((2, 60, 80, 2), dtype=np.float32)
    field[..., 0] = 1.0
    field[:, ~mask] = 0
    return FieldSeries(field, 10, mask=mask, homography=orthographic(0.1))


def test_nobody_walks_into_an_obstacle_and_most_get_round_it():
    fields = around_a_cylinder()
    starts = np.column_stack([np.full(41, 0.5), -np.linspace(1.0, 5.0, 41)])
    ways = advect(fields, starts, seconds=16, frame_rate=30)
    place = WalkableGround.of(fields)
    points = ways.positions[np.isfinite(ways.positions[..., 0])]
    assert (place.under(points) == WALKABLE).all()
    assert np.isnan(ways.positions[-1, :, 0]).mean() > 0.9, "most leave at the far side"


def test_vectors_inside_an_obstacle_do_not_slow_people_beside_it():
    fields = around_a_cylinder()
    flow = Flow(fields, WalkableGround.of(fields)).at(0.0)
    assert (flow[..., 0] == 1.0).all()


def test_the_distance_to_an_obstacle_is_in_metres_on_the_ground():
    place = WalkableGround.of(around_a_cylinder())
    clearance, corner, spacing = place.clearance
    column, row = np.rint((np.array([1.0, -3.0]) - corner) / spacing).astype(int)
    assert clearance[row, column] == pytest.approx(4.0 - 1.0 - 0.95, abs=0.15)
    column, row = np.rint((np.array([4.0, -3.0]) - corner) / spacing).astype(int)
    assert clearance[row, column] < -0.5
    assert (place.region == SOLID).sum() == (~around_a_cylinder().mask).sum()


def test_beyond_the_horizon_nobody_walks():
    camera = Camera.looking((0, -10, 2), (0, 30, 2), size=(160, 120), field_of_view=1.0)
    place = WalkableGround.of(FieldSeries(np.zeros((1, 120, 160, 2)), 10, homography=camera.homography))
    assert (place.region[:58] == 0).all()
    assert (place.region[-20:] == WALKABLE).all()


def test_results_do_not_depend_on_threads(monkeypatch):
    from marey import _work

    rng = np.random.default_rng(0)
    starts = np.column_stack([rng.uniform(10, 90, 5000), -rng.uniform(10, 90, 5000)])
    many = advect(rotation(), starts, seconds=0.5)
    monkeypatch.setattr(_work, "_cores", lambda: 1)
    assert np.array_equal(advect(rotation(), starts, seconds=0.5).positions, many.positions)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_goes_on_by_itself(monkeypatch):
    from marey import _work

    monkeypatch.setattr(_work, "_cores", lambda: 2)
    starts = np.column_stack([np.linspace(10, 90, 5000), np.full(5000, -50.0)])
    advect(rotation(), starts, seconds=0.1)
    child = multiprocessing.get_context("fork").Process(
        target=advect, args=(rotation(), starts), kwargs={"seconds": 0.1}
    )
    child.start()
    child.join(20)
    hangs = child.is_alive()
    child.kill()
    child.join()
    assert not hangs and child.exitcode == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lag": -1}, "lag"),
        ({"radius": 0}, "radius"),
        ({"seconds": -1}, "seconds"),
        ({"frame_rate": 0}, "rate"),
    ],
)
def test_senseless_options_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        advect(rotation(), [[60.0, -50.0]], **options)


def test_nobody_cannot_be_carried():
    with pytest.raises(InputError, match="no agent"):
        advect(rotation(), np.empty((0, 2)))
