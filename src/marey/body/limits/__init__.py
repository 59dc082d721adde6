"""Limits of joints: one protocol for ranges, ellipsoids, swing and twist, and limits of other kinds."""

from marey.body.limits.ellipsoid import EllipsoidLimits
from marey.body.limits.human import human, human_joints
from marey.body.limits.protocol import Limits
from marey.body.limits.ranges import RangeLimits
from marey.body.limits.swing_twist import JointFreedom, SwingTwistLimits

__all__ = [
    "EllipsoidLimits",
    "JointFreedom",
    "Limits",
    "RangeLimits",
    "SwingTwistLimits",
    "human",
    "human_joints",
]
