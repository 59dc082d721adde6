"""Crowds that do what the user says, by the least deviation from how people walk (Courty 2013, 7.2)."""

from marey.crowd.direct.constraints import (
    Constraints,
    Density,
    Divergence,
    Formation,
    Offsets,
    Path,
    State,
    Velocity,
    Vorticity,
)
from marey.crowd.direct.direct import DirectReport, DirectResult, Preview, direct
from marey.crowd.direct.presets import PRESETS, Scenario, preset

__all__ = [
    "PRESETS",
    "Constraints",
    "Density",
    "DirectReport",
    "DirectResult",
    "Divergence",
    "Formation",
    "Offsets",
    "Path",
    "Preview",
    "Scenario",
    "State",
    "Velocity",
    "Vorticity",
    "direct",
    "preset",
]
