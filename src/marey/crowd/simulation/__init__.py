"""Simulated crowds: pedestrians who walk to their goals among walls and each other by social forces."""

from marey.crowd.simulation.engine import Entrance, ForceEngine, Simulator, State
from marey.crowd.simulation.pedestrians import (
    Interaction,
    Parameters,
    Pedestrians,
    joined,
    random_pedestrians,
)
from marey.crowd.simulation.routes import DirectionField

__all__ = [
    "DirectionField",
    "Entrance",
    "ForceEngine",
    "Interaction",
    "Parameters",
    "Pedestrians",
    "Simulator",
    "State",
    "joined",
    "random_pedestrians",
]
