"""How differently speeds and directions of two crowds are distributed (Jensen–Shannon; Lin 1991)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BINS = 36


def speed_histogram(motion: Array, top: float) -> Array:
    """Of velocities `(n, 2)`, up to `top`, what is faster in the last bin; `(36,)`."""
    speeds = np.linalg.norm(motion, axis=-1)
    return np.histogram(np.minimum(speeds, top), bins=BINS, range=(0, top or 1.0))[0].astype(np.float64)


def direction_histogram(motion: Array, slowest: float) -> Array:
    """Of velocities `(n, 2)` faster than `slowest`; `(36,)`."""
    moving = motion[np.linalg.norm(motion, axis=-1) > slowest]
    angles = np.arctan2(moving[:, 1], moving[:, 0])
    return np.histogram(angles, bins=BINS, range=(-np.pi, np.pi))[0].astype(np.float64)


def jensen_shannon(first: Array, second: Array) -> float:
    """Distance of two histograms, 0 to 1: the root of the divergence in bits.

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 3.0]))
    1.0
    """
    if first.sum() == 0 or second.sum() == 0:
        return float((first.sum() > 0) != (second.sum() > 0))
    p, q = first / first.sum(), second / second.sum()
    middle = 0.5 * (p + q)

    def to_middle(one: Array) -> float:
        some = one > 0
        return float(np.sum(one[some] * np.log2(one[some] / middle[some])))

    return float(np.sqrt(max(0.5 * (to_middle(p) + to_middle(q)), 0.0)))
