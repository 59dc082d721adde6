"""Draws of a clip's coordinates from its distribution, with key frames and modes kept.

The deviation is an angle φ between the clip and a new draw: x' = trend + cos φ · (x − trend) + sin φ · s.
Both have the same distribution, so x' has it too at every φ; at 0 it is the clip, at 90° all is simulated as
in Courty & Cuzol 2010, section 6.2. Kept numbers ask s for tan(φ/2) times what they are in the clip. Cost: a
draw's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.dynamics import fit_autoregression
from marey.errors import InputError
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
    asked = [
        LinearConstraint(
            c.frames, c.weights, (np.asarray(c.value, float) - np.cos(angle) * c.of(rest)) / np.sin(angle)
        )
        for c in conditions
    ]
    if method == "gp":
        drawn = _independent(rest, frame_rate, wanted, kept_frames, asked, seeds)
        drawn[:, :, :kept_modes] = wanted[:, :kept_modes]
    elif method == "joint":
        pins = [LinearConstraint(np.array([frame]), np.ones(1), wanted[frame]) for frame in kept_frames]
        process = ExampleProcess.of(rest)
        constraints = (len(pins) + len(asked)) * modes
        if kept_modes == 0 and constraints <= CROWDED * process.degrees_of_freedom(frames):
            drawn = process.sample(frames, rngs=seeds, constraints=[*pins, *asked])
        else:
            drawn = _autoregressive(rest, wanted, kept_frames, kept_modes, asked, seeds)
    else:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    made = np.cos(angle) * rest + np.sin(angle) * drawn
    made[:, kept_frames] = rest[kept_frames]
    made[:, :, :kept_modes] = rest[:, :kept_modes]
    return np.asarray(made)


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
        for i, functional in enumerate(asked):
            for frame, weight in zip(
                np.asarray(functional.frames), np.asarray(functional.weights), strict=True
            ):
                rows[i, np.arange(modes), frame, np.arange(modes)] += weight
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
