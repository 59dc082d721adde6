"""The pieces of a figure while it is being put together, and what is known of the skeleton they hang on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from marey.body.anatomy import Anatomy, anatomy, side_of
from marey.body.kinematics import end_positions, forward_kinematics
from marey.body.motion import Motion
from marey.geometry.matrices import to_matrix
from marey.views import style
from marey.views.shapes import Shape, ball, limb

Array = NDArray[np.float64]

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
        return np.einsum("fji,fj->i", self.rotations[:, joint], b - a) / len(a)

    def at(self, *points: int) -> Array:
        """The middle of some points, `(frames, 3)`."""
        return self.points[:, list(points)].mean(axis=1)

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
