"""The essential graph: all that is on a shortest way between frames (Boukhayma 2017, section 3.3.1, eq. 3.1).

The source takes the union of the shortest-path trees of the complete graph. An edge is in that union exactly
if it is itself a shortest way between its ends, so all-pairs least costs and one comparison an edge suffice;
of edges that tie, all are kept. Cost: `frames³` in tiles of the cache (some 2,600 frames in seconds), or a
search from every frame where few transitions survive a first, lossless sieve.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._progress import Progress
from marey.statistics.graphs.build import Duration, add_chains, graph_of, price_of_time, transition_weights
from marey.statistics.graphs.graph import MotionGraph
from marey.statistics.graphs.transitions import TransitionTable

Method = Literal["auto", "tiles", "search"]

SLACK = 1e-9
PIVOTS = 32
ROWS = 256
# A heap's step costs as much as some dozens of steps in tiles: where fewer edges are left, search.
FEW = 0.03


def essential_graph(
    table: TransitionTable,
    *,
    alpha: float | None = None,
    duration: Duration = "steps",
    method: Method = "auto",
    progress: Progress | None = None,
) -> MotionGraph:
    """Captured sequences and every transition that is on a least-cost walk between some two frames.

    alpha: cost of a step of time; the table's, if not given. The larger, the more transitions
    duration: "frames" counts the frames of a transition, as the source does, not the steps between them
    method: how least costs are found, "tiles" or "search"; both are exact, "auto" takes the quicker

    >>> import marey
    >>> from marey.statistics import graphs as transitions
    >>> from marey.statistics.graphs.clips import DistanceMatrix
    >>> time = np.arange(60)
    >>> apart = np.abs(np.sin((time - time[:, None]) / 8))
    >>> matrix = DistanceMatrix(apart, 0 * apart, [0, 30, 60], ("a", "b"), "surface")
    >>> table = transitions.table(matrix, windows=transitions.Windows(4, 10), alpha=0.01)
    >>> essential_graph(table).kind
    'essential'
    """
    alpha = price_of_time(table, alpha)
    weights = transition_weights(table, alpha=alpha, duration=duration)
    add_chains(weights, table.starts, alpha)
    sieve(weights, table.starts, alpha)
    return graph_of(
        essential_edges(weights, method=method, progress=progress),
        table,
        alpha=alpha,
        duration=duration,
        kind="essential",
    )


def essential_edges(
    weights: NDArray[np.float64], *, method: Method = "auto", progress: Progress | None = None
) -> NDArray[np.bool_]:
    """Which edges are a shortest way between their ends.

    weights: `(nodes, nodes)`, not negative; infinite where there is no edge; the diagonal is not looked at

    >>> essential_edges(np.array([[0, 1, 3], [np.inf, 0, 1], [1, np.inf, 0]])).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    """
    there = np.isfinite(weights)
    np.fill_diagonal(there, False)
    if method == "tiles" or (method == "auto" and there.mean() > FEW):
        return there & (weights <= least_costs(weights, progress=progress) * (1 + SLACK))
    there[there] = _tight(there, weights, progress)
    return there


def least_costs(weights: NDArray[np.float64], *, progress: Progress | None = None) -> NDArray[np.float64]:
    """Least cost of a way between every two nodes, `(nodes, nodes)`; infinite where there is none.

    Floyd and Warshall's recursion over tiles: some nodes after another become allowed on the way.

    >>> least_costs(np.array([[0, 1, 3], [np.inf, 0, 1], [1, np.inf, 0]])).tolist()
    [[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]]
    """
    from marey.statistics.graphs import _graph_kernels as _kernels

    costs = np.array(weights, np.float64, order="C")
    np.fill_diagonal(costs, 0.0)
    nodes = len(costs)
    for first in range(0, nodes, PIVOTS):
        last = min(nodes, first + PIVOTS)
        _kernels.close_pivot(costs, first, last)
        _work.spread(partial(_kernels.pass_pivot, costs, first, last), nodes, size=128)
        if progress is not None:
            progress(last, nodes)
    return costs


def sieve(weights: NDArray[np.float64], starts: NDArray[np.int64], alpha: float) -> None:
    """Remove, in place, transitions that cost more than playing a frame and then leaving, or arriving a frame
    earlier and then playing one; no shortest way is lost.
    """
    frames = len(weights)
    heads, lasts = starts[:-1], np.isin(np.arange(frames), starts[1:] - 1)
    for begin in range(0, frames, ROWS):
        # In rising order, so that the row below is still as it was.
        end = min(frames, begin + ROWS)
        least = np.full((end - begin, frames), np.inf)
        least[:, 1:] = weights[begin:end, :-1]
        least[:, heads] = np.inf
        later = np.flatnonzero(~lasts[begin:end])
        least[later] = np.minimum(least[later], weights[begin + later + 1])
        rows = weights[begin:end]
        rows[rows > (least + alpha) * (1 + SLACK)] = np.inf


def _tight(
    there: NDArray[np.bool_], weights: NDArray[np.float64], progress: Progress | None
) -> NDArray[np.bool_]:
    from marey.statistics.graphs import _graph_kernels as _kernels

    sources, targets = np.nonzero(there)
    first = np.searchsorted(sources, np.arange(len(there) + 1))
    values, targets = weights[there], targets.astype(np.int32)
    tight = np.zeros(len(values), np.bool_)
    steps = np.zeros(len(values), np.int32)
    work = partial(_kernels.tight_rows, first, targets, values, steps, SLACK, tight)
    _work.spread(work, len(there), size=32, progress=progress)
    return tight
