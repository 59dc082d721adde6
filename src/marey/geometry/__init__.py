"""Mathematics of rotations and rigid motion; no animation in it."""

from marey.geometry import convention, matrices, mean, mesh, resampling, rigid, rotations

__all__ = ["convention", "matrices", "mean", "mesh", "resampling", "rigid", "rotations"]
