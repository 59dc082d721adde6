"""Pose distances of skeletons, for captured motion and as the ground truth of others (Boukhayma 2017, eqs 2.1
and 2.15-2.16).

What a body faces is no part of its pose: before two frames are compared, one is turned about the vertical.
The geodesic distance does so for each pair by the turn that brings the roots nearest, the distance of Euler
angles by taking every root's own heading away. Cost: about 12 ns a joint and pair, 2 s for 2,600 frames of 31
joints; a block of rows at a time beside the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked, read_only
from marey._progress import Progress
from marey.errors import InputError
from marey.geometry import euler, rotations
from marey.statistics.graphs.clips import DistanceMatrix

Array = NDArray[np.float64]

# Rows of the matrix worked out at a time.
BLOCK = 64
VERTICAL = (0.0, 1.0, 0.0)


def geodesic(
    clips: Sequence[ArrayLike],
    *,
    names: Sequence[str] = (),
    weights: ArrayLike | None = None,
    root: int | None = 0,
    progress: Progress | None = None,
) -> DistanceMatrix:
    """Sum over the joints of the angles between their rotations, radians, for all pairs of frames.

    clips: quaternions `(frames, joints, 4)` of each sequence, every joint's relative to its parent
    names: of the sequences; numbered if not given
    weights: `(joints,)`; 1 each if not given. With 1 / joints the distances are mean angles, as those of
        surfaces are, and what suits graphs of surfaces suits them too.
    root: the joint that is turned with the whole body; None if none is

    >>> import marey
    >>> walk = marey.samples.walk(seconds=1)
    >>> turned = walk.transform(rotation=[0.6, 0, 0.8, 0])
    >>> apart = geodesic([walk.rotations, turned.rotations], names=("walk", "turned"))
    >>> bool(apart.between(0, 1).diagonal().max() < 1e-5), apart.metric
    (True, 'skeleton')
    """
    joined, starts = _joined(clips)
    frames, joints = joined.shape[:2]
    share = np.ones(joints) if weights is None else checked("weights", weights, (joints,))
    if (share < 0).any():
        raise InputError("weights: they may not be negative")
    _check_root(root, joints)

    def block(rows: slice) -> tuple[Array, Array]:
        distances = np.zeros((rows.stop - rows.start, frames - rows.start))
        turns = np.zeros_like(distances)
        for joint in np.flatnonzero(share):
            here, there = joined[rows, joint], joined[rows.start :, joint]
            if joint == root:
                near, turns = _turned_nearest(here, there)
            else:
                near = np.abs(here @ there.T)
            distances += (2.0 * share[joint]) * np.arccos(np.minimum(near, 1.0, out=near))
        if root is not None and share[root] == 0:
            turns = _turned_nearest(joined[rows, root], joined[rows.start :, root])[1]
        return distances, turns

    values, turns = _all_pairs(frames, block, progress)
    return DistanceMatrix(values, turns, starts, _names(names, len(clips)), "skeleton")


def euler_angles(
    clips: Sequence[ArrayLike],
    *,
    order: str = "ZYX",
    names: Sequence[str] = (),
    root: int | None = 0,
    progress: Progress | None = None,
) -> DistanceMatrix:
    """Root of the summed squares of the differences between all joints' Euler angles, radians, all pairs.

    Near gimbal lock angles differ much where rotations do not: for new work :func:`geodesic` is the better.

    clips, names, root: as in :func:`geodesic`
    order: of the angles, e.g. "ZYX"; differences are taken the short way round

    >>> import marey
    >>> walk = marey.samples.walk(seconds=1)
    >>> euler_angles([walk.rotations]).metric
    'euler'
    """
    joined, starts = _joined(clips)
    frames, joints = joined.shape[:2]
    _check_root(root, joints)
    headings = np.zeros(frames)
    if root is not None:
        swing, twist = _without_heading(joined[:, root])
        joined = np.array(joined)
        joined[:, root] = swing
        headings = 2.0 * np.arctan2(twist[:, 2], twist[:, 0])
    angles = np.ascontiguousarray(euler.to_euler(joined, order).reshape(frames, 3 * joints).T)

    def block(rows: slice) -> tuple[Array, Array]:
        squares = np.zeros((rows.stop - rows.start, frames - rows.start))
        for line in angles:
            apart = np.abs(line[rows, None] - line[rows.start :])
            squares += np.minimum(apart, 2.0 * np.pi - apart) ** 2
        return np.sqrt(squares), _principal(headings[rows, None] - headings[rows.start :])

    values, turns = _all_pairs(frames, block, progress)
    return DistanceMatrix(values, turns, starts, _names(names, len(clips)), "euler")


def _all_pairs(
    frames: int, block: Callable[[slice], tuple[Array, Array]], progress: Progress | None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The matrices of distances and of turns, from blocks of rows that begin at the diagonal."""
    values = np.zeros((frames, frames), np.float32)
    turns = np.zeros((frames, frames), np.float32)
    for start in range(0, frames, BLOCK):
        rows = slice(start, min(start + BLOCK, frames))
        values[rows, start:], turns[rows, start:] = block(rows)
        if progress is not None:
            progress(rows.stop, frames)
    values, turns = np.triu(values, 1), np.triu(turns, 1)
    return read_only(values + values.T), read_only(turns - turns.T)


def _turned_nearest(here: Array, there: Array) -> tuple[Array, Array]:
    """Cosine of half the angle left between two roots when the second is turned best, and that turn.

    Of the rotation from one to the other, w and y alone can be undone about the vertical.
    """
    w = here @ there.T
    y = here[:, [2, 3, 0, 1]] * [1.0, -1.0, -1.0, 1.0] @ there.T
    return np.hypot(w, y), _principal(2.0 * np.arctan2(y, w))


def _without_heading(roots: Array) -> tuple[Array, Array]:
    """Roots `(frames, 4)` with their turn about the vertical taken away, and that turn."""
    _, twist = rotations.swing_twist(rotations.inverse(roots), VERTICAL)
    heading = rotations.inverse(twist)
    return rotations.multiply(twist, roots), heading


def _principal(angles: Array) -> Array:
    """The same angles in -pi…pi."""
    return np.asarray(angles - 2.0 * np.pi * np.round(angles / (2.0 * np.pi)))


def _joined(clips: Sequence[ArrayLike]) -> tuple[Array, NDArray[np.int64]]:
    if not len(clips):
        raise InputError("skeleton distances: there is no sequence")
    parts = [checked(f"sequence {k}", clip, (None, None, 4)) for k, clip in enumerate(clips)]
    for k, part in enumerate(parts):
        if len(part) == 0 or part.shape[1] != parts[0].shape[1]:
            raise InputError(
                f"sequence {k}: {len(part)} frames of {part.shape[1]} joints; each needs a frame or more of "
                f"{parts[0].shape[1]} joints, as the first has"
            )
    return rotations.normalise(np.concatenate(parts)), np.cumsum([0, *(len(part) for part in parts)])


def _names(names: Sequence[str], count: int) -> tuple[str, ...]:
    if names and len(names) != count:
        raise InputError(f"names: {len(names)} for {count} sequences; give one each, or none")
    return tuple(names) or tuple(f"sequence-{k + 1}" for k in range(count))


def _check_root(root: int | None, joints: int) -> None:
    if root is not None and not 0 <= root < joints:
        raise InputError(f"root: joint {root}; there are joints 0…{joints - 1}, or None")
