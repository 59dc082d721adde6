"""Sampling clips at other times: which frames, and values in between.

Times are counted in frames of the clip ("positions"), so a whole number means a captured frame, which is
then copied bit by bit. Rotations in between are `rotations.slerp`'s business; this is for what lives in a
vector space. Cost: one pass over the values that come out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import AnyArray
from marey.errors import InputError

# More frames than a day at 100 per second: a slip of the pen, not a clip.
MOST_FRAMES = 10_000_000


def sample_positions(frames: int, rate_in: float, rate_out: float) -> NDArray[np.float64]:
    """Where the frames of a clip at `rate_out` lie among those at `rate_in`, `(new_frames,)`.

    The first frame stays the first; none lies after the last.

    >>> sample_positions(4, 30.0, 60.0)
    array([0. , 0.5, 1. , 1.5, 2. , 2.5, 3. ])
    >>> sample_positions(4, 30.0, 20.0)
    array([0. , 1.5, 3. ])
    """
    for rate in (rate_in, rate_out):
        if not (np.isfinite(rate) and rate > 0):
            raise InputError(f"frame rate: must be positive and finite, got {rate}")
    count = np.floor((frames - 1) * (rate_out / rate_in) + 1e-9) + 1
    if count > MOST_FRAMES:
        raise InputError(
            f"frame rate: {rate_out:g} per second would make {count:.3g} frames; at most {MOST_FRAMES:.0e}"
        )
    positions = np.arange(int(count)) * (rate_in / rate_out)
    whole = np.rint(positions)
    positions = np.where(np.abs(positions - whole) < 1e-6, whole, positions)
    return np.asarray(np.minimum(positions, frames - 1))


def linear(values: ArrayLike, positions: ArrayLike) -> AnyArray:
    """`values` `(frames, ...)` at fractional frames, along straight lines: `(len(positions), ...)`.

    float32 stays float32; anything else becomes float64.

    >>> linear([[0.0, 10.0], [1.0, 30.0]], [0.0, 0.25, 1.0])
    array([[ 0.  , 10.  ],
           [ 0.25, 15.  ],
           [ 1.  , 30.  ]])
    """
    source = np.asarray(values)
    source = source.astype(np.float32 if source.dtype == np.float32 else np.float64, copy=False)
    first, fraction = neighbours(len(source), positions)
    below = source[first]
    step = source[first + (fraction > 0)]
    step -= below
    step *= fraction.astype(source.dtype).reshape(-1, *(1,) * (source.ndim - 1))
    step += below
    return step


def neighbours(frames: int, positions: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The frame at or before each position, and the fraction in [0, 1) of the step to the next one.

    >>> neighbours(3, [0.0, 0.25, 2.0])
    (array([0, 0, 2]), array([0.  , 0.25, 0.  ]))
    """
    at = np.asarray(positions, dtype=np.float64)
    if frames < 1 or at.ndim != 1 or not ((at >= 0) & (at <= frames - 1)).all():
        raise InputError(f"positions: must be a list of numbers in 0…{frames - 1}")
    first = np.floor(at).astype(np.int64)
    return first, at - first


def nearest(frames: int, positions: ArrayLike) -> NDArray[np.int64]:
    """The frame nearest to each position (the later one of two), for what cannot be blended.

    >>> nearest(3, [0.0, 0.4, 0.5, 2.0])
    array([0, 0, 1, 2])
    """
    first, fraction = neighbours(frames, positions)
    return first + (fraction >= 0.5)
