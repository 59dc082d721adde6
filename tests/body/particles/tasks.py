"""Tasks that several tests share: a body that reaches, a hand whose fingertips are led."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey.body.particles import ArticulatedChain, Noisy, PoseBatch, Reach, feet_on_floor
from marey.body.particles.hands import FINGERS
from marey.geometry import rotations as so3

Array = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[3]
body_chain = runpy.run_path(str(ROOT / "reproduce" / "_published_body.py"))["body_chain"]
TIPS = tuple(f"{finger}3_end" for finger in FINGERS)


def standing(chain: ArticulatedChain) -> PoseBatch:
    """The body upright with its arms down."""
    pose = so3.identity(chain.skeleton.joints)
    pose[chain.skeleton.index("LeftArm")] = so3.exp([0.0, 0.0, -1.2])
    pose[chain.skeleton.index("RightArm")] = so3.exp([0.0, 0.0, 1.2])
    return PoseBatch(chain.skeleton, pose[None], np.array(chain.skeleton.offsets[:1]))


def reach_low_and_high(chain: ArticulatedChain) -> tuple[list[Reach], list[Noisy]]:
    """Hands to a low and a high place; feet where they stand."""
    hands = [Reach("RightHand", [-0.35, 0.35, 0.45]), Reach("LeftHand", [0.45, 1.15, 0.35])]
    return hands, feet_on_floor(standing(chain))


def curled(chain: ArticulatedChain, seed: int) -> Array:
    """A pose of the hand that obeys its rules."""
    rng = np.random.default_rng(seed)
    pose, index = so3.identity(chain.skeleton.joints), chain.skeleton.index
    for rule in chain.rules:
        angle = rng.uniform(0.2, 1.2)
        pose[index(rule.other)] = so3.exp(angle * np.asarray(rule.axis))
        pose[index(rule.joint)] = so3.exp(2 / 3 * angle * np.asarray(rule.axis))
    for finger in FINGERS:
        joint = index(f"{finger}1")
        bend = [0.0, rng.uniform(0, 0.8), rng.uniform(-0.15, 0.15)]
        pose[joint] = so3.exp(so3.rotate(chain.limits.frames[joint], bend))
    return chain.limits.project(pose)


def tips_of(chain: ArticulatedChain, pose: Array) -> list[Noisy]:
    batch = PoseBatch(chain.skeleton, pose[None], np.zeros((1, 3)))
    return [Noisy(Reach(name, batch.point(name)[0]), noise=0.002) for name in TIPS]
