"""Mathematics of rotations and rigid motion; no animation in it."""

from marey.geometry import alignment, convention, matrices, mean, mesh, resampling, rigid, rotations

__all__ = ["alignment", "convention", "matrices", "mean", "mesh", "resampling", "rigid", "rotations"]
