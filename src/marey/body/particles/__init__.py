"""Inverse kinematics by particles: motions that meet any constraint that can be evaluated."""

from marey.body.particles.bodies import as_seen, body_chain, feet_on_floor, human_chain
from marey.body.particles.chains import Chain, Freedom, chain_of
from marey.body.particles.constraints import (
    Apart,
    Asked,
    At,
    Balanced,
    Clear,
    Constraint,
    Coupled,
    Facing,
    Likely,
    NearRest,
    OnPlane,
    Turned,
)
from marey.body.particles.evolution import Autoregressive, LearnedDynamics, RandomWalk
from marey.body.particles.filter import FilteredMotion, solve
from marey.body.particles.fingers import FoundFingers, fingers_from_tips
from marey.body.particles.hands import hand_chain, hand_of_clip
from marey.body.particles.limits import SwingTwistLimits
from marey.body.particles.noise import JointNoise, sample_qutem
from marey.body.particles.polish import polished, polished_pose
from marey.body.particles.poses import PoseBatch
from marey.body.particles.solutions import Solution, solve_several

__all__ = [
    "Apart",
    "Asked",
    "At",
    "Autoregressive",
    "Balanced",
    "Chain",
    "Clear",
    "Constraint",
    "Coupled",
    "Facing",
    "FilteredMotion",
    "FoundFingers",
    "Freedom",
    "JointNoise",
    "LearnedDynamics",
    "Likely",
    "NearRest",
    "OnPlane",
    "PoseBatch",
    "RandomWalk",
    "Solution",
    "SwingTwistLimits",
    "Turned",
    "as_seen",
    "body_chain",
    "chain_of",
    "feet_on_floor",
    "fingers_from_tips",
    "hand_chain",
    "hand_of_clip",
    "human_chain",
    "polished",
    "polished_pose",
    "sample_qutem",
    "solve",
    "solve_several",
]
