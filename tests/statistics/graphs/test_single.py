"""One transition: blended in step, warped, or with the best windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.statistics.graphs.graph import Windows
from marey.statistics.graphs.transitions import optimal, standard, warped
from tests.statistics.graphs.plain import matrix, paths, random_matrix

SIZES = [(2, 2), (3, 3), (4, 3), (3, 5), (5, 5), (6, 5), (4, 6)]


def grid(rng: np.random.Generator, rows: int, columns: int):
    """Two sequences as long as the grid is high and wide, and the grid between them."""
    distances = random_matrix(rng, [0, rows, rows + columns])
    return distances, distances.between(0, 1).astype(np.float64)


def sums(costs: np.ndarray, slope: int) -> list[tuple[float, int]]:
    return [(sum(costs[cell] for cell in path), len(path)) for path in paths(*costs.shape, slope)]


@pytest.mark.parametrize("slope", [2, 3])
@pytest.mark.parametrize("rows, columns", SIZES)
def test_warping_is_the_best_of_all_paths(rows: int, columns: int, slope: int) -> None:
    for seed in range(5):
        distances, costs = grid(np.random.default_rng(seed), rows, columns)
        found = warped(distances, 0, rows + columns - 1, rows, columns, slope=slope)
        assert (found.cost, found.length) == min(sums(costs, slope))


@pytest.mark.parametrize("slope", [2, 3])
@pytest.mark.parametrize("rows, columns", SIZES)
def test_least_mean_is_the_least_of_all_paths(rows: int, columns: int, slope: int) -> None:
    for seed in range(5):
        distances, costs = grid(np.random.default_rng(seed), rows, columns)
        found = warped(distances, 0, rows + columns - 1, rows, columns, slope=slope, objective="mean")
        assert found.cost / found.length == pytest.approx(
            min(cost / length for cost, length in sums(costs, slope)), rel=1e-12
        )


def test_least_sum_is_often_not_the_least_mean() -> None:
    differ = 0
    for seed in range(100):
        distances, _ = grid(np.random.default_rng(seed), 6, 5)
        by_sum = warped(distances, 0, 10, 6, 5)
        by_mean = warped(distances, 0, 10, 6, 5, objective="mean")
        assert by_mean.cost / by_mean.length <= by_sum.cost / by_sum.length
        differ += by_sum.length != by_mean.length
    assert 15 < differ < 70


@pytest.mark.parametrize("slope", [1, 2, 3, 4])
def test_windows_fit_exactly_if_neither_must_pass_faster_than_the_slope(slope: int) -> None:
    distances, _ = grid(np.random.default_rng(0), 9, 9)
    for rows in range(2, 10):
        for columns in range(2, 10):
            fits = rows - 1 <= slope * (columns - 1) and columns - 1 <= slope * (rows - 1)
            if max(rows, columns) < 6:
                assert fits == bool(paths(rows, columns, slope))
            if fits:
                assert warped(distances, 0, 17, rows, columns, slope=slope).length >= max(rows, columns)
            else:
                with pytest.raises(InputError, match="times as fast"):
                    warped(distances, 0, 17, rows, columns, slope=slope)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(4, 20), st.integers(4, 20), st.integers(1, 5))
def test_paths_keep_the_slope_rule(seed: int, rows: int, columns: int, slope: int) -> None:
    distances, _ = grid(np.random.default_rng(seed), rows, columns)
    if max(rows, columns) - 1 > slope * (min(rows, columns) - 1):
        return
    path = warped(distances, 0, rows + columns - 1, rows, columns, slope=slope).path
    assert path[0].tolist() == [0, rows] and path[-1].tolist() == [rows - 1, rows + columns - 1]
    moves = "".join({(1, 1): "d", (1, 0): "v", (0, 1): "h"}[tuple(step)] for step in np.diff(path, axis=0))
    assert moves.startswith("d") and "hv" not in moves and "vh" not in moves
    assert "v" * slope not in moves and "h" * slope not in moves


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(3, 16), st.integers(3, 16))
def test_a_larger_slope_never_costs_more(seed: int, rows: int, columns: int) -> None:
    distances, _ = grid(np.random.default_rng(seed), rows, columns)
    least = -(-(max(rows, columns) - 1) // (min(rows, columns) - 1))
    for objective in ("sum", "mean"):
        found = [
            warped(distances, 0, rows + columns - 1, rows, columns, slope=slope, objective=objective)
            for slope in range(least, least + 4)
        ]
        costs = [one.cost / (one.length if objective == "mean" else 1) for one in found]
        assert (np.diff(costs) <= 1e-9 * costs[0]).all()


def test_slope_one_blends_in_step() -> None:
    distances, costs = grid(np.random.default_rng(4), 8, 8)
    in_step = standard(distances, 0, 15, 8)
    assert np.array_equal(in_step.path, warped(distances, 0, 15, 8, 8, slope=1).path)
    assert in_step.cost == costs.trace()


def test_alpha_counts_frames() -> None:
    distances, costs = grid(np.random.default_rng(5), 5, 5)
    for alpha in (0.0, 3e3, 1e5):
        found = warped(distances, 0, 9, 5, 5, alpha=alpha)
        best = min(cost + alpha * length for cost, length in sums(costs, 3))
        assert found.cost + alpha * found.length == best


def test_the_best_windows_are_the_best_of_all_pairs_of_windows() -> None:
    distances = random_matrix(np.random.default_rng(6), [0, 9, 18])
    for source, destination in ((0, 17), (2, 16), (4, 13), (5, 12), (0, 8)):
        for objective in ("weight", "sum", "mean"):
            found = optimal(
                distances, source, destination, windows=Windows(3, 6), objective=objective, alpha=2e3
            )
            every = [
                warped(distances, source, destination, rows, columns, objective=objective, alpha=2e3)
                for rows in range(3, 7)
                for columns in range(3, 7)
                if source + rows <= (9 if source < 9 else 18)
                and destination - columns + 1 >= (0 if destination < 9 else 9)
                and max(rows, columns) - 1 <= 3 * (min(rows, columns) - 1)
            ]
            assert worth(found, objective) == pytest.approx(
                min(worth(one, objective) for one in every), rel=1e-12
            )
            assert (found.source, found.destination) == (source, destination)


def worth(transition, objective: str) -> float:
    if objective == "mean":
        return transition.cost / transition.length
    return transition.cost + (2e3 * transition.length if objective == "weight" else 0.0)


def test_windows_stay_in_their_sequences() -> None:
    distances = random_matrix(np.random.default_rng(7), [0, 10, 20])
    with pytest.raises(InputError, match=r"source frame 8: sequence 0 has 2 frames from it on"):
        optimal(distances, 8, 15, windows=Windows(3, 6))
    with pytest.raises(InputError, match=r"destination frame 11: sequence 1 has 2 frames up to it"):
        warped(distances, 0, 11, 3, 3)
    with pytest.raises(InputError, match="there are frames 0…19"):
        standard(distances, 0, 20, 3)
    with pytest.raises(InputError, match="2 frames or more"):
        standard(distances, 0, 15, 1)


def test_impossible_options_are_named() -> None:
    distances = matrix(np.zeros((8, 8)), [0, 8])
    with pytest.raises(InputError, match="slope"):
        warped(distances, 0, 7, 3, 3, slope=0)
    with pytest.raises(InputError, match="objective"):
        warped(distances, 0, 7, 3, 3, objective="median")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="alpha"):
        warped(distances, 0, 7, 3, 3, alpha=-1.0)


def test_poses_all_alike_cost_nothing() -> None:
    distances = matrix(np.zeros((12, 12)), [0, 6, 12])
    for objective in ("weight", "sum", "mean"):
        assert optimal(distances, 1, 10, windows=Windows(3, 5), objective=objective).cost == 0.0
