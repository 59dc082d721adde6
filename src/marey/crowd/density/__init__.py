"""Density of a crowd: of people whose places are known, and estimated from what a video shows."""

from marey.crowd.density.grid import WIDTH, DensityFrame, DensityGrid

__all__ = ["WIDTH", "DensityFrame", "DensityGrid"]
