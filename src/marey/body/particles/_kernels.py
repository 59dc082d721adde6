"""Compiled steps of all particles within joint limits of swing and twist, in one thread.

Limits are centres `(joints, 4)` and parameters `(joints, 10)` of :mod:`marey.body.limits._kernels`.
Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marey._arrays import Array
from marey._compiling import njit
from marey.body.limits._kernels import confined, joined, parts
from marey.geometry._inline_kernels import conjugate, log_between, quaternion, rotate, store, turn, vector

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# Draws of a joint that may fall outside its limits before one is reflected into them.
DRAWS = 8


@njit(**_OPTIONS)
def propose(
    rotations: Array, deviations: Array, centres: Array, limits: Array, rng: np.random.Generator, out: Array
) -> None:
    """A noisy step of every joint of every particle, redrawn until it is within the joint's limits.

    Args:
        rotations, out: `(particles, joints, 4)`.
        deviations: `(joints, 3)`, radians, in the limits' frames.
    """
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            q, centre, p = quaternion(rotations[n, j]), quaternion(centres[j]), limits[j]
            x, y, z = vector(deviations[j])
            new = q
            for attempt in range(DRAWS if x > 0.0 or y > 0.0 or z > 0.0 else 0):
                vx = x * rng.standard_normal() if x > 0.0 else 0.0
                vy = y * rng.standard_normal() if y > 0.0 else 0.0
                vz = z * rng.standard_normal() if z > 0.0 else 0.0
                new = turn(q, rotate(quaternion(p), (vx, vy, vz)))
                inside, twist, a, b = confined(parts(new, centre, p), p, True)
                if inside:
                    break
                if attempt == DRAWS - 1:
                    new = joined(twist, a, b, centre, p)
            store(new, out[n, j])


@njit(**_OPTIONS)
def move(rotations: Array, vectors: Array, centres: Array, limits: Array, reflect: bool, out: Array) -> None:
    """Turn every joint by a vector `(particles, joints, 3)` in the frame of its limits.

    What leaves the limits is reflected, or stays at them; `vectors` become what was really done.
    """
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            q, v = quaternion(rotations[n, j]), vector(vectors[n, j])
            centre, p = quaternion(centres[j]), limits[j]
            new = q
            if v[0] != 0.0 or v[1] != 0.0 or v[2] != 0.0:
                new = turn(q, rotate(quaternion(p), v))
                inside, twist, a, b = confined(parts(new, centre, p), p, reflect)
                if not inside:
                    new = joined(twist, a, b, centre, p)
                    store(rotate(conjugate(quaternion(p)), log_between(q, new)), vectors[n, j])
            store(new, out[n, j])
