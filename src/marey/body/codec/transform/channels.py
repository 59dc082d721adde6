"""A clip as curves that can be rounded: the root's path and, a joint, three or four numbers over time.

Most joints stay near their mean: their curve is the logarithm at the mean, as in principal geodesic analysis.
One that goes farther than 2.2 rad from it (the root of a cartwheel) would meet the edge of the logarithm: its
curve is the quaternion itself, made unit again when read back. Cost: a logarithm a joint and frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.body.kinematics import global_frames
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous
from marey.geometry.mean import karcher_mean

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_FAR = 2.2
# Points this far from every joint count as well, so that a turn about a bone's own axis is seen.
SHELL = 0.03


@dataclass(frozen=True, eq=False)
class Channels:
    """The curves of a clip: root position (3 columns), then each joint's.

    wide: `(joints,)`, whether the joint's curve is a quaternion (4 columns) or a logarithm (3)
    centre: `(columns,)`, mean of each: metres, the rotation vector of the mean rotation, or quaternions
    """

    wide: NDArray[np.bool_]
    centre: Array

    @property
    def columns(self) -> Whole:
        """The joint each column belongs to, `(columns,)`; -1 for the root's position."""
        return columns_of(self.wide)

    def curves(self, rotations: Array, root: Array) -> Array:
        """Curves `(frames, columns)` of rotations `(frames, joints, 4)` and root `(frames, 3)`."""
        where = self.columns
        curves = np.empty((len(root), len(where)))
        curves[:, :3] = root - self.centre[:3]
        narrow = np.flatnonzero(~self.wide)
        mean = so3.exp(self.centre[self._narrow].reshape(-1, 3))
        logs = so3.log(so3.multiply(so3.inverse(mean), rotations[:, narrow]))
        curves[:, self._narrow] = logs.reshape(len(root), -1)
        for joint in np.flatnonzero(self.wide):
            centre = self.centre[where == joint]
            turns = continuous(rotations[:, joint])
            turns = turns if (turns @ centre).sum() >= 0 else -turns
            curves[:, where == joint] = turns - centre
        return curves

    def motion(self, curves: Array) -> tuple[Array, Array]:
        """Rotations `(frames, joints, 4)` and root `(frames, 3)` of curves."""
        where = self.columns
        frames = len(curves)
        rotations = np.empty((frames, len(self.wide), 4))
        mean = so3.exp(self.centre[self._narrow].reshape(-1, 3))
        logs = curves[:, self._narrow].reshape(frames, -1, 3)
        rotations[:, ~self.wide] = so3.multiply(mean, so3.exp(logs))
        for joint in np.flatnonzero(self.wide):
            turns = curves[:, where == joint] + self.centre[where == joint]
            rotations[:, joint] = so3.normalise(turns)
        return rotations, curves[:, :3] + self.centre[:3]

    def mean_quaternions(self) -> Array:
        """The mean pose `(joints, 4)`; not unit for joints whose curve is a quaternion."""
        means = np.empty((len(self.wide), 4))
        means[~self.wide] = so3.exp(self.centre[self._narrow].reshape(-1, 3))
        for joint in np.flatnonzero(self.wide):
            means[joint] = self.centre[self.columns == joint]
        return means

    @property
    def _narrow(self) -> NDArray[np.bool_]:
        """Columns that are logarithms."""
        where = self.columns
        return (where >= 0) & ~self.wide[np.maximum(where, 0)]


def columns_of(wide: NDArray[np.bool_]) -> Whole:
    """The joint each column belongs to, -1 for the root's position.

    >>> columns_of(np.array([True, False])).tolist()
    [-1, -1, -1, 0, 0, 0, 0, 1, 1, 1]
    """
    return np.concatenate([[-1] * 3, np.repeat(np.arange(len(wide)), np.where(wide, 4, 3))])


def find_channels(rotations: Array, root: Array) -> Channels:
    """Means, and joints that stray too far from theirs, of a clip's rotations and root path."""
    found = karcher_mean(rotations, tolerance=1e-9)
    wide = found.radius > _FAR
    centre = [root.mean(axis=0)]
    for joint, mean in enumerate(found.mean):
        centre.append(continuous(rotations[:, joint]).mean(axis=0) if wide[joint] else so3.log(mean))
    return Channels(wide, np.concatenate(centre))


def lever_arms(skeleton: Skeleton, channels: Channels) -> Array:
    """Metres that joints move, in the mean square, for a unit of each column, `(columns,)`, at the mean pose.

    >>> from marey.body import Skeleton
    >>> stick = Skeleton(("hip", "knee"), [-1, 0], [[0, 0, 0], [0, 0.4, 0]])
    >>> mean = Channels(np.array([False, False]), np.zeros(9))
    >>> lever_arms(stick, mean).round(3).tolist()
    [1.0, 1.0, 1.0, 0.233, 0.233, 0.233, 0.021, 0.021, 0.021]
    """
    parents = skeleton.parents
    pose = global_frames(parents, skeleton.offsets, so3.normalise(channels.mean_quaternions()), np.zeros(3))
    return _per_column(_subtree_spread(parents, pose.positions), channels.wide)


def reaches(skeleton: Skeleton, wide: NDArray[np.bool_]) -> Array:
    """The same for any pose, by the length of bones alone: what the mean pose itself is rounded by."""
    parents = skeleton.parents
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    spread = np.zeros(len(parents))
    for joint in range(len(parents)):
        length, above = 0.0, joint
        while above >= 0:
            spread[above] += length**2 * (2 / 3) + SHELL**2
            length += lengths[above]
            above = int(parents[above])
    return _per_column(spread, wide)


def _subtree_spread(parents: NDArray, positions: Array) -> Array:
    """Sum over the joints below of the squared displacement by a unit turn, all axes alike, `(joints,)`."""
    spread = np.zeros(len(parents))
    for joint in range(len(parents)):
        above = joint
        while above >= 0:
            spread[above] += ((positions[joint] - positions[above]) ** 2).sum() * (2 / 3) + SHELL**2
            above = int(parents[above])
    return spread


def _per_column(spread: Array, wide: NDArray[np.bool_]) -> Array:
    where = columns_of(wide)
    arms = np.sqrt(spread / len(spread))[np.maximum(where, 0)]
    # A quaternion changes by half the angle.
    arms[(where >= 0) & wide[np.maximum(where, 0)]] *= 2
    arms[where < 0] = 1.0
    return arms
