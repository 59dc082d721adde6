"""Compiled loops of the BVH reader: rows of channels to poses.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np

from marey._arrays import Array, Integers
from marey._compiling import njit

# A product and a sum may be rounded once instead of twice.
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}

# Adding and taking off 1.5 * 2^52 rounds to a whole number.
_ROUNDS = 6755399441055744.0


@njit(**_OPTIONS)
def pose(
    rows: Array,
    first_frame: int,
    starts: Integers,
    codes: Integers,
    offsets: Array,
    tolerance: float,
    rotations: Array,
    root: Array,
    translations: Array,
) -> bool:
    """Local rotations and positions of the frames in `rows`; whether a joint other than the root slides.

    rows: `(n, columns)`, degrees and lengths
    starts: `(joints + 1,)`, column of each joint's first channel
    codes: `(columns,)`, 0-2 for a position along x, y, z, 3-5 for a rotation about it
    rotations `(frames, joints, 4)`, root `(frames, 3)`, translations `(frames or 0, joints, 3)`: the
        results, from `first_frame` on; `translations` without frames is left alone
    tolerance: how far from its offset a joint may lie before it counts as sliding
    """
    slides = False
    keeps = translations.shape[0] > 0
    moves = np.zeros(offsets.shape[0], dtype=np.bool_)
    for joint in range(offsets.shape[0]):
        for column in range(starts[joint], starts[joint + 1]):
            moves[joint] |= codes[column] < 3
    place = np.empty(3)
    cosines, sines = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for row in range(rows.shape[0]):
        frame = first_frame + row
        _half_angles(rows[row], cosines, sines)
        for joint in range(offsets.shape[0]):
            w, x, y, z = 1.0, 0.0, 0.0, 0.0
            for column in range(starts[joint], starts[joint + 1]):
                code = codes[column]
                c, s = cosines[column], sines[column]
                if code == 3:
                    w, x, y, z = w * c - x * s, x * c + w * s, y * c + z * s, z * c - y * s
                elif code == 4:
                    w, x, y, z = w * c - y * s, x * c - z * s, y * c + w * s, z * c + x * s
                elif code == 5:
                    w, x, y, z = w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s
            if frame > 0:
                before = rotations[frame - 1, joint]
                if before[0] * w + before[1] * x + before[2] * y + before[3] * z < 0.0:
                    w, x, y, z = -w, -x, -y, -z
            rotations[frame, joint, 0] = w
            rotations[frame, joint, 1] = x
            rotations[frame, joint, 2] = y
            rotations[frame, joint, 3] = z
            if not (moves[joint] or keeps or joint == 0):
                continue
            for axis in range(3):
                place[axis] = offsets[joint, axis]
            for column in range(starts[joint], starts[joint + 1]):
                if codes[column] < 3:
                    place[codes[column]] = rows[row, column]
            for axis in range(3):
                if joint == 0:
                    root[frame, axis] = place[axis]
                elif abs(place[axis] - offsets[joint, axis]) > tolerance:
                    slides = True
                if keeps:
                    translations[frame, joint, axis] = place[axis]
    return slides


@njit(**_OPTIONS)
def _half_angles(degrees: Array, cosines: Array, sines: Array) -> None:
    """Cosines and sines of half of each angle, to the last bit or two; a loop of plain sums and products.

    Whole half turns are taken off exactly, in degrees; the rest, at most 45 degrees when halved, goes
    through the Taylor series up to x^16.
    """
    large = 0
    for i in range(degrees.shape[0]):
        large += abs(degrees[i]) > 1e9
        turns = degrees[i] * (1.0 / 180.0) + _ROUNDS - _ROUNDS
        x = (degrees[i] - 180.0 * turns) * (math.pi / 360.0)
        y = x * x
        sine = -7.647163731819816e-13 * y + 1.605904383682161e-10
        sine = sine * y - 2.505210838544172e-08
        sine = sine * y + 2.755731922398589e-06
        sine = sine * y - 1.984126984126984e-04
        sine = sine * y + 8.333333333333333e-03
        sine = sine * y - 1.666666666666667e-01
        sine = x + x * (sine * y)
        cosine = 4.779477332387385e-14 * y - 1.147074559772972e-11
        cosine = cosine * y + 2.087675698786810e-09
        cosine = cosine * y - 2.755731922398589e-07
        cosine = cosine * y + 2.480158730158730e-05
        cosine = cosine * y - 1.388888888888889e-03
        cosine = cosine * y + 4.166666666666666e-02
        cosine = cosine * y - 0.5
        cosine = cosine * y + 1.0
        quarter = turns - 4.0 * (0.25 * turns - 0.375 + _ROUNDS - _ROUNDS)
        crossed = quarter == 1.0 or quarter == 3.0
        cosines[i] = (sine if crossed else cosine) * (-1.0 if quarter == 1.0 or quarter == 2.0 else 1.0)
        sines[i] = (cosine if crossed else sine) * (-1.0 if quarter >= 2.0 else 1.0)
    if large:
        for i in range(degrees.shape[0]):
            if abs(degrees[i]) > 1e9:
                angle = (degrees[i] % 720.0) * (math.pi / 360.0)
                cosines[i], sines[i] = math.cos(angle), math.sin(angle)
