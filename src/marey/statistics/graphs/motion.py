"""The motion graph: captured sequences and locally best transitions (Boukhayma 2017, sections 3.2, 3.3.4).

The baseline of the essential graph. A transition that is no local minimum may still be part of the best walk,
so walks here can cost more. Cost: one pass over all pairs of frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.statistics.graphs.build import Duration, graph_of, price_of_time, transition_weights
from marey.statistics.graphs.graph import MotionGraph
from marey.statistics.graphs.transitions import TransitionTable


def motion_graph(
    table: TransitionTable,
    *,
    alpha: float | None = None,
    threshold: float | None = None,
    duration: Duration = "steps",
) -> MotionGraph:
    """Captured sequences and the local minima of the weights between every two of them.

    alpha: cost of a step of time; the table's, if not given
    threshold: only transitions whose pose distance is at most this on average, radians
    duration: "frames" counts the frames of a transition, as the source does, not the steps between them

    >>> import marey
    >>> from marey.statistics import graphs as transitions
    >>> from marey.statistics.graphs.clips import DistanceMatrix
    >>> time = np.arange(60)
    >>> apart = np.abs(np.sin((time - time[:, None]) / 8))
    >>> matrix = DistanceMatrix(apart, 0 * apart, [0, 30, 60], ("a", "b"), "surface")
    >>> table = transitions.table(matrix, windows=transitions.Windows(4, 10), alpha=0.01)
    >>> motion_graph(table).kind
    'motion'
    """
    alpha = price_of_time(table, alpha)
    weights = transition_weights(table, alpha=alpha, duration=duration)
    chosen = np.zeros(weights.shape, np.bool_)
    spans = [slice(a, b) for a, b in zip(table.starts[:-1], table.starts[1:], strict=True)]
    for rows in spans:
        for columns in spans:
            chosen[rows, columns] = local_minima(weights[rows, columns])
    if threshold is not None:
        chosen &= table.costs <= threshold * table.lengths
    return graph_of(chosen, table, alpha=alpha, duration=duration, kind="motion")


def local_minima(weights: FloatArray) -> NDArray[np.bool_]:
    """Which finite entries of a matrix are not above any of their eight neighbours; one of each plateau.

    >>> local_minima(np.array([[3, 2, 2], [4, 5, 9], [0, 6, 1]])).astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [1, 0, 1]]
    """
    from scipy.ndimage import label

    rows, columns = weights.shape
    padded = np.pad(np.asarray(weights, np.float64), 1, constant_values=np.inf)
    least = np.isfinite(weights)
    for down in range(3):
        for right in range(3):
            least &= weights <= padded[down : down + rows, right : right + columns]
    # Neighbours that are both minima are equal, so each connected piece is a plateau. Equal minima that touch
    # at a corner only are two, as in the source's example (figure 3.4).
    pieces, count = label(least)
    first = np.unique(pieces.ravel(), return_index=True)[1][-count:] if count else np.array([], int)
    single = np.zeros(weights.size, np.bool_)
    single[first] = True
    return single.reshape(weights.shape)
