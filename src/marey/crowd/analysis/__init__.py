"""What is inside a flow: divergence and vorticity, its parts, its events, the paths through it."""

from marey.crowd.analysis.helmholtz import Helmholtz, split, with_gains
from marey.crowd.analysis.measures import (
    Event,
    divergence,
    find_events,
    okubo_weiss,
    path_lines,
    streak_lines,
    vorticity,
)

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
