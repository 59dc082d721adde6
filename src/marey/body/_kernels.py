"""Compiled loops of this package, one thread each.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._arrays import Array
from marey._compiling import njit
from marey.geometry._inline_kernels import exp, product, quaternion, rotate, store, vector

_TREE = types.Array(types.int64, 1, "C", readonly=True)
_GIVEN2 = types.Array(types.float64, 2, "C", readonly=True)
_GIVEN3 = types.Array(types.float64, 3, "C", readonly=True)
_RESULT3 = types.Array(types.float64, 3, "C")
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(types.void(_TREE, _GIVEN3, _GIVEN3, _GIVEN2, _RESULT3, _RESULT3), **_OPTIONS)
def forward(
    parents: NDArray[np.int64], offsets: Array, rotations: Array, root: Array, positions: Array, turned: Array
) -> None:
    """Forward kinematics; `offsets` has one row for all poses or one a pose."""
    sliding = offsets.shape[0] > 1
    for t in range(rotations.shape[0]):
        row = t if sliding else 0
        store(vector(root[t]), positions[t, 0])
        store(quaternion(rotations[t, 0]), turned[t, 0])
        for j in range(1, parents.shape[0]):
            p = parents[j]
            above = quaternion(turned[t, p])
            store(product(above, quaternion(rotations[t, j])), turned[t, j])
            x, y, z = rotate(above, vector(offsets[row, j]))
            positions[t, j, 0] = positions[t, p, 0] + x
            positions[t, j, 1] = positions[t, p, 1] + y
            positions[t, j, 2] = positions[t, p, 2] + z


@njit(**_OPTIONS)
def decode(tangents: Array, mean: Array, cosines: Array, sines: Array, rotations: Array) -> None:
    """Rotations `(characters, joints, 4)` of tangent vectors `(characters, 3 · joints)` at the mean.

    Args:
        cosines: `(characters,)`, of half the yaw that the root is turned by.
        sines: `(characters,)`, likewise.
        rotations: The result.
    """
    for n in range(len(tangents)):
        for j in range(len(mean)):
            store(product(quaternion(mean[j]), exp(vector(tangents[n, 3 * j :]))), rotations[n, j])
        yaw = cosines[n], 0.0, sines[n], 0.0
        store(product(yaw, quaternion(rotations[n, 0])), rotations[n, 0])
