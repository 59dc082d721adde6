"""Meshes between two poses of a surface (Boukhayma 2017, section 2.4)."""

from marey.surface.interpolation.blending import interpolate
from marey.surface.interpolation.distortion import Distortion, distortion
from marey.surface.interpolation.interpolator import Interpolator, Pair, straight

__all__ = ["Distortion", "Interpolator", "Pair", "distortion", "interpolate", "straight"]
