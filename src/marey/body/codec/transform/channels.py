"""A clip as curves that can be rounded: positions of what slides and, a joint, three or four numbers.

Most joints stay near their mean: their curve is the logarithm at the mean, as in principal geodesic analysis.
One that turns farther (the root of a cartwheel) has its logarithm taken at a pose amid its turn and followed
beyond pi. One that turns farther still, where the logarithm has its edge, has the quaternion itself as its
curve, made unit again when read back. The root, and joints that slide in their parent's frame, have three
more curves. Cost: a logarithm a joint and frame.

What moves together shares principal directions, found limb by limb and rounded to whole numbers. A direction
is worth storing to a precision that its own coefficients set: with `s` the spread of a mode, `T` frames and
the step `d` of its coefficients, rounding an entry by `d / (s √T)` costs as much error as rounding a
coefficient by `d`. Short clips gain nothing from directions and keep their curves as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, IntArray, Integers
from marey.body.kinematics import global_frames
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.geometry.mean import rotation_mean

# Logarithms this long, radians, are followed, as they may pass pi.
_FAR = 2.2
# And none is longer than this; at 2 pi all directions are the same rotation.
_FARTHEST = 4.2
# Frames that are tried as the pose amid a turn.
_AMID = 24
# Points this far from every joint count as well, so that a turn about a bone's own axis is seen.
SHELL = 0.03
# How the columns are put together before directions are sought.
CURVES, LIMBS = range(2)
# A branch with fewer joints (a thumb) belongs to the limb it hangs on.
_SHORTEST_LIMB = 3


class Columns(NamedTuple):
    """What each curve of a figure is: positions of joints that slide, then rotations of all joints.

    Args:
        sliding: joints with a position: the root's in the world, others' in their parent's frame.
        quaternion_columns: `(joints,)`, whether a joint's rotation is a quaternion (4 columns) or a
            logarithm (3).

    >>> Columns((0,), np.array([True, False])).joint.tolist()
    [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]
    """

    sliding: tuple[int, ...]
    quaternion_columns: NDArray[np.bool_]

    @property
    def positions(self) -> int:
        """Number of columns that are positions; they come first."""
        return 3 * len(self.sliding)

    @property
    def joint(self) -> Integers:
        """The joint each column belongs to, `(columns,)`."""
        widths = np.where(self.quaternion_columns, 4, 3)
        turning = np.repeat(np.arange(len(widths)), widths)
        return np.concatenate([np.repeat(np.array(self.sliding, dtype=np.int64), 3), turning])

    @property
    def starts(self) -> Integers:
        """The first column of each joint's rotation, `(joints + 1,)`."""
        widths = np.where(self.quaternion_columns, 4, 3)
        return self.positions + np.concatenate([[0], np.cumsum(widths)])

    def of(self, joint: int) -> slice:
        """The columns of a joint's rotation."""
        return slice(*self.starts[joint : joint + 2])

    @property
    def logarithms(self) -> NDArray[np.bool_]:
        """Columns that are logarithms, `(columns,)`."""
        found = ~self.quaternion_columns[self.joint]
        found[: self.positions] = False
        return found


