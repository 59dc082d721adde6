"""A shaded figure for any skeleton: a mannequin where the joints make a human, rounded bones elsewhere.

The figure is one mesh. Its parts are carried by frames (an origin and three axes each) that follow from the
joints of a pose; a vertex is fixed in its frame, so a pose costs one small matrix product per vertex.
Proportions not given by the joints follow body segment tables (Winter 2009, table 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array, Integers
from marey.body.anatomy import Anatomy
from marey.body.motion import Motion
from marey.views import style
from marey.views.mannequin_parts import (
    Parts,
    Poses,
    Sample,
    Trunk,
    bones,
    foot,
    hand,
    head,
    segment,
    tripod,
    trunk,
    unit,
)
from marey.views.shapes import Faces, loft, merged

# Thigh and shank together, as a share of stature (Winter 2009).
LEG_SHARE = 0.491


@dataclass(frozen=True, eq=False)
class Figure:
    """A mesh that follows a skeleton.

    faces: `(faces, 3)`; colours: `(vertices, 3)`, linear light
    size: metres, stature or largest extent
    """

    faces: Faces
    colours: Array
    size: float
    local: Array
    carrier: Integers
    joints: Integers
    bones: tuple[Integers, Array, Array]
    extra: tuple[Integers, Array]
    trunk: Trunk | None

    def vertices(self, points: Array, rotations: Array) -> Array:
        """The mesh in one pose, `(vertices, 3)`.

        points: `(joints + ends, 3)`, rotations: `(joints, 3, 3)`, both of the world
        """
        origins, axes = self.carriers(points, rotations)
        return np.asarray(origins[self.carrier] + np.einsum("vij,vj->vi", axes[self.carrier], self.local))

    def carriers(self, points: Array, rotations: Array) -> tuple[Array, Array]:
        """The frames that carry the parts in one pose: origins `(carriers, 3)`, axes `(carriers, 3, 3)`.

        Axes are columns; the third is as long as its bone is stretched.
        """
        carriers, local = self.extra
        added = points[carriers] + np.einsum("pij,pj->pi", rotations[carriers], local)
        points = np.concatenate([points, added])
        origins, axes = [points[self.joints]], [rotations[self.joints]]
        if len(self.bones[0]):
            start, end, joint = self.bones[0].T
            side, rest = self.bones[1:]
            along = points[end] - points[start]
            length = np.linalg.norm(along, axis=1, keepdims=True)
            along = along / np.where(length > 0, length, 1.0)
            x = np.einsum("bij,bj->bi", rotations[joint], side)
            x = unit(x - (x * along).sum(axis=1, keepdims=True) * along)
            origins.append(points[start])
            axes.append(np.stack([x, np.cross(along, x), along * length / rest[:, None]], axis=2))
        if self.trunk is not None:
            rings, turned = self.trunk.frames(points, rotations)
            origins.append(rings)
            axes.append(turned)
        return np.concatenate(origins), np.concatenate(axes)


def figure(motion: Motion, poses: Poses | None = None) -> Figure:
    """The figure of a clip's skeleton; lengths are those the clip has in the middle (6-channel joints slide).

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> mannequin = figure(walk)
    >>> poses = Poses(walk)
    >>> body = mannequin.vertices(poses.points[0], poses.matrices(0))
    >>> bool(1.4 < np.ptp(body[:, 1]) < 2.0)
    True
    """
    poses = Poses(motion) if poses is None else poses
    some, parts = Sample(poses), Parts()
    stature = _stature(some, poses.landmarks)
    if poses.landmarks is not None and stature is not None:
        _limbs(parts, some, poses.landmarks, stature)
        return _assembled(parts, some, stature, trunk(some, poses.landmarks, stature))
    bones(parts, some, some.size, range(1, some.count), style.CLOTH, None)
    if not parts.bones:
        tripod(parts, 0, some.size)
    return _assembled(parts, some, some.size, None)


def _stature(some: Sample, marks: Anatomy | None) -> float | None:
    """Metres, by the length of the left leg; None if the proportions are not human."""
    if marks is None:
        return None
    leg = marks.legs[0]
    stature = (some.between(leg.root, leg.middle) + some.between(leg.middle, leg.end)) / LEG_SHARE
    back = some.at(*(arm.root for arm in marks.arms)) - some.at(*(limb.root for limb in marks.legs))
    length = float(np.median(np.linalg.norm(back, axis=1)))
    human = 0.05 * stature < length < stature and 0.4 * some.size < stature < 3.0 * some.size
    return stature if human else None


def _limbs(parts: Parts, some: Sample, marks: Anatomy, s: float) -> None:
    """Legs, arms and head, and whatever else hangs on the trunk."""
    for leg, colour in zip(marks.legs, (style.LEFT, style.RIGHT), strict=True):
        thigh = [(0.0, 0.047 * s), (0.25, 0.047 * s), (0.6, 0.040 * s), (1.0, 0.031 * s)]
        shank = [(0.0, 0.031 * s), (0.25, 0.0335 * s), (0.55, 0.027 * s), (1.0, 0.0195 * s)]
        segment(parts, some, leg.root, leg.middle, thigh, colour, sleeve=0.42)
        segment(parts, some, leg.middle, leg.end, shank, colour)
        foot(parts, some, leg, s, colour)
    for arm, colour in zip(marks.arms, (style.LEFT, style.RIGHT), strict=True):
        upper = [(0.0, 0.031 * s), (0.3, 0.028 * s), (0.7, 0.025 * s), (1.0, 0.0215 * s)]
        fore = [(0.0, 0.0215 * s), (0.25, 0.0235 * s), (0.6, 0.019 * s), (1.0, 0.0145 * s)]
        segment(parts, some, arm.root, arm.middle, upper, colour, sleeve=0.40)
        segment(parts, some, arm.middle, arm.end, fore, colour)
        hand(parts, some, arm, s)
        collar = int(some.parents[arm.root])
        if some.between(collar, arm.root) > 0.02 * s:
            segment(parts, some, collar, arm.root, [(0.0, 0.024 * s), (1.0, 0.028 * s)], style.CLOTH)
    head(parts, some, marks, s)
    roots = [*(leg.root for leg in marks.legs), *(arm.root for arm in marks.arms), marks.neck]
    drawn = {j for root in roots for j in (*some.skeleton.ancestors(root), *some.subtree(root))}
    # Tails, props, wings.
    others = [j for j in some.subtree(marks.pelvis) if j not in drawn and some.lengths[j] > 0.02 * s]
    bones(parts, some, s, others, style.CLOTH, None)


def _assembled(parts: Parts, some: Sample, size: float, torso: Trunk | None) -> Figure:
    shapes, colours = [*parts.shapes, *parts.bone_shapes], [*parts.colours, *parts.bone_colours]
    vertices, faces, carriers = merged(shapes)
    paint = np.concatenate(colours)
    if torso is not None:
        flat = np.zeros(len(torso.rings))
        skin = loft(
            np.column_stack([flat, torso.rings[:, 1:3], flat, torso.rings[:, 3]]), sectors=24, squareness=0.25
        )
        last = len(torso.rings) - 1
        ring_of = len(shapes) + np.concatenate([[0], np.repeat(np.arange(1, last), 24), [last]])
        faces = np.concatenate([faces, skin.faces + np.int32(len(vertices))])
        vertices = np.concatenate([vertices, skin.vertices])
        carriers = np.concatenate([carriers, ring_of])
        paint = np.concatenate([paint, np.tile(style.linear(style.CLOTH), (len(ring_of), 1))])
    return Figure(
        faces=faces,
        colours=paint,
        size=size,
        local=vertices,
        carrier=carriers,
        joints=np.array(parts.joints, dtype=np.int64),
        bones=(
            np.array([bone[:3] for bone in parts.bones], dtype=np.int64).reshape(-1, 3),
            np.array([bone[3] for bone in parts.bones]).reshape(-1, 3),
            np.array([bone[4] for bone in parts.bones]),
        ),
        extra=(
            np.array([joint for joint, _ in some.extra], dtype=np.int64),
            np.array([local for _, local in some.extra]).reshape(-1, 3),
        ),
        trunk=torso,
    )
