"""Comparing distance matrices: fast forms equal plain ones, chance stays within its band."""

from __future__ import annotations

from itertools import permutations as every_order
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.statistics import _matrix_kernels
from marey.statistics.matrix_comparison import (
    condensed,
    correlogram,
    distance_correlation,
    mantel,
    pearson,
)


def apart(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points, axis=-1)


def cloud(objects: int, rng: int = 0) -> np.ndarray:
    return apart(np.random.default_rng(rng).normal(size=(objects, 3)))


def plain_distance_correlation(x: np.ndarray, y: np.ndarray) -> float:
    tables = []
    for values in (x, y):
        a = np.abs(values[:, None] - values)
        tables.append(a - a.mean(axis=0) - a.mean(axis=1)[:, None] + a.mean())
    a, b = tables
    return float(np.sqrt((a * b).mean() / np.sqrt((a * a).mean() * (b * b).mean())))


def test_a_parabola_is_seen_by_the_distance_correlation_alone() -> None:
    x = np.arange(-10, 11)
    assert abs(pearson(x, x**2)) < 1e-12
    assert distance_correlation(x, x**2) == pytest.approx(0.4932, abs=5e-5)


@given(st.integers(2, 70), st.integers(0, 1000), st.booleans())
@settings(max_examples=60, deadline=None)
def test_fast_distance_correlation_equals_the_plain_one(count: int, seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, count)) + 100.0
    if ties:
        x, y = np.round(x), np.round(y)
    x[0] += 5.0
    y[-1] -= 5.0
    assert distance_correlation(x, y) == pytest.approx(plain_distance_correlation(x, y), abs=1e-7)


def test_the_distance_correlation_is_one_on_a_line_of_either_slope() -> None:
    x = np.random.default_rng(1).normal(size=500)
    assert distance_correlation(x, 3 - 2 * x) == pytest.approx(1.0, abs=1e-9)


def test_pearson_is_numpys() -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 50))
    assert pearson(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)


def test_permuted_sums_equal_those_of_permuted_matrices() -> None:
    fixed, moved = cloud(23, 1).astype(np.float32), cloud(23, 2).astype(np.float32)
    order = np.random.default_rng(3).permutation(23).astype(np.uint32)
    placed = moved[order][:, order]
    plain = (condensed(fixed) * condensed(placed)).sum()
    assert _matrix_kernels.permuted_products(fixed, moved, order) == pytest.approx(plain, rel=1e-5)


def test_the_test_finds_every_permutation_of_four_objects() -> None:
    first, second = cloud(4, 1), cloud(4, 2)
    chances = {
        round(pearson(condensed(first), condensed(second[np.ix_(order, order)])), 5)
        for order in every_order(range(4))
    }
    found = {round(float(r), 5) for r in mantel(first, second, permutations=400).permuted}
    assert {round(r, 4) for r in found} == {round(r, 4) for r in chances}


def test_related_matrices_are_told_from_unrelated_ones() -> None:
    truth = cloud(40)
    noisy = apart(
        np.random.default_rng(0).normal(size=(40, 3)) + 0.3 * np.random.default_rng(9).normal(size=(40, 3))
    )
    related = mantel(noisy, truth, permutations=199)
    assert related.p == 1 / 200 and related.correlation > 0.7
    chances = [mantel(cloud(40, k), truth, permutations=99, rng=k).p for k in range(100, 130)]
    assert min(chances) > 0 and 0.25 < np.mean(chances) < 0.75


def test_permuted_frames_vary_less_than_permuted_sequences() -> None:
    walk = np.cumsum(np.random.default_rng(4).normal(size=(80, 3)), axis=0)
    distances = apart(walk)
    widths = {
        mode: mantel(
            distances, distances[::-1, ::-1], permutations=300, mode=mode, starts=[0, 25, 50, 80]
        ).permuted.std()
        for mode in ("object", "block")
    }
    assert widths["object"] < widths["block"]


def test_results_repeat_for_a_seed() -> None:
    a, b = cloud(20, 1), cloud(20, 2)
    one, two = (mantel(a, b, permutations=150, rng=5).permuted for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_a_correlogram_is_pearson_within_each_class() -> None:
    rng = np.random.default_rng(0)
    truth = cloud(50)
    other = truth + 0.3 * apart(rng.normal(size=(50, 2)))
    found = correlogram(other, truth, classes=6)
    x, y = condensed(other), condensed(truth)
    for k in range(6):
        last = k == 5
        there = (y >= found.edges[k]) & ((y <= found.edges[k + 1]) if last else (y < found.edges[k + 1]))
        assert there.sum() == found.counts[k]
        if there.sum() > 2:
            assert found.correlations[k] == pytest.approx(pearson(x[there], y[there]), abs=1e-9)
    assert found.counts.sum() == len(y)


def test_classes_without_pairs_have_no_correlation() -> None:
    """Of equal distances most classes are empty: those of simplex corners are all of one length."""
    points = np.concatenate([np.eye(12), [[100.0] + 11 * [0.0]]])
    found = correlogram(apart(points), apart(points), classes=10)
    assert (found.counts == 0).any() and np.isnan(found.correlations[found.counts == 0]).all()


def test_errors_name_what_is_wrong() -> None:
    good = cloud(10)
    unknown: Any = "other"
    lopsided = good.copy()
    lopsided[0, 1] += 1
    for wrong, message in (
        (lambda: mantel(good, cloud(9)), "10 and 9 objects"),
        (lambda: mantel(lopsided, good), "symmetric"),
        (lambda: mantel(good[:5], good), "square"),
        (lambda: mantel(good, good, permutations=0), "permutations"),
        (lambda: mantel(good, good, mode="block"), "starts"),
        (lambda: mantel(good, good, mode="block", starts=[0, 4]), "rise from 0 to 10"),
        (lambda: mantel(good, good, mode=unknown), "mode"),
        (lambda: mantel(1 - np.eye(10), good), "all its numbers are the same"),
        (lambda: correlogram(good, good, classes=0), "classes"),
        (lambda: pearson([1, 2], [1, 2, 3]), "2 and 3 numbers"),
        (lambda: distance_correlation([1, np.nan], [1, 2]), "not finite"),
    ):
        with pytest.raises(InputError, match=message):
            wrong()
