"""Compiled loops of the encoder: which whole numbers stand for coefficients, and how far joints are off.

About 20 ns a coefficient, 3 µs a frame of a human figure. Importing this module imports numba.
"""

from __future__ import annotations

import math

import numpy as np

from marey._arrays import Array, Integers
from marey._compiling import njit
from marey.geometry._inline_kernels import exp, normalise, product, quaternion, rotate, store, vector

# A curve with nothing larger than this, in steps, in a band is left out of it.
_NOTHING = 0.75


# Sums in any order: what comes out is measured before it is written.
@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def decide_bands(
    wanted: Array, steps: Array, feedback: Array, sizes: Integers, lagrangian: float, numbers: Integers
) -> None:
    """Round `wanted` `(frames, curves)`, in multiples of `steps`, to `numbers`, bands coarse to fine.

    Between two whole numbers the smaller is taken if the error it costs is worth less than the bits, which
    depend on what the coder expects: here simply the averages of the curve, and its neighbours. The error
    made of a curve is passed on to those after it, as much as they can make up for (`feedback`).
    """
    curves = wanted.shape[1]
    averages = np.full(curves, 24.0)
    seen = np.zeros(curves)
    used = np.ones(curves, np.bool_)
    errors = np.zeros(curves)
    start = 0
    for band in range(sizes.shape[0]):
        size = sizes[band]
        for k in range(curves):
            seen[k] = 3.0
            if band > 0:
                averages[k] = max(averages[k] * (0.25 if band == 1 else 0.375), 0.1)
                used[k] = False
                for t in range(start, start + size):
                    if abs(wanted[t, k]) > _NOTHING * steps[t, k]:
                        used[k] = True
                        break
        for t in range(start, start + size):
            numbers_before = averages_before = 0.0
            for k in range(curves):
                errors[k] = -wanted[t, k]
                if not used[k]:
                    continue
                target = wanted[t, k]
                for j in range(k if k < feedback.shape[0] else 0):
                    target -= feedback[k, j] * errors[j]
                target /= steps[t, k]
                number = 0
                if abs(target) > 0.5:
                    ballast = 2.0 * averages[k] + 1.0
                    active = averages[k] * (numbers_before + ballast) / (averages_before + ballast)
                    last = abs(numbers[t - 1, k]) if t > start else averages[k]
                    beside = abs(numbers[t, k - 1]) if k > 0 else averages[k]
                    expected = 0.6 * active + 0.15 * last + 0.1 * beside + 0.15 * averages[k]
                    number = _balanced(target, max(expected, 0.004), lagrangian)
                    errors[k] += number * steps[t, k]
                numbers[t, k] = number
                numbers_before += abs(number)
                averages_before += averages[k]
                averages[k] += (abs(number) - averages[k]) / min(seen[k], 23.0)
                seen[k] += 1.0
        start += size


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def _balanced(value: float, expected: float, lagrangian: float) -> int:
    """`value` rounded to the whole number with the least error and bits together.

    Fine quantisation exchanges a bit for 2 ln 2 / 12 of the squared step, of which a threshold takes half.
    """
    size = abs(value)
    whole = math.floor(size)
    bits = math.log2((1.0 + expected) / expected) + (1.0 if whole == 0 else 0.0)
    rounded = whole + (1 if size - whole > min(0.5 + lagrangian * 0.058 * bits, 0.98) else 0)
    return rounded if value >= 0 else -rounded


@njit(cache=True, nogil=True, error_model="numpy")
def displacements(
    curves: Array,
    frames: Integers,
    starts: Integers,
    slides: Integers,
    means: Array,
    places: Array,
    parents: Integers,
    end_parents: Integers,
    end_offsets: Array,
    true_positions: Array,
    true_rotations: Array,
    true_ends: Array,
    shell: float,
    bounded: Array,
) -> float:
    """What is bounded at each joint, into `bounded` `(frames, joints)`; returns the sum over joints and ends.

    Args:
        curves: `(rows, columns)`.
        frames: which frames of the truth the rows of `curves` and `bounded` are.
        starts: `(joints + 1,)`, first column of each joint's rotation; four are a quaternion about its mean.
        slides: `(joints,)`, first column of a joint's position, -1 where it has none.
        means, places: `(joints, 4)`, `(joints, 3)`, mean rotations and positions in the parents' frames.
        true_positions, true_rotations, true_ends: world frames of the original, by frame.
        shell: metres, see `channels.SHELL`.
    """
    joints = parents.shape[0]
    rotations = np.empty((joints, 4))
    positions = np.empty((joints, 3))
    total = 0.0
    for row in range(curves.shape[0]):
        t = frames[row]
        for j in range(joints):
            first = starts[j]
            a, b, c = curves[row, first], curves[row, first + 1], curves[row, first + 2]
            if starts[j + 1] - first == 4:
                d = curves[row, first + 3]
                turned = normalise((a + means[j, 0], b + means[j, 1], c + means[j, 2], d + means[j, 3]))
            else:
                turned = product(quaternion(means[j]), exp((a, b, c)))
            place = vector(places[j])
            if slides[j] >= 0:
                s = slides[j]
                place = (
                    place[0] + curves[row, s],
                    place[1] + curves[row, s + 1],
                    place[2] + curves[row, s + 2],
                )
            p = parents[j]
            if p >= 0:
                above = quaternion(rotations[p])
                moved = rotate(above, place)
                place = (positions[p, 0] + moved[0], positions[p, 1] + moved[1], positions[p, 2] + moved[2])
                turned = product(above, turned)
            store(turned, rotations[j])
            store(place, positions[j])
            off = _distance(place, true_positions[t, j])
            true = true_rotations[t, j]
            cosine = turned[0] * true[0] + turned[1] * true[1] + turned[2] * true[2] + turned[3] * true[3]
            # 2 r sin(angle / 2), the farthest that a point at distance r is carried by the turn.
            bounded[row, j] = off + 2.0 * shell * math.sqrt(max(0.0, 1.0 - cosine * cosine))
            total += off
        for e in range(end_parents.shape[0]):
            j = end_parents[e]
            moved = rotate(quaternion(rotations[j]), vector(end_offsets[e]))
            place = (positions[j, 0] + moved[0], positions[j, 1] + moved[1], positions[j, 2] + moved[2])
            off = _distance(place, true_ends[t, e])
            bounded[row, j] = max(bounded[row, j], off)
            total += off
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _distance(point: tuple[float, float, float], other: Array) -> float:
    x, y, z = point[0] - other[0], point[1] - other[1], point[2] - other[2]
    return math.sqrt(x * x + y * y + z * z)
