"""What a careful user writes in NumPy: quaternion products, exponentials, logarithms; and a stopwatch."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np


def fastest(*functions: Callable[[], object], repeats: int = 9) -> list[float]:
    """Least CPU seconds of one call of each, the contenders taking turns."""
    best = [np.inf] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.process_time()
            function()
            best[i] = min(best[i], time.process_time() - start)
    return best


def plain_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def plain_exp(vectors: np.ndarray) -> np.ndarray:
    half = 0.5 * np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vectors], axis=-1)


def plain_log(q: np.ndarray) -> np.ndarray:
    q = np.where(q[..., :1] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    return np.divide(angle, sine, out=np.full_like(angle, 2.0), where=sine > 0.0) * q[..., 1:]
