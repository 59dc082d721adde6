"""The best way from one captured frame to another (Boukhayma 2017, section 2.5)."""

from marey.surface.transitions.single import optimal, standard, warped
from marey.surface.transitions.table import PairCosts, optimal_pairs, table
from marey.surface.transitions.timing import smooth_path
from marey.surface.transitions.transition import Objective, Transition, TransitionTable, Windows

__all__ = [
    "Objective",
    "PairCosts",
    "Transition",
    "TransitionTable",
    "Windows",
    "optimal",
    "optimal_pairs",
    "smooth_path",
    "standard",
    "table",
    "warped",
]
