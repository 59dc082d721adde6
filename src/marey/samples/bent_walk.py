"""A straight walk led along a curve, with feet that stay where they stand.

The ground is bent like a ribbon: what the walk does at a distance z along +z, it does at that length of the
curve. The pelvis turns with the curve below it, each foot with the curve below its own ball, so that a
planted foot maps to one place; the legs bend to meet both. Cost: two passes of forward kinematics.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.body.anatomy import anatomy
from marey.body.feet.two_bone import bend_leg
from marey.body.kinematics import GlobalPose, forward_kinematics
from marey.body.motion import Motion
from marey.geometry import rotations as so3
from marey.samples.gait_legs import about

Array = NDArray[np.float64]

# Metres between the points at which the curve is worked out.
STEP = 0.01


def bent(motion: Motion, *, turn: float, start: float, stop: float) -> Motion:
    """The walk along +z, turning by `turn` radians (left is positive) between `start` and `stop` metres.

    >>> from marey.samples.gait import walk
    >>> left = bent(walk(seconds=3), turn=np.pi / 2, start=0.5, stop=2.5)
    >>> bool(left.root[-1, 0] > 1.0)
    True
    """
    pose = forward_kinematics(motion)
    path, parents = np.asarray(motion.root, np.float64), np.asarray(motion.skeleton.parents, np.int64)
    curve = _Curve(
        turn, start, stop, float(pose.positions[..., 2].min()), float(pose.positions[..., 2].max())
    )
    heading = curve.heading(path[:, 2])
    turned = so3.multiply(about("y", heading)[:, None], pose.rotations)
    root = curve.place(path)
    arm = pose.positions - path[:, None]
    world = GlobalPose(
        positions=root[:, None] + so3.rotate(about("y", heading)[:, None], arm), rotations=turned
    )
    rotations = np.array(motion.rotations, np.float64)
    rotations[:, 0] = turned[:, 0]
    for leg in anatomy(motion.skeleton).legs:
        ball = pose.positions[:, leg.tip]
        under = about("y", curve.heading(ball[:, 2]))
        ankle = curve.place(ball) + so3.rotate(under, pose.positions[:, leg.end] - ball)
        turned[:, leg.end] = so3.multiply(under, pose.rotations[:, leg.end])
        bend_leg(rotations, parents, world, leg, ankle, None)
    return Motion(motion.skeleton, so3.continuous(rotations), root, motion.frame_rate, name=motion.name)


class _Curve:
    """A path by its length: straight, then ever more to one side and less again, then straight."""

    def __init__(self, turn: float, start: float, stop: float, low: float, high: float):
        self.turn, self.start, self.stop = turn, start, stop
        self.lengths = np.arange(min(low, 0.0) - STEP, high + 2 * STEP, STEP)
        middle = self.heading(self.lengths[:-1] + STEP / 2)
        steps = STEP * np.stack([np.sin(middle), np.cos(middle)], axis=1)
        places = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
        # Before the turn the curve is the z axis itself.
        self.places = places - places[0] + [0.0, self.lengths[0]]

    def heading(self, length: Array) -> Array:
        share = np.clip((length - self.start) / (self.stop - self.start), 0.0, 1.0)
        eased = share - np.sin(2 * np.pi * share) / (2 * np.pi)
        return np.asarray(self.turn * (0.5 * share + 0.5 * eased))

    def place(self, points: Array) -> Array:
        """Points `(..., 3)` of the straight walk on the bent ground."""
        heading = self.heading(points[..., 2])
        result = np.array(points)
        for axis, column in ((0, 0), (2, 1)):
            result[..., axis] = np.interp(points[..., 2], self.lengths, self.places[:, column])
        result[..., 0] += np.cos(heading) * points[..., 0]
        result[..., 2] -= np.sin(heading) * points[..., 0]
        return result
