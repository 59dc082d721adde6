"""How variants differ from their example and from one another, and whether they could be its.

Courty & Cuzol 2010, section 6.2, show it by pictures; here it is distances, feet, ranges and plausibility. A
few passes of kinematics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from marey._arrays import Array
from marey._report import Report
from marey.body.feet.skate import skate, skate_heights
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.pose_samples import pose_samples
from marey.body.root_motion import positions_in_heading_frame
from marey.geometry import rotations as so3

# Pairs looked at for the diversity.
MOST_PAIRS = 60
# Radians: a joint's range counts as at least this.
LEAST_RANGE = 0.1
# Metres a second that the example's feet count as skating at least.
LEAST_SKATE = 1e-3


@dataclass(frozen=True)
class VariationReport(Report):
    """What was made.

    Attributes:
        deviation_cm: Mean distance of joints from the example's, root and heading aligned.
        world_deviation_cm: The same in the world.
        diversity_cm: Mean distance of joints between two variants, aligned; NaN of a single one.
        foot_skate_cm_s: Speed of feet near the ground, by :func:`marey.body.feet.skate`, mean of all.
        example_foot_skate_cm_s: The same of the example.
        foot_slide_ratio: The first over the second.
        worst_foot_slide_ratio: Of the variant whose feet skate most.
        beyond_range: Largest share of its range by which a joint leaves it.
        plausibility: Mean squared Mahalanobis distance of a frame, over that of the example's own frames.
    """

    deviation_cm: float
    world_deviation_cm: float
    diversity_cm: float
    foot_skate_cm_s: float
    example_foot_skate_cm_s: float
    foot_slide_ratio: float
    worst_foot_slide_ratio: float
    beyond_range: float
    plausibility: float


def report_on(example: Motion, variants: Sequence[Motion], poses: PoseModel) -> VariationReport:
    """Measure variants of an example beside it."""
    own, there = positions_in_heading_frame(example), example.positions()
    posed = [positions_in_heading_frame(variant) for variant in variants]
    away = [float(np.linalg.norm(p - own, axis=-1).mean()) for p in posed]
    world = [float(np.linalg.norm(v.positions() - there, axis=-1).mean()) for v in variants]
    pairs = list(combinations(range(len(posed)), 2))[:MOST_PAIRS]
    apart = [float(np.linalg.norm(posed[a] - posed[b], axis=-1).mean()) for a, b in pairs]
    heights = skate_heights(example)
    usual_skate = skate(example, heights=heights)
    skates = np.array([skate(variant, heights=heights) for variant in variants])
    ratios = skates / max(usual_skate, LEAST_SKATE)
    usual = _mahalanobis(poses, example)
    likely = [_mahalanobis(poses, variant) / max(usual, 1e-12) for variant in variants]
    return VariationReport(
        deviation_cm=100 * float(np.mean(away)),
        world_deviation_cm=100 * float(np.mean(world)),
        diversity_cm=100 * float(np.mean(apart)) if apart else float("nan"),
        foot_skate_cm_s=100 * float(skates.mean()),
        example_foot_skate_cm_s=100 * usual_skate,
        foot_slide_ratio=float(ratios.mean()),
        worst_foot_slide_ratio=float(ratios.max()),
        beyond_range=max(beyond_range(example, variant, poses.geodesics.mean) for variant in variants),
        plausibility=float(np.mean(likely)),
    )


def beyond_range(example: Motion, variant: Motion, mean: Array) -> float:
    """Largest share of its range in the example by which a turn of a joint of a variant leaves it."""
    usual, found = (_turns(motion, mean) for motion in (example, variant))
    low, high = usual.min(axis=0), usual.max(axis=0)
    over = np.maximum(found.max(axis=0) - high, low - found.min(axis=0))
    return float(np.maximum(over / np.maximum(high - low, LEAST_RANGE), 0.0).max())


def _turns(motion: Motion, mean: Array) -> Array:
    return so3.log(so3.multiply(so3.inverse(mean), pose_samples(motion, "heading").rotations))


def _mahalanobis(poses: PoseModel, motion: Motion) -> float:
    spread = poses.geodesics.spectrum[: poses.modes]
    return float((poses.encode(motion) ** 2 / np.maximum(spread, 1e-12)).mean())
