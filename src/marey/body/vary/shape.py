"""A random tempo, a clip at other times, and a clip closed to a loop. All smooth in time and O(frames)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, FloatArray
from marey.body.motion import Motion
from marey.body.root_motion import about_y, yaw
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous
from marey.geometry.fades import minimum_jerk

# Seconds over which the tempo changes, and over which a loop is closed; the least speed at which time runs.
TEMPO, CLOSE, SLOWEST = 0.7, 0.3, 0.4


def tempo(
    frames: int, frame_rate: float, amount: float, kept: NDArray[np.intp], rng: np.random.Generator
) -> Array:
    """Where in the clip each frame is taken from, `(frames,)`: rising, with the ends and `kept` in place.

    Args:
        frames, frame_rate: Of the clip.
        amount: Standard deviation of the speed at which time runs, 0 for none.
        kept: Frames that stay in place.
        rng: Of the tempo.
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


def retime(motion: Motion, places: Array) -> Motion:
    """The clip with each frame taken from a place between its frames, without overshoot."""
    from scipy.interpolate import PchipInterpolator

    frames = np.arange(motion.frames)

    def at(values: FloatArray) -> Array:
        return np.asarray(PchipInterpolator(frames, values, axis=0)(places))

    translations = None if motion.translations is None else at(motion.translations)
    rotations = so3.normalise(at(continuous(motion.rotations)))
    return replace(motion, rotations=rotations, root=at(motion.root), translations=translations)


def close(motion: Motion) -> Motion:
    """The clip whose last pose is its first, wherever it is then: both go half the way, smoothly."""
    facing = about_y(yaw(motion))
    poses = np.array(motion.rotations, dtype=np.float64)
    poses[:, 0] = so3.multiply(so3.inverse(facing), poses[:, 0])
    long = max(1, min(round(CLOSE * motion.frame_rate), motion.frames // 2))
    away = np.arange(motion.frames)
    start = 0.5 * (1 - minimum_jerk(np.minimum(away / long, 1.0)))
    end = start[::-1]
    to_last = so3.log(so3.multiply(so3.inverse(poses[0]), poses[-1]))
    to_first = so3.log(so3.multiply(so3.inverse(poses[-1]), poses[0]))
    turned = so3.multiply(poses, so3.exp(start[:, None, None] * to_last + end[:, None, None] * to_first))
    turned[:, 0] = so3.multiply(facing, turned[:, 0])
    root = np.array(motion.root, dtype=np.float64)
    root[:, 1] += (start - end) * (root[-1, 1] - root[0, 1])
    return replace(motion, rotations=continuous(so3.normalise(turned)), root=root)
