"""Articulated characters."""

from marey.body import feet, kinematics
from marey.body.chain import chain
from marey.body.clean import CleanReport, clean
from marey.body.codec import CompressedMotion, compress, decompress
from marey.body.control.balance import balance
from marey.body.control.puppet import puppet
from marey.body.drive import drive
from marey.body.dynamics import MotionModel
from marey.body.fill import fill
from marey.body.filter import FilterSettings, filter
from marey.body.ik.ik import ik
from marey.body.kinematics import GlobalPose, end_positions, forward_kinematics
from marey.body.markers import Markers
from marey.body.motion import Motion, concatenate
from marey.body.particles.hands import fingers
from marey.body.particles.particles import particles
from marey.body.physics.simulate import simulate
from marey.body.pose_model import PoseModel
from marey.body.reconstruct import BodyFromTrackers, reconstruct
from marey.body.restyle import restyle
from marey.body.retarget import retarget
from marey.body.skeleton import Skeleton
from marey.body.steer import TimedReach, steer
from marey.body.stream import MotionStream, stream
from marey.body.trackers import Trackers
from marey.body.vary import VaryResult, vary

fit = PoseModel.fit
learn = MotionModel.fit

__all__ = [
    "BodyFromTrackers",
    "CleanReport",
    "CompressedMotion",
    "FilterSettings",
    "GlobalPose",
    "Markers",
    "Motion",
    "MotionModel",
    "MotionStream",
    "PoseModel",
    "Skeleton",
    "TimedReach",
    "Trackers",
    "VaryResult",
    "balance",
    "chain",
    "clean",
    "compress",
    "concatenate",
    "decompress",
    "drive",
    "end_positions",
    "feet",
    "fill",
    "filter",
    "fingers",
    "fit",
    "forward_kinematics",
    "ik",
    "kinematics",
    "learn",
    "particles",
    "puppet",
    "reconstruct",
    "restyle",
    "retarget",
    "simulate",
    "steer",
    "stream",
    "vary",
]


def __dir__() -> list[str]:
    return __all__
