"""Feet as a clip shows them: boxes that are level while they are on the floor, and bend at the ball.

The frames of joints at rest say nothing about how a foot stands in many files, where legs are spread at rest
or axes follow the bones; a sole that is tilted leaves its character to stand on an edge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marey._arrays import Array
from marey.body.anatomy import anatomy
from marey.body.feet.contacts import contacts, foot_joints
from marey.body.kinematics import global_frames
from marey.body.motion import Motion
from marey.body.physics.reduced import PhysicalCharacter
from marey.body.physics.shapes import FootSettings, Shapes
from marey.geometry import rotations as so3

# Frames of a foot on the floor below which a clip says nothing about its sole.
FEWEST = 3
# Of the ankle above the ball's level at least, metres.
ANKLE = 0.03
UP = np.array([0.0, 1.0, 0.0])


class Sole(NamedTuple):
    """A foot of which a clip shows how it stands.

    Args:
        ankle, ball: joints.
        axes: `(2, 3, 3)`, directions ahead, up and to the side, columns, in the frames of ankle and ball.
        drop: metres, of the ball below the ankle where the sole is level.
    """

    ankle: int
    ball: int
    axes: Array
    drop: float


def soles(motion: Motion) -> tuple[Sole | None, ...]:
    """The feet of a clip: means over its frames in contact. None for a foot it does not show on the floor."""
    skeleton = motion.skeleton
    pose = global_frames(skeleton.parents, skeleton.offsets, motion.rotations, motion.root)
    contact, joints = contacts(motion), foot_joints(skeleton)
    found: list[Sole | None] = []
    for leg in anatomy(skeleton).legs:
        there = contact[:, [joints.index(joint) for joint in (leg.end, leg.tip) if joint >= 0]]
        frames = there.all(axis=1) if there.all(axis=1).sum() >= FEWEST else there.any(axis=1)
        if frames.sum() < FEWEST or leg.tip < 0:
            found.append(None)
            continue
        ankle, ball = pose.rotations[frames, leg.end], pose.rotations[frames, leg.tip]
        ahead = (pose.positions[:, leg.tip] - pose.positions[:, leg.end])[frames] * [1.0, 0.0, 1.0]
        first = _axes(so3.inverse(ankle), ahead)
        # The ball bends about the ankle's side, so that all of a sole can be level.
        side = so3.rotate(so3.inverse(so3.multiply(so3.inverse(ankle), ball)), first[:, 2]).mean(axis=0)
        second = _axes(so3.inverse(ball), ahead, side / np.linalg.norm(side))
        found.append(
            Sole(leg.end, leg.tip, np.array([first, second]), float(first[:, 1] @ skeleton.offsets[leg.tip]))
        )
    return tuple(found)


def _axes(back: Array, ahead: Array, side: Array | None = None) -> Array:
    """Directions ahead, up and to the side, columns `(3, 3)`, in a frame to which `(n, 4)` turn the world."""
    up, front = (so3.rotate(back, way).mean(axis=0) for way in (UP, ahead))
    if side is not None:
        up -= (up @ side) * side
    up /= np.linalg.norm(up)
    front -= (front @ up) * up
    front = np.cross(up, side) * np.sign(np.cross(up, side) @ front) if side is not None else front
    front /= np.linalg.norm(front)
    return np.stack([front, up, np.cross(front, up)], axis=1)


def level_soles(
    character: PhysicalCharacter, feet: tuple[Sole | None, ...], settings: FootSettings | None = None
) -> Shapes:
    """Shapes of a character with the soles of a clip."""
    options, shapes = settings or FootSettings(), Shapes.of(character)
    spheres, corners = np.array(shapes.spheres), np.flatnonzero(shapes.spheres[:, 3] == 0)
    if len(feet) != 2 or len(corners) != 16:
        return shapes
    for foot, own in zip(feet, corners.reshape(2, 8), strict=True):
        if foot is None:
            continue
        level = min(foot.drop, -ANKLE) - options.sole
        boxes = (
            (-options.behind, (level, 0.0)),
            (options.before, (level - foot.drop, level - foot.drop + options.toes)),
        )
        spheres[own, :3] = [
            along * axes[:, 0] + height * axes[:, 1] + across * axes[:, 2]
            for axes, (along, heights) in zip(foot.axes, boxes, strict=True)
            for across in (-options.half_width, options.half_width)
            for height in heights
        ]
    return replace(shapes, spheres=spheres)
