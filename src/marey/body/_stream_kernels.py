"""Compiled decoding of many characters' poses. Imported where it is used, as numba takes a moment to load."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]

_QUICK: Any = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"}}
# Half angles whose sine and cosine a short series has to the last digits.
SMALL = 0.6


@njit(**_QUICK)
def decode(
    tangents: Array, mean: Array, cosines: Array, sines: Array, rotations: Array, first: int, last: int
) -> None:
    """Rotations `(characters, joints, 4)` of tangent vectors `(characters, 3 · joints)` at the mean.

    cosines, sines: `(characters,)`, of half the yaw that the root's rotation is turned by
    first, last: which characters
    """
    joints = len(mean)
    for n in range(first, last):
        for j in range(joints):
            x, y, z = tangents[n, 3 * j], tangents[n, 3 * j + 1], tangents[n, 3 * j + 2]
            square = 0.25 * (x * x + y * y + z * z)
            if square < SMALL * SMALL:
                sine, cosine = _short_sine(square), _short_cosine(square)
            else:
                half = math.sqrt(square)
                sine, cosine = math.sin(half) / half, math.cos(half)
            sine *= 0.5
            x, y, z, w = sine * x, sine * y, sine * z, cosine
            a, b, c, d = mean[j, 0], mean[j, 1], mean[j, 2], mean[j, 3]
            turn = rotations[n, j]
            turn[0] = a * w - b * x - c * y - d * z
            turn[1] = a * x + b * w + c * z - d * y
            turn[2] = a * y - b * z + c * w + d * x
            turn[3] = a * z + b * y - c * x + d * w
        turn = rotations[n, 0]
        c, s = cosines[n], sines[n]
        w, x, y, z = turn[0], turn[1], turn[2], turn[3]
        turn[0], turn[1], turn[2], turn[3] = c * w - s * y, c * x + s * z, c * y + s * w, c * z - s * x


@njit(**_QUICK)
def _short_sine(square: float) -> float:
    """sin(h) / h of h², for h below `SMALL`."""
    last = 1.0 - square / 156.0
    for over in (110.0, 72.0, 42.0, 20.0, 6.0):
        last = 1.0 - square / over * last
    return last


@njit(**_QUICK)
def _short_cosine(square: float) -> float:
    last = 1.0 - square / 132.0
    for over in (90.0, 56.0, 30.0, 12.0, 2.0):
        last = 1.0 - square / over * last
    return last
