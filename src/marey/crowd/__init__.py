"""The motion of many people."""

from marey.crowd.analysis import summary as info
from marey.crowd.animate import animate
from marey.crowd.cameras import Camera
from marey.crowd.capture import capture
from marey.crowd.density import density
from marey.crowd.direct import direct
from marey.crowd.edit import edit
from marey.crowd.evaluation.fields import evaluate
from marey.crowd.fields import FieldSeries, Footage
from marey.crowd.scenes import Goal, Group, Scene
from marey.crowd.simulation.simulate import SimulatedCrowd, Simulation, simulate
from marey.crowd.texture import extend
from marey.crowd.tiling import tile
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
    "animate",
    "capture",
    "density",
    "direct",
    "edit",
    "evaluate",
    "extend",
    "info",
    "simulate",
    "tile",
]


def __dir__() -> list[str]:
    return __all__
