"""Compiled loops of encoder and decoder: numbers through the range coder, rounding, how far joints are off.

All arithmetic of the range coder is on whole numbers. About 20 ns a coefficient to round, 3 µs a frame of a
human figure to measure. Importing this module imports numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from marey._arrays import Array, Integers
from marey._compiling import OPTIONS, njit
from marey.geometry._inline_kernels import exp, normalise, product, quaternion, rotate, store, vector
from marey.statistics.coding._kernels import (
    DECODING,
    INPUTS,
    LARGEST,
    SLOTS,
    code_bit,
    code_number,
    quarter_octave,
    size_of,
)

# Where each family of contexts begins, in groups of SLOTS.
EXPECTED, SERIES, PLACES, AROUND, ACTIVITY, FLAGS, PLAIN, END = 0, 48, 448, 1248, 1848, 2648, 2700, 3100
MIXERS = 20 * SLOTS
ALONE = MIXERS  # the mixer that passes a single context through
# A curve with nothing larger than this, in steps, in a band is left out of it.
_NOTHING = 0.75


@njit(**OPTIONS)
def code_plain(coder: Any, numbers: Integers, family: int, expected: int) -> None:
    """Write or read numbers one after the other; each is expected to be as large as those before it."""
    contexts, groups = np.zeros(INPUTS, np.int64), np.zeros(INPUTS, np.int64)
    average = expected
    before = 0
    for i in range(numbers.shape[0]):
        groups[0] = PLAIN + family * 48 + quarter_octave(average)
        groups[1] = PLAIN + 336 + family * 4 + min(before, 3)
        numbers[i] = code_number(coder, numbers[i], average, groups, 2, 15 + min(family, 4), contexts)
        before = size_of(numbers[i])
        average += ((before << 8) - average) >> 2
        average = max(average, 8)


@njit(**OPTIONS)
def code_bands(coder: Any, numbers: Integers, sizes: Integers) -> None:
    """Write or read the coefficients `(frames, curves)`, bands coarse to fine.

    Each magnitude is expected from: the curve's own average in the band, how active the curves before it
    are at the same time, its neighbours in time, and its parents one band up.
    """
    curves = numbers.shape[1]
    contexts, groups = np.zeros(INPUTS, np.int64), np.zeros(INPUTS, np.int64)
    averages = np.zeros((2, curves), np.int64)
    seen = np.zeros(curves, np.int64)
    used = np.ones((2, curves), np.int64)
    most = 256 * LARGEST
    start = parents_start = parents = 0
    for band in range(sizes.shape[0]):
        size = sizes[band]
        for k in range(curves):
            averages[0, k], used[0, k], seen[k] = averages[1, k], used[1, k], 0
            if band > 0:
                used[1, k] = _code_used(coder, numbers, start, size, k, used, contexts)
            averages[1, k] = _first_guess(averages, k, band)
        for t in range(size):
            numbers_before = averages_before = 0
            for k in range(curves):
                if not used[1, k]:
                    continue
                if band == 0 and t == 0 and k > 0:
                    averages[1, k] = max((averages[1, k - 1] * 3) >> 2, 64)
                average = averages[1, k]
                last = size_of(numbers[start + t - 1, k]) << 8 if t > 0 else average
                second = size_of(numbers[start + t - 2, k]) << 8 if t > 1 else last
                beside = size_of(numbers[start + t, k - 1]) << 8 if k > 0 else average
                further = size_of(numbers[start + t, k - 2]) << 8 if k > 1 else beside
                above = aside = average
                if band > 1:
                    near = min(t >> 1, parents - 1)
                    other = min(max(near + 1 if t & 1 else near - 1, 0), parents - 1)
                    typical = averages[0, k] + 8
                    above = min((size_of(numbers[parents_start + near, k]) << 8) * average // typical, most)
                    aside = min((size_of(numbers[parents_start + other, k]) << 8) * average // typical, most)
                active = average
                if k > 0:
                    ballast = 2 * average + 256
                    active = average * ((numbers_before << 8) + ballast) // (averages_before + ballast)
                    active = min(active, most)
                # Weights by maximum likelihood over a corpus of clips.
                expected = (
                    active * 140
                    + last * 28
                    + second * 6
                    + above * 30
                    + aside * 14
                    + beside * 16
                    + further * 10
                    + average * 12
                ) >> 8
                expected = min(max(expected, 1), most)
                octaves = quarter_octave(expected)
                groups[0] = EXPECTED + octaves
                groups[1] = SERIES + quarter_octave(average) * 8
                groups[1] += min(quarter_octave((2 * last + second) >> 4) // 5, 7)
                groups[2] = PLACES + min(band, 11) * 64 + min(k, 63)
                groups[3] = AROUND + quarter_octave((2 * above + aside) >> 3) // 2 * 24
                groups[3] += quarter_octave((2 * beside + further) >> 3) // 2
                groups[4] = ACTIVITY + quarter_octave(active) * 16
                groups[4] += min(last >> 8, 3) * 4 + min(second >> 8, 3)
                mixer = min(band, 2) * 5 + min(octaves // 6, 4)
                number = code_number(coder, numbers[start + t, k], expected, groups, INPUTS, mixer, contexts)
                numbers[start + t, k] = number
                averages[1, k] += ((size_of(number) << 8) - average) // (min(seen[k], 20) + 3)
                seen[k] += 1
                numbers_before = min(numbers_before + size_of(number), 4 * LARGEST)
                averages_before = min(averages_before + average, 1024 * LARGEST)
        parents_start, parents = start, size
        start += size


@njit(**OPTIONS)
def _code_used(
    coder: Any, numbers: Integers, start: int, size: int, k: int, used: Integers, contexts: Integers
) -> int:
    """Whether a curve has anything in a band: found out, then written; or read."""
    some = 0
    if not coder[0][DECODING]:
        for t in range(size):
            if numbers[start + t, k] != 0:
                some = 1
    group = FLAGS + used[0, k] * 4
    group += (used[1, k - 1] if k > 0 else 1) * 2 + (used[1, k - 2] if k > 1 else 1)
    contexts[0] = group * SLOTS
    return code_bit(coder, some, contexts, 1, ALONE, 0)


@njit(**OPTIONS)
def _first_guess(averages: Integers, k: int, band: int) -> int:
    """What the average magnitude of a band should be before anything of it is known, times 256."""
    if band == 0:
        return 256 * 24
    if band == 1:
        return max(averages[0, k] >> 2, 40)
    return max((averages[0, k] * 96) >> 8, 24)


# Sums in any order: what comes out is measured before it is written.
@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def decide_bands(wanted: Array, steps: Array, sizes: Integers, lagrangian: float, numbers: Integers) -> None:
    """Round `wanted` `(frames, curves)`, in multiples of `steps`, to `numbers`, bands coarse to fine.

    Between two whole numbers the smaller is taken if the error it costs is worth less than the bits, which
    depend on what the coder expects: here simply the averages of the curve, and its neighbours.
    """
    curves = wanted.shape[1]
    averages = np.full(curves, 24.0)
    seen = np.zeros(curves)
    used = np.ones(curves, np.bool_)
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
                if not used[k]:
                    continue
                target = wanted[t, k] / steps[t, k]
                number = 0
                if abs(target) > 0.5:
                    ballast = 2.0 * averages[k] + 1.0
                    active = averages[k] * (numbers_before + ballast) / (averages_before + ballast)
                    last = abs(numbers[t - 1, k]) if t > start else averages[k]
                    beside = abs(numbers[t, k - 1]) if k > 0 else averages[k]
                    expected = 0.6 * active + 0.15 * last + 0.1 * beside + 0.15 * averages[k]
                    number = _balanced(target, max(expected, 0.004), lagrangian)
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
