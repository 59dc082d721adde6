"""Rotation vectors of faces that agree with their neighbours', beyond half a turn.

A rotation has many logarithms; the shortest jumps where a part of the surface turns by more than π, and the
in-between would collapse there. The largest region whose faces agree stays as it is; from there, going first
over the edges across which the turn changes least, each other face takes the logarithm nearest to its
neighbour's. Near a full turn none is near, since the axis is lost there: the face then keeps its neighbour's
axis and what remains becomes a second, small turn. Changes that do not make a group of faces smoother are
taken back. Cost: 0.1 ms for 20,000 faces where no neighbours disagree, else 0.8 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.geometry import mesh_operators

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FaceGraph:
    """Which faces share an edge.

    links: `(links, 2)`, pairs of faces
    starts, neighbours: the faces beside face m are `neighbours[starts[m] : starts[m + 1]]`
    islands: `(faces,)`, which connected set of faces each belongs to
    """

    links: NDArray[np.int64]
    starts: NDArray[np.int64]
    neighbours: NDArray[np.int64]
    islands: NDArray[np.int64]

    @classmethod
    def of(cls, faces: NDArray[Any]) -> FaceGraph:
        """Of faces `(faces, 3)`."""
        links = mesh_operators.face_links(faces)
        both = np.concatenate([links, links[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=len(faces)))])
        islands = mesh_operators.linked(links, len(faces))
        return cls(links, starts.astype(np.int64), np.ascontiguousarray(both[order, 1]), islands)


def unwrapped(logs: Array, graph: FaceGraph) -> tuple[Array, Array]:
    """Rotation vectors `(faces, 3)` that agree between neighbours, and the turns that come before them.

    The rotation of face m is exp(logs[m]) exp(rests[m]). The rests have no rows where none is needed, and
    the logarithms come back as they are if no two neighbours differ by more than π.

    >>> strip = FaceGraph.of(np.array([[0, 1, 2], [2, 1, 3], [2, 3, 4]]))
    >>> angles = np.array([2.0, 3.0, 4.0 - 2 * np.pi])
    >>> logs, rests = unwrapped(angles[:, None] * [0.0, 1.0, 0.0], strip)
    >>> (logs + rests)[:, 1].round(9).tolist()
    [2.0, 3.0, 4.0]
    """
    from marey.surface.interpolation import _unwrapping_kernels as kernels

    none = np.zeros((0, 3))
    if not kernels.disagree(logs, graph.links):
        return logs, none
    beside = (graph.starts, graph.neighbours)
    stays = kernels.settled(logs, *beside, graph.islands)
    agreed, rests = logs.copy(), np.zeros_like(logs)
    some = kernels.spread(logs, stays, *beside, agreed, rests)
    return agreed, rests if some else none
