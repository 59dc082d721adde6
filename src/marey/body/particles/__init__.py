"""Inverse kinematics by particles: motions that meet any constraint that can be evaluated."""

from marey.body.ik.targets import Contact, LookAt, Orient, Reach
from marey.body.limits import JointFreedom
from marey.body.particles.chain import ArticulatedChain, LearnedDynamics, RandomWalk
from marey.body.particles.constraints import (
    Avoid,
    Balance,
    Constraint,
    Coupled,
    Custom,
    Distance,
    NearPose,
    Noisy,
    PoseBatch,
    PosePrior,
    feet_on_floor,
)
from marey.body.particles.filter import FilteredMotion, FilterSettings, Solution, solve, solve_many
from marey.body.particles.hands import FingerResult, fingers_from_tips, hand_chain, hand_of_clip
from marey.body.particles.polish import polished, polished_pose

__all__ = [
    "ArticulatedChain",
    "Avoid",
    "Balance",
    "Constraint",
    "Contact",
    "Coupled",
    "Custom",
    "Distance",
    "FilterSettings",
    "FilteredMotion",
    "FingerResult",
    "JointFreedom",
    "LearnedDynamics",
    "LookAt",
    "NearPose",
    "Noisy",
    "Orient",
    "PoseBatch",
    "PosePrior",
    "RandomWalk",
    "Reach",
    "Solution",
    "feet_on_floor",
    "fingers_from_tips",
    "hand_chain",
    "hand_of_clip",
    "polished",
    "polished_pose",
    "solve",
    "solve_many",
]
