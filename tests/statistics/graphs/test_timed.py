"""Key poses at times: exact where some walk is, nearest where none is, and of those the least deformed."""

from __future__ import annotations

import numpy as np
import pytest

from marey.errors import InputError, UnreachableError
from marey.statistics.graphs.graph import MotionGraph, Windows
from marey.statistics.graphs.walks import walk_through

WINDOWS = Windows(2, 6)


def random_graph(rng: np.random.Generator, frames: int = 8, extra: int = 10) -> MotionGraph:
    """Two chains and random transitions between any two frames."""
    starts = np.array([0, frames // 2, frames])
    chain = MotionGraph.chains(starts, alpha=0.1, windows=WINDOWS)
    pairs = rng.choice(frames * frames, extra, replace=False)
    pairs = pairs[pairs // frames != pairs % frames]
    count = len(pairs)
    sources = np.concatenate([chain.sources, pairs // frames])
    targets = np.concatenate([chain.targets, pairs % frames])
    order = np.lexsort((targets, sources))
    zeros = np.zeros(chain.edges)
    return MotionGraph(
        starts,
        sources[order],
        targets[order],
        np.concatenate([zeros, np.ones(count)]).astype(bool)[order],
        np.concatenate([zeros, rng.uniform(0.1, 2, count)])[order],
        np.concatenate([zeros + 1, rng.integers(2, 5, count)]).astype(int)[order],
        np.zeros(len(order), int),
        np.zeros(len(order), int),
        0.1,
        WINDOWS,
    )


def cheapest(graph: MotionGraph, source: int, target: int, steps: int) -> float:
    """By trying every walk."""
    if steps == 0:
        return 0.0 if source == target else np.inf
    best = np.inf
    for edge in graph.leaving(source):
        if graph.steps[edge] <= steps:
            rest = cheapest(graph, int(graph.targets[edge]), target, steps - int(graph.steps[edge]))
            best = min(best, graph.deformation[edge] + rest)
    return best


def reachable(graph: MotionGraph, rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    """Three key poses, times at which a walk takes them, and what the best such walk costs."""
    while True:
        keys = rng.choice(graph.frames, 3, replace=False).tolist()
        first, second = rng.integers(3, 8, 2).tolist()
        cost = cheapest(graph, keys[0], keys[1], first) + cheapest(graph, keys[1], keys[2], second)
        if np.isfinite(cost):
            return keys, [0, first, first + second], cost


@pytest.mark.parametrize("seed", range(6))
def test_a_walk_of_exact_duration_deforms_as_little_as_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    start, end = rng.choice(graph.frames, 2, replace=False)
    for steps in range(1, 10):
        truth = cheapest(graph, int(start), int(end), steps)
        if np.isfinite(truth):
            found = walk_through(graph, [int(start), int(end)], [0, steps])
            assert found.errors.tolist() == [0, 0]
            assert found.deformation == pytest.approx(truth)
            assert found.walk.steps(graph) == steps
            assert found.walk.nodes(graph)[-1] == end


@pytest.mark.parametrize("seed", range(4))
def test_all_key_poses_are_met_at_once_by_the_best_walk(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    graph = random_graph(rng, extra=16)
    keys, times, truth = reachable(graph, rng)
    found = walk_through(graph, keys, times)
    assert found.errors.tolist() == [0, 0, 0]
    assert found.deformation == pytest.approx(truth)
    nodes, when = found.walk.nodes(graph), np.r_[0, np.cumsum(graph.steps[found.walk.edges])]
    for key, time in zip(keys, found.achieved, strict=True):
        assert nodes[when.tolist().index(time)] == key


@pytest.mark.parametrize("seed", range(4))
def test_fewest_steps_are_those_of_the_fastest_walk(seed: int) -> None:
    from marey.statistics.graphs._graph_kernels import fewest_steps

    graph = random_graph(np.random.default_rng(200 + seed))
    left = fewest_steps(graph.sources, graph.targets, graph.steps, graph.frames, 5)
    for frame in range(graph.frames):
        lasting = [steps for steps in range(8) if np.isfinite(cheapest(graph, frame, 5, steps))]
        assert left[frame] == lasting[0] if lasting else 8 <= left[frame] <= 2**30


def test_slack_changes_nothing_where_times_are_met() -> None:
    rng = np.random.default_rng(7)
    graph = random_graph(rng, extra=16)
    keys, times, _ = reachable(graph, rng)
    for tolerance in (0, 1):
        ways = [
            walk_through(graph, keys, times, tolerance=tolerance, slack=slack) for slack in (tolerance, 6)
        ]
        assert ways[0].deformation == ways[1].deformation
        assert ways[0].achieved.tolist() == ways[1].achieved.tolist()


def test_a_time_that_cannot_be_met_is_missed_by_as_little_as_can_be() -> None:
    graph = MotionGraph.chains([0, 10], alpha=0.1, windows=WINDOWS)
    assert walk_through(graph, [2, 7], [0, 3]).errors.tolist() == [0, 2]


def test_tolerance_trades_time_for_less_deformation() -> None:
    rng = np.random.default_rng(3)
    graph = random_graph(rng, extra=16)
    keys, times, _ = reachable(graph, rng)
    exact, loose = walk_through(graph, keys, times), walk_through(graph, keys, times, tolerance=2)
    assert loose.deformation <= exact.deformation
    assert np.abs(loose.errors).max() <= 2


def test_what_cannot_be_reached_or_read_is_said() -> None:
    graph = MotionGraph.chains([0, 10], alpha=0.1, windows=WINDOWS)
    with pytest.raises(UnreachableError, match="key pose 2"):
        walk_through(graph, [7, 2], [0, 5])
    with pytest.raises(InputError, match="key pose 3"):
        walk_through(graph, [1, 2, 3], [0, 4, 4])
    with pytest.raises(InputError, match="no frame 99"):
        walk_through(graph, [1, 99], [0, 4])


def test_memory_holds_one_number_a_frame_and_time_beside_the_segment_at_hand() -> None:
    import tracemalloc

    graph = MotionGraph.chains([0, 4000], alpha=0.1, windows=Windows(2, 4))
    keys = list(range(0, 3600, 400))
    walk_through(graph, keys[:2], keys[:2])
    tracemalloc.start()
    walk_through(graph, keys, keys)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4000 * (3200 + len(keys)) * 4 + 4000 * 402 * 9
