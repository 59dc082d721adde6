"""Graphs from a table of transitions: the essential graph and the graph of local minima (Boukhayma 2017).

A transition weighs its deformation plus alpha times its duration (section 3.3.2, eqs. 3.2-3.4). The essential
graph (section 3.3.1, eq. 3.1) is published as the union of the shortest-path trees of the complete graph. An
edge is in that union exactly if it is itself a shortest walk between its ends, so all-pairs least costs and
one comparison an edge suffice; of edges that tie, all are kept. Cost: `frames³` in tiles of the cache, some
2,600 frames in seconds. The motion graph (sections 3.2, 3.3.4), its baseline, keeps the local minima; walks
there can cost more, as a transition that is no local minimum may be part of the best walk.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import AnyArray, Array, BoolArray, FloatArray, Integers
from marey._work import Progress
from marey.errors import InputError
from marey.statistics.graphs.graph import Duration, Kind, MotionGraph, frames_with_next
from marey.statistics.graphs.transitions import TransitionTable
from marey.statistics.graphs.walks import least_costs

# Sums of many alphas that differ by less are the same up to rounding.
SLACK = 1e-9


def essential_graph(
    table: TransitionTable,
    *,
    alpha: float | None = None,
    duration: Duration = "steps",
    progress: Progress | None = None,
) -> MotionGraph:
    """Captured sequences and every transition that is on a least-cost walk between some two frames.

    Args:
        alpha: Cost of a step of time; the table's, if not given. The larger, the more transitions.
        duration: "frames" counts the frames of a transition, as published, not the steps between them.

    >>> from marey.statistics.graphs.graph import DistanceMatrix, Windows
    >>> from marey.statistics.graphs import transitions
    >>> time = np.arange(60)
    >>> apart = np.abs(np.sin((time - time[:, None]) / 8))
    >>> matrix = DistanceMatrix(apart, 0 * apart, [0, 30, 60], ("a", "b"), "surface")
    >>> table = transitions.table(matrix, windows=Windows(4, 10), alpha=0.01)
    >>> essential_graph(table).kind
    'essential'
    """
    alpha = _time_cost(table, alpha)
    weights = transition_weights(table, alpha=alpha, duration=duration)
    add_chains(weights, table.starts, alpha)
    drop_dominated(weights, table.starts, alpha)
    return _graph_of(essential_edges(weights, progress=progress), table, alpha, duration, "essential")


def motion_graph(
    table: TransitionTable,
    *,
    alpha: float | None = None,
    threshold: float | None = None,
    duration: Duration = "steps",
) -> MotionGraph:
    """Captured sequences and the local minima of the weights between every two of them.

    Args:
        alpha: Cost of a step of time; the table's, if not given.
        threshold: Only transitions whose pose distance is at most this on average, radians.
        duration: "frames" counts the frames of a transition, as published, not the steps between them.
    """
    alpha = _time_cost(table, alpha)
    weights = transition_weights(table, alpha=alpha, duration=duration)
    chosen = np.zeros(weights.shape, np.bool_)
    spans = [slice(a, b) for a, b in pairwise(table.starts)]
    for rows in spans:
        for columns in spans:
            chosen[rows, columns] = local_minima(weights[rows, columns])
    if threshold is not None:
        chosen &= table.costs <= threshold * table.lengths
    return _graph_of(chosen, table, alpha, duration, "motion")


def transition_weights(table: TransitionTable, *, alpha: float, duration: Duration = "steps") -> Array:
    """Deformation + alpha × time of each transition, `(frames, frames)`; infinite where it is of no use.

    Within a sequence a transition forwards must be cheaper than playing on, and none leads to its own frame.

    >>> from marey.statistics.graphs.graph import Windows
    >>> costs, lengths = np.array([[1, 0.5], [0.1, 1]], np.float32), np.full((2, 2), 3, np.int16)
    >>> table = TransitionTable(costs, lengths, lengths, lengths, np.array([0, 2]), Windows(2, 3), "sum")
    >>> transition_weights(table, alpha=0.01).round(3).tolist()
    [[inf, inf], [0.12, inf]]
    """
    weights = np.asarray(table.costs, np.float64) + alpha * _times(table, duration)
    for start, end in pairwise(table.starts):
        own = weights[start:end, start:end]
        ahead = np.arange(end - start) - np.arange(end - start)[:, None]
        own[ahead == 0] = np.inf
        own[(ahead > 0) & (own >= alpha * ahead - SLACK)] = np.inf
    return weights


def add_chains(weights: Array, starts: Integers, alpha: float) -> None:
    """Enter the captured edges, from each frame to the next of its sequence, in place."""
    captured = frames_with_next(starts)
    weights[captured, captured + 1] = np.minimum(weights[captured, captured + 1], alpha)


def drop_dominated(weights: Array, starts: Integers, alpha: float) -> None:
    """Remove, in place, transitions that cost more than playing a frame and then leaving, or arriving a frame
    earlier and then playing one; no shortest walk is lost.
    """
    frames = len(weights)
    heads, lasts = starts[:-1], np.isin(np.arange(frames), starts[1:] - 1)
    # In rising order, so that the row below is still as it was.
    for block in _work.blocks(frames, 64 * frames):
        rows = weights[block]
        least = np.full(rows.shape, np.inf)
        least[:, 1:] = rows[:, :-1]
        least[:, heads] = np.inf
        later = np.flatnonzero(~lasts[block])
        least[later] = np.minimum(least[later], weights[block.start + later + 1])
        rows[rows > (least + alpha) * (1 + SLACK)] = np.inf


def essential_edges(weights: Array, *, progress: Progress | None = None) -> BoolArray:
    """Which edges are a shortest walk between their ends.

    Args:
        weights: `(nodes, nodes)`, not negative; infinite where there is no edge; the diagonal is ignored.

    >>> essential_edges(np.array([[0, 1, 3], [np.inf, 0, 1], [1, np.inf, 0]])).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    """
    there = np.isfinite(weights)
    np.fill_diagonal(there, False)
    return there & (weights <= least_costs(weights, progress=progress) * (1 + SLACK))


def local_minima(weights: FloatArray) -> BoolArray:
    """Which finite entries of a matrix are not above any of their eight neighbours; one of each plateau.

    >>> local_minima(np.array([[3, 2, 2], [4, 5, 9], [0, 6, 1]])).astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [1, 0, 1]]
    """
    from scipy.ndimage import label, minimum_filter

    given = np.asarray(weights, np.float64)
    least = np.isfinite(given) & (given <= minimum_filter(given, 3, mode="constant", cval=np.inf))
    # Neighbours that are both minima are equal, so each connected set is a plateau. Equal minima that touch
    # at a corner only are two, as in the published example (figure 3.4).
    plateaus, count = label(least)
    first = np.unique(plateaus.ravel(), return_index=True)[1][-count:] if count else np.array([], int)
    single = np.zeros(given.size, np.bool_)
    single[first] = True
    return single.reshape(given.shape)


def _graph_of(
    chosen: BoolArray, table: TransitionTable, alpha: float, duration: Duration, kind: Kind
) -> MotionGraph:
    """The captured sequences and the chosen transitions, `(frames, frames)`."""
    captured = frames_with_next(table.starts)
    chosen = chosen.copy()
    chosen[captured, captured + 1] = True
    sources, targets = np.nonzero(chosen)
    synthetic = np.ones(len(sources), np.bool_)
    synthetic[np.searchsorted(sources * len(chosen) + targets, captured * (len(chosen) + 1) + 1)] = False

    def of_edges(values: AnyArray, captured: float) -> AnyArray:
        return np.where(synthetic, values[sources, targets], captured)

    return MotionGraph(
        table.starts, sources, targets, synthetic, of_edges(table.costs, 0.0),
        of_edges(_times(table, "steps"), 1), of_edges(table.source_lengths, 0),
        of_edges(table.destination_lengths, 0), alpha, table.windows, kind, duration,
    )  # fmt: skip


def _time_cost(table: TransitionTable, alpha: float | None) -> float:
    """`alpha`, or the one the table was made for."""
    if alpha is None:
        if table.objective != "weight":
            raise InputError(f"alpha: give one, since the table was made for the least {table.objective}")
        alpha = table.alpha
    if not (np.isfinite(alpha) and alpha >= 0):
        raise InputError(f"alpha: the cost of a frame of time must be 0 or more, got {alpha}")
    return float(alpha)


def _times(table: TransitionTable, duration: Duration) -> NDArray[np.int32]:
    """A transition of L frames takes L − 1 steps of time; published is L (`duration="frames"`)."""
    return np.maximum(table.lengths.astype(np.int32) - (duration == "steps"), 0)
