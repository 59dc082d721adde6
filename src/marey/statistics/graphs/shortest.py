"""Walks of least cost through a graph, between two frames and between all (Boukhayma 2017, section 3.3.4).

Dijkstra's search; of walks that cost the same, one that takes the least time. Cost: some milliseconds for two
frames; for all, seconds for some thousand frames, on all cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._progress import Progress
from marey.errors import InputError
from marey.statistics.graphs.essential import FEW, least_costs
from marey.statistics.graphs.graph import MotionGraph, Walk

# Frames searched from between two reports of progress.
AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Shortest:
    """Least costs between all frames, and the time such walks take.

    costs: `(frames, frames)`, from row to column; infinite where there is no way
    steps: `(frames, frames)`, int32, frames of time; the fewest at that cost
    """

    costs: NDArray[np.float64]
    steps: NDArray[np.int32]


@dataclass(frozen=True)
class Comparison:
    """Least costs in two graphs over the same frames, over all pairs of different frames joined in both.

    mean, deviation: of our costs; baseline_mean, baseline_deviation: of the other's
    share: of all ordered pairs that were compared
    excess: the most one of our walks costs above the other's; 0 or rounding where ours are never worse
    """

    mean: float
    deviation: float
    baseline_mean: float
    baseline_deviation: float
    share: float
    excess: float

    @property
    def gain(self) -> float:
        """By which share our mean is lower."""
        return 1 - self.mean / self.baseline_mean if self.baseline_mean else 0.0


def shortest_walk(graph: MotionGraph, start: int, end: int) -> Walk:
    """The walk of least cost from one frame to another.

    >>> from marey.statistics.graphs.transitions import Windows
    >>> alone = MotionGraph.chains([0, 5], alpha=0.1, windows=Windows(2, 4))
    >>> walk = shortest_walk(alone, 1, 4)
    >>> walk.nodes(alone).tolist(), round(walk.cost(alone), 6)
    ([1, 2, 3, 4], 0.3)
    """
    from marey.statistics.graphs import _graph_kernels as _kernels

    for frame in (start, end):
        if not 0 <= frame < graph.frames:
            raise InputError(f"frame {frame}: the graph has frames 0…{graph.frames - 1}")
    costs, times = np.empty(graph.frames), np.empty(graph.frames, np.int32)
    arriving = np.empty(graph.frames, np.int64)
    _kernels.search(
        graph.first_leaving, graph.targets, graph.weights, graph.steps, start, end, costs, times, arriving
    )
    if not np.isfinite(costs[end]):
        raise InputError(
            f"there is no way from frame {start} to frame {end}: captured sequences can be joined late only, "
            "and left early only; take frames of the graph's core"
        )
    edges = []
    while end != start:
        edges.append(arriving[end])
        end = int(graph.sources[edges[-1]])
    return Walk(start, np.array(edges[::-1], np.int64))


def shortest_costs(graph: MotionGraph, *, progress: Progress | None = None) -> NDArray[np.float64]:
    """Least cost of a walk from each frame (row) to each (column); infinite where there is none.

    >>> from marey.statistics.graphs.transitions import Windows
    >>> shortest_costs(MotionGraph.chains([0, 3], alpha=0.5, windows=Windows(2, 4))).tolist()
    [[0.0, 0.5, 1.0], [inf, 0.0, 0.5], [inf, inf, 0.0]]
    """
    if graph.density <= FEW:
        return _searched_costs(graph, progress)
    weights = np.full((graph.frames, graph.frames), np.inf)
    weights[graph.sources, graph.targets] = graph.weights
    return least_costs(weights, progress=progress)


def shortest_walks(graph: MotionGraph, *, progress: Progress | None = None) -> Shortest:
    """Least costs between all frames, with the times of such walks; slower than costs alone in dense graphs.

    >>> from marey.statistics.graphs.transitions import Windows
    >>> shortest_walks(MotionGraph.chains([0, 3], alpha=0.5, windows=Windows(2, 4))).steps.tolist()
    [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    """
    from marey.statistics.graphs import _graph_kernels as _kernels

    costs = np.empty((graph.frames, graph.frames))
    times = np.empty(costs.shape, np.int32)
    edges = graph.first_leaving, graph.targets, graph.weights, graph.steps
    _work.spread(
        partial(_kernels.search_rows, *edges, costs, times), graph.frames, size=32, progress=progress
    )
    return Shortest(costs, times)


def _searched_costs(graph: MotionGraph, progress: Progress | None) -> NDArray[np.float64]:
    """Least costs by Dijkstra's search from every frame."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    edges: Any = csr_array((graph.weights, graph.targets, graph.first_leaving), shape=(graph.frames,) * 2)
    costs = np.empty((graph.frames, graph.frames))
    for begin in range(0, graph.frames, AT_ONCE):
        some = np.arange(begin, min(begin + AT_ONCE, graph.frames))
        costs[some] = dijkstra(edges, indices=some)
        if progress is not None:
            progress(int(some[-1]) + 1, graph.frames)
    return costs


def compare(ours: NDArray[np.float64], baseline: NDArray[np.float64]) -> Comparison:
    """How much less walks cost in one graph than in another, from the `shortest_costs` of both.

    >>> from marey.statistics.graphs.transitions import Windows
    >>> one, other = (
    ...     shortest_costs(MotionGraph.chains([0, 9], alpha=a, windows=Windows(2, 4))) for a in (0.1, 0.2)
    ... )
    >>> round(compare(one, other).gain, 6), compare(one, other).share
    (0.5, 0.5)
    """
    if ours.shape != baseline.shape:
        raise InputError("the two graphs have different frames; compare graphs of one library")
    both = np.isfinite(ours) & np.isfinite(baseline)
    np.fill_diagonal(both, False)
    if not both.any():
        return Comparison(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    mine, theirs = ours[both], baseline[both]
    return Comparison(
        float(mine.mean()),
        float(mine.std()),
        float(theirs.mean()),
        float(theirs.std()),
        float(len(mine) / (both.size - len(both))),
        float((mine - theirs).max()),
    )
