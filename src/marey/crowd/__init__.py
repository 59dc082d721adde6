"""The motion of many people."""

from marey.crowd.cameras import Camera
from marey.crowd.capture import capture
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.scenes import Goal, Group, Scene
from marey.crowd.simulation.simulate import SimulatedCrowd, Simulation, simulate
from marey.crowd.tracks import Tracks

__all__ = [
    "Camera",
    "FieldSeries",
    "Footage",
    "Goal",
    "Group",
    "Scene",
    "SimulatedCrowd",
    "Simulation",
    "Tracks",
    "capture",
    "simulate",
]
