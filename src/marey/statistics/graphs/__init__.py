"""Motion graphs over frames of clips, on pose distances and root motion alone (Boukhayma 2017)."""

from marey.statistics.graphs.build import essential_graph, motion_graph
from marey.statistics.graphs.clips import ClipIndex, DistanceMatrix
from marey.statistics.graphs.graph import Connectivity, MotionGraph, Walk, connectivity, core_frames
from marey.statistics.graphs.shortest import CostComparison, compare, shortest_costs, shortest_walk
from marey.statistics.graphs.transitions import Transition, TransitionTable, Windows, table

__all__ = [
    "ClipIndex",
    "Connectivity",
    "CostComparison",
    "DistanceMatrix",
    "MotionGraph",
    "Transition",
    "TransitionTable",
    "Walk",
    "Windows",
    "compare",
    "connectivity",
    "core_frames",
    "essential_graph",
    "motion_graph",
    "shortest_costs",
    "shortest_walk",
    "table",
]
