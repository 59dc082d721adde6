"""Articulated characters."""

from marey.body.kinematics import GlobalPose, end_positions, forward_kinematics
from marey.body.markers import Markers
from marey.body.motion import Motion, concatenate
from marey.body.skeleton import Skeleton

__all__ = [
    "GlobalPose",
    "Markers",
    "Motion",
    "Skeleton",
    "concatenate",
    "end_positions",
    "forward_kinematics",
]
