"""Kernels of the planter: the points of a leg, how they move with its unknowns, and their normal equations.

A leg is a chain of joints from the hip, three of which turn by rotation vectors; its unknowns are the root's
shift and these vectors, 12 numbers. O(frames) each. Importing this module imports numba: do so inside
functions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Integers
from marey._compiling import njit
from marey.body.limits._kernels import OPTIONS, limit
from marey.geometry import _inline_kernels as inline

Chain = tuple[Array, Array, Array, Array, Integers, Integers]
LimitRows = tuple[int, Integers, Array, Array]


@njit(**OPTIONS)
def add_leg(
    band: Array, right: Array, columns: Integers, chain: Chain, limits: LimitRows, change: Array,
    bounds: tuple[Array, Array], contact: NDArray[np.bool_], slide: float,
    weights: tuple[float, float, float],
) -> None:  # fmt: skip
    """Add the equations of a leg to those of all unknowns.

    Args:
        band: `(frames · unknowns, 2 unknowns + 1)`, lower diagonals of the normal matrix, a row a column of
            it.
        right: `(frames, unknowns)`, right side.
        columns: `(12,)`, which unknowns of a frame are the leg's.
        chain: Rotation above, hip, local rotations, offsets, which joint turns and is a point, or −1.
        limits: Kind, which row limits each of the three joints, or −1; centres and parameters of the rows.
        change: `(frames, unknowns)`, solved for so far.
        bounds: Least and greatest heights of points, `(frames, points)` each, metres.
        contact: `(frames, points)`.
        slide: Metres that a point in contact may move in a frame.
        weights: Of the steps of points in contact, of heights, of limits.
    """
    frames, unknowns = change.shape
    points = contact.shape[1]
    places, before = np.zeros((points, 3)), np.zeros((points, 3))
    slopes, slopes_before = np.zeros((points, 3, 12)), np.zeros((points, 3, 12))
    over, turning = np.zeros(3), np.zeros((3, 3))
    own, row = np.zeros(12), np.zeros(24)
    where = np.zeros(24, dtype=np.int64)
    for frame in range(frames):
        # What was computed for the frame before is kept, and its place used again.
        places, before = before, places
        slopes, slopes_before = slopes_before, slopes
        for i in range(12):
            own[i] = change[frame, columns[i]]
            where[i] = (frame - 1) * unknowns + columns[i]
            where[12 + i] = frame * unknowns + columns[i]
        leg_frame(chain, frame, own, limits, places, slopes, over, turning)
        for point in range(points):
            height = places[point, 1]
            wrong = height - min(max(height, bounds[0][frame, point]), bounds[1][frame, point])
            if wrong != 0.0:
                for i in range(12):
                    row[12 + i] = slopes[point, 1, i]
                _add_row(band, right, where, row, 12, wrong, weights[1])
        for joint in range(3):
            # A joint that was brought to its limit before may be beyond it by rounding.
            if over[joint] > 1e-9:
                for i in range(12):
                    own_joint = i // 3 == joint + 1
                    row[12 + i] = turning[joint, i % 3] if own_joint else 0.0
                _add_row(band, right, where, row, 12, over[joint], weights[2])
        if frame == 0:
            continue
        for point in range(points):
            if contact[frame, point] and contact[frame - 1, point]:
                x = places[point, 0] - before[point, 0]
                z = places[point, 2] - before[point, 2]
                part = max(1.0 - slide / max(math.sqrt(x * x + z * z), 1e-12), 0.0)
                for axis, step in ((0, x), (2, z)):
                    for i in range(12):
                        row[i], row[12 + i] = -slopes_before[point, axis, i], slopes[point, axis, i]
                    _add_row(band, right, where, row, 0, part * step, weights[0])


@njit(**OPTIONS)
def leg_frame(
    chain: Chain, frame: int, own: Array, limits: LimitRows, places: Array, slopes: Array, over: Array,
    turning: Array,
) -> None:  # fmt: skip
    """A leg in one frame with its unknowns `own` `(12,)`.

    Args:
        chain, limits: As in :func:`add_leg`.
        frame: Which frame.
        own: Shift of the root, metres, and rotation vectors of hip, knee and ankle, radians.
        places, slopes: Results `(points, 3)` and `(points, 3, 12)`: the foot's points, metres, and how they
            move with the unknowns.
        over, turning: Results `(3,)` and `(3, 3)`: excess over each joint's limit, and how it changes with
            the joint's vector.
    """
    above, hip, local, offsets, turns, points = chain
    kind, limited, centres, parameters = limits
    whole = inline.quaternion(above[frame])
    x, y, z = hip[frame, 0] + own[0], hip[frame, 1] + own[1], hip[frame, 2] + own[2]
    axes, pivots = np.empty((3, 3, 3)), np.empty((3, 3))
    met = 0
    for number in range(len(turns)):
        if number:
            dx, dy, dz = inline.rotate(whole, inline.vector(offsets[frame, number - 1]))
            x, y, z = x + dx, y + dy, z + dz
        point = points[number]
        if point >= 0:
            inline.store((x, y, z), places[point])
            slopes[point] = 0.0
            for i in range(3):
                slopes[point, i, i] = 1.0
            for joint in range(met):
                rx, ry, rz = x - pivots[joint, 0], y - pivots[joint, 1], z - pivots[joint, 2]
                for i in range(3):
                    a, b, c = axes[joint, 0, i], axes[joint, 1, i], axes[joint, 2, i]
                    slopes[point, 0, 3 + 3 * joint + i] = rz * b - ry * c
                    slopes[point, 1, 3 + 3 * joint + i] = rx * c - rz * a
                    slopes[point, 2, 3 + 3 * joint + i] = ry * a - rx * b
        here = inline.quaternion(local[frame, number])
        joint = turns[number]
        if joint < 0:
            whole = inline.product(whole, here)
            continue
        turned_by = inline.vector(own[3 + 3 * joint :])
        turn, first, second = inline.exp_and_factors(turned_by)
        spread = inline.hat_polynomial(turned_by, -first, second)
        turned = inline.product(here, turn)
        whole = inline.product(whole, turned)
        world = inline.matrix_product(inline.matrix(whole), spread)
        for i in range(3):
            inline.store(world[i], axes[joint, i])
        inline.store((x, y, z), pivots[joint])
        met = joint + 1
        over[joint] = 0.0
        if limited[joint] >= 0:
            at = limited[joint]
            over[joint], slope = limit(kind, turned, inline.quaternion(centres[at]), parameters[at])
            inline.store(inline.row_times(slope, spread), turning[joint])


@njit(**OPTIONS)
def _add_row(
    band: Array, right: Array, where: Integers, row: Array, first: int, value: float, weight: float
) -> None:
    """Add the equation that the row times the step is minus the value."""
    flat = right.ravel()
    for i in range(first, 24):
        heavy = weight * row[i]
        if heavy == 0.0:
            continue
        flat[where[i]] -= heavy * value
        for j in range(first, 24):
            below = where[i] - where[j]
            if below >= 0:
                band[where[j], below] += heavy * row[j]
