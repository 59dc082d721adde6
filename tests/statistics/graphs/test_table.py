"""The best transitions between all frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.statistics.graphs.graph import DistanceMatrix, Windows
from marey.statistics.graphs.transitions import TransitionTable, optimal, optimal_pairs, table, warped
from tests.statistics.graphs.fixtures import performer
from tests.statistics.graphs.plain import best_windows, matrix, random_matrix


def test_all_windows_at_once_are_as_good_as_one_after_the_other() -> None:
    distances = random_matrix(np.random.default_rng(1), [0, 14, 27])
    found = table(distances, windows=Windows(3, 7), objective="sum")
    for source in range(14):
        for destination in range(14, 27):
            best = best_windows(distances, source, destination, 3, 7, 3)
            assert (found.costs[source, destination], found.lengths[source, destination]) == best
    for source, destination in ((0, 13), (3, 9), (5, 5), (8, 2), (20, 26), (16, 1)):
        best = best_windows(distances, source, destination, 3, 7, 3)
        assert (found.costs[source, destination], found.lengths[source, destination]) == best


@pytest.mark.parametrize("slope", [1, 2, 4])
def test_weights_are_least_for_every_slope(slope: int) -> None:
    distances = random_matrix(np.random.default_rng(slope), [0, 10, 20])
    found = table(distances, windows=Windows(3, 6, slope), alpha=4096.0)
    for source in range(10):
        for destination in range(10, 20):
            cost, length = best_windows(distances, source, destination, 3, 6, slope, 4096.0)
            assert found.lengths[source, destination] == length
            if length:
                assert found.costs[source, destination] == cost - 4096.0 * length


def valleys(rng: np.random.Generator, starts: list[int]) -> DistanceMatrix:
    """Smooth poses that come back to themselves: many cheap windows that are too long."""
    phase = np.cumsum(rng.uniform(0.1, 0.9, starts[-1]))
    poses = np.stack([np.sin(phase), np.cos(phase), 0.2 * np.sin(0.1 * phase)], axis=1)
    return matrix(np.linalg.norm(poses[:, None] - poses, axis=-1), starts)


@settings(deadline=None, max_examples=15)
@given(
    st.integers(0, 10**6), st.integers(2, 6), st.integers(0, 12), st.integers(1, 4),
    st.sampled_from(["weight", "sum"]), st.sampled_from(["strict", "short"]),
)  # fmt: skip
def test_all_at_once_gives_what_every_pair_gives_by_itself(
    seed: int, shortest: int, more: int, slope: int, objective: str, ends: str
) -> None:
    distances = valleys(np.random.default_rng(seed), [0, 25, 31, 33, 60])
    windows = Windows(shortest, shortest + more, slope)
    found = table(distances, windows=windows, objective=objective, alpha=0.05, ends=ends)
    alpha = 0.05 if objective == "weight" else 0.0
    room = np.concatenate([size - np.arange(size) for size in (25, 6, 2, 27)])
    before = np.concatenate([1 + np.arange(size) for size in (25, 6, 2, 27)])
    reach = np.minimum(room[:, None], before)
    least = min(3, shortest) if ends == "short" else shortest
    assert np.array_equal(np.isfinite(found.costs), reach >= least)
    for source, destination in np.argwhere(np.isfinite(found.costs))[seed % 7 :: 37]:
        own = Windows(min(shortest, reach[source, destination]), windows.longest, slope)
        one = optimal(distances, source, destination, windows=own, objective=objective, alpha=0.05)
        weight = found.costs[source, destination] + alpha * found.lengths[source, destination]
        assert weight == pytest.approx(one.cost + alpha * one.length, rel=1e-6, abs=1e-9)
        check_windows(distances, found, source, destination, own)


def check_windows(
    distances: DistanceMatrix, found: TransitionTable, source: int, destination: int, windows: Windows
) -> None:
    """The windows of the table are allowed, and warping them anew gives its cost and length."""
    rows = int(found.source_lengths[source, destination])
    columns = int(found.destination_lengths[source, destination])
    assert windows.shortest <= min(rows, columns) and max(rows, columns) <= windows.longest
    again = warped(
        distances, source, destination, rows, columns, slope=windows.slope, alpha=found.alpha,
        objective=found.objective,
    )  # fmt: skip
    weight = found.costs[source, destination] + found.alpha * found.lengths[source, destination]
    assert again.cost + found.alpha * again.length == pytest.approx(weight, rel=1e-6, abs=1e-9)


def test_replayed_motion_costs_nothing() -> None:
    distances = valleys(np.random.default_rng(0), [0, 40])
    found = table(distances, windows=Windows(4, 12), alpha=1e-4)
    for source, destination in ((0, 5), (10, 21), (20, 24)):
        assert found.costs[source, destination] == pytest.approx(0.0, abs=1e-12)
        assert found.lengths[source, destination] == destination - source + 1


def test_least_mean_of_all_pairs_is_that_of_each() -> None:
    distances = valleys(np.random.default_rng(3), [0, 20, 40])
    windows = Windows(4, 10)
    found = table(distances, windows=windows, objective="mean")
    sources, destinations = np.argwhere(np.isfinite(found.costs))[::29].T
    given_pairs = optimal_pairs(distances, sources, destinations, windows=windows, objective="mean")
    means = given_pairs.costs / given_pairs.lengths
    assert means == pytest.approx((found.costs / found.lengths)[sources, destinations], rel=1e-6)
    for source, destination, mean in zip(sources, destinations, means, strict=True):
        one = optimal(distances, source, destination, windows=windows, objective="mean")
        assert mean == pytest.approx(one.cost / one.length, rel=1e-9)


def test_each_freedom_lowers_the_mean() -> None:
    distances = performer()
    windows = Windows(8, 48)
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, distances.frames, (2, 800))
    for length in (8, 16, 24):
        in_step = optimal_pairs(distances, *pairs, windows=Windows(length, length, 1), objective="mean")
        fits = in_step.lengths > 0
        before = in_step.costs[fits] / in_step.lengths[fits]
        for chosen in (
            optimal_pairs(distances, *pairs, windows=Windows(length, length, 3), objective="sum"),
            optimal_pairs(distances, *pairs, windows=windows, objective="mean"),
        ):
            now = chosen.costs[fits] / chosen.lengths[fits]
            assert (now <= before * (1 + 1e-9)).all()
            before = now


@pytest.mark.parametrize("objective", ["sum", "mean"])
def test_a_larger_slope_never_costs_any_pair_more(objective: str) -> None:
    distances = performer()
    pairs = np.random.default_rng(1).integers(0, distances.frames, (2, 400))
    before = np.full(400, np.inf)
    for slope in (2, 3, 4, 5):
        found = optimal_pairs(distances, *pairs, windows=Windows(8, 48, slope), objective=objective)
        now = found.costs / np.maximum(found.lengths, 1) if objective == "mean" else found.costs
        assert (now <= before * (1 + 1e-9)).all()
        before = now


def test_known_means_of_a_synthetic_subject() -> None:
    """Six sequences of 450 frames, with figures worked out by another implementation."""
    distances = performer()
    assert distances.values.mean() == pytest.approx(1.1996762, abs=1e-6)
    in_step = table(distances, windows=Windows(24, 24, 1), objective="sum")
    fits = in_step.lengths > 0

    def mean(found: TransitionTable) -> float:
        return float((found.costs[fits] / found.lengths[fits]).mean(dtype=np.float64))

    fixed, free = Windows(24, 24), Windows(8, 48)
    assert mean(in_step) == pytest.approx(1.1996, abs=1e-4)
    assert mean(table(distances, windows=fixed, objective="sum")) == pytest.approx(0.9996, abs=1e-4)
    assert mean(table(distances, windows=free, objective="sum")) == pytest.approx(0.8145, abs=1e-4)
    sample = np.argwhere(fits)[::23].T
    for windows, known in ((fixed, 0.9348), (free, 0.6779)):
        best = optimal_pairs(distances, *sample, windows=windows, objective="mean")
        assert (best.costs / best.lengths).mean() == pytest.approx(known, abs=0.005)


def test_warping_alone_gains_little_on_short_windows_and_free_windows_much() -> None:
    distances = performer()
    pairs = np.random.default_rng(2).integers(0, distances.frames, (2, 3000))
    in_step = optimal_pairs(distances, *pairs, windows=Windows(8, 8, 1), objective="sum")
    fits = in_step.lengths > 0
    before = (in_step.costs[fits] / in_step.lengths[fits]).mean()
    warping = optimal_pairs(distances, *pairs, windows=Windows(8, 8), objective="sum")
    free = optimal_pairs(distances, *pairs, windows=Windows(8, 48), objective="mean")
    assert 0.0 < 1 - (warping.costs[fits] / warping.lengths[fits]).mean() / before < 0.06
    assert 1 - (free.costs[fits] / free.lengths[fits]).mean() / before > 0.15


def test_progress_counts_the_frames() -> None:
    seen: list[tuple[int, int]] = []
    distances = random_matrix(np.random.default_rng(9), [0, 20, 33])
    table(distances, windows=Windows(3, 5), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (33, 33)


def test_what_cannot_be_is_named() -> None:
    distances = random_matrix(np.random.default_rng(9), [0, 20])
    with pytest.raises(InputError, match="ends"):
        table(distances, windows=Windows(3, 5), ends="loose")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="longest"):
        table(distances, windows=Windows(3, 50_000))
    with pytest.raises(InputError, match="0…19"):
        optimal_pairs(distances, [0], [20], windows=Windows(3, 5))
    with pytest.raises(InputError, match="as many"):
        optimal_pairs(distances, [0, 1], [5], windows=Windows(3, 5))


def test_windows_and_slopes_beyond_all_sequences_cost_no_memory() -> None:
    distances = random_matrix(np.random.default_rng(10), [0, 12, 20])
    wide = table(distances, windows=Windows(3, 10_000, 1_000_000), objective="sum")
    fitting = table(distances, windows=Windows(3, 12, 12), objective="sum")
    assert np.array_equal(wide.costs, fitting.costs) and wide.windows.longest == 10_000
    assert not np.isfinite(table(distances, windows=Windows(9_000, 10_000), objective="sum").costs).any()
    given_pairs = optimal_pairs(distances, [0, 1], [19, 18], windows=Windows(3, 10**9, 10**9))
    assert (
        given_pairs.lengths.tolist()
        == table(distances, windows=Windows(3, 12, 12)).lengths[[0, 1], [19, 18]].tolist()
    )
    assert optimal(distances, 0, 19, windows=Windows(3, 10**9, 10**9)).length == given_pairs.lengths[0]
