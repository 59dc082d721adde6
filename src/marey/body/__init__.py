"""Articulated characters."""

from marey.body import differential, joint_frames
from marey.body.cleanup import CleanReport, clean
from marey.body.codec import CompressedMotion, compress, decompress
from marey.body.kinematics import GlobalPose, end_positions, forward_kinematics
from marey.body.markers import Markers
from marey.body.motion import Motion, concatenate
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton

__all__ = [
    "CleanReport",
    "CompressedMotion",
    "GlobalPose",
    "Markers",
    "Motion",
    "PoseModel",
    "Skeleton",
    "clean",
    "compress",
    "concatenate",
    "decompress",
    "differential",
    "end_positions",
    "forward_kinematics",
    "joint_frames",
]
