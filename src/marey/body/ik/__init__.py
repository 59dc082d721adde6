"""Inverse kinematics: poses that meet targets, of the whole skeleton or within a pose model."""

from marey.body.ik.batch import BatchResult, points_in_root_frame, solve_in_model
from marey.body.ik.clip import PosedClip, solve_clip
from marey.body.ik.editing import blended
from marey.body.ik.limits import EllipsoidLimits, JointLimits
from marey.body.ik.masses import PointMasses
from marey.body.ik.plants import plants, ramps
from marey.body.ik.report import IKReport, Miss
from marey.body.ik.solver import PosedFigure, PoseSolver, solve_pose
from marey.body.ik.targets import Contact, LookAt, Orient, Pin, Reach, Target

__all__ = [
    "BatchResult",
    "Contact",
    "EllipsoidLimits",
    "IKReport",
    "JointLimits",
    "LookAt",
    "Miss",
    "Orient",
    "Pin",
    "PointMasses",
    "PoseSolver",
    "PosedClip",
    "PosedFigure",
    "Reach",
    "Target",
    "blended",
    "plants",
    "points_in_root_frame",
    "ramps",
    "solve_clip",
    "solve_in_model",
    "solve_pose",
]
