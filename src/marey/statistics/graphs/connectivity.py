"""Which frames a walk can come back to: the core of a graph, its entrances and its dead ends.

Windows of transitions stay within their sequences, so the last frames of a sequence can only be played on and
the first only be started from; the claim of Boukhayma 2017, section 3.3.1, that any two frames are joined
holds in the core. Cost: linear in the edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.statistics.graphs.graph import MotionGraph


@dataclass(frozen=True, eq=False)
class Connectivity:
    """Frames by what can be reached from them.

    core: frames that can all be reached from each other, the most there are
    entrances: lead into the core, but not back to them
    dead_ends: reached from the core, without a way back
    apart: neither
    reachable: share of the ordered pairs of different frames that some walk joins
    """

    core: NDArray[np.int64]
    entrances: NDArray[np.int64]
    dead_ends: NDArray[np.int64]
    apart: NDArray[np.int64]
    reachable: float


def connectivity(graph: MotionGraph) -> Connectivity:
    """Core, entrances and dead ends of a graph.

    >>> from marey.statistics.graphs.transitions import Windows
    >>> alone = connectivity(MotionGraph.chains([0, 3], alpha=0.1, windows=Windows(2, 4)))
    >>> alone.core.tolist(), alone.dead_ends.tolist(), alone.reachable
    ([0], [1, 2], 0.5)
    """
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    count, piece = connected_components(
        _matrix(graph.sources, graph.targets, graph.frames), connection="strong"
    )
    sizes = np.bincount(piece, minlength=count)
    between = piece[graph.sources] != piece[graph.targets]
    onward = _matrix(piece[graph.sources[between]], piece[graph.targets[between]], count)
    # The first of the largest pieces, in order of frames.
    largest = int(piece[np.argmax(sizes[piece])])
    pairs = 0
    for one in range(count):
        found = breadth_first_order(onward, one, return_predecessors=False)
        pairs += int(sizes[one]) * (int(sizes[found].sum()) - 1)
    from_core, to_core = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    from_core[breadth_first_order(onward, largest, return_predecessors=False)] = True
    to_core[breadth_first_order(onward.T.tocsr(), largest, return_predecessors=False)] = True
    possible = graph.frames * (graph.frames - 1)
    return Connectivity(
        core=np.flatnonzero((from_core & to_core)[piece]),
        entrances=np.flatnonzero((to_core & ~from_core)[piece]),
        dead_ends=np.flatnonzero((from_core & ~to_core)[piece]),
        apart=np.flatnonzero(~(from_core | to_core)[piece]),
        reachable=pairs / possible if possible else 1.0,
    )


def within_core(graph: MotionGraph) -> MotionGraph:
    """The same frames, but only the edges of the core: no walk gets stuck.

    >>> from marey.statistics.graphs.transitions import Windows
    >>> within_core(MotionGraph.chains([0, 3], alpha=0.1, windows=Windows(2, 4))).edges
    0
    """
    inside = np.zeros(graph.frames, np.bool_)
    inside[connectivity(graph).core] = True
    kept = inside[graph.sources] & inside[graph.targets]
    names = (
        "sources", "targets", "synthetic", "deformation", "steps", "source_lengths", "target_lengths"
    )  # fmt: skip
    return replace(graph, **{name: getattr(graph, name)[kept] for name in names})


def _matrix(sources: NDArray[Any], targets: NDArray[Any], nodes: int) -> Any:
    from scipy.sparse import coo_array

    ones = np.ones(len(sources), np.int32)
    return coo_array((ones, (sources, targets)), shape=(nodes, nodes)).tocsr()
