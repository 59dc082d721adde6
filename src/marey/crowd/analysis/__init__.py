"""What is inside a flow: divergence and vorticity, its parts, its events, the paths through it."""

from marey.crowd.analysis.derivatives import divergence, okubo_weiss, vorticity
from marey.crowd.analysis.events import Event, find_events
from marey.crowd.analysis.helmholtz import Helmholtz, split, with_gains
from marey.crowd.analysis.lines import path_lines, streak_lines

__all__ = [
    "Event",
    "Helmholtz",
    "divergence",
    "find_events",
    "okubo_weiss",
    "path_lines",
    "split",
    "streak_lines",
    "vorticity",
    "with_gains",
]
