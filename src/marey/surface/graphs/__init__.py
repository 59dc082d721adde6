"""Graphs over captured frames: walks through them are animations (Boukhayma 2017, section 3.3)."""

from marey.surface.graphs.connectivity import Connectivity, connectivity, within_core
from marey.surface.graphs.essential import essential_graph
from marey.surface.graphs.graph import Graph, Walk
from marey.surface.graphs.motion import motion_graph
from marey.surface.graphs.paths import (
    Comparison,
    Shortest,
    compare,
    shortest_costs,
    shortest_walk,
    shortest_walks,
)
from marey.surface.graphs.repertoire import Repertoire

__all__ = [
    "Comparison",
    "Connectivity",
    "Graph",
    "Repertoire",
    "Shortest",
    "Walk",
    "compare",
    "connectivity",
    "essential_graph",
    "motion_graph",
    "shortest_costs",
    "shortest_walk",
    "shortest_walks",
    "within_core",
]
