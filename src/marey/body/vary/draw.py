"""Draws of a clip's coordinates from its distribution, with key frames and modes kept.

The deviation is an angle φ between the clip and a new draw: x' = trend + cos φ · (x − trend) + sin φ · s.
Both have the same distribution, so x' has it too at every φ; at 0 it is the clip, at 90° all is simulated as
in Courty & Cuzol 2010, section 6.2. Kept numbers ask s for tan(φ/2) times what they are in the clip. Cost: a
draw's. A random tempo, and a clip closed to a loop, are smooth in time and O(frames).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, FloatArray
from marey.body.dynamics import fit_autoregression
from marey.body.motion import Motion
from marey.body.root_motion import about_y, yaw
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk
from marey.statistics.autoregression import condition
from marey.statistics.processes.example import ExampleProcess
from marey.statistics.processes.process import LinearConstraint
from marey.statistics.processes.trend import Trend

Seeds = Sequence[np.random.SeedSequence]

METHODS = ("joint", "gp")
# If constraints exceed this share of the degrees of freedom, the autoregressive model is used.
CROWDED = 0.5


def draw(
    rest: Array,
    frame_rate: float,
    *,
    seeds: Seeds,
    deviation: float,
    kept_frames: NDArray[np.intp],
    kept_modes: int = 0,
    conditions: Sequence[LinearConstraint] = (),
    method: str = "joint",
) -> Array:
    """New series `(draws, frames, modes)` about the trend.

    Args:
        rest: `(frames, modes)`, the clip's coordinates about the trend.
        frame_rate: Frames a second.
        seeds: One for each draw.
        deviation: 0 (the clip) … 1 (all new).
        kept_frames, kept_modes: Frames, and the first modes, that stay as they are.
        conditions: Weighted sums of frames that the result must have.
        method: "joint" or "gp", see :func:`marey.body.vary.vary`.
    """
    frames, modes = rest.shape
    angle = 0.5 * np.pi * deviation
    if deviation == 0.0 or kept_modes >= modes or len(kept_frames) == frames:
        return np.repeat(rest[None], len(seeds), axis=0)
    wanted = np.tan(0.5 * angle) * rest
    cos, sin = np.cos(angle), np.sin(angle)
    asked = [
        LinearConstraint(c.frames, c.weights, (np.asarray(c.value, float) - cos * c.of(rest)) / sin)
        for c in conditions
    ]
    if method == "gp":
        drawn = _independent(rest, frame_rate, wanted, kept_frames, asked, seeds)
        drawn[:, :, :kept_modes] = wanted[:, :kept_modes]
    else:
        pins = [LinearConstraint(np.array([frame]), np.ones(1), wanted[frame]) for frame in kept_frames]
        process = ExampleProcess.of(rest, taper=taper(frames, frame_rate))
        constraints = (len(pins) + len(asked)) * modes
        if kept_modes == 0 and constraints <= CROWDED * process.degrees_of_freedom(frames):
            drawn = process.sample(frames, rngs=seeds, constraints=[*pins, *asked])
        else:
            drawn = _autoregressive(rest, wanted, kept_frames, kept_modes, asked, seeds)
    made = cos * rest + sin * drawn
    made[:, kept_frames] = rest[kept_frames]
    made[:, :, :kept_modes] = rest[:, :kept_modes]
    return np.asarray(made)


def taper(frames: int, frame_rate: float) -> float:
    """Share of a clip that fades at each end of its process: a tenth, and 0.3 s of a short one."""
    return float(np.clip(0.3 * frame_rate / frames, 0.1, 0.5))


def _autoregressive(
    rest: Array,
    wanted: Array,
    kept_frames: NDArray[np.intp],
    kept_modes: int,
    asked: Sequence[LinearConstraint],
    seeds: Seeds,
) -> Array:
    """Draws of the joint autoregression given whole modes, or many key frames."""
    known = np.full_like(rest, np.nan)
    known[:, :kept_modes] = wanted[:, :kept_modes]
    known[kept_frames] = wanted[kept_frames]
    conditional = condition(fit_autoregression(rest), known)
    if asked:
        modes = rest.shape[1]
        rows = np.zeros((len(asked), modes, *rest.shape))
        for row, functional in zip(rows, asked, strict=True):
            for frame, weight in np.stack([functional.frames, functional.weights], axis=1):
                row[np.arange(modes), int(frame), np.arange(modes)] += weight
        values = np.concatenate([np.broadcast_to(np.asarray(f.value, float), (modes,)) for f in asked])
        conditional = conditional.condition(rows.reshape(-1, *rest.shape), values)
    return np.stack([conditional.sample(np.random.default_rng(seed)) for seed in seeds])


def _independent(
    rest: Array,
    frame_rate: float,
    wanted: Array,
    kept_frames: NDArray[np.intp],
    asked: Sequence[LinearConstraint],
    seeds: Seeds,
) -> Array:
    """Draws of Courty & Cuzol (2010, section 5): a squared exponential process for each mode by itself."""
    from marey.statistics.processes.process import GaussianProcesses

    frames, modes = rest.shape
    level = Trend(np.zeros((1, modes)), (frames - 1) / frame_rate, 0, 0, None)
    processes = GaussianProcesses.fit(rest, frame_rate, kernel="se", trend=level)
    known = np.zeros(frames, dtype=bool)
    known[kept_frames] = True
    given = processes.condition(wanted, known, constraints=asked)
    return np.concatenate([given.sample(1, rng=np.random.default_rng(seed)) for seed in seeds])


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
    plain, off = np.arange(frames, dtype=np.float64), clock[fixed] - fixed
    warped = clock - (CubicSpline(fixed, off)(plain) if len(fixed) > 2 else np.interp(plain, fixed, off))
    warped[fixed] = fixed
    # Time never stands still: a change that would stop it is made smaller.
    share = min(1.0, (1 - SLOWEST) / max(1 - float(np.diff(warped).min()), 1e-12))
    return np.asarray(np.clip(plain + share * (warped - plain), 0, frames - 1))


def retime(motion: Motion, places: Array) -> Motion:
    """The clip with each frame taken from a place between its frames."""
    from scipy.interpolate import CubicSpline

    frames = np.arange(motion.frames)

    def at(values: FloatArray) -> Array:
        return np.asarray(CubicSpline(frames, values, axis=0)(places))

    translations = None if motion.translations is None else at(motion.translations)
    rotations = so3.normalise(at(so3.continuous(motion.rotations)))
    return replace(motion, rotations=rotations, root=at(motion.root), translations=translations)


def close(motion: Motion) -> Motion:
    """The clip whose last pose is its first, wherever it is then: both go halfway, smoothly."""
    facing = about_y(yaw(motion))
    poses = np.array(motion.rotations, dtype=np.float64)
    poses[:, 0] = so3.multiply(so3.inverse(facing), poses[:, 0])
    long = max(1, min(round(CLOSE * motion.frame_rate), motion.frames // 2))
    start = 0.5 * (1 - minimum_jerk(np.minimum(np.arange(motion.frames) / long, 1.0)))
    end = start[::-1]
    to_last = so3.log(so3.multiply(so3.inverse(poses[0]), poses[-1]))
    to_first = so3.log(so3.multiply(so3.inverse(poses[-1]), poses[0]))
    turned = so3.multiply(poses, so3.exp(start[:, None, None] * to_last + end[:, None, None] * to_first))
    turned[:, 0] = so3.multiply(facing, turned[:, 0])
    root = np.array(motion.root, dtype=np.float64)
    root[:, 1] += (start - end) * (root[-1, 1] - root[0, 1])
    return replace(motion, rotations=so3.continuous(so3.normalise(turned)), root=root)
