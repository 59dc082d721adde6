"""What keeps a variant possible: joints within their range, feet at the ground, time that runs on.

A range is left softly and by a tenth at most; the figure is lowered or raised until its feet are as near the
ground as the example's; a small random change of tempo leaves every pose and path as it is. All smooth in
time and O(frames).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, FloatArray
from marey.body.contacts import feet
from marey.body.motion import Motion
from marey.body.root_travel import heading
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous

# Part of its range by which a number may leave it.
BEYOND = 0.1
# Radians: a turn whose logarithm is well told from the other way round.
MOST_TURN = 3.1
# Seconds over which the height is corrected, and over which the tempo changes.
SETTLE, TEMPO = 0.12, 0.7
# Seconds over which a loop is closed.
CLOSE = 0.3
# Least speed at which time runs.
SLOWEST = 0.4


def within_range(values: Array, low: Array, high: Array, *, beyond: float = BEYOND) -> Array:
    """Values, those outside their range brought near it: as they were inside, then ever less beyond.

    >>> within_range(np.array([0.5, 1.0, 1.1, 9.0]), np.array(0.0), np.array(1.0)).round(3).tolist()
    [0.5, 1.0, 1.063, 1.1]
    """
    room = np.maximum(beyond * (high - low), 1e-12)
    over, under = np.maximum(values - high, 0.0), np.maximum(low - values, 0.0)
    eased = np.clip(values, low, high) + room * (np.exp(-under / room) - np.exp(-over / room))
    return np.asarray(eased)


def limited(rotations: Array, mean: Array, low: Array, high: Array) -> Array:
    """Rotations `(frames, joints, 4)` whose logarithms at `mean` `(joints, 4)` stay in their range."""
    turns = so3.log(so3.multiply(so3.inverse(mean), rotations))
    # A turn beyond half a turn is one the other way round: the one nearer to the range is meant.
    angle = np.linalg.norm(turns, axis=-1, keepdims=True)
    other = turns * (1 - 2 * np.pi / np.maximum(angle, 1e-9))
    away, away_other = (
        np.linalg.norm(t - np.clip(t, low, high), axis=-1, keepdims=True) for t in (turns, other)
    )
    kept = within_range(np.where(away_other < away, other, turns), low, high)
    size = np.linalg.norm(kept, axis=-1, keepdims=True)
    kept = kept * np.minimum(1.0, MOST_TURN / np.maximum(size, 1e-9))
    changed = np.abs(kept - turns).max(axis=-1, keepdims=True) > 0
    return np.where(changed, so3.multiply(mean, so3.exp(kept)), rotations)


def grounded(motion: Motion, example: Motion, levels: Array) -> Motion:
    """The clip moved up or down where its feet are lower or higher than the example's ever were."""
    joints = list(feet(motion.skeleton))
    if not joints:
        return motion
    usual = (example.positions()[:, joints, 1] - levels).min(axis=1)
    lowest = (motion.positions()[:, joints, 1] - levels).min(axis=1)
    shift = np.clip(lowest, usual.min(), usual.max()) - lowest
    if not shift.any():
        return motion
    from scipy.ndimage import gaussian_filter1d

    smooth = gaussian_filter1d(shift, SETTLE * motion.frame_rate, mode="nearest")
    root = np.array(motion.root, dtype=np.float64)
    root[:, 1] += smooth
    return replace(motion, root=root)


def tempo(
    frames: int, frame_rate: float, amount: float, kept: NDArray[np.intp], rng: np.random.Generator
) -> Array:
    """Where in the clip each frame is taken from, `(frames,)`: rising, with the ends and `kept` in place.

    amount: standard deviation of the speed at which time runs, 0 for none
    """
    fixed = np.unique(np.concatenate([[0, frames - 1], kept])).astype(np.intp)
    if amount <= 0 or frames < 4:
        return np.arange(frames, dtype=np.float64)
    from scipy.interpolate import CubicSpline
    from scipy.ndimage import gaussian_filter1d

    width = TEMPO * frame_rate
    noise = gaussian_filter1d(rng.standard_normal(frames), width, mode="reflect")
    logs = amount * noise / max(float(noise.std()), 1e-12)
    # What all speeds share is taken out below; if large, it would overflow here.
    speed = np.exp(logs - max(float(logs.max()) - 50.0, 0.0))
    clock = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]))])
    late = (
        CubicSpline(fixed, clock[fixed] - fixed)(np.arange(frames))
        if len(fixed) > 2
        else np.interp(np.arange(frames), fixed, clock[fixed] - fixed)
    )
    warped = clock - late
    warped[fixed] = fixed
    # Time never stands still: a change that would stop it is made smaller.
    slowest = float(np.diff(warped).min())
    share = min(1.0, (1 - SLOWEST) / max(1 - slowest, 1e-12))
    plain = np.arange(frames, dtype=np.float64)
    return np.asarray(np.clip(plain + share * (warped - plain), 0, frames - 1))


def retimed(motion: Motion, places: Array) -> Motion:
    """The clip with each frame taken from a place between its frames, without overshoot."""
    from scipy.interpolate import PchipInterpolator

    frames = np.arange(motion.frames)

    def at(values: FloatArray) -> Array:
        return np.asarray(PchipInterpolator(frames, values, axis=0)(places))

    translations = None if motion.translations is None else at(motion.translations)
    rotations = so3.normalise(at(continuous(motion.rotations)))
    return replace(motion, rotations=rotations, root=at(motion.root), translations=translations)


def closed(motion: Motion) -> Motion:
    """The clip whose last pose is its first, wherever it then stands: both go half the way, smoothly."""
    yaw = heading(motion)
    facing = so3.exp(np.stack([np.zeros_like(yaw), yaw, np.zeros_like(yaw)], axis=-1))
    poses = np.array(motion.rotations, dtype=np.float64)
    poses[:, 0] = so3.multiply(so3.inverse(facing), poses[:, 0])
    long = max(1, min(round(CLOSE * motion.frame_rate), motion.frames // 2))
    away = np.arange(motion.frames)
    start = 0.25 * (1 + np.cos(np.pi * np.minimum(away / long, 1.0)))
    end = start[::-1]
    to_last = so3.log(so3.multiply(so3.inverse(poses[0]), poses[-1]))
    to_first = so3.log(so3.multiply(so3.inverse(poses[-1]), poses[0]))
    turned = so3.multiply(poses, so3.exp(start[:, None, None] * to_last + end[:, None, None] * to_first))
    turned[:, 0] = so3.multiply(facing, turned[:, 0])
    root = np.array(motion.root, dtype=np.float64)
    root[:, 1] += (start - end) * (root[-1, 1] - root[0, 1])
    return replace(motion, rotations=continuous(so3.normalise(turned)), root=root)
