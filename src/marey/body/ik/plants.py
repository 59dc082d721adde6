"""Feet that stand: when a joint rests, and targets that hold it there.

A joint is planted while it is slow and near its lowest; its target is where it stood on average, and fades
in and out over a few frames so that nothing pops. One pass over the clip.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array
from marey.body.ik.targets import Reach, find_point
from marey.body.kinematics import forward_kinematics, points_on
from marey.body.motion import Motion
from marey.errors import InputError


def plants(
    motion: Motion,
    joints: Sequence[str],
    *,
    speed: float = 0.25,
    height: float = 0.08,
    shortest: float = 0.1,
    fade: float = 0.06,
    weight: float = 1.0,
) -> list[Reach]:
    """Targets that hold joints where and while they stand, one a joint.

    speed: metres a second below which it stands
    height: metres above its lowest place up to which it can stand
    shortest: seconds that it must stand
    fade: seconds over which a target comes and goes

    >>> import marey
    >>> feet = plants(marey.samples.walk(), ["LeftToeBase", "RightToeBase"])
    >>> [target.joint for target in feet]
    ['LeftToeBase', 'RightToeBase']
    """
    pose = forward_kinematics(motion)
    targets = []
    for name in joints:
        joint, local = find_point(motion.skeleton, name)
        places = points_on(pose, [joint], local[None])[:, 0]
        standing = _standing(places, motion.frame_rate, speed, height, shortest)
        goal, share = np.full_like(places, np.nan), np.zeros(len(places))
        for a, b in runs(standing):
            alone = np.zeros(len(places), dtype=bool)
            alone[a:b] = True
            here = ramps(alone, max(1, round(fade * motion.frame_rate)))
            goal[here > share] = places[a:b].mean(axis=0)
            share = np.maximum(share, here)
        targets.append(Reach(name, goal, weight=weight * share))
    return targets


def ramps(mask: ArrayLike, frames: int) -> Array:
    """1 where the mask is true, falling smoothly to 0 over so many frames on both sides.

    >>> ramps([False, False, False, True, True, False], 2).round(3).tolist()
    [0.0, 0.25, 0.75, 1.0, 1.0, 0.75]
    """
    given = np.asarray(mask, dtype=bool)
    if given.ndim != 1 or frames < 0:
        raise InputError("ramps: a mask of one row, and a number of frames that is not negative")
    if not given.any():
        return np.zeros(len(given))
    inside = np.flatnonzero(given)
    after = np.searchsorted(inside, np.arange(len(given)))
    to_next = np.abs(inside[np.minimum(after, len(inside) - 1)] - np.arange(len(given)))
    to_last = np.abs(np.arange(len(given)) - inside[np.maximum(after - 1, 0)])
    away = np.where(given, 0, np.minimum(to_next, to_last))
    return np.asarray(0.5 * (1 + np.cos(np.pi * np.minimum(away / (frames + 1), 1.0))))


def runs(mask: ArrayLike) -> list[tuple[int, int]]:
    """First and one past the last of each run of true values.

    >>> runs([True, True, False, True])
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(mask, dtype=np.int8), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _standing(places: Array, rate: float, speed: float, height: float, shortest: float) -> NDArray[np.bool_]:
    if len(places) < 2:
        return np.ones(len(places), dtype=bool)
    velocity = np.gradient(places, axis=0) * rate
    low = places[:, 1] < np.percentile(places[:, 1], 2) + height
    standing = low & (np.linalg.norm(velocity, axis=1) < speed)
    for a, b in runs(standing):
        if b - a < shortest * rate:
            standing[a:b] = False
    return np.asarray(standing)
