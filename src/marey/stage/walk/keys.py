"""Which frames of walking bodies a file has to keep: as few as stay within millimetres between them.

Programs blend rotations along the shorter arc between keys. For every person and joint the widest spacing is
taken whose blends end no farther than the tolerance from the pose, measured at the end of the limb that the
joint carries. Cost: a blend of all rotations for each spacing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey.stage.walk.crowd import WalkingCrowd

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

SPACINGS = (8, 4, 2, 1)
"""Frames from one key to the next, the widest first."""

LOOSE, TIGHT = 0.025, 0.001
"""Metres by which the end of an arm, and a leg or the root, may be off: feet must not slide."""


def spacings(crowd: WalkingCrowd) -> Ints:
    """Frames between keys `(people, joints + 1)`: of each joint's rotation and, last, of the root's place."""
    arms = lever_arms(crowd)
    legs = _of_legs(crowd)
    found = np.empty((crowd.people, crowd.skeleton.joints + 1), np.int64)
    for joint in range(crowd.skeleton.joints):
        turns = np.asarray(crowd.rotations[:, :, joint], np.float32)
        most = (TIGHT if joint in legs or joint == 0 else LOOSE) / (arms[joint] * crowd.sizes)
        found[:, joint] = _widest(turns, most, crowd.present, turning=True)
    places = np.asarray(crowd.roots, np.float32)
    found[:, -1] = _widest(places, np.full(crowd.people, TIGHT), crowd.present, turning=False)
    return found


def played(crowd: WalkingCrowd) -> WalkingCrowd:
    """The crowd as a file with these keys plays it."""
    rotations, roots = np.empty_like(crowd.rotations), np.empty_like(crowd.roots)
    chosen = spacings(crowd)
    for joint in range(crowd.skeleton.joints + 1):
        for spacing in np.unique(chosen[:, joint]).tolist():
            mine = np.flatnonzero(chosen[:, joint] == spacing)
            if joint < crowd.skeleton.joints:
                rotations[:, mine, joint] = _blended(crowd.rotations[:, mine, joint], spacing, turning=True)
            else:
                roots[:, mine] = _blended(crowd.roots[:, mine], spacing, turning=False)
    return replace(crowd, rotations=rotations, roots=roots)


def grid(frames: int, spacing: int) -> Ints:
    """Frames that are kept, with the last one.

    >>> grid(10, 4).tolist()
    [0, 4, 8, 9]
    """
    return np.unique(np.append(np.arange(0, frames, spacing), frames - 1))


def lever_arms(crowd: WalkingCrowd) -> Array:
    """Metres from each joint to the farthest one below it, `(joints,)`; last ones are 10 cm long."""
    skeleton = crowd.skeleton
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    arms = np.full(skeleton.joints, 0.10)
    for joint in range(skeleton.joints - 1, 0, -1):
        parent = int(skeleton.parents[joint])
        arms[parent] = max(arms[parent], arms[joint] + lengths[joint])
    return arms


def _of_legs(crowd: WalkingCrowd) -> set[int]:
    from marey.body.two_bone import legs

    return {joint for leg in legs(crowd.skeleton) for joint in (leg.hip, leg.knee, leg.ankle)}


def _widest(values: NDArray[np.float32], most: Array, present: NDArray[np.bool_], *, turning: bool) -> Ints:
    """The widest spacing `(people,)` whose blends of `(frames, people, n)` stay within `most` `(people,)`."""
    chosen = np.full(values.shape[1], SPACINGS[-1])
    undecided = np.arange(values.shape[1])
    for spacing in SPACINGS[:-1]:
        some = values[:, undecided]
        off = np.linalg.norm(_blended(some, spacing, turning=turning) - some, axis=-1)
        # The angle is twice that between quaternions.
        off = np.where(present[:, undecided], 2 * off if turning else off, 0.0).max(axis=0)
        good = off <= most[undecided]
        chosen[undecided[good]] = spacing
        undecided = undecided[~good]
    return chosen


def _blended(values: NDArray[np.float32], spacing: int, *, turning: bool) -> NDArray[np.float32]:
    """Values `(frames, people, n)` as they are between keys of a spacing."""
    frames = len(values)
    keys, at = grid(frames, spacing), np.arange(frames)
    low = np.searchsorted(keys, at, side="right") - 1
    before, after = keys[low], keys[np.minimum(low + 1, len(keys) - 1)]
    share = ((at - before) / np.maximum(after - before, 1)).astype(np.float32)[:, None, None]
    blend = (1 - share) * values[before] + share * values[after]
    if turning:
        # Keys are near each other: the straight blend, made unit, is the arc.
        blend /= np.linalg.norm(blend, axis=-1, keepdims=True)
    return np.asarray(blend, np.float32)
