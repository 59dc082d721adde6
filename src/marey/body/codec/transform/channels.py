"""A clip as curves that can be rounded: the root's path and, a joint, three or four numbers over time.

Most joints stay near their mean: their curve is the logarithm at the mean, as in principal geodesic analysis.
One that turns farther (the root of a cartwheel) has its logarithm taken at a pose amid its turn and followed
beyond pi. One that turns farther still, where the logarithm has its edge, has the quaternion itself as its
curve, made unit again when read back. Cost: a logarithm a joint and frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.kinematics import global_frames
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous
from marey.geometry.mean import karcher_mean

Whole = NDArray[np.int64]

# Logarithms this long, radians, are followed, as they may pass pi.
_FAR = 2.2
# And none is longer than this; at 2 pi all directions are the same rotation.
_FARTHEST = 4.2
# Frames that are tried as the pose amid a turn.
_AMID = 24
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
        mean = so3.exp(self.centre[self._narrow].reshape(-1, 3))
        curves[:, self._narrow] = _logs(mean, rotations[:, ~self.wide]).reshape(len(root), -1)
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

    def logarithms(self, curves: Array) -> Array:
        """The curves as rotation vectors `(frames, joints, 3)`; zero where they are quaternions."""
        logs = np.zeros((len(curves), len(self.wide), 3))
        logs[:, ~self.wide] = curves[:, self._narrow].reshape(len(curves), -1, 3)
        return logs

    def mean_quaternions(self) -> Array:
        """The mean pose `(joints, 4)`; not unit, perhaps zero, for joints whose curve is a quaternion."""
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
    """Means, and joints that stray too far from theirs, of a clip's rotations and root path.

    rotations: `(frames, joints, 4)` without jumps of sign; decoded ones have the same signs
    """
    found = karcher_mean(rotations, tolerance=1e-9)
    wide = np.zeros(rotations.shape[1], dtype=bool)
    centre = [root.mean(axis=0)]
    for joint, mean in enumerate(found.mean):
        turns = rotations[:, joint]
        if found.radius[joint] > _FAR:
            mean, farthest = _amid(turns)
            wide[joint] = farthest > _FARTHEST
        nearest = turns[np.abs(turns @ mean).argmax()]
        centre.append(turns.mean(axis=0) if wide[joint] else _vector(mean if nearest @ mean > 0 else -mean))
    return Channels(wide, np.concatenate(centre))


def _logs(mean: Array, rotations: Array) -> Array:
    """Logarithms `(frames, joints, 3)` at `mean`; where they are long, those of quaternions with their sign.

    Those go on beyond pi, up to 2 pi, as far as the signs of `rotations` have no jumps.
    """
    relative = so3.multiply(so3.inverse(mean), rotations)
    logs = so3.log(relative)
    far = np.flatnonzero(np.linalg.norm(logs, axis=-1).max(axis=0) > _FAR)
    turns = relative[:, far]
    nearest = np.abs(turns[..., 0]).argmax(axis=0)
    turns = turns * np.where(turns[nearest, np.arange(len(far)), 0] < 0, -1.0, 1.0)[:, None]
    sines = np.maximum(np.linalg.norm(turns[..., 1:], axis=-1), 1e-12)
    logs[:, far] = turns[..., 1:] * (2 * np.arctan2(sines, turns[..., 0]) / sines)[..., None]
    return logs


def _amid(turns: Array) -> tuple[Array, float]:
    """The one of some poses of a joint, `(frames, 4)`, from which it turns the least, and how far that is."""
    frames = np.unique(np.linspace(0, len(turns) - 1, _AMID).astype(int))
    farthest = [np.linalg.norm(_logs(turns[[f]], turns[:, None]), axis=-1).max() for f in frames]
    best = int(np.argmin(farthest))
    return turns[frames[best]], float(farthest[best])


def _vector(mean: Array) -> Array:
    """The rotation vector of a quaternion up to its sign: those with a negative real part are beyond pi."""
    vector = so3.log(mean)
    if mean[0] >= 0:
        return vector
    length = np.linalg.norm(vector)
    return vector * (1 - 2 * np.pi / length) if length > 1e-6 else np.array([2 * np.pi, 0.0, 0.0])


def lever_arms(skeleton: Skeleton, channels: Channels) -> Array:
    """Metres that joints move, in the mean square, for a unit of each column, `(columns,)`, at the mean pose.

    >>> from marey.body import Skeleton
    >>> stick = Skeleton(("hip", "knee"), [-1, 0], [[0, 0, 0], [0, 0.4, 0]])
    >>> mean = Channels(np.array([False, False]), np.zeros(9))
    >>> lever_arms(stick, mean).round(3).tolist()
    [1.0, 1.0, 1.0, 0.233, 0.233, 0.233, 0.021, 0.021, 0.021]
    """
    means = channels.mean_quaternions()
    sizes = np.linalg.norm(means, axis=1, keepdims=True)
    # A joint that spins has no mean worth the name.
    means = np.where(sizes > 0.1, means / np.maximum(sizes, 0.1), [1.0, 0.0, 0.0, 0.0])
    pose = global_frames(skeleton.parents, skeleton.offsets, means, np.zeros(3))
    return _per_column(_spread_below(skeleton.parents, pose.positions), channels.wide)


def reaches(skeleton: Skeleton, wide: NDArray[np.bool_]) -> Array:
    """The same for any pose, by the length of bones alone: what the mean pose itself is rounded by."""
    parents = skeleton.parents
    along = np.linalg.norm(skeleton.offsets, axis=1)
    along[0] = 0.0
    for joint in range(1, len(parents)):
        along[joint] += along[parents[joint]]
    return _per_column(_spread_below(parents, along[:, None]), wide)


def _spread_below(parents: NDArray, places: Array) -> Array:
    """Sum over the joints below of the squared displacement by a unit turn, all axes alike, `(joints,)`."""
    sums = np.column_stack([np.ones(len(parents)), places, (places**2).sum(axis=1)])
    for joint in range(len(parents) - 1, 0, -1):
        sums[parents[joint]] += sums[joint]
    counts, firsts, seconds = sums[:, 0], sums[:, 1:-1], sums[:, -1]
    spread = seconds - 2 * (places * firsts).sum(axis=1) + counts * (places**2).sum(axis=1)
    return np.asarray(np.maximum(spread, 0.0) * (2 / 3) + counts * SHELL**2)


def _per_column(spread: Array, wide: NDArray[np.bool_]) -> Array:
    where = columns_of(wide)
    arms = np.sqrt(spread / len(spread))[np.maximum(where, 0)]
    # A quaternion changes by half the angle.
    arms[(where >= 0) & wide[np.maximum(where, 0)]] *= 2
    arms[where < 0] = 1.0
    return arms
