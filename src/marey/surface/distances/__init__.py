"""How far apart two poses of a surface are (Boukhayma 2017, section 2.3)."""

from marey.surface.distances.headings import heading
from marey.surface.distances.matrix import DistanceMatrix
from marey.surface.distances.measuring import distances
from marey.surface.distances.surface import pose_distance

__all__ = ["DistanceMatrix", "distances", "heading", "pose_distance"]
