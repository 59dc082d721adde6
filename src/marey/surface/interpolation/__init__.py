"""Meshes between two poses of a surface (Boukhayma 2017, section 2.4)."""

from marey.surface.interpolation.distortion import Distortion, distortion
from marey.surface.interpolation.interpolator import (
    Interpolator,
    PosePair,
    interpolate,
    linear_interpolation,
)

__all__ = ["Distortion", "Interpolator", "PosePair", "distortion", "interpolate", "linear_interpolation"]
