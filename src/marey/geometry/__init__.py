"""Mathematics of rotations and rigid motion; no animation in it."""

from marey.geometry import alignment, convention, mean, mesh, resampling, rigid, rotations, tangent

__all__ = ["alignment", "convention", "mean", "mesh", "resampling", "rigid", "rotations", "tangent"]
