"""Limits of joints: one protocol for ranges, ellipsoids, swing and twist, and limits of other kinds."""

from marey.body.limits.learned import LearnedLimits, LearnSettings, learn
from marey.body.limits.limits import EllipsoidLimits, Limits, RangeLimits
from marey.body.limits.swing_twist import JointFreedom, SwingTwistLimits, human, human_joints

__all__ = [
    "EllipsoidLimits",
    "JointFreedom",
    "LearnSettings",
    "LearnedLimits",
    "Limits",
    "RangeLimits",
    "SwingTwistLimits",
    "human",
    "human_joints",
    "learn",
]
