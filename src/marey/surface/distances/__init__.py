"""How far apart two poses of a surface are (Boukhayma 2017, section 2.3)."""

from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.distances.heading import yaw_between
from marey.surface.distances.metric import distances, pose_distance

__all__ = ["DistanceMatrix", "distances", "pose_distance", "yaw_between"]
