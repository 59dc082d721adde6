"""Feet, hands and head of a mannequin, shaped by what the skeleton says of toes, fingers and crown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.body.anatomy import Anatomy, Limb, side_of
from marey.views import style
from marey.views.parts import Parts, Sample, any_square, bones, segment, square, unit, up_to
from marey.views.shapes import loft, refined

Array = NDArray[np.float64]


def foot(parts: Parts, some: Sample, leg: Limb, s: float, colour: str) -> None:
    """A foot whose sole is level when the foot is down."""
    ankle = leg.end
    toes = [j for j in some.below(ankle) if some.lengths[j] > 0.02 * s]
    toe = max(toes, key=lambda j: some.lengths[j]) if toes else -1
    up = _sole_normal(some, leg, ankle if toe < 0 else toe)
    if toe >= 0:
        reach = some.vector(ankle, some.at(ankle), some.at(toe))
    else:
        reach = 0.08 * s * any_square(up)
    forward = square(reach, up)
    length = max(float(reach @ forward), 0.05 * s)
    height = min(max(-float(reach @ up) + 0.012 * s, 0.034 * s), 0.055 * s)
    tips = (
        [j for j in some.below(toe) if some.lengths[j] > 0.01 * s] if 0 <= toe < some.skeleton.joints else []
    )
    hinged = bool(tips)
    tip = 0.0 if hinged else (0.035 * s if length < 0.09 * s else 0.012 * s)
    axes = np.stack([np.cross(up, forward), up, forward], axis=1)

    def ring(z: float, wide: float, high: float) -> tuple[float, float, float, float, float]:
        return z, wide * s, 0.5 * high * s, 0.0, -height + 0.5 * high * s

    top = height / s + 0.012
    sole = [
        ring(-0.034 * s, 0.0, 0.022),
        ring(-0.031 * s, 0.012, 0.030),
        ring(-0.022 * s, 0.0185, 0.6 * top),
        ring(-0.004 * s, 0.0205, top),
        ring(0.018 * s, 0.0215, 0.92 * top),
        ring(0.50 * length, 0.0235, 0.62 * top),
        ring(0.80 * length, 0.0265, 0.030),
        ring(length, 0.0270, 0.022),
        ring(length + 0.55 * tip, 0.0235, 0.017),
        ring(length + 0.9 * tip + 0.006 * s, 0.015, 0.012),
        ring(length + tip + 0.012 * s, 0.0, 0.010),
    ]
    parts.fix(loft(sole, sectors=16, squareness=0.55), colour, ankle, np.zeros(3), axes)
    if hinged:
        point = max(tips, key=lambda j: some.lengths[j])
        _toes(parts, some, ankle, toe, point, axes, -float(reach @ up) - height, s, colour)


def _sole_normal(some: Sample, leg: Limb, toe: int) -> Array:
    """World's up as the ankle sees it while the foot is lowest; the shank's direction if that is far off."""
    shank = unit(some.vector(leg.end, some.at(leg.end), some.at(leg.middle)))
    height = some.at(leg.end, toe)[:, 1]
    down = height <= np.quantile(height, 0.3)
    up = unit(some.rotations[down, leg.end, 1].mean(axis=0))
    return up if up @ shank > 0.75 else shank


def _toes(
    parts: Parts,
    some: Sample,
    ankle: int,
    toe: int,
    point: int,
    foot_axes: Array,
    drop: float,
    s: float,
    colour: str,
) -> None:
    """Toes that turn with their own joint; `drop` is how far the sole lies below it (negative)."""
    # The foot's axes as the toe joint sees them, averaged.
    turned = np.einsum("fji,fjk->ik", some.rotations[:, toe], some.rotations[:, ankle] @ foot_axes)
    up = unit(turned[:, 1])
    reach = some.vector(toe, some.at(toe), some.at(point))
    forward = square(reach, up)
    length = min(max(float(reach @ forward), 0.02 * s), 0.06 * s)
    axes = np.stack([np.cross(up, forward), up, forward], axis=1)

    def ring(z: float, wide: float, high: float) -> tuple[float, float, float, float, float]:
        return z, wide * s, 0.5 * high * s, 0.0, drop + 0.5 * high * s

    block = [
        ring(-0.016 * s, 0.0, 0.012),
        ring(-0.010 * s, 0.0215, 0.019),
        ring(0.0, 0.0270, 0.0215),
        ring(0.45 * length, 0.0260, 0.0185),
        ring(0.85 * length, 0.0200, 0.0145),
        ring(length + 0.002 * s, 0.012, 0.0115),
        ring(length + 0.006 * s, 0.0, 0.009),
    ]
    parts.fix(loft(block, sectors=16, squareness=0.55), colour, toe, np.zeros(3), axes)


def hand(parts: Parts, some: Sample, arm: Limb, s: float) -> None:
    """A mitten, or a palm with fingers when there are at least three."""
    wrist = arm.end
    along = unit(some.vector(wrist, some.at(arm.middle), some.at(wrist)))
    carried = [j for j in some.subtree(wrist) if some.lengths[j] > 0.004 * s]
    # Knuckles: the first points of each finger away from the wrist.
    knuckles = [j for j in carried if not set(up_to(some, j, wrist)[1:]) & set(carried)]
    thumbs = [j for j in knuckles if "thumb" in some.names[j].lower()]
    fingers = [j for j in knuckles if j not in thumbs]
    if fingers:
        centre = some.vector(wrist, some.at(wrist), some.at(*fingers))
        along = unit(centre) if np.linalg.norm(centre) > 0.01 * s else along
    across = any_square(along)
    if len(fingers) >= 3:
        spread = np.array([some.vector(wrist, some.at(wrist), some.at(j)) for j in fingers])
        across = square(spread[np.argmax(np.linalg.norm(spread - spread[0], axis=1))] - spread[0], along)
    elif thumbs:
        across = square(some.vector(wrist, some.at(wrist), some.at(thumbs[0])), along)
    axes = np.stack([across, np.cross(along, across), along], axis=1)
    flatness = 0.42 if len(fingers) >= 3 or thumbs else 0.75
    palm = 0.055 * s
    if len(fingers) >= 3:
        palm = min(max(float((spread @ along).mean()), 0.03 * s), 0.07 * s)
    wide = 0.0225 * s if flatness < 0.5 else 0.0185 * s
    rest = [] if len(fingers) >= 3 else [(0.078 * s, 0.92), (0.095 * s, 0.75), (0.104 * s, 0.42)]
    heights = [-0.012 * s, -0.008 * s, 0.004 * s, 0.5 * palm, palm, *(z for z, _ in rest)]
    widths = [0.0, 0.55, 0.70, 0.95, 1.0, *(w for _, w in rest)]
    ending = heights[-1] + (0.006 * s if rest else 0.012 * s)
    rings = [
        (z, w * wide, max(w * flatness, 0.012 * s / wide * min(w, 0.8)) * wide, 0.0, 0.0)
        for z, w in zip(heights, widths, strict=True)
    ]
    rings.append((ending, 0.0, 0.0, 0.0, 0.0))
    parts.fix(loft(rings, sectors=14, squareness=0.3), style.SKIN, wrist, np.zeros(3), axes)
    if len(fingers) >= 3:
        bones(parts, some, s, [j for j in carried if j not in fingers], style.SKIN, 0.0058 * s)
    elif thumbs:
        bones(parts, some, s, thumbs, style.SKIN, 0.0075 * s)


def head(parts: Parts, some: Sample, marks: Anatomy, s: float) -> None:
    """Neck and an egg with a jaw that shows where it looks."""
    joint = marks.head
    # Where the neck begins is a matter of the shoulders: its joint may lie anywhere along the spine.
    base = some.add(marks.chest, some.at(marks.arms[0].root, marks.arms[1].root))
    segment(parts, some, base, joint, [(0.0, 0.033 * s), (0.4, 0.029 * s), (1.0, 0.027 * s)], style.SKIN)
    tops = [j for j in some.below(joint) if some.lengths[j] > 0.03 * s and not side_of(some.names[j])]
    upwards = np.broadcast_to([0.0, 1.0, 0.0], some.points[:, joint].shape)
    up = some.vector(joint, np.zeros_like(upwards), upwards)
    if tops:
        top = some.vector(joint, some.at(joint), some.at(tops[0]))
        up, reach = unit(top), float(np.linalg.norm(top))
    else:
        if np.linalg.norm(up) < 0.6:
            up = some.vector(joint, some.at(marks.chest), some.at(joint))
        up, reach = unit(up), 0.0
    left = some.vector(joint, some.at(marks.arms[1].root), some.at(marks.arms[0].root))
    left = square(left, up)
    half = 0.064 * s
    lift = reach - half if 0.085 * s < reach < 0.16 * s else 0.046 * s
    rings = []
    # Jaw, cheeks, temples, crown: narrower and further forward below than above.
    for z, wide, deep, back in (
        (-1.00, 0.0, 0.0, -0.30),
        (-0.96, 0.25, 0.24, -0.30),
        (-0.82, 0.46, 0.46, -0.26),
        (-0.55, 0.66, 0.74, -0.12),
        (-0.20, 0.80, 0.90, -0.02),
        (0.20, 0.86, 0.99, 0.04),
        (0.52, 0.78, 0.92, 0.05),
        (0.78, 0.58, 0.68, 0.05),
        (0.94, 0.32, 0.38, 0.04),
        (1.00, 0.0, 0.0, 0.04),
    ):
        rings.append((z * half, 0.74 * wide * half, 0.84 * deep * half, 0.0, back * half))
    axes = np.stack([left, np.cross(up, left), up], axis=1)
    parts.fix(
        loft(refined(rings), sectors=24),
        style.SKIN,
        joint,
        (lift - 0.004 * s) * up - 0.008 * s * axes[:, 1],
        axes,
    )
