"""All a subject can do: captured sequences, how far their poses are apart, and the graph over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from marey.errors import InputError
from marey.surface.distances.matrix import DistanceMatrix
from marey.surface.graphs.graph import Graph
from marey.surface.library import Library

if TYPE_CHECKING:
    from marey.surface.synthesis.curves import Curve
    from marey.surface.synthesis.directing import Directed


@dataclass(frozen=True, eq=False)
class Repertoire:
    """A library, its pose distances and its graph: what animations are made from.

    library: the captured sequences
    distances: between all their frames; transitions are laid out anew from them when they are needed
    graph: which transitions are worth taking
    """

    library: Library
    distances: DistanceMatrix
    graph: Graph

    def __post_init__(self) -> None:
        starts = self.library.starts
        for what, theirs in (("distances", self.distances.starts), ("graph", self.graph.starts)):
            if not np.array_equal(starts, theirs):
                raise InputError(f"the {what} were not made from these sequences: their frames differ")

    def animate(
        self,
        *,
        path: Curve | ArrayLike | None = None,
        poses: Sequence[tuple[int | str, float]] | None = None,
        start: int | str | None = None,
        end: int | str | None = None,
        **options: Any,
    ) -> Directed:
        """An animation made to order; give one of `path`, `poses`, or `start` and `end`.

        path: a curve on the ground or in space, see :func:`~marey.surface.synthesis.directing.follow_path`
        poses: pairs of a frame and seconds, see :func:`~marey.surface.synthesis.directing.take_poses`
        start, end: frames, see :func:`~marey.surface.synthesis.directing.go`

        >>> import marey
        >>> repertoire = marey.surface.graph(marey.samples.mesh_library(vertices=800))
        >>> repertoire.animate(path=[[0, 0], [0, 4]]).followed.path_error < 0.2
        True
        """
        from marey.surface.synthesis import directing

        if path is not None and poses is None and end is None:
            return directing.follow_path(self, path, start=start, **options)
        if poses is not None and path is None and start is None and end is None:
            return directing.take_poses(self, [p for p, _ in poses], [t for _, t in poses], **options)
        if start is not None and end is not None and path is None and poses is None:
            return directing.go(self, start, end, **options)
        raise InputError("animate: give a path, or poses, or a start and an end")
