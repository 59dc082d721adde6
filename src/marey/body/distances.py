"""Pose distances of skeletons between all frames of clips (Boukhayma 2017, eqs 2.15-2.16).

Heading is no part of a pose: for each pair, one frame is turned about the vertical so that the roots come
nearest. Cost: about 12 ns a joint and pair, 2 s for 2,600 frames of 31 joints; a block of rows at a time
beside the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array, checked, read_only
from marey._work import Progress
from marey.errors import InputError
from marey.geometry import rotations
from marey.statistics.graphs.graph import DistanceMatrix


def geodesic(
    clips: Sequence[ArrayLike],
    *,
    names: Sequence[str] = (),
    weights: ArrayLike | None = None,
    root: int | None = 0,
    progress: Progress | None = None,
) -> DistanceMatrix:
    """Sum over the joints of the angles between their rotations, radians, for all pairs of frames.

    Args:
        clips: quaternions `(frames, joints, 4)` of each clip, every joint's relative to its parent.
        names: of the clips; numbered if not given.
        weights: `(joints,)`; 1 each if not given. With 1 / joints the distances are mean angles, as those of
            surfaces are, and what suits graphs of surfaces suits them too.
        root: the joint that is turned with the whole body; None if none is.
        progress: called with frames done and their number.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=1)
    >>> turned = walk.transform(rotation=[0.6, 0, 0.8, 0])
    >>> apart = geodesic([walk.rotations, turned.rotations], names=("walk", "turned"))
    >>> bool(apart.between(0, 1).diagonal().max() < 1e-5), apart.metric
    (True, 'skeleton')
    """
    if not len(clips):
        raise InputError("skeleton distances: there is no clip")
    if names and len(names) != len(clips):
        raise InputError(f"names: {len(names)} for {len(clips)} clips; give one each, or none")
    parts = [checked(f"clip {k}", clip, (None, None, 4)) for k, clip in enumerate(clips)]
    joints = parts[0].shape[1]
    for k, part in enumerate(parts):
        if len(part) == 0 or part.shape[1] != joints:
            raise InputError(
                f"clip {k}: {len(part)} frames of {part.shape[1]} joints; each needs a frame or more of "
                f"{joints} joints, as the first has"
            )
    share = np.ones(joints) if weights is None else checked("weights", weights, (joints,))
    if (share < 0).any():
        raise InputError("weights: they may not be negative")
    if root is not None and not 0 <= root < joints:
        raise InputError(f"root: joint {root}; there are joints 0…{joints - 1}, or None")
    poses = rotations.normalise(np.concatenate(parts))
    frames = len(poses)
    values, turns = np.zeros((2, frames, frames), np.float32)
    for rows in _work.blocks(frames, 64 * frames):
        apart = np.zeros((rows.stop - rows.start, frames - rows.start))
        for joint in range(joints):
            here, there = poses[rows, joint], poses[rows.start :, joint]
            near = np.abs(here @ there.T)
            if joint == root:
                near, turns[rows, rows.start :] = _turned_nearest(here, there)
            apart += 2.0 * share[joint] * np.arccos(np.minimum(near, 1.0))
        values[rows, rows.start :] = apart
        if progress is not None:
            progress(rows.stop, frames)
    values, turns = np.triu(values, 1), np.triu(turns, 1)
    return DistanceMatrix(
        read_only(values + values.T),
        read_only(turns - turns.T),
        np.cumsum([0, *(len(part) for part in parts)]),
        tuple(names) or tuple(f"sequence-{k + 1}" for k in range(len(clips))),
        "skeleton",
    )


def _turned_nearest(here: Array, there: Array) -> tuple[Array, Array]:
    """Cosine of half the angle left between two roots when the second is turned best, and that turn.

    Of the rotation from one to the other, w and y alone can be undone about the vertical.
    """
    w = here @ there.T
    y = here[:, [2, 3, 0, 1]] * [1.0, -1.0, -1.0, 1.0] @ there.T
    angles = 2.0 * np.arctan2(y, w)
    return np.hypot(w, y), np.asarray(angles - 2.0 * np.pi * np.round(angles / (2.0 * np.pi)))
