"""Parts of the mannequin (bones, hands, feet, head, trunk) and the skeleton that carries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from marey._arrays import Array
from marey.body.anatomy import Anatomy, Limb, anatomy, side_of
from marey.body.kinematics import end_positions, forward_kinematics
from marey.body.motion import Motion
from marey.geometry.matrices import to_matrix
from marey.views import style
from marey.views.shapes import Shape, ball, limb, loft, refined

# Bones beyond which each is drawn with fewer faces.
MANY = 400

Bone = tuple[int, int, int, Array, float]
"""Start point, end point, joint that turns it, its x axis in that joint's frame, length at rest."""


@dataclass
class Parts:
    """The parts of a figure while it is being put together: carried by a joint, or spanning a bone."""

    shapes: list[Shape] = field(default_factory=list)
    colours: list[Array] = field(default_factory=list)
    joints: list[int] = field(default_factory=list)
    bones: list[Bone] = field(default_factory=list)
    bone_shapes: list[Shape] = field(default_factory=list)
    bone_colours: list[Array] = field(default_factory=list)

    def fix(self, shape: Shape, colour: str, joint: int, origin: Array, axes: Array) -> None:
        """A part that a joint carries: `axes` are its x, y, z in the joint's frame, as columns."""
        self.shapes.append(Shape(shape.vertices @ axes.T + origin, shape.faces))
        self.colours.append(np.tile(style.linear(colour), (len(shape.vertices), 1)))
        self.joints.append(joint)

    def span(self, shape: Shape, colours: Array, bone: Bone) -> None:
        """A part along a bone, with colours `(vertices, 3)`."""
        self.bone_shapes.append(shape)
        self.bone_colours.append(colours)
        self.bones.append(bone)


