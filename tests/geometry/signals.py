"""The test signal with three quick transitions, and noise on it."""

from __future__ import annotations

import numpy as np

from marey.geometry import rotations as so3


def quick_transitions() -> np.ndarray:
    """150 rotations at 100 Hz: slow swings about x and z, jumps about y within three samples."""
    i = np.arange(150.0)
    t = i / 100.0

    def jump(centre: float) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-(i - centre) / 0.6))

    y = 1.2 * (jump(40) - jump(80)) + 0.9 * jump(115)
    return so3.exp(np.stack([0.8 * np.sin(1.4 * np.pi * t), y, 0.3 * np.cos(2 * np.pi * t)], axis=1))


def shaken(rotations: np.ndarray, std: float, seed: int) -> np.ndarray:
    """Each rotation followed by one of a rotation vector with normal components."""
    noise = np.random.default_rng(seed).normal(scale=std, size=(*rotations.shape[:-1], 3))
    return so3.multiply(rotations, so3.exp(noise))


def rms_degrees(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.sqrt((so3.distance(a, b) ** 2).mean())))


def peak_ratio(rotations: np.ndarray, truth: np.ndarray) -> float:
    """Largest step between samples over that of the truth."""
    largest = [so3.distance(q[1:], q[:-1]).max() for q in (rotations, truth)]
    return float(largest[0] / largest[1])


def wander(frames: int, seed: int, *, series: tuple[int, ...] = (), step: float = 0.15) -> np.ndarray:
    """A random walk of rotations, `(frames, *series, 4)`."""
    rng = np.random.default_rng(seed)
    q = [so3.random(series, rng=rng)]
    for _ in range(frames - 1):
        q.append(so3.multiply(q[-1], so3.exp(rng.normal(scale=step, size=(*series, 3)))))
    return np.stack(q)
