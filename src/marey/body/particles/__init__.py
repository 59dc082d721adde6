"""Inverse kinematics by particles: motions that meet any constraint that can be evaluated."""

from marey.body.particles.bodies import body_chain, human_chain
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
from marey.body.particles.hands import hand_chain
from marey.body.particles.limits import SwingTwistLimits
from marey.body.particles.noise import JointNoise, sample_qutem
from marey.body.particles.poses import PoseBatch

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
    "Freedom",
    "JointNoise",
    "LearnedDynamics",
    "Likely",
    "NearRest",
    "OnPlane",
    "PoseBatch",
    "RandomWalk",
    "SwingTwistLimits",
    "Turned",
    "body_chain",
    "chain_of",
    "hand_chain",
    "human_chain",
    "sample_qutem",
    "solve",
]
