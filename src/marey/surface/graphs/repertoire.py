"""All a subject can do: captured sequences, how far their poses are apart, and the graph over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey.errors import InputError
from marey.surface.distances.matrix import DistanceMatrix
from marey.surface.graphs.graph import Graph
from marey.surface.library import Library


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
