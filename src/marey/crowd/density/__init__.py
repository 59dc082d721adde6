"""Density of a crowd: of people whose places are known, and estimated from what a video shows."""

from marey.crowd.density.danger import Alarm, Alarms, DangerSettings
from marey.crowd.density.estimate import DensitySettings
from marey.crowd.density.grid import WIDTH, DensityFrame, DensityGrid
from marey.crowd.density.live import follow
from marey.crowd.density.measure import DensityReport, DensityResult, density, plan_density
from marey.crowd.density.transport import LawSettings

__all__ = [
    "WIDTH",
    "Alarm",
    "Alarms",
    "DangerSettings",
    "DensityFrame",
    "DensityGrid",
    "DensityReport",
    "DensityResult",
    "DensitySettings",
    "LawSettings",
    "density",
    "follow",
    "plan_density",
]
