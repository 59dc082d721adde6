"""What all software rendering shares: samples of a pixel, tones of the screen."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from marey.geometry.colour import to_srgb


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
    return np.rint(255 * to_srgb(np.linspace(0, 1, 4096))).astype(np.uint8)
