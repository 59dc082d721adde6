"""Articulated characters."""

from marey.body import differential, ik, joint_frames
from marey.body.cleanup import CleanReport, clean
from marey.body.codec import CompressedMotion, compress, decompress
from marey.body.kinematics import GlobalPose, end_positions, forward_kinematics
from marey.body.markers import Markers
from marey.body.motion import Motion, concatenate
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.body.trackers import BodyFromTrackers, Trackers, reconstruct
from marey.body.variation import Variants, vary

__all__ = [
    "BodyFromTrackers",
    "CleanReport",
    "CompressedMotion",
    "GlobalPose",
    "Markers",
    "Motion",
    "PoseModel",
    "Skeleton",
    "Trackers",
    "Variants",
    "clean",
    "compress",
    "concatenate",
    "decompress",
    "differential",
    "end_positions",
    "forward_kinematics",
    "ik",
    "joint_frames",
    "reconstruct",
    "vary",
]