@dataclass(frozen=True, eq=False)
class Channels:
    """The curves of a clip.

    Args:
        columns: what they are.
        centre: `(columns,)`, mean of each: metres, the rotation vector of the mean rotation, or quaternions.
    """

    columns: Columns
    centre: Array

    def curves(self, rotations: Array, positions: Array) -> Array:
        """Curves `(frames, columns)` of rotations `(frames, joints, 4)`, positions `(frames, sliding, 3)`."""
        columns, frames = self.columns, len(rotations)
        curves = np.empty((frames, len(self.centre)))
        curves[:, : columns.positions] = positions.reshape(frames, -1)
        curves[:, : columns.positions] -= self.centre[: columns.positions]
        narrow = ~columns.quaternion_columns
        mean = self.mean_quaternions()[narrow]
        curves[:, columns.logarithms] = _logs(mean, rotations[:, narrow]).reshape(frames, -1)
        for joint in np.flatnonzero(columns.quaternion_columns).tolist():
            centre = self.centre[columns.of(joint)]
            turns = so3.continuous(rotations[:, joint])
            curves[:, columns.of(joint)] = (turns if (turns @ centre).sum() >= 0 else -turns) - centre
        return curves

    def motion(self, curves: Array) -> tuple[Array, Array]:
        """Rotations `(frames, joints, 4)` and positions `(frames, sliding, 3)` of curves."""
        columns, frames = self.columns, len(curves)
        narrow = ~columns.quaternion_columns
        rotations = np.empty((frames, len(narrow), 4))
        turns = so3.exp(self.rotation_vectors(curves)[:, narrow])
        rotations[:, narrow] = so3.multiply(self.mean_quaternions()[narrow], turns)
        for joint in np.flatnonzero(columns.quaternion_columns).tolist():
            where = columns.of(joint)
            rotations[:, joint] = so3.normalise(curves[:, where] + self.centre[where])
        positions = curves[:, : columns.positions] + self.centre[: columns.positions]
        return rotations, positions.reshape(frames, -1, 3)

    def rotation_vectors(self, curves: Array) -> Array:
        """The curves as rotation vectors `(frames, joints, 3)`; zero where they are quaternions."""
        logs = np.zeros((len(curves), len(self.columns.quaternion_columns), 3))
        narrow = ~self.columns.quaternion_columns
        logs[:, narrow] = curves[:, self.columns.logarithms].reshape(len(curves), -1, 3)
        return logs

    def mean_quaternions(self) -> Array:
        """The mean pose `(joints, 4)`; not unit, perhaps zero, for joints whose curve is a quaternion."""
        quaternions = self.columns.quaternion_columns
        means = np.empty((len(quaternions), 4))
        means[~quaternions] = so3.exp(self.centre[self.columns.logarithms].reshape(-1, 3))
        for joint in np.flatnonzero(quaternions).tolist():
            means[joint] = self.centre[self.columns.of(joint)]
        return means

    def mean_positions(self, skeleton: Skeleton) -> Array:
        """The mean position of each joint in its parent's frame, `(joints, 3)`, metres."""
        local: Array = np.array(skeleton.offsets, dtype=np.float64)
        local[list(self.columns.sliding)] = self.centre[: self.columns.positions].reshape(-1, 3)
        return local


def find_channels(rotations: Array, positions: Array, sliding: tuple[int, ...] = (0,)) -> Channels:
    """The means in a clip, and joints that stray too far from theirs to have logarithms.

    Args:
        rotations: `(frames, joints, 4)` without jumps of sign; decoded ones have the same signs.
        positions: `(frames, sliding, 3)`, metres.
        sliding: joints they belong to.
    """
    found = rotation_mean(rotations, tolerance=1e-9)
    quaternions = np.zeros(rotations.shape[1], dtype=bool)
    centre = [positions.mean(axis=0).ravel()]
    for joint, mean in enumerate(found.mean):
        turns = rotations[:, joint]
        if found.radius[joint] > _FAR:
            # The one of some poses of the joint from which it turns the least.
            frames = np.unique(np.linspace(0, len(turns) - 1, _AMID).astype(int))
            farthest = [np.linalg.norm(_logs(turns[[f]], turns[:, None]), axis=-1).max() for f in frames]
            mean, quaternions[joint] = turns[frames[np.argmin(farthest)]], min(farthest) > _FARTHEST
        nearest = turns[np.abs(turns @ mean).argmax()]
        vector = _vector(mean if nearest @ mean > 0 else -mean)
        centre.append(turns.mean(axis=0) if quaternions[joint] else vector)
    return Channels(Columns(sliding, quaternions), np.concatenate(centre))


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


def _vector(mean: Array) -> Array:
    """The rotation vector of a quaternion up to its sign: those with a negative real part are beyond pi."""
    vector = so3.log(mean)
    if mean[0] >= 0:
        return vector
    length = np.linalg.norm(vector)
    return vector * (1 - 2 * np.pi / length) if length > 1e-6 else np.array([2 * np.pi, 0.0, 0.0])


