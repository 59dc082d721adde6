"""Tables of transitions to build graphs from: random ones, and a performer of rotating joints."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from marey.statistics.graphs.graph import DistanceMatrix, Windows
from marey.statistics.graphs.transitions import TransitionTable


def random_table(
    lengths: tuple[int, ...] = (14, 11, 17), *, seed: int = 0, shortest: int = 4
) -> TransitionTable:
    """Any costs and lengths, without transitions from the last or to the first frames of a sequence."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    frames = int(starts[-1])
    costs = rng.uniform(0.1, 2.0, (frames, frames)).astype(np.float32)
    times = rng.integers(shortest, 12, (frames, frames)).astype(np.int16)
    for start, end in pairwise(starts):
        costs[end - shortest + 1 : end] = np.inf
        costs[:, start : start + shortest - 1] = np.inf
    times[np.isinf(costs)] = 0
    return TransitionTable(costs, times, times, times, starts, Windows(shortest, 12), "sum")


def performer() -> DistanceMatrix:
    """Mean angles between the joints in six sequences, 450 frames at 24 a second: five gaits, one wanders."""
    rng = np.random.default_rng(3)
    joints = 12

    def smooth(count: int, tau: float, size: int) -> np.ndarray:
        noise = rng.normal(size=(count + 200, size))
        decay = np.exp(-np.arange(200) / tau)
        decay /= np.sqrt((decay**2).sum())
        columns = [
            np.convolve(np.convolve(column, decay)[: count + 200], decay)[: count + 200] for column in noise.T
        ]
        found = np.stack(columns, 1)[200:]
        return found / found.std(0)

    harmonics = rng.normal(size=(joints, 3, 4)) * 0.35

    def gait(count: int, rate: float, size: float, bias: np.ndarray | float, phase: float) -> np.ndarray:
        angle = 2 * np.pi * rate * np.arange(count) / 24 + phase
        waves = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)], 1)
        swing = size * np.einsum("th,jch->tjc", waves, harmonics) + bias
        return swing + 0.03 * smooth(count, 3, joints * 3).reshape(count, joints, 3)

    def bias(size: float) -> np.ndarray:
        return size * rng.normal(size=(1, joints, 3))

    sequences = [
        gait(80, 1.0, 1, 0, 0),
        gait(60, 1.5, 1.4, bias(0.1), 0.6),
        gait(70, 1.05, 1, bias(0.15), 1.0),
        gait(70, 0.95, 1, bias(0.15), 2.0),
        gait(60, 0.6, 0.6, bias(0.3), 2.5),
        0.5 * smooth(110, 6, joints * 3).reshape(110, joints, 3),
    ]
    turns = np.concatenate(sequences)
    angle = np.linalg.norm(turns, axis=-1, keepdims=True)
    quaternions = np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * turns / angle], -1)
    cosines = np.abs(np.einsum("ajc,bjc->jab", quaternions, quaternions)).clip(0, 1)
    values = (2 * np.arccos(cosines)).mean(0)
    np.fill_diagonal(values, 0)
    values = (values + values.T) / 2
    starts = np.concatenate([[0], np.cumsum([len(one) for one in sequences])])
    return DistanceMatrix(values, 0 * values, starts, tuple("abcdef"), "skeleton")
