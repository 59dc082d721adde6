"""People carried by captured motion: advection, crowds without end, where they start."""

from marey.crowd.animation.advection import advect
from marey.crowd.animation.playing import AnimatedCrowd, Entrance, Manner, Moment, animate

__all__ = ["AnimatedCrowd", "Entrance", "Manner", "Moment", "advect", "animate"]
