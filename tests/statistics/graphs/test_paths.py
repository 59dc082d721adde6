"""Walks of least cost, what a graph connects, and repertoires from sequences."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np
import pytest

import marey
from marey.errors import InputError
from marey.statistics.graphs.build import essential_graph
from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph, Windows, connectivity, core_frames
from marey.statistics.graphs.walks import compare, shortest_costs, shortest_walk
from tests.statistics.graphs.fixtures import random_table


@pytest.fixture(scope="module")
def graph() -> MotionGraph:
    return essential_graph(random_table(), alpha=0.05)


def test_the_shortest_walk_is_joined_and_costs_the_least(graph: MotionGraph) -> None:
    costs = shortest_costs(graph)
    later = shortest_costs(replace(graph, alpha=graph.alpha + 1e-6))
    for start, end in np.argwhere(np.isfinite(costs))[::37]:
        walk = shortest_walk(graph, start, end)
        nodes = walk.nodes(graph)
        assert (nodes[0], nodes[-1]) == (start, end)
        assert np.array_equal(graph.sources[walk.edges], nodes[:-1])
        assert walk.cost(graph) == pytest.approx(costs[start, end], abs=1e-12)
        # Costs rise with alpha by the steps of the best walk.
        assert walk.steps(graph) == round((later[start, end] - costs[start, end]) / 1e-6)


def test_of_walks_that_cost_the_same_the_shorter_is_taken() -> None:
    straight = MotionGraph.chains([0, 4], alpha=0.0, windows=Windows(2, 4))
    free = replace(
        straight,
        sources=[0, 0, 1, 2], targets=[1, 3, 2, 3], synthetic=[False, True, False, False],
        deformation=np.zeros(4), steps=[1, 2, 1, 1], source_lengths=[0, 3, 0, 0], target_lengths=[0, 3, 0, 0],
    )  # fmt: skip
    assert shortest_walk(free, 0, 3).steps(free) == 2


def test_a_walk_to_where_one_is_has_no_edges(graph: MotionGraph) -> None:
    assert len(shortest_walk(graph, 5, 5).edges) == 0


def test_a_walk_that_is_not_there_is_refused(graph: MotionGraph) -> None:
    with pytest.raises(InputError, match="no walk from frame 13 to frame 0"):
        shortest_walk(graph, 13, 0)
    with pytest.raises(InputError, match="frame 99"):
        shortest_walk(graph, 0, 99)


def test_core_entrances_and_dead_ends_are_what_can_be_reached(graph: MotionGraph) -> None:
    found = connectivity(graph)
    joined = np.isfinite(shortest_costs(graph))
    assert found.reachable == (joined.sum() - graph.frames) / (graph.frames * (graph.frames - 1))
    assert joined[np.ix_(found.core, found.core)].all()
    assert joined[np.ix_(found.entrances, found.core)].all()
    assert not joined[np.ix_(found.core, found.entrances)].any()
    assert joined[np.ix_(found.core, found.dead_ends)].all()
    assert not joined[np.ix_(found.dead_ends, found.core)].any()
    every = np.concatenate([found.core, found.entrances, found.dead_ends, found.apart])
    assert np.array_equal(np.sort(every), np.arange(graph.frames))
    # Three sequences, of which the first and the last three frames cannot be joined or left.
    assert (len(found.entrances), len(found.dead_ends)) == (9, 9)


def test_no_walk_within_the_core_gets_stuck(graph: MotionGraph) -> None:
    inside = core_frames(graph)
    kept = inside[graph.sources] & inside[graph.targets]
    core = set(connectivity(graph).core)
    assert set(graph.targets[kept]) == set(graph.sources[kept]) == core == set(np.flatnonzero(inside))


@pytest.mark.parametrize("seed", range(20))
def test_reachable_pairs_are_those_of_least_costs_in_any_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = np.unique(rng.integers(0, 40, (rng.integers(20, 80), 2)), axis=0)
    zeros = np.zeros(len(edges), np.int32)
    graph = MotionGraph(
        [0, 40], edges[:, 0], edges[:, 1], zeros, zeros, zeros + 1, zeros, zeros, 0.1, Windows(2, 4)
    )
    found, joined = connectivity(graph), np.isfinite(shortest_costs(graph))
    assert found.reachable == (joined.sum() - 40) / (40 * 39)
    assert joined[np.ix_(found.core, found.core)].all()
    assert (
        joined[np.ix_(found.entrances, found.core)].all()
        and joined[np.ix_(found.core, found.dead_ends)].all()
    )


def test_connectivity_of_long_chains_takes_no_time() -> None:
    chain = MotionGraph.chains([0, 16_000], alpha=0.1, windows=Windows(2, 4))
    began = process_time()
    assert connectivity(chain).reachable == 0.5
    # A breadth-first search from every component takes 2.3 s.
    assert process_time() - began < 1.2


def test_graphs_of_different_libraries_are_not_compared(graph: MotionGraph) -> None:
    with pytest.raises(InputError, match="different frames"):
        compare(shortest_costs(graph), np.zeros((2, 2)))


def test_sequences_that_cannot_be_left_are_apart_from_each_other() -> None:
    chains = MotionGraph.chains([0, 3, 5], alpha=0.1, windows=Windows(2, 4))
    found = connectivity(chains)
    assert found.apart.tolist() == [3, 4]
    assert found.reachable == (3 + 1) / 20
    assert compare(shortest_costs(chains), shortest_costs(chains)).share == (3 + 1) / 20


def test_sequences_become_a_repertoire_and_are_weighed_anew_without_new_distances() -> None:
    walk = marey.samples.mesh_sequence()
    slow = marey.surface.graph((walk[:35], walk[50:85]), windows=Windows(5, 12))
    assert slow.graph.synthetic.any()
    fast = marey.surface.graph(slow.library, alpha=0.2, windows=Windows(5, 12), distances=slow.distances)
    assert fast.distances is slow.distances
    assert (fast.graph.alpha, fast.graph.kind) == (0.2, "essential")
    motion = marey.surface.graph(slow.library, distances=slow.distances, method="motion")
    assert motion.graph.kind == "motion"


def test_distances_of_other_sequences_are_refused() -> None:
    walk = marey.samples.mesh_sequence()
    apart = DistanceMatrix(np.zeros((3, 3)), np.zeros((3, 3)), [0, 3], ("walk",), "surface")
    with pytest.raises(InputError, match="not made from these sequences"):
        marey.surface.graph((walk[:35],), distances=apart)
