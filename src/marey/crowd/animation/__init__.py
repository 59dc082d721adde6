"""Agents carried by captured motion: advection, endless crowds, where agents start."""

from marey.crowd.animation.agents import AgentSettings, advect
from marey.crowd.animation.crowd import AnimatedCrowd, CrowdFrame, Entrance

__all__ = ["AgentSettings", "AnimatedCrowd", "CrowdFrame", "Entrance", "advect"]
