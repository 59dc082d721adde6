"""People who come and go: sampling and differentiating their paths without inventing anything.

Two samples of one person belong together when they are no further apart than that recording usually
samples (its annotation stride). Nothing is interpolated over a longer absence, nothing is extrapolated.
Cost: a few passes over `(frames, agents)`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, FloatArray

CELLS_AT_A_TIME = 2_000_000


def is_present(positions: FloatArray) -> BoolArray:
    """Who is there when, `(frames, agents)`."""
    return np.asarray(np.isfinite(positions).all(axis=-1))


def annotation_stride(present: BoolArray) -> int:
    """The most common distance in frames between two samples of one agent.

    >>> annotation_stride(np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]], dtype=bool))
    2
    """
    agent, frame = np.nonzero(present.T)
    gaps = np.diff(frame)[np.diff(agent) == 0]
    return int(np.bincount(gaps).argmax()) if len(gaps) else 1


def resample(positions: FloatArray, at: ArrayLike) -> NDArray[np.float64]:
    """Paths `(frames, agents, 2)` at fractional frames `at` `(n,)`, along straight lines: `(n, agents, 2)`.

    >>> walk = np.array([[[0.0, 0.0]], [[1.0, 0.0]], [[np.nan, np.nan]], [[3.0, 0.0]]])
    >>> resample(walk, [0.5, 1.0, 1.5, 3.0])[:, 0, 0]
    array([0.5, 1. , nan, 3. ])
    """
    times = np.asarray(at, dtype=np.float64)
    stride = annotation_stride(is_present(positions))
    sampled = np.empty((len(times), positions.shape[1], 2))
    for block in _blocks_of_agents(max(len(positions), len(times)), positions.shape[1]):
        sampled[:, block] = _resample(positions[:, block], times, stride)
    return sampled


def velocities(positions: FloatArray, frame_rate: float) -> NDArray[np.float64]:
    """Metres per second `(frames, agents, 2)`: central differences, one-sided where someone comes or goes.

    NaN where an agent is absent, or is seen in one frame only.

    >>> velocities(np.array([[[0.0, 0.0]], [[1.0, 0.0]], [[3.0, 0.0]]]), 10.0)[:, 0, 0]
    array([10., 15., 20.])
    """
    stride = annotation_stride(is_present(positions))
    speeds = np.empty(positions.shape)
    for block in _blocks_of_agents(*positions.shape[:2]):
        speeds[:, block] = _velocities(positions[:, block], frame_rate, stride)
    return speeds


def _resample(positions: FloatArray, times: NDArray[np.float64], stride: int) -> NDArray[np.float64]:
    frames = len(positions)
    present = is_present(positions)
    before = _last_present(present)[np.floor(times).astype(np.int64)]
    after = _next_present(present)[np.ceil(times).astype(np.int64)]
    known = (before >= 0) & (after < frames) & (after - before <= stride)
    before, after = np.where(known, before, 0), np.where(known, after, 0)
    share = (times[:, None] - before) / np.maximum(after - before, 1)
    start = np.take_along_axis(positions, before[..., None], axis=0)
    end = np.take_along_axis(positions, after[..., None], axis=0)
    between = np.asarray(start + share[..., None] * (end - start))
    between[~known] = np.nan
    return between


def _velocities(positions: FloatArray, frame_rate: float, stride: int) -> NDArray[np.float64]:
    frames = len(positions)
    present = is_present(positions)
    here = np.arange(frames)[:, None]
    before = np.full(present.shape, -1)
    before[1:] = _last_present(present)[:-1]
    after = np.full(present.shape, frames)
    after[:-1] = _next_present(present)[1:]
    before = np.where((before >= 0) & (here - before <= stride), before, here)
    after = np.where((after < frames) & (after - here <= stride), after, here)
    known = present & (after > before)
    span = np.where(known, after - before, 1) / frame_rate
    end = np.take_along_axis(positions, after[..., None], axis=0)
    start = np.take_along_axis(positions, before[..., None], axis=0)
    speeds = np.asarray((end - start) / span[..., None])
    speeds[~known] = np.nan
    return speeds


def _blocks_of_agents(frames: int, agents: int) -> Iterator[slice]:
    """Agents in blocks whose temporary arrays stay small."""
    size = max(1, CELLS_AT_A_TIME // frames)
    return (slice(start, start + size) for start in range(0, agents, size))


def _last_present(present: BoolArray) -> NDArray[np.int64]:
    """Frame at or before each one in which the agent is there; -1 = none."""
    index = np.where(present, np.arange(len(present))[:, None], -1)
    return np.maximum.accumulate(index, axis=0)


def _next_present(present: BoolArray) -> NDArray[np.int64]:
    """Frame at or after each one in which the agent is there; `frames` = none."""
    index = np.where(present, np.arange(len(present))[:, None], len(present))
    return np.asarray(np.minimum.accumulate(index[::-1], axis=0)[::-1])
