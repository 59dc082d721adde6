"""What transitions weigh: deformation plus a price of time (Boukhayma 2017, section 3.3.2, eqs. 3.2–3.4).

A transition of L frames takes L − 1 steps of time, while the source counts L; `duration="frames"` counts as
it does. Cost: one pass over all pairs of frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError
from marey.statistics.graphs.graph import Duration, Kind, MotionGraph
from marey.statistics.graphs.transitions import TransitionTable

# Playing on costs a sum of many alphas: transitions that only equal it up to rounding are no gain.
LEAST_GAIN = 1e-9


def transition_weights(
    table: TransitionTable, *, alpha: float, duration: Duration = "steps"
) -> NDArray[np.float64]:
    """Deformation + alpha × time of each transition, `(frames, frames)`; infinite where none is worth it.

    Within a sequence a transition forwards must be cheaper than playing on, and none leads to its own frame.

    >>> from marey.statistics.graphs.transitions import Windows
    >>> costs, lengths = np.array([[1, 0.5], [0.1, 1]], np.float32), np.full((2, 2), 3, np.int16)
    >>> table = TransitionTable(costs, lengths, lengths, lengths, np.array([0, 2]), Windows(2, 3), "sum")
    >>> transition_weights(table, alpha=0.01).round(3).tolist()
    [[inf, inf], [0.12, inf]]
    """
    weights = np.asarray(table.costs, np.float64) + alpha * _times(table, duration)
    for start, end in zip(table.starts[:-1], table.starts[1:], strict=True):
        own = weights[start:end, start:end]
        ahead = np.arange(end - start) - np.arange(end - start)[:, None]
        own[ahead == 0] = np.inf
        own[(ahead > 0) & (own >= alpha * ahead - LEAST_GAIN)] = np.inf
    return weights


def add_chains(weights: NDArray[np.float64], starts: NDArray[np.int64], alpha: float) -> None:
    """Enter the captured edges, from each frame to the next of its sequence, in place."""
    captured = _captured(starts)
    weights[captured, captured + 1] = np.minimum(weights[captured, captured + 1], alpha)


def graph_of(
    chosen: NDArray[np.bool_], table: TransitionTable, *, alpha: float, duration: Duration, kind: Kind
) -> MotionGraph:
    """The captured sequences and the chosen transitions, `(frames, frames)`."""
    captured = _captured(table.starts)
    chosen = chosen.copy()
    chosen[captured, captured + 1] = True
    sources, targets = np.nonzero(chosen)
    synthetic = np.ones(len(sources), np.bool_)
    synthetic[np.searchsorted(sources * len(chosen) + targets, captured * (len(chosen) + 1) + 1)] = False
    steps = _times(table, "steps")[sources, targets]
    return MotionGraph(
        table.starts,
        sources,
        targets,
        synthetic,
        np.where(synthetic, table.costs[sources, targets], 0.0),
        np.where(synthetic, steps, 1),
        np.where(synthetic, table.source_lengths[sources, targets], 0),
        np.where(synthetic, table.destination_lengths[sources, targets], 0),
        alpha,
        table.windows,
        kind,
        duration,
    )


def price_of_time(table: TransitionTable, alpha: float | None) -> float:
    """`alpha`, or the one the table was made for."""
    if alpha is None:
        if table.objective != "weight":
            raise InputError(f"alpha: give one, since the table was made for the least {table.objective}")
        alpha = table.alpha
    if not (np.isfinite(alpha) and alpha >= 0):
        raise InputError(f"alpha: the cost of a frame of time must be 0 or more, got {alpha}")
    return float(alpha)


def _times(table: TransitionTable, duration: Duration) -> NDArray[np.int32]:
    return np.maximum(table.lengths.astype(np.int32) - (duration == "steps"), 0)


def _captured(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Frames that have a next one in their sequence."""
    return np.setdiff1d(np.arange(starts[-1]), np.asarray(starts[1:]) - 1)
