"""Field series: sampling in time, mirrors and windows that agree with the ground plane."""

from __future__ import annotations

import numpy as np
import pytest

from marey.crowd.fields import FieldSeries, concatenate
from marey.errors import InputError

HOMOGRAPHY = np.array([[0.02, 0.001, -3.0], [0.0005, 0.03, -2.0], [0.0001, 0.0002, 1.0]])


def series(frames=6, rows=5, columns=7, seed=0, **options):
    rng = np.random.default_rng(seed)
    mask = rng.random((rows, columns)) > 0.3
    return FieldSeries(rng.normal(size=(frames, rows, columns, 2)), 10, mask, HOMOGRAPHY, **options)


def ground(fields: FieldSeries, column: float, row: float) -> np.ndarray:
    point = fields.homography @ [column, row, 1.0]
    return point[:2] / point[2]


def ground_velocity(fields: FieldSeries, frame: int, row: int, column: int) -> np.ndarray:
    """Metres per second of a pixel, by a finite difference through the homography."""
    u, v = fields.velocities[frame, row, column] * 1e-6
    return (ground(fields, column + u, row + v) - ground(fields, column, row)) * 1e6 * fields.frame_rate


def test_speed_per_second_survives_resampling():
    fields = FieldSeries(np.full((9, 2, 2, 2), [3.0, -1.0]), 10)
    for rate in (5, 20, 7.5):
        new = fields.resample(rate)
        assert np.allclose(new.velocities * new.frame_rate, [30.0, -10.0])
        assert new.frame_rate == rate


def moved(fields: FieldSeries, at: np.ndarray) -> np.ndarray:
    """How far each pixel has gone after `at` frames: the running sum of the fields, straight in between."""
    path = np.concatenate([np.zeros_like(fields.velocities[:1]), np.cumsum(fields.velocities, axis=0)])
    flat = path.reshape(len(path), -1)
    return np.stack([np.interp(at, np.arange(len(path)), pixel) for pixel in flat.T], axis=1)


def foreground_at(fields: FieldSeries, start: float, stop: float) -> np.ndarray:
    """Mean foreground over a time in frames, by a sum over a thousand moments."""
    moments = start + (np.arange(1000) + 0.5) / 1000 * (stop - start)
    return fields.foreground[np.minimum(moments.astype(int), fields.frames - 1)].mean(axis=0)


@pytest.mark.parametrize("seed", range(8))
def test_slicing_by_a_step_and_resampling_keep_the_displacement(seed):
    rng = np.random.default_rng(seed)
    frames, step = int(rng.integers(1, 40)), int(rng.integers(1, 9))
    velocities, seen = rng.normal(size=(frames, 2, 3, 2)), rng.integers(0, 100, (frames, 2, 3), np.uint8)
    fields = FieldSeries(velocities, 10, foreground=seen)
    rate = float(rng.uniform(1.0, 40.0))
    for new, lasts in (
        (fields[::step], step),
        (fields.resample(10 / step), step),
        (fields.resample(rate), 10 / rate),
        (fields.resample(20), 0.5),
    ):
        assert new.frames == np.ceil(frames / lasts - 1e-9) and np.isclose(new.frame_rate, 10 / lasts)
        whole = int(frames / lasts + 1e-9)
        at = np.arange(whole + 1)
        assert np.allclose(moved(new, at)[: whole + 1], moved(fields, at * lasts), atol=1e-9)
        # A last frame that is covered in part goes on as fast as that part.
        if new.frames > whole:
            part = np.diff(moved(fields, np.array([whole * lasts, frames])), axis=0)[0]
            assert np.allclose(new.velocities[-1].ravel(), part * lasts / (frames - whole * lasts))
        for frame in (0, new.frames - 1):
            mean = foreground_at(fields, frame * lasts, min((frame + 1) * lasts, frames))
            assert np.abs(new.foreground[frame] - mean).max() < 1.0


