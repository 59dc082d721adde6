"""Smooth transitions from 0 to 1 and around marked frames. Cost: one pass."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError

Number = TypeVar("Number", float, Array)


def minimum_jerk(x: Number) -> Number:
    """The curve from 0 at x = 0 to 1 at x = 1 of least squared jerk; 0 before and 1 after.

    Velocity and acceleration are 0 at both ends (Flash and Hogan 1985).

    >>> float(minimum_jerk(0.5)), minimum_jerk(np.array([0.0, 0.25, 2.0])).round(4)
    (0.5, array([0.    , 0.1035, 1.    ]))
    """
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2)


def fade(mask: ArrayLike, frames: int) -> Array:
    """1 where the mask `(frames,)` is true, falling smoothly to 0 over so many frames on both sides.

    >>> fade([False, False, False, True, True, False], 2).round(3).tolist()
    [0.0, 0.21, 0.79, 1.0, 1.0, 0.79]
    """
    inside = np.asarray(mask, dtype=bool)
    if inside.ndim != 1 or frames < 0:
        raise InputError("fade: a mask of one row, and a number of frames that is not negative")
    return minimum_jerk(1.0 - distance_to(inside) / (frames + 1))


def distance_to(mask: ArrayLike) -> Array:
    """How many places each entry of a mask `(frames,)` is away from the nearest true one; inf if none is.

    >>> distance_to([False, False, True, False]).tolist()
    [2.0, 1.0, 0.0, 1.0]
    """
    marked = np.flatnonzero(np.asarray(mask, dtype=bool))
    if not len(marked):
        return np.full(len(np.asarray(mask)), np.inf)
    places = np.arange(len(np.asarray(mask)))
    after = np.searchsorted(marked, places)
    following, before = marked[np.minimum(after, len(marked) - 1)], marked[np.maximum(after - 1, 0)]
    return np.asarray(np.minimum(np.abs(following - places), np.abs(places - before)).astype(float))
