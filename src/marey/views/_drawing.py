"""What all software rendering shares: work on all cores, samples of a pixel, tones of the screen."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import NDArray

from marey.views import style


def workers() -> int:
    """Threads that draw at a time."""
    return min(os.cpu_count() or 1, 8)


def shared(work: Callable[[int], None], items: range) -> None:
    """Do `work` for every item, on all cores.

    >>> done = np.zeros(5)
    >>> shared(lambda item: done.__setitem__(item, item), range(5))
    >>> done.tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    for _ in _pool(os.getpid()).map(work, items):
        pass


def sample_offsets(samples: int) -> NDArray[np.float64]:
    """Places of 4 or 8 samples around a pixel's centre, one in each row and column of a fine grid (n rooks).

    >>> sample_offsets(4)[:, 0].tolist()
    [-0.125, 0.375, -0.375, 0.125]
    """
    columns = np.array({4: [1, 3, 0, 2], 8: [1, 5, 3, 7, 0, 4, 2, 6]}[samples])
    return np.stack([(columns + 0.5) / samples - 0.5, (np.arange(samples) + 0.5) / samples - 0.5], axis=1)


@cache
def tones() -> NDArray[np.uint8]:
    """Bytes of the screen for linear light from 0 to 1, `(4096,)`."""
    return np.rint(255 * style.to_srgb(np.linspace(0, 1, 4096))).astype(np.uint8)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    # A pool does not survive a fork, hence one for each process.
    return ThreadPoolExecutor(workers(), thread_name_prefix="marey-views")