def test_slicing_a_slice_is_slicing_at_once():
    fields = series(frames=23)
    for start, stop, step in ((3, 20, 4), (None, 7, 2), (-3, None, -5), (20, 2, -3)):
        direction = 1 if step > 0 else -1
        twice = fields[start:stop:direction][:: abs(step)]
        assert np.array_equal(fields[start:stop:step].velocities, twice.velocities)


def test_single_precision_stays_single():
    fields = FieldSeries(np.ones((3, 2, 2, 2), np.float32), 10)
    for new in (fields.resample(20), fields.mirror(), fields.crop(slice(1), slice(1)), fields[::2]):
        assert new.velocities.dtype == np.float32


def test_a_mirrored_series_moves_people_to_the_mirrored_side_of_the_ground():
    fields = series()
    mirrored = fields.mirror()
    for row, column in ((0, 0), (2, 5), (4, 3)):
        other = fields.columns - 1 - column
        flipped = ground(mirrored, other, row)
        assert np.allclose(flipped, ground(fields, column, row) * [-1, 1])
        velocity = ground_velocity(mirrored, 1, row, other)
        assert np.allclose(velocity, ground_velocity(fields, 1, row, column) * [-1, 1], atol=1e-6)
        assert mirrored.mask[row, other] == fields.mask[row, column]


def test_played_backwards_everything_moves_the_other_way():
    series = FieldSeries(np.arange(5)[:, None, None, None] * np.ones((5, 2, 3, 2)), 10.0)
    back = series[::-2]
    assert back.frame_rate == 5.0
    np.testing.assert_array_equal(back.velocities[:, 0, 0, 0], [-7.0, -3.0, 0.0])
    np.testing.assert_array_equal(series[::-1][::-1].velocities, series.velocities)


def test_series_of_different_cameras_do_not_join():
    seen = FieldSeries(np.zeros((2, 3, 4, 2)), 10.0, homography=np.eye(3))
    moved = FieldSeries(np.zeros((2, 3, 4, 2)), 10.0, homography=np.diag([2.0, 2.0, 1.0]))
    for other in (moved, FieldSeries(np.zeros((2, 3, 4, 2)), 10.0)):
        with pytest.raises(InputError, match="homographies differ"):
            concatenate([seen, other])


def test_mirroring_twice_is_the_identity():
    fields = series()
    twice = fields.mirror().mirror()
    assert np.array_equal(twice.velocities, fields.velocities)
    assert np.array_equal(twice.mask, fields.mask)
    assert np.allclose(twice.homography, fields.homography)


def test_a_window_looks_at_the_same_ground():
    fields = series()
    window = fields.crop(slice(1, 4), slice(-4, None))
    assert (window.rows, window.columns) == (3, 4)
    assert np.array_equal(window.velocities, fields.velocities[:, 1:4, 3:])
    assert np.array_equal(window.mask, fields.mask[1:4, 3:])
    assert np.allclose(ground(window, 2, 1), ground(fields, 5, 2))


def test_an_empty_window_is_an_error():
    for rows, columns in (
        (slice(3, 3), slice(None)),
        (slice(None), slice(9, 12)),
        (slice(0, 4, 2), slice(None)),
    ):
        with pytest.raises(InputError, match="no window"):
            series().crop(rows, columns)


def test_parts_join_to_the_whole_and_masks_intersect():
    fields = series()
    whole = concatenate([fields[:2], fields[2:]])
    assert np.array_equal(whole.velocities, fields.velocities)
    other = series(seed=1)
    assert np.array_equal(concatenate([fields, other]).mask, fields.mask & other.mask)


def test_series_of_other_sizes_or_rates_do_not_join():
    with pytest.raises(InputError, match="7 × 5 pixels and of 7 × 4"):
        concatenate([series(), series(rows=4)])
    with pytest.raises(InputError, match="resample"):
        concatenate([series(), series().resample(20)])
    with pytest.raises(InputError, match="no field"):
        concatenate([])
