"""How far apart two poses of a surface are (Boukhayma 2017, section 2.3)."""

from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.distances.metric import distances, pose_distance
from marey.surface.distances.template import yaw_between

__all__ = ["DistanceMatrix", "distances", "pose_distance", "yaw_between"]
