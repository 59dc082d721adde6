"""Inverse kinematics: poses that meet targets, of the whole skeleton or within a pose model."""

from marey.body.ik.batch import BatchResult, points_in_root_frame, solve_in_model
from marey.body.ik.limits import EllipsoidLimits, JointLimits
from marey.body.ik.masses import PointMasses

__all__ = [
    "BatchResult",
    "EllipsoidLimits",
    "JointLimits",
    "PointMasses",
    "points_in_root_frame",
    "solve_in_model",
]