class Poses:
    """A clip as figures need it: points (joints, then end sites) and rotation matrices in the world."""

    def __init__(self, motion: Motion) -> None:
        pose = forward_kinematics(motion)
        self.skeleton = motion.skeleton
        self.points = np.concatenate([pose.positions, end_positions(motion, pose)], axis=1)
        self.quaternions = pose.rotations

    def __len__(self) -> int:
        return len(self.points)

    def matrices(self, frames: slice | int) -> Array:
        """Rotations of the joints in the world, `(..., joints, 3, 3)`."""
        return to_matrix(self.quaternions[frames])

    @cached_property
    def landmarks(self) -> Anatomy | None:
        """Hips, knees and so on, if this is a human figure."""
        some = self.points[:: max(len(self) // 100, 1)]
        parents = np.maximum(self.skeleton.parents, 0)
        steps = some[:, : self.skeleton.joints] - some[:, parents]
        found = anatomy(self.skeleton, np.median(np.linalg.norm(steps, axis=-1), axis=0))
        return found if found.human else None

    @property
    def body(self) -> Array:
        """Where the body is, `(frames, 3)`: its pelvis (some roots stay behind), else the root."""
        return self.points[:, 0 if self.landmarks is None else self.landmarks.pelvis]

    @property
    def ahead(self) -> Array | None:
        """Horizontal directions the pelvis faces, `(frames, 3)`, not of unit length; None if not human."""
        if self.landmarks is None:
            return None
        left, right = (leg.root for leg in self.landmarks.legs)
        return np.cross(self.points[:, left] - self.points[:, right], [0.0, 1.0, 0.0])


class Sample:
    """Averages over some frames of a clip."""

    def __init__(self, poses: Poses) -> None:
        skeleton = poses.skeleton
        self.skeleton = skeleton
        step = max(len(poses) // 100, 1)
        self.points = poses.points[::step]
        self.rotations = poses.matrices(slice(None, None, step))
        self.parents = np.concatenate([skeleton.parents, skeleton.end_parents])
        self.names = [*skeleton.names, *(f"{skeleton.names[p]} end" for p in skeleton.end_parents)]
        self.count = len(self.parents)
        self.extra: list[tuple[int, Array]] = []
        self.lengths = np.array([0.0 if p < 0 else self.between(p, j) for j, p in enumerate(self.parents)])
        spread = float(np.median(np.ptp(self.points, axis=1).max(axis=1)))
        travelled = float(np.ptp(self.points[:, 0], axis=0).max())
        self.size = spread if spread > 1e-6 else max(0.1 * travelled, 0.1)

    def add(self, joint: int, point: Array) -> int:
        """Index of a new point that a joint carries, where `point` `(frames, 3)` is on average."""
        local = self.vector(joint, self.points[:, joint], point)
        self.extra.append((joint, local))
        there = self.points[:, joint] + self.rotations[:, joint] @ local
        self.points = np.concatenate([self.points, there[:, None]], axis=1)
        self.parents = np.append(self.parents, joint)
        return len(self.parents) - 1

    def between(self, a: int, b: int) -> float:
        return float(np.median(np.linalg.norm(self.points[:, a] - self.points[:, b], axis=1)))

    def vector(self, joint: int, a: Array, b: Array) -> Array:
        """From points a to b `(frames, 3)`, in a joint's frame, averaged."""
        return np.asarray(np.einsum("fji,fj->i", self.rotations[:, joint], b - a) / len(a))

    def at(self, *points: int) -> Array:
        """The middle of some points, `(frames, 3)`."""
        return np.asarray(self.points[:, list(points)].mean(axis=1))

    def below(self, joint: int) -> list[int]:
        """Points whose parent is `joint`."""
        return [int(j) for j in np.flatnonzero(self.parents == joint)]

    def subtree(self, joint: int) -> list[int]:
        """Points that `joint` carries, directly or not."""
        found = [joint]
        for j in range(self.count):
            if j != joint and int(self.parents[j]) in found:
                found.append(j)
        return found[1:]


def segment(
    parts: Parts,
    some: Sample,
    start: int,
    end: int,
    profile: Sequence[tuple[float, float]],
    colour: str,
    *,
    sleeve: float | None = None,
    sectors: int = 16,
    coarse: bool = False,
) -> None:
    """A limb segment between two points; as far as the sleeve reaches it is cloth."""
    rest = some.between(start, end)
    if rest < 1e-6:
        return
    joint = start if start < some.skeleton.joints else int(some.parents[start])
    along = unit(some.vector(joint, some.at(start), some.at(end)))
    shape = limb(rest, profile, hem=sleeve, sectors=sectors, coarse=coarse)
    colours = np.tile(style.linear(colour), (len(shape.vertices), 1))
    if sleeve is not None:
        colours[shape.vertices[:, 2] < sleeve * rest] = style.linear(style.CLOTH)
    parts.span(shape, colours, (start, end, joint, any_square(along), rest))


def bones(
    parts: Parts, some: Sample, size: float, points: Sequence[int] | range, colour: str, radius: float | None
) -> None:
    """Rounded bones from the parents of `points` to them, with a ball at every joint; coarser if many."""
    many = len(points) > MANY
    sectors = 6 if many else 12
    for j in points:
        length, parent = some.lengths[j], int(some.parents[j])
        if length < 2e-3 * size:
            continue
        thick = radius if radius is not None else float(np.clip(0.18 * length, 0.022 * size, 0.05 * size))
        side = side_of(some.names[j])
        tint = {"left": style.LEFT, "right": style.RIGHT}.get(side, colour) if radius is None else colour
        profile = [(0.0, 0.95 * thick), (0.25, thick), (0.6, 0.82 * thick), (1.0, 0.7 * thick)]
        if radius is not None:
            profile = [(0.0, thick), (1.0, 0.9 * thick)]
        segment(parts, some, parent, j, profile, tint, sectors=sectors, coarse=many)
        if parent < some.skeleton.joints and radius is None:
            knob = ball(1.12 * thick, rings=3 if many else 7, sectors=sectors)
            parts.fix(knob, style.SKIN, parent, np.zeros(3), np.eye(3))


def tripod(parts: Parts, joint: int, size: float) -> None:
    """Three arms along a joint's axes, for a skeleton that has no bone."""
    parts.fix(ball(0.22 * size, rings=13, sectors=24), style.SKIN, joint, np.zeros(3), np.eye(3))
    for axis, colour in enumerate((style.PALETTE[3], style.PALETTE[2], style.PALETTE[0])):
        axes = np.roll(np.eye(3), axis + 1, axis=0)
        parts.fix(limb(size, [(0.0, 0.1 * size), (1.0, 0.07 * size)]), colour, joint, np.zeros(3), axes)


def up_to(some: Sample, j: int, stop: int) -> list[int]:
    """`j`, its parent, … until below `stop`."""
    chain = []
    while j >= 0 and j != stop:
        chain.append(j)
        j = int(some.parents[j])
    return chain


def unit(v: Array) -> Array:
    size = np.linalg.norm(v, axis=-1, keepdims=True)
    return v / np.where(size > 0, size, 1.0)


def square(v: Array, axis: Array) -> Array:
    """The unit vector nearest `v` at right angles to `axis`."""
    rest = v - (v @ axis) * axis
    far = float(np.linalg.norm(rest)) > 1e-6 * float(np.linalg.norm(v)) + 1e-18
    return unit(rest) if far else any_square(axis)


def any_square(axis: Array) -> Array:
    other = np.zeros(3)
    # Rounded, so that noise does not decide between two coordinates.
    other[int(np.abs(axis).round(6).argmin())] = 1.0
    return unit(np.cross(axis, other))


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


@dataclass(frozen=True, eq=False)
class Trunk:
    """A skin over rings between pelvis and chest, along a cubic that leaves both at right angles.

    pelvis, chest: joints that carry its ends
    hips, shoulders: `(3,)`, the middles between the limbs, in those joints' frames
    pelvis_axes, chest_axes: `(3, 2)`, to the left and up, in those joints' frames
    rings: `(rings, 4)`, metres: along the trunk from the hips (beyond the shoulders past `length`),
        half-width, half-depth, shift backwards
    """

    pelvis: int
    chest: int
    hips: Array
    shoulders: Array
    pelvis_axes: Array
    chest_axes: Array
    rings: Array
    length: float

    def frames(self, points: Array, rotations: Array) -> tuple[Array, Array]:
        """Origins `(rings, 3)` and axes `(rings, 3, 3)` of the rings: to the left, backwards, up."""
        at = self.rings[:, 0]
        low = points[self.pelvis] + rotations[self.pelvis] @ self.hips
        high = points[self.chest] + rotations[self.chest] @ self.shoulders
        left_low, up_low = (rotations[self.pelvis] @ self.pelvis_axes).T
        left_high, up_high = (rotations[self.chest] @ self.chest_axes).T
        size = np.linalg.norm(high - low)
        s = np.clip(at / self.length, 0.0, 1.0)[:, None]
        pull_low, pull_high = size * up_low, size * up_high
        middle = (
            (2 * s**3 - 3 * s**2 + 1) * low
            + (s**3 - 2 * s**2 + s) * pull_low
            + (-2 * s**3 + 3 * s**2) * high
            + (s**3 - s**2) * pull_high
        )
        up = unit(
            (6 * s**2 - 6 * s) * (low - high)
            + (3 * s**2 - 4 * s + 1) * pull_low
            + (3 * s**2 - 2 * s) * pull_high
        )
        below, above = np.minimum(at, 0.0)[:, None], np.maximum(at - self.length, 0.0)[:, None]
        left = (1 - s) * left_low + s * left_high
        left = unit(left - (left * up).sum(axis=1, keepdims=True) * up)
        origins = middle + below * up_low + above * up_high
        return origins, np.stack([left, np.cross(up, left), up], axis=2)


def trunk(some: Sample, marks: Anatomy, stature: float) -> Trunk:
    """The trunk of a figure of that stature, metres."""
    s = stature
    left_hip, right_hip = (leg.root for leg in marks.legs)
    left_arm, right_arm = (arm.root for arm in marks.arms)
    hips, shoulders = some.at(left_hip, right_hip), some.at(left_arm, right_arm)
    length = float(np.median(np.linalg.norm(shoulders - hips, axis=1)))
    left_low = unit(some.vector(marks.pelvis, some.at(right_hip), some.at(left_hip)))
    left_high = unit(some.vector(marks.chest, some.at(right_arm), some.at(left_arm)))
    up_low = square(some.vector(marks.pelvis, hips, shoulders), left_low)
    up_high = square(some.vector(marks.chest, hips, shoulders), left_high)
    half_hips = min(0.5 * some.between(left_hip, right_hip), 0.07 * s)
    half_shoulders = min(max(0.5 * some.between(left_arm, right_arm), 0.075 * s), 0.13 * s)
    d = length
    rings = [
        (-0.062 * s, 0.0, 0.0, 0.0),
        (-0.050 * s, 0.030 * s, 0.036 * s, 0.0),
        (-0.020 * s, half_hips + 0.030 * s, 0.053 * s, 0.004 * s),
        (0.020 * s, half_hips + 0.037 * s, 0.057 * s, 0.006 * s),
        (0.20 * d, half_hips + 0.029 * s, 0.054 * s, 0.003 * s),
        (0.38 * d, 0.071 * s, 0.047 * s, -0.002 * s),
        (0.58 * d, 0.077 * s, 0.051 * s, -0.003 * s),
        (0.76 * d, 0.088 * s, 0.057 * s, -0.003 * s),
        (0.90 * d, 0.6 * half_shoulders + 0.030 * s, 0.055 * s, 0.0),
        (d, half_shoulders - 0.008 * s, 0.041 * s, 0.004 * s),
        (d + 0.018 * s, 0.70 * half_shoulders, 0.034 * s, 0.006 * s),
        (d + 0.033 * s, 0.38 * half_shoulders, 0.030 * s, 0.006 * s),
        (d + 0.050 * s, 0.026 * s, 0.026 * s, 0.005 * s),
        (d + 0.060 * s, 0.0, 0.0, 0.005 * s),
    ]
    return Trunk(
        pelvis=marks.pelvis,
        chest=marks.chest,
        hips=some.vector(marks.pelvis, some.at(marks.pelvis), hips),
        shoulders=some.vector(marks.chest, some.at(marks.chest), shoulders),
        pelvis_axes=np.stack([left_low, up_low], axis=1),
        chest_axes=np.stack([left_high, up_high], axis=1),
        rings=refined(rings),
        length=length,
    )
