"""The essential graph of 2,600 frames from their pose distances, and its parts beside their peers.

Distances are those of periodic gaits of 25 sequences, made here. The whole is timed on all cores: transitions
between all pairs, then the essential graph; the bar is five minutes. Least costs of all pairs in the complete
graph are timed beside scipy's Floyd–Warshall, and Dijkstra's search in the motion graph beside scipy's and
networkx's (three sources, multiplied): same process, same input, same answers; scipy and networkx use one
core. Exits with 1 if the bar is missed, or if least costs are above the motion graph's.

    python benchmarks/essential_graph.py [--frames N] [--no-peers]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from _ledger import record
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, floyd_warshall

from marey.statistics.graphs.build import add_chains, essential_graph, motion_graph, transition_weights
from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph, Windows
from marey.statistics.graphs.transitions import table
from marey.statistics.graphs.walks import compare, least_costs, shortest_costs

FRAMES, SEQUENCES, FRAME_RATE = 2_600, 25, 30.0
ALPHA = 0.2
BAR = 300.0
AGREE = 1e-9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--no-peers", action="store_true", help="only ours: the peers take minutes")
    given = parser.parse_args()
    warm_up()
    distances, windows = gaits(given.frames), Windows.at(FRAME_RATE)
    found, for_table = timed(lambda: table(distances, windows=windows, alpha=ALPHA))
    essential, for_graph = timed(lambda: essential_graph(found))
    motion = motion_graph(found)
    print(f"{given.frames} frames, windows of {windows.shortest} to {windows.longest}, alpha {ALPHA:g}")
    print(f"  transitions of all pairs   {for_table:8.1f} s")
    print(f"  essential graph            {for_graph:8.1f} s   {essential.edges:,} edges")
    ours, for_ours = timed(lambda: shortest_costs(essential))
    baseline, for_baseline = timed(lambda: shortest_costs(motion))
    gain = compare(ours, baseline).gain
    print(
        f"  least costs in both graphs {for_ours:8.1f} s and {for_baseline:.1f} s   gain {100 * gain:.1f} %"
    )
    quick, cheap = for_table + for_graph <= BAR, gain >= 0
    print(f"  in all {for_table + for_graph:.1f} s; bar of {BAR:g} s: {'met' if quick else 'MISSED'}")
    print(f"  never dearer than the motion graph: {'met' if cheap else 'MISSED'}")
    if not given.no_peers:
        weights = transition_weights(found, alpha=ALPHA)
        add_chains(weights, found.starts, ALPHA)
        beside_floyd_warshall(weights)
        beside_searches(motion, baseline, for_baseline)
    return 0 if quick and cheap else 1


def beside_floyd_warshall(weights: np.ndarray) -> None:
    ours, mine = timed(lambda: least_costs(weights))
    # In a dense matrix scipy takes 0 and infinity for no edge.
    theirs, scipys = timed(lambda: floyd_warshall(np.where(np.isfinite(weights), weights, 0.0)))
    check(ours, theirs)
    print(f"  all pairs, complete graph: ours {mine:.1f} s, scipy Floyd–Warshall {scipys:.1f} s")
    print(f"    {scipys / mine:.1f} times as fast")

    record(f"least costs of all pairs, complete graph of {len(weights):,} frames", mine, scipys, peer="scipy")


def beside_searches(graph: MotionGraph, ours: np.ndarray, mine: float) -> None:
    sparse = csr_array((graph.weights, (graph.sources, graph.targets)), shape=(graph.frames,) * 2)
    theirs, scipys = timed(lambda: dijkstra(sparse))
    check(ours, theirs)
    print(f"  all pairs, motion graph ({graph.edges:,} edges): ours {mine:.1f} s, scipy {scipys:.1f} s")
    print(f"    {scipys / mine:.1f} times as fast")
    record(f"least costs of all pairs, motion graph of {graph.frames:,} frames", mine, scipys, peer="scipy")
    try:
        import networkx
    except ImportError:
        print("  networkx is not here")
        return
    known = networkx.DiGraph()
    known.add_weighted_edges_from(zip(graph.sources, graph.targets, graph.weights, strict=True))
    starts = list(range(0, graph.frames, max(1, graph.frames // 3)))[:3]
    found, seconds = timed(
        lambda: [networkx.single_source_dijkstra_path_length(known, start) for start in starts]
    )
    for start, costs in zip(starts, found, strict=True):
        row = np.full(graph.frames, np.inf)
        row[list(costs)] = list(costs.values())
        check(ours[start], row)
    whole = seconds / len(starts) * graph.frames
    record(f"least costs of all pairs, motion graph of {graph.frames:,} frames", mine, whole, peer="networkx")
    print(f"  networkx, from {len(starts)} frames, times all: {whole:.0f} s, {whole / mine:.0f} times ours")


def gaits(frames: int) -> DistanceMatrix:
    """Distances of periodic poses that differ in rate, size and manner, and wander a little."""
    rng = np.random.default_rng(0)
    lengths = np.diff(np.linspace(0, frames, SEQUENCES + 1).astype(int))
    swing = 0.5 * rng.normal(size=(6, 40))
    poses = []
    for length in lengths:
        phase = 2 * np.pi * rng.uniform(0.6, 1.5) * np.arange(length) / FRAME_RATE + rng.uniform(0, 6)
        waves = np.stack([f(k * phase) for k in (1, 2, 3) for f in (np.cos, np.sin)], 1)
        wander = 0.03 * np.cumsum(rng.normal(size=(length, 40)), axis=0)
        poses.append(rng.uniform(0.7, 1.3) * waves @ swing + 0.2 * rng.normal(size=40) + wander)
    flat = np.concatenate(poses)
    squares = (flat**2).sum(axis=1)
    apart = 0.35 * np.sqrt(np.maximum(squares[:, None] + squares - 2 * flat @ flat.T, 0) / 40)
    apart = (apart + apart.T) / 2
    np.fill_diagonal(apart, 0)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    names = tuple(f"gait {k}" for k in range(SEQUENCES))
    return DistanceMatrix(apart, np.zeros_like(apart), starts, names, "surface")


def warm_up() -> None:
    """Compile everything."""
    small = table(gaits(30 * SEQUENCES), windows=Windows.at(FRAME_RATE), alpha=ALPHA)
    for graph in (essential_graph(small), motion_graph(small)):
        shortest_costs(graph)


def check(ours: np.ndarray, theirs: np.ndarray) -> None:
    if not np.allclose(ours, theirs, rtol=AGREE):
        raise SystemExit("the answers differ")


def timed(work: Callable[[], object]) -> tuple:
    started = time.perf_counter()
    found = work()
    return found, time.perf_counter() - started


if __name__ == "__main__":
    raise SystemExit(main())
