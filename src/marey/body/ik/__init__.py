"""Inverse kinematics: poses that meet targets, of the whole skeleton or within a pose model."""

from marey.body.ik.engine import IKSettings
from marey.body.ik.solver import PoseResult, PoseSolver, solve_in_model, solve_pose
from marey.body.ik.targets import Contact, IKReport, LookAt, Orient, Pin, Reach, Target, TargetError
from marey.body.ik.trajectory import ClipResult, blend_pose, solve_clip

__all__ = [
    "ClipResult",
    "Contact",
    "IKReport",
    "IKSettings",
    "LookAt",
    "Orient",
    "Pin",
    "PoseResult",
    "PoseSolver",
    "Reach",
    "Target",
    "TargetError",
    "blend_pose",
    "solve_clip",
    "solve_in_model",
    "solve_pose",
]
