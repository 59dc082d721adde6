"""Walks of least cost through a graph, between two frames and between all (Boukhayma 2017, section 3.3.4).

Between two frames Dijkstra's search takes milliseconds; of walks that cost the same it finds one that takes
the least time. Between all frames, Floyd and Warshall's recursion in tiles takes seconds for some thousand;
graphs with few edges take SciPy's search from every frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from marey import _work
from marey._arrays import Array
from marey._work import Progress
from marey.errors import InputError
from marey.statistics.graphs.graph import MotionGraph, Walk


@dataclass(frozen=True)
class CostComparison:
    """Least costs in two graphs over the same frames, over all pairs of different frames connected in both.

    Args:
        mean: Mean of our costs.
        deviation: Standard deviation of our costs.
        baseline_mean: Mean of the other's costs.
        baseline_deviation: Standard deviation of the other's costs.
        share: Share of all ordered pairs that were compared.
        excess: The most one of our walks costs above the other's; 0 or rounding where ours are never worse.
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

    >>> from marey.statistics.graphs.graph import Windows
    >>> alone = MotionGraph.chains([0, 5], alpha=0.1, windows=Windows(2, 4))
    >>> shortest_walk(alone, 1, 4).nodes(alone).tolist()
    [1, 2, 3, 4]
    """
    from marey.statistics.graphs._graph_kernels import search

    for frame in (start, end):
        graph.check_frame(frame)
    arriving = search(graph.first_leaving, graph.targets, graph.weights, graph.steps, start, end)
    if end != start and arriving[end] < 0:
        raise InputError(
            f"there is no walk from frame {start} to frame {end}: transitions cannot enter the first or "
            "leave the last frames of a sequence; choose frames of the graph's core"
        )
    edges = []
    while end != start:
        edges.append(arriving[end])
        end = int(graph.sources[edges[-1]])
    return Walk(start, np.array(edges[::-1], np.int64))


def shortest_costs(graph: MotionGraph, *, progress: Progress | None = None) -> Array:
    """Least cost of a walk from each frame (row) to each (column); infinite where there is none.

    >>> from marey.statistics.graphs.graph import Windows
    >>> shortest_costs(MotionGraph.chains([0, 3], alpha=0.5, windows=Windows(2, 4))).tolist()
    [[0.0, 0.5, 1.0], [inf, 0.0, 0.5], [inf, inf, 0.0]]
    """
    shape = graph.frames, graph.frames
    if graph.density < 0.03:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        return np.asarray(dijkstra(csr_array((graph.weights, graph.targets, graph.first_leaving), shape)))
    weights = np.full(shape, np.inf)
    weights[graph.sources, graph.targets] = graph.weights
    return least_costs(weights, progress=progress)


def least_costs(weights: Array, *, progress: Progress | None = None) -> Array:
    """Least cost of a walk between every two nodes, `(nodes, nodes)`; infinite where there is none.

    >>> least_costs(np.array([[0, 1, 3], [np.inf, 0, 1], [1, np.inf, 0]])).tolist()
    [[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]]
    """
    from marey.statistics.graphs import _graph_kernels as kernels

    costs = np.array(weights, np.float64, order="C")
    np.fill_diagonal(costs, 0.0)
    nodes = len(costs)
    for first in range(0, nodes, kernels.PIVOTS):
        last = min(nodes, first + kernels.PIVOTS)
        kernels.close_pivot(costs, first, last)
        _work.spread(partial(kernels.pass_pivot, costs, first, last), nodes, size=128)
        if progress is not None:
            progress(last, nodes)
    return costs


def compare(ours: Array, baseline: Array) -> CostComparison:
    """How much less walks cost in one graph than in another, from the `shortest_costs` of both.

    >>> from marey.statistics.graphs.graph import Windows
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
        return CostComparison(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    mine, theirs = ours[both], baseline[both]
    return CostComparison(
        float(mine.mean()),
        float(mine.std()),
        float(theirs.mean()),
        float(theirs.std()),
        float(len(mine) / (both.size - len(both))),
        float((mine - theirs).max()),
    )