def lever_arms(skeleton: Skeleton, channels: Channels, *, straight: bool = False) -> Array:
    """Metres that joints move, in the mean square, for a unit of each column, `(columns,)`, at the mean pose.

    All axes of a turn count the same; `SHELL` about each joint turns as well. If `straight`, bones are laid
    end to end, whatever the mean rotations: what these are rounded by.

    >>> from marey.body import Skeleton
    >>> stick = Skeleton(("hip", "knee"), [-1, 0], [[0, 0, 0], [0, 0.4, 0]])
    >>> mean = Channels(Columns((0,), np.array([False, False])), np.zeros(9))
    >>> lever_arms(stick, mean).round(3).tolist()
    [1.0, 1.0, 1.0, 0.233, 0.233, 0.233, 0.021, 0.021, 0.021]
    """
    columns, parents = channels.columns, skeleton.parents
    local = channels.mean_positions(skeleton)
    if straight:
        points = np.linalg.norm(local, axis=1)[:, None]
        points[0] = 0.0
        for joint in range(1, len(parents)):
            points[joint] += points[parents[joint]]
    else:
        means, turns = channels.mean_quaternions(), so3.identity(skeleton.joints)
        # A joint that spins has no mean worth the name.
        steady = np.linalg.norm(means, axis=1) > 0.1
        turns[steady] = so3.normalise(means[steady])
        points = global_frames(parents, local, turns, np.zeros(3)).positions
    sums = np.column_stack([np.ones(len(parents)), points, (points**2).sum(axis=1)])
    for joint in range(len(parents) - 1, 0, -1):
        sums[parents[joint]] += sums[joint]
    counts, firsts, seconds = sums[:, 0], sums[:, 1:-1], sums[:, -1]
    spread = seconds - 2 * (points * firsts).sum(axis=1) + counts * (points**2).sum(axis=1)
    turned = np.sqrt((np.maximum(spread, 0.0) * (2 / 3) + counts * SHELL**2) / len(counts))
    # A quaternion changes by half the angle.
    arms = np.where(columns.quaternion_columns, 2 * turned, turned)[columns.joint]
    arms[: columns.positions] = np.sqrt(counts / len(counts))[columns.joint[: columns.positions]]
    return np.asarray(arms)


@dataclass(frozen=True, eq=False)
class Basis:
    """Directions of the curves in whole numbers.

    Args:
        parts: `(columns,)`, which columns share directions; -1 where nothing moves.
        entries: `(columns, modes)`, zero outside the mode's part; None if every column that moves is a mode.
        octaves: `(modes,)`, twice the binary logarithm of what entries are divided by.
    """

    parts: Integers
    entries: Integers | None
    octaves: Integers

    @property
    def modes(self) -> int:
        return len(self.octaves)

    def directions(self, arms: Array) -> Array:
        """Directions `(columns, modes)` as real numbers, given the lever arm of each column."""
        entries = np.eye(len(self.parts))[:, self.first_columns()] if self.entries is None else self.entries
        return np.asarray(entries / 2.0 ** (self.octaves / 2) / arms[:, None])

    def expand(self, modes: Array, arms: Array) -> Array:
        """Curves `(frames, columns)` of modes `(frames, modes)`."""
        if self.entries is not None:
            return np.asarray(modes @ self.directions(arms).T)
        curves = np.zeros((len(modes), len(self.parts)))
        curves[:, self.first_columns()] = modes / arms[self.first_columns()]
        return curves

    def first_columns(self) -> Integers:
        """A column that each mode moves, `(modes,)`."""
        if self.entries is None:
            return np.flatnonzero(self.parts >= 0)
        return np.asarray((self.entries != 0).argmax(axis=0), dtype=np.int64)

    def keep(self, kept: NDArray[np.bool_]) -> Basis:
        """The basis of these modes alone, and of the columns they move."""
        if self.entries is None:
            parts = np.full(len(self.parts), -1, dtype=np.int64)
            parts[self.first_columns()[kept]] = np.arange(kept.sum())
            return Basis(parts, None, self.octaves[kept])
        entries = self.entries[:, kept]
        return Basis(np.where(entries.any(axis=1), self.parts, -1), entries, self.octaves[kept])


