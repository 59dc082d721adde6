"""Compiled loops of this package, one thread each.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]

_TREE = types.Array(types.int64, 1, "C", readonly=True)
_GIVEN2 = types.Array(types.float64, 2, "C", readonly=True)
_GIVEN3 = types.Array(types.float64, 3, "C", readonly=True)
_RESULT3 = types.Array(types.float64, 3, "C")
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(types.void(_TREE, _GIVEN3, _GIVEN3, _GIVEN2, _RESULT3, _RESULT3), **_OPTIONS)
def forward(
    parents: NDArray[np.int64],
    offsets: Array,
    rotations: Array,
    root: Array,
    positions: Array,
    turned: Array,
) -> None:
    """Forward kinematics; `offsets` has one row for all poses or one a pose."""
    sliding = offsets.shape[0] > 1
    for t in range(rotations.shape[0]):
        row = t if sliding else 0
        for i in range(3):
            positions[t, 0, i] = root[t, i]
        for i in range(4):
            turned[t, 0, i] = rotations[t, 0, i]
        for j in range(1, parents.shape[0]):
            p = parents[j]
            aw, ax, ay, az = turned[t, p, 0], turned[t, p, 1], turned[t, p, 2], turned[t, p, 3]
            bw, bx, by, bz = rotations[t, j, 0], rotations[t, j, 1], rotations[t, j, 2], rotations[t, j, 3]
            turned[t, j, 0] = aw * bw - ax * bx - ay * by - az * bz
            turned[t, j, 1] = aw * bx + ax * bw + ay * bz - az * by
            turned[t, j, 2] = aw * by - ax * bz + ay * bw + az * bx
            turned[t, j, 3] = aw * bz + ax * by - ay * bx + az * bw
            vx, vy, vz = offsets[row, j, 0], offsets[row, j, 1], offsets[row, j, 2]
            tx, ty, tz = 2.0 * (ay * vz - az * vy), 2.0 * (az * vx - ax * vz), 2.0 * (ax * vy - ay * vx)
            positions[t, j, 0] = positions[t, p, 0] + (vx + aw * tx + (ay * tz - az * ty))
            positions[t, j, 1] = positions[t, p, 1] + (vy + aw * ty + (az * tx - ax * tz))
            positions[t, j, 2] = positions[t, p, 2] + (vz + aw * tz + (ax * ty - ay * tx))
