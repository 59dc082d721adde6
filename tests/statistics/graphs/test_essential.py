"""The essential graph: what it keeps, against trees of shortest paths, on random tables and a performer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, floyd_warshall

from marey.errors import InputError
from marey.statistics.graphs.build import (
    add_chains,
    drop_dominated,
    essential_edges,
    essential_graph,
    local_minima,
    motion_graph,
    transition_weights,
)
from marey.statistics.graphs.graph import Windows
from marey.statistics.graphs.transitions import TransitionTable, table
from marey.statistics.graphs.walks import compare, least_costs, shortest_costs
from tests.statistics.graphs.fixtures import performer, random_table

ALPHAS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4)


@pytest.fixture(scope="module")
def gaits() -> TransitionTable:
    return table(performer(), windows=Windows(8, 48), objective="sum", alpha=0.0)


def any_weights(nodes: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(nodes, nodes))
    weights[rng.random((nodes, nodes)) < 0.5] = np.inf
    np.fill_diagonal(weights, 0)
    return weights


def complete(transitions: TransitionTable, alpha: float) -> np.ndarray:
    weights = transition_weights(transitions, alpha=alpha)
    add_chains(weights, transitions.starts, alpha)
    return weights


@pytest.mark.parametrize("make", [essential_graph, motion_graph])
def test_counting_frames_changes_what_transitions_weigh_and_not_their_time(gaits, make) -> None:
    graph = make(gaits, alpha=0.2, duration="frames")
    pairs = graph.sources[graph.synthetic], graph.targets[graph.synthetic]
    assert graph.synthetic.any()
    np.testing.assert_array_equal(graph.steps[graph.synthetic], gaits.lengths[pairs] - 1)
    np.testing.assert_allclose(
        graph.weights[graph.synthetic], gaits.costs[pairs] + 0.2 * gaits.lengths[pairs], rtol=1e-6
    )
    np.testing.assert_array_equal(graph.weights[~graph.synthetic], 0.2)


def test_edges_out_of_order_are_refused(gaits) -> None:
    graph = essential_graph(gaits, alpha=0.2)
    several = int(np.flatnonzero(np.diff(graph.first_leaving) > 1)[0])
    order = np.arange(graph.edges)
    order[graph.leaving(several)] = graph.leaving(several)[::-1]
    edges = ("sources", "targets", "synthetic", "deformation", "steps", "source_lengths", "target_lengths")
    with pytest.raises(InputError, match="sorted by source, then target"):
        replace(graph, **{name: getattr(graph, name)[order] for name in edges})


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 90), st.integers(0, 10**6))
def test_least_costs_are_those_of_dijkstra(nodes: int, seed: int) -> None:
    weights = any_weights(nodes, seed)
    there = np.isfinite(weights) & ~np.eye(nodes, dtype=bool)
    oracle = dijkstra(csr_array(np.where(there, weights, 0)))
    np.testing.assert_allclose(least_costs(weights), oracle, rtol=1e-12)


def test_least_costs_of_many_tiles_are_those_of_floyd_and_warshall() -> None:
    weights = any_weights(301, 5)
    oracle = floyd_warshall(np.where(np.isfinite(weights), weights, 0))
    np.testing.assert_allclose(least_costs(weights), oracle, rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_essential_edges_are_the_union_of_all_shortest_path_trees(seed: int) -> None:
    weights = any_weights(60, seed)
    there = np.isfinite(weights) & ~np.eye(60, dtype=bool)
    _, before = dijkstra(csr_array(np.where(there, weights, 0)), return_predecessors=True)
    trees = np.zeros((60, 60), bool)
    for row in before:
        trees[row[row >= 0], np.flatnonzero(row >= 0)] = True
    assert np.array_equal(essential_edges(weights), trees)


def test_edges_that_tie_are_all_kept() -> None:
    square = np.full((4, 4), np.inf)
    square[0, 1] = square[1, 3] = square[0, 2] = square[2, 3] = 1
    square[0, 3] = 2
    assert essential_edges(square).sum() == 5


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.2])
def test_walks_in_the_essential_graph_cost_what_they_cost_with_all_transitions(alpha: float) -> None:
    transitions = random_table()
    every = least_costs(complete(transitions, alpha))
    chosen = essential_graph(transitions, alpha=alpha)
    np.testing.assert_allclose(shortest_costs(chosen), every, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_sieve_loses_no_essential_edge(alpha: float, gaits: TransitionTable) -> None:
    weights = complete(gaits, alpha)
    sieved = weights.copy()
    drop_dominated(sieved, gaits.starts, alpha)
    removed = 1 - np.isfinite(sieved).sum() / np.isfinite(weights).sum()
    assert removed > 0.3
    assert np.array_equal(essential_edges(weights), essential_edges(sieved))


def test_costs_and_densities_of_the_performer(gaits: TransitionTable) -> None:
    """Means over all joined pairs, found by an independent implementation, time counted in frames."""
    essential = (5.082, 5.438, 5.710, 5.952, 6.377, 7.244, 8.687, 11.201)
    motion = (5.126, 5.518, 5.839, 6.135, 6.675, 7.887, 10.188, 14.593)
    density = (0.0124, 0.0280, 0.0439, 0.0605, 0.0967, 0.2012, 0.3495, 0.4666)
    means, steps, gains = [], [], []
    for alpha, ours, theirs, share in zip(ALPHAS, essential, motion, density, strict=True):
        chosen = essential_graph(gaits, alpha=alpha, duration="frames")
        costs = shortest_costs(chosen)
        baseline = shortest_costs(motion_graph(gaits, alpha=alpha, duration="frames"))
        found = compare(costs, baseline)
        assert found.mean == pytest.approx(ours, abs=6e-4)
        assert found.baseline_mean == pytest.approx(theirs, abs=2.5e-3)
        assert found.share == pytest.approx(0.8233, abs=1e-4)
        assert found.excess < 1e-9
        assert chosen.density == pytest.approx(share, abs=2e-4)
        joined = np.isfinite(costs)
        np.fill_diagonal(joined, False)
        means.append(found.mean)
        # Costs rise with alpha by the time of the best walks.
        later = shortest_costs(replace(chosen, alpha=alpha + 1e-7))
        steps.append(float((later[joined] - costs[joined]).mean() / 1e-7))
        gains.append(found.gain)
    assert gains == sorted(gains)
    # Concave, with the mean duration of the best walks as slope: it lies between those at both ends.
    slopes = np.diff(means) / np.diff(ALPHAS)
    assert (np.diff(slopes) < 0).all()
    assert (slopes <= np.array(steps[:-1]) + 1e-9).all()
    assert (slopes >= np.array(steps[1:]) - 1e-9).all()


def test_transitions_made_for_their_weight_cost_no_more(gaits: TransitionTable) -> None:
    for_weight = table(performer(), windows=Windows(8, 48), objective="weight", alpha=0.2)
    ours = shortest_costs(essential_graph(for_weight, duration="frames"))
    with_sum = shortest_costs(essential_graph(gaits, alpha=0.2, duration="frames"))
    found = compare(ours, with_sum)
    assert found.excess < 1e-5
    assert found.mean == pytest.approx(8.634, abs=1e-3)


def test_no_edge_replays_what_was_captured(gaits: TransitionTable) -> None:
    for alpha in (0.0, 0.01, 0.2):
        for chosen in (essential_graph(gaits, alpha=alpha), motion_graph(gaits, alpha=alpha)):
            same = np.searchsorted(chosen.starts, chosen.sources, "right") == np.searchsorted(
                chosen.starts, chosen.targets, "right"
            )
            ahead = chosen.targets - chosen.sources
            jumps = chosen.synthetic & same & (ahead > 0)
            assert (chosen.weights[jumps] < alpha * ahead[jumps] - 1e-10).all()
            assert (~chosen.synthetic).sum() == chosen.frames - len(chosen.starts) + 1


def test_a_motion_graph_is_worse_even_where_time_is_free() -> None:
    """Against Boukhayma 2017, section 3.3.4, which holds that both are the same then."""
    costs = [
        compare(
            shortest_costs(essential_graph(transitions, alpha=0.0)),
            shortest_costs(motion_graph(transitions, alpha=0.0)),
        )
        for transitions in (random_table(seed=seed) for seed in range(5))
    ]
    assert all(found.gain > 0 for found in costs)


def test_toy_example_of_two_sequences() -> None:
    """Boukhayma 2017, figures 3.3 to 3.7: two sequences of four frames, played both ways."""
    across = np.array([[5, 4, 3, 5], [4, 2, 4, 5], [5, 4, 2, 4], [5, 3, 4, 5]], float)
    chain = np.where(np.abs(np.subtract.outer(range(4), range(4))) == 1, 1.0, np.inf)
    weights = np.block([[chain, across], [across.T, chain]])
    essential = essential_edges(weights)
    assert {(1 + a, 1 + b) for a, b in np.argwhere(essential[:4, 4:])} == {(1, 3), (2, 2), (3, 3), (4, 2)}
    assert np.array_equal(essential[4:, :4], essential[:4, 4:].T)
    minima = local_minima(across)
    assert {(1 + a, 1 + b) for a, b in np.argwhere(minima)} == {(2, 2), (3, 3)}
    best = np.where(minima, across, np.inf)
    motion = least_costs(np.block([[chain, best], [best.T, chain]]))
    ours = least_costs(np.where(essential, weights, np.inf))
    assert (ours[0, 6], motion[0, 6]) == (3, 4)
    assert (ours[4, 3], motion[4, 3]) == (4, 5)


def test_of_each_plateau_one_minimum_is_taken() -> None:
    flat = np.array([[2, 1, 1, 2], [2, 1, 2, 2], [3, 3, 3, 3], [0, 3, np.inf, 0]], float)
    assert local_minima(flat).sum() == 3
    assert local_minima(np.full((3, 3), np.inf)).sum() == 0


def test_a_threshold_leaves_the_alike_only(gaits: TransitionTable) -> None:
    loose, tight = motion_graph(gaits, alpha=0.05), motion_graph(gaits, alpha=0.05, threshold=0.5)
    chosen = tight.synthetic
    assert 0 < chosen.sum() < loose.synthetic.sum()
    assert (tight.deformation[chosen] / (tight.steps[chosen] + 1)).max() <= 0.5 + 1e-6


def test_an_alpha_is_asked_for_where_the_table_has_none(gaits: TransitionTable) -> None:
    with pytest.raises(InputError, match="alpha"):
        essential_graph(gaits)
    with pytest.raises(InputError, match="0 or more"):
        motion_graph(gaits, alpha=-1.0)