def limbs(parents: IntArray) -> Integers:
    """The limb of each joint, `(joints,)`: 0 for the root, then in order of appearance.

    >>> limbs(np.array([-1, 0, 1, 2, 0, 4, 5, 0])).tolist()  # two legs and a tail of one joint
    [0, 1, 1, 1, 2, 2, 2, 0]
    """
    joints = len(parents)
    below = np.ones(joints, dtype=int)
    for joint in range(joints - 1, 0, -1):
        below[parents[joint]] += below[joint]
    long_children = np.zeros(joints, dtype=int)
    for joint in range(1, joints):
        long_children[parents[joint]] += below[joint] >= _SHORTEST_LIMB
    labels = np.zeros(joints, dtype=np.int64)
    newest = 0
    for joint in range(1, joints):
        parent = int(parents[joint])
        parts = below[joint] >= _SHORTEST_LIMB and (long_children[parent] >= 2 or parent == 0)
        newest += parts
        labels[joint] = newest if parts else labels[parent]
    return labels


def single_columns(curves: Array, arms: Array, step: float) -> Basis:
    """Every column that moves by more than a little of `step` on its own."""
    return each_column(np.abs(curves).max(axis=0) * arms > 0.05 * step)


class Spectrum(NamedTuple):
    """Principal directions before they are rounded, a part after the other, strongest first in each.

    Args:
        parts: `(columns,)`, which columns share directions.
        directions: `(columns, modes)`, of unit length in the metric.
        sizes: `(modes,)`, root of the sum of squares over frames, metres.
    """

    parts: Integers
    directions: Array
    sizes: Array


def spectrum(curves: Array, metric: Array, parts: Integers) -> Spectrum:
    """Directions of largest spread in `metric` of curves `(frames, columns)` about their centre."""
    directions, sizes = [], []
    for part in np.unique(parts):
        rows = np.flatnonzero(parts == part)
        root = np.linalg.cholesky(metric[np.ix_(rows, rows)])
        _, spread, vectors = np.linalg.svd(curves[:, rows] @ root, full_matrices=False)
        block = np.zeros((len(parts), len(spread)))
        block[rows] = np.linalg.solve(root.T, vectors.T)
        directions.append(block)
        sizes.append(spread)
    return Spectrum(parts, np.concatenate(directions, axis=1), np.concatenate(sizes))


def principal_directions(found: Spectrum, curves: Array, arms: Array, step: float) -> Basis:
    """Directions rounded as coarsely as `step`, what coefficients are rounded to, allows; strongest first."""
    moving = np.abs(curves).max(axis=0) * arms > 0.05 * step
    kept = found.sizes / step > 0.8
    octaves = np.round(2 * np.log2(np.maximum(found.sizes[kept] / step, 1.0))).astype(np.int64)
    scaled = found.directions[:, kept] * arms[:, None] * 2.0 ** (octaves / 2)
    scaled[~moving] = 0.0
    # Decided part by part, as they will be written.
    of_mode = found.parts[(scaled != 0).argmax(axis=0)]
    entries = np.zeros(scaled.shape, dtype=np.int64)
    for part in np.unique(of_mode):
        block = np.ix_(moving & (found.parts == part), of_mode == part)
        entries[block] = decide(scaled[block], [scaled[block].shape[0]])
    return strongest_first(np.where(moving, found.parts, -1), entries, octaves)


def decide(
    values: Array, sizes: list[int], *, steps: Array | float = 1.0, lagrangian: float = 1.5
) -> Integers:
    """Round coefficients `(frames, curves)` in multiples of `steps` so that error and bits balance.

    Args:
        values, sizes: the coefficients, and sizes of their bands.
        steps: what they are rounded to, broadcast to their shape.
        lagrangian: what a bit is worth in squared error, relative to fine quantisation.
    """
    from marey.body.codec.transform._kernels import decide_bands

    numbers = np.zeros(values.shape, np.int64)
    every = np.ascontiguousarray(np.broadcast_to(steps, values.shape))
    decide_bands(np.ascontiguousarray(values), every, np.array(sizes, np.int64), lagrangian, numbers)
    return numbers


def each_column(moving: NDArray[np.bool_]) -> Basis:
    """Every moving column on its own."""
    count = int(moving.sum())
    parts = np.full(len(moving), -1, dtype=np.int64)
    parts[moving] = np.arange(count)
    return Basis(parts, None, np.zeros(count, dtype=np.int64))


def strongest_first(parts: Integers, entries: Integers, octaves: Integers) -> Basis:
    """The basis with its modes in order, those that are nothing left out."""
    order = np.argsort(-octaves, kind="stable")
    order = order[np.asarray(entries.any(axis=0))[order]]
    return Basis(parts, entries[:, order], octaves[order])
