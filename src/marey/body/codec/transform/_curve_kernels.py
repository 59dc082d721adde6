"""Compiled loop that puts modes together to curves. Importing this imports numba.

Some nanoseconds a sample; sums are in a fixed order, so that every machine decodes the same curves.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array
from marey._compiling import njit


@njit(cache=True, nogil=True, error_model="numpy")
def combine(modes: Array, directions: Array, curves: Array) -> None:
    """Add to `curves` `(frames, columns)` the modes `(frames, modes)` along directions `(modes, columns)`."""
    count, columns = directions.shape
    first = np.zeros(count, np.int64)
    last = np.zeros(count, np.int64)
    for k in range(count):
        for c in range(columns):
            if directions[k, c] != 0.0:
                if last[k] == 0:
                    first[k] = c
                last[k] = c + 1
    for t in range(curves.shape[0]):
        for k in range(count):
            value = modes[t, k]
            for c in range(first[k], last[k]):
                curves[t, c] += value * directions[k, c]
