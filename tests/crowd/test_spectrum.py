"""Temporal spectra: orthonormal bases, exact shares, information counted right, styles that keep the mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.crowd.analysis import grid_points, path_lines
from marey.crowd.edit import edit, foreground_gain, noise_level, restyle, style_gains
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum import (
    BASES,
    SELECTS,
    FourierFields,
    coefficients,
    compress,
    error_curve,
    field_error,
    functions,
    information,
    values,
)
from marey.errors import InputError
from tests.crowd.flows import street


@settings(max_examples=30)
@given(st.integers(1, 33), st.sampled_from(BASES))
def test_bases_are_orthonormal_and_transforms_are_their_products(frames: int, basis: str) -> None:
    matrix = functions(basis, frames, np.arange(frames), np.arange(frames))
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(frames), atol=1e-12)
    signal = np.random.default_rng(frames).normal(size=(frames, 3))
    np.testing.assert_allclose(coefficients(signal, basis), matrix.T @ signal, atol=1e-12)
    np.testing.assert_allclose(values(coefficients(signal, basis), basis), signal, atol=1e-12)


@pytest.mark.parametrize(("frames", "kept"), [(214, 21), (274, 27), (641, 64)])
def test_a_tenth_of_the_numbers_is_kept_to_one(frames: int, kept: int) -> None:
    series = street(frames, 4, 5)
    series = replace(series, mask=None)
    assert len(compress(series, keep=0.1).coefficients) == kept
    assert abs(len(compress(series, keep=0.1, basis="dft").coefficients) - kept) <= 1
    assert compress(series, keep=0.1).coefficients.nbytes <= 0.1 * series.velocities.nbytes * (1 + 1 / kept)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("select", SELECTS)
def test_everything_kept_gives_everything_back(basis: str, select: str) -> None:
    series = street(31)
    again = compress(series, keep=1.0, basis=basis, select=select).decode()
    np.testing.assert_allclose(again.velocities, series.velocities, atol=1e-5)
    assert again.frame_rate == series.frame_rate and (again.mask == series.mask).all()


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("select", SELECTS)
def test_information_is_what_the_error_curve_says(basis: str, select: str) -> None:
    series = street(80, noise=0.1)
    small = compress(series, keep=0.2, basis=basis, select=select)
    curve = error_curve(series, basis=basis, select=select)
    assert (np.diff(curve) <= 1e-12).all()
    assert small.information == pytest.approx(100 * (1 - curve[len(small.coefficients) - 1]), abs=1e-4)
    assert small.information_without_mean < small.information < 100
    assert information(series, small.decode()).whole == pytest.approx(small.information)


def test_information_is_measured_before_the_result_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made, check = [], FourierFields.__post_init__

    def recorded(self: FourierFields) -> None:
        check(self)
        made.append(self.information)

    monkeypatch.setattr(FourierFields, "__post_init__", recorded)
    small = compress(street(20), keep=0.2)
    assert made[-1] == small.information < 100


def test_choosing_by_energy_never_keeps_less() -> None:
    series = street(100, noise=0.1)
    low, shared, pixel = (compress(series, keep=0.1, select=s).information for s in SELECTS)
    assert low <= shared + 1e-6 and shared <= pixel + 1e-6


def test_cosines_do_not_ring_at_the_ends_of_a_drift() -> None:
    drift = np.linspace(0, 2, 100)[:, None, None, None] * np.ones((1, 2, 2, 2))
    series = FieldSeries(drift, 25)
    errors = {b: field_error(series, compress(series, keep=0.1, basis=b).decode()).largest for b in BASES}
    assert errors["dct"] < 0.1 * errors["dft"]


def test_a_cosine_is_known_between_its_frames() -> None:
    def at(t: np.ndarray) -> np.ndarray:
        return np.cos(np.pi * 3 * (t + 0.5) / 40)[:, None, None, None] * np.ones((1, 2, 3, 2))

    series = FieldSeries(at(np.arange(40)), 25)
    times = np.array([0.25, 7.5, 38.9])
    np.testing.assert_allclose(compress(series, keep=0.2).velocities_at(times), at(times), atol=1e-5)


def test_fourier_files_load_as_fields_and_as_they_are(tmp_path: Path) -> None:
    small = compress(street(60), keep=0.1)
    path = tmp_path / "small.mry"
    marey.save(small, path)
    loaded = marey.load(path)
    assert isinstance(loaded, FieldSeries)
    np.testing.assert_array_equal(loaded.velocities, small.decode().velocities)
    as_it_is = marey.load(path, compressed=True)
    assert isinstance(as_it_is, FourierFields) and as_it_is.information == small.information
    assert path.stat().st_size < 0.1 * street(60).velocities.nbytes + 2000


def test_style_one_is_as_captured() -> None:
    series = street()
    for style in (1.0, 1, "original", np.ones_like):
        np.testing.assert_allclose(restyle(series, style).velocities, series.velocities, atol=1e-6)


def test_the_mean_over_time_stays_where_nothing_is_limited() -> None:
    series = replace(street(), mask=None)
    for style in (0.0, 0.4, "calm", "stressed"):
        styled = restyle(series, style, largest_speed=100.0)
        np.testing.assert_allclose(styled.velocities.mean(0), series.velocities.mean(0), atol=1e-5)


def test_carried_people_accelerate_more_as_the_dial_goes_up() -> None:
    series = replace(street(100), mask=None)
    starts = grid_points(series, 10)

    def jerkiness(style: float) -> float:
        ways = path_lines(restyle(series, style), starts)
        change = np.diff(ways, n=2, axis=0)
        return float(np.sqrt(np.nanmean(change**2)))

    rising = [jerkiness(style) for style in (0.0, 0.5, 1.0, 1.3, 1.7, 2.2)]
    assert (np.diff(rising) > 0).all()


def test_speeds_stay_below_the_limit_and_slow_ones_are_left_alone() -> None:
    series = street()
    fastest = np.hypot(*np.moveaxis(series.velocities, -1, 0)).max()
    styled = restyle(series, 5.0)
    assert np.hypot(*np.moveaxis(styled.velocities, -1, 0)).max() <= 1.5 * fastest * (1 + 1e-5)
    assert np.hypot(*np.moveaxis(restyle(series, 5.0, largest_speed=0.7).velocities, -1, 0)).max() < 0.7001


def test_nobody_is_driven_into_a_wall_who_was_not() -> None:
    series = street()
    styled = restyle(series, 3.0)
    # Column 16 lies left of the wall; u there is towards it.
    into, before = styled.velocities[:, 9:11, 16, 0], series.velocities[:, 9:11, 16, 0]
    assert (into <= np.maximum(before, 0) + 1e-5).all()


def test_the_gain_of_the_mean_is_one_whatever_the_style() -> None:
    for style in (0.0, 3.0, "calm", "nervous", "stressed", np.zeros_like):
        assert style_gains(style, 50, 25.0)[0] == 1.0


def test_noise_is_measured_and_fades_where_nobody_walks() -> None:
    rng = np.random.default_rng(3)
    velocities = 0.05 * rng.normal(size=(80, 20, 30, 2))
    velocities[:, 8:12] += [0.8, 0.0]
    series = FieldSeries(velocities, 25)
    assert noise_level(series) == pytest.approx(0.05, rel=0.1)
    clean = edit(series, denoise=True)
    empty, street_ = np.s_[:, :5], np.s_[:, 9:11]
    assert np.abs(clean.velocities[empty]).mean() < 0.35 * np.abs(velocities[empty]).mean()
    assert np.abs(clean.velocities[street_]).mean() > 0.95 * np.abs(velocities[street_]).mean()


def test_known_foreground_decides_where_the_field_fades() -> None:
    foreground = np.zeros((30, 20, 30), dtype=np.uint8)
    foreground[:, :, :10] = 255
    series = FieldSeries(np.ones((30, 20, 30, 2), dtype=np.float32), 25, foreground=foreground)
    share = foreground_gain(series)
    assert (share[:, :, :8] == 1).all() and (share[:, :, 12:] == 0).all()
    assert (edit(series, denoise=True).velocities[:, :, 12:] == 0).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"keep": 0.0}, "share above 0"),
        ({"keep": 1.5}, "share above 0"),
        ({"basis": "haar"}, "one of dct, dft"),
        ({"select": "best"}, "one of low"),
    ],
)
def test_wrong_choices_are_told(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        compress(street(10), **wrong)


@pytest.mark.parametrize("style", [-1.0, 11.0, float("nan"), "wild", lambda hertz: hertz[:3]])
def test_styles_that_make_no_sense_are_told(style: object) -> None:
    with pytest.raises(InputError, match="style"):
        restyle(street(10), style)
