"""Simulated crowds: people who walk to their goals among walls and each other by social forces."""

from marey.crowd.simulation.directions import DirectionField
from marey.crowd.simulation.parameters import Interaction, Parameters
from marey.crowd.simulation.people import People, joined, random_people
from marey.crowd.simulation.places import Entrance, Goal
from marey.crowd.simulation.recording import Frame, Recording
from marey.crowd.simulation.simulator import Simulator, State
from marey.crowd.simulation.walls import segments_of

__all__ = [
    "DirectionField",
    "Entrance",
    "Frame",
    "Goal",
    "Interaction",
    "Parameters",
    "People",
    "Recording",
    "Simulator",
    "State",
    "joined",
    "random_people",
    "segments_of",
]
