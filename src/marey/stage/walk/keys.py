"""Which frames of walking bodies a file has to keep: as few as stay within millimetres between them.

Programs interpolate rotations along the shorter arc between keys. For every person and joint the widest
spacing is taken whose interpolation stays within a tolerance of the pose, measured at the end of the limb
that the joint carries. Cost: an interpolation of all rotations for each spacing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Integers
from marey.stage.walk.crowd import WalkingCrowd
from marey.stage.walk.figure import figure

Floats = NDArray[np.float32]

SPACINGS = (8, 4, 2, 1)
"""Frames from one key to the next, the widest first."""

LOOSE, TIGHT = 0.025, 0.001
"""Tolerance in metres at the end of an arm, and of a leg or the root: feet must not slide."""


def spacings(crowd: WalkingCrowd) -> Integers:
    """Frames between keys `(people, joints + 1)`: of the joints' rotations and, last, the root's position."""
    tight = {0, *(joint for leg in figure().legs for joint in leg[:3])}
    found = np.empty((crowd.people, crowd.skeleton.joints + 1), np.int64)
    for joint, arm in enumerate(_lever_arms(crowd)):
        # The angle is twice that between quaternions.
        tolerance = 0.5 * (TIGHT if joint in tight else LOOSE) / (arm * crowd.sizes)
        found[:, joint] = _widest(crowd.rotations[:, :, joint], tolerance, crowd.present)
    found[:, -1] = _widest(crowd.roots, np.full(crowd.people, TIGHT), crowd.present)
    return found


def played(crowd: WalkingCrowd) -> WalkingCrowd:
    """The crowd as a file with these keys plays it."""
    rotations, roots = np.empty_like(crowd.rotations), np.empty_like(crowd.roots)
    chosen = spacings(crowd)
    for spacing in SPACINGS:
        for joint in range(crowd.skeleton.joints):
            mine = np.flatnonzero(chosen[:, joint] == spacing)
            rotations[:, mine, joint] = _interpolated(crowd.rotations[:, mine, joint], spacing)
        mine = np.flatnonzero(chosen[:, -1] == spacing)
        roots[:, mine] = _interpolated(crowd.roots[:, mine], spacing)
    return replace(crowd, rotations=rotations, roots=roots)


def grid(frames: int, spacing: int) -> Integers:
    """Frames that are kept, with the last one.

    >>> grid(10, 4).tolist()
    [0, 4, 8, 9]
    """
    return np.unique(np.append(np.arange(0, frames, spacing), frames - 1))


def _lever_arms(crowd: WalkingCrowd) -> Array:
    """Metres from each joint to the farthest one below it, `(joints,)`; last ones are 10 cm long."""
    skeleton = crowd.skeleton
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    arms = np.full(skeleton.joints, 0.10)
    for joint in range(skeleton.joints - 1, 0, -1):
        parent = int(skeleton.parents[joint])
        arms[parent] = max(arms[parent], arms[joint] + lengths[joint])
    return arms


def _widest(values: Floats, tolerance: Array, present: NDArray[np.bool_]) -> Integers:
    """The widest spacing `(people,)` at which values `(frames, people, n)` stay within `(people,)`."""
    chosen = np.full(values.shape[1], SPACINGS[-1])
    undecided = np.arange(values.shape[1])
    for spacing in SPACINGS[:-1]:
        some = values[:, undecided]
        error = np.linalg.norm(_interpolated(some, spacing) - some, axis=-1)
        good = np.where(present[:, undecided], error, 0.0).max(axis=0) <= tolerance[undecided]
        chosen[undecided[good]] = spacing
        undecided = undecided[~good]
    return chosen


def _interpolated(values: Floats, spacing: int) -> Floats:
    """Rotations `(frames, people, 4)` or positions `(frames, people, 3)` between keys of a spacing."""
    keys, at = grid(len(values), spacing), np.arange(len(values))
    low = np.searchsorted(keys, at, side="right") - 1
    before, after = keys[low], keys[np.minimum(low + 1, len(keys) - 1)]
    share = ((at - before) / np.maximum(after - before, 1)).astype(np.float32)[:, None, None]
    between = (1 - share) * values[before] + share * values[after]
    if values.shape[-1] == 4:
        # Keys are near each other: the straight line, made unit, is the arc.
        between /= np.linalg.norm(between, axis=-1, keepdims=True)
    return np.asarray(between, np.float32)
