"""Motion graphs over frames of clips, on pose distances and root motion alone (Boukhayma 2017)."""

from marey.statistics.graphs.connectivity import Connectivity, connectivity, within_core
from marey.statistics.graphs.essential import essential_graph
from marey.statistics.graphs.graph import MotionGraph, Walk
from marey.statistics.graphs.motion import motion_graph
from marey.statistics.graphs.shortest import (
    Comparison,
    Shortest,
    compare,
    shortest_costs,
    shortest_walk,
    shortest_walks,
)
from marey.statistics.graphs.single import optimal, standard, warped
from marey.statistics.graphs.table import PairCosts, optimal_pairs, table
from marey.statistics.graphs.timing import smooth_path
from marey.statistics.graphs.transitions import Objective, Transition, TransitionTable, Windows

__all__ = [
    "Comparison",
    "Connectivity",
    "MotionGraph",
    "Objective",
    "PairCosts",
    "Shortest",
    "Transition",
    "TransitionTable",
    "Walk",
    "Windows",
    "compare",
    "connectivity",
    "essential_graph",
    "motion_graph",
    "optimal",
    "optimal_pairs",
    "shortest_costs",
    "shortest_walk",
    "shortest_walks",
    "smooth_path",
    "standard",
    "table",
    "warped",
    "within_core",
]
