"""Dynamic time warping against all paths, against known maps of time, within its bounds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.statistics.warping import align, align_costs, time_map


def cheapest(table: np.ndarray, max_slope: int | None, begin: bool = False, end: bool = False) -> float:
    """The least cost of all paths, by plain recursion over cells and runs."""
    n, m = table.shape

    @cache
    def cost(i: int, j: int, along: str, run: int) -> float:
        if i < 0 or j < 0:
            return np.inf
        if along == "a":
            before = cost(i - 1, j, "a", run - 1) if run > 1 else cost(i - 1, j, "-", 0)
        elif along == "b":
            before = cost(i, j - 1, "b", run - 1) if run > 1 else cost(i, j - 1, "-", 0)
        elif i == 0 and (j == 0 or begin):
            before = 0.0
        else:
            before = any_way(i - 1, j - 1)
        return before + table[i, j]

    def any_way(i: int, j: int) -> float:
        runs = range(1, max_slope) if max_slope else range(1, n + m)
        return min(
            [cost(i, j, "-", 0), *(cost(i, j, along, run) for along in "ab" for run in runs)], default=np.inf
        )

    return min(any_way(n - 1, j) for j in (range(m) if end else [m - 1]))


def series(frames: int, seed: int, dims: int = 3) -> np.ndarray:
    """Sums of slow waves."""
    rng = np.random.default_rng(seed)
    t = np.arange(frames)[:, None] / frames
    waves = [rng.normal(size=dims) * np.sin(2 * np.pi * (k * t + rng.random(dims))) / k for k in (1, 2, 3, 5)]
    return np.sum(waves, axis=0)


def sampled(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(at, np.arange(len(values)), column) for column in values.T], axis=1)


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from([2, 3, 4]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
@settings(max_examples=60)
def test_no_path_is_cheaper(n: int, m: int, max_slope: int, begin: bool, end: bool, seed: int) -> None:
    table = np.random.default_rng(seed).integers(0, 9, size=(n, m)).astype(float)
    best = cheapest(table, max_slope, begin, end)
    options: dict[str, Any] = {"max_slope": max_slope, "open_begin": begin, "open_end": end}
    if not np.isfinite(best):
        with pytest.raises(InputError, match="do not fit"):
            align_costs(table, **options)
        return
    found = align_costs(table, **options)
    assert found.cost == pytest.approx(best)
    assert table[tuple(found.path.T)].sum() == pytest.approx(best)
    steps = np.diff(found.path, axis=0)
    assert ((steps >= 0) & (steps <= 1)).all() and (steps.sum(axis=1) > 0).all()
    assert found.path[0, 0] == 0 and found.path[-1, 0] == n - 1
    assert (begin or found.path[0, 1] == 0) and (end or found.path[-1, 1] == m - 1)
    assert max(np.bincount(found.path[:, 0])) <= max_slope and max(np.bincount(found.path[:, 1])) <= max_slope


@pytest.mark.parametrize("seed", range(8))
def test_without_limits_it_is_the_classical_recursion(seed: int) -> None:
    table = np.random.default_rng(seed).random((9, 14))
    total = np.full((10, 15), np.inf)
    total[0, 0] = 0.0
    for i in range(9):
        for j in range(14):
            total[i + 1, j + 1] = table[i, j] + min(total[i, j], total[i, j + 1], total[i + 1, j])
    found = align_costs(table, max_slope=None)
    assert found.cost == pytest.approx(total[-1, -1])
    assert table[tuple(found.path.T)].sum() == pytest.approx(found.cost)


def test_a_series_with_itself_is_the_identity() -> None:
    values = series(120, 0)
    found = align(values, values)
    assert found.cost == 0.0 and (found.path[:, 0] == found.path[:, 1]).all()
    assert np.abs(time_map(found) - np.arange(120)).max() < 1e-9


@pytest.mark.parametrize("derivative", [0.0, 3.0])
@pytest.mark.parametrize("band", [None, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_a_known_map_of_time_is_found_within_one_and_a_half_frames(
    seed: int, band: float | None, derivative: float
) -> None:
    rng = np.random.default_rng(seed)
    n, m = 180, 240
    share = np.arange(n) / (n - 1)
    bend = share + 0.08 * np.sin(2 * np.pi * share) * rng.uniform(0.5, 1) + 0.03 * np.sin(6 * np.pi * share)
    truth = (m - 1) * bend
    values = series(m, seed)
    warped = sampled(values, truth) + rng.normal(scale=0.02, size=(n, 3))
    found = time_map(align(warped, values, band=band, derivative=derivative))
    assert np.abs(found - truth).mean() < 1.5
    slopes = np.diff(found)
    assert slopes.min() >= 0.25 - 1e-9 and slopes.max() <= 4 + 1e-9


def test_open_ends_find_a_part_in_the_whole() -> None:
    whole = series(200, 3)
    part = sampled(whole, np.linspace(60, 150, 70))
    found = align(part, whole, open_begin=True, open_end=True)
    assert abs(found.path[0, 1] - 60) <= 2 and abs(found.path[-1, 1] - 150) <= 2
    assert np.abs(time_map(found) - np.linspace(60, 150, 70)).mean() < 1.5
    closed = align(part, whole)
    assert closed.cost > found.cost and closed.path[0].tolist() == [0, 0]


def test_comparing_rates_tells_rising_from_falling() -> None:
    t = np.linspace(0, 4 * np.pi, 160)[:, None]
    a, b = np.sin(t), 0.6 * np.sin(t)
    plain = time_map(align(a, b))
    rates = time_map(align(a, b, derivative=20.0))
    assert np.abs(rates - np.arange(160)).mean() < np.abs(plain - np.arange(160)).mean()


def test_time_maps_never_stop_or_go_back_even_where_paths_do() -> None:
    a = np.concatenate([np.zeros(40), np.linspace(0, 1, 20), np.ones(40)])[:, None]
    b = np.concatenate([np.zeros(10), np.linspace(0, 1, 40), np.ones(50)])[:, None]
    found = time_map(align(a, b))
    assert found[0] == 0 and found[-1] == pytest.approx(99)
    assert np.diff(found).min() >= 0.25 - 1e-9 and np.diff(found).max() <= 4 + 1e-9
    loose = time_map(align(a, b, max_slope=None), max_slope=None)
    assert np.diff(loose).min() >= 0


def test_a_table_of_distances_has_the_path_of_the_vectors() -> None:
    a, b = series(50, 1), series(60, 2)
    table = np.linalg.norm(a[:, None] - b[None], axis=2)
    for band in (None, 0.25):
        assert np.array_equal(align_costs(table, band=band).path, align(a, b, band=band).path)


def test_a_band_keeps_the_path_near_the_diagonal() -> None:
    a, b = series(100, 4), series(150, 5)
    path = align(a, b, band=0.1).path
    assert np.abs(path[:, 1] - path[:, 0] * 149 / 99).max() <= 0.1 * 150 + 1
    assert align(a, b, band=1e-6, max_slope=None).path[-1].tolist() == [99, 149]


def test_swapped_paths_are_those_of_swapped_series() -> None:
    a, b = series(80, 6), series(90, 7)
    there, back = align(a, b), align(b, a).swapped()
    assert there.cost == pytest.approx(back.cost) and there.frames == back.frames == (80, 90)


def test_single_frames_and_short_series_are_aligned() -> None:
    one = np.zeros((1, 2))
    assert align(one, one).path.tolist() == [[0, 0]] and time_map(align(one, one)).tolist() == [0.0]
    assert time_map(align(np.zeros((2, 1)), np.zeros((3, 1)))).tolist() == [0.0, 2.0]


def test_wrong_input_is_told_in_words() -> None:
    a = series(20, 0)
    for call, words in (
        (lambda: align(a, a[:, :2]), "dimensions"),
        (lambda: align(a, np.full((5, 3), np.nan)), "finite"),
        (lambda: align(a, a[:4]), "at most 4 times"),
        (lambda: align(a, a, max_slope=0), "max_slope"),
        (lambda: align(a, a, band=0.0), "band"),
        (lambda: align(a, a, derivative=-1), "derivative"),
        (lambda: align_costs(-np.ones((3, 3))), "none below 0"),
        (lambda: align_costs(np.zeros(3)), "table"),
        (lambda: time_map(align(a, a), smoothing=0), "smoothing"),
        (lambda: time_map(align(a, a), max_slope=0.5), "max_slope"),
    ):
        with pytest.raises(InputError, match=words):
            call()
