"""Compiled loops of encoder and decoder: numbers in order through the range coder, and curves of modes.

All arithmetic of the range coder is on whole numbers. Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marey._arrays import Array, Integers
from marey._compiling import njit
from marey.statistics.coding._kernels import (
    DECODING,
    INPUTS,
    LARGEST,
    OPTIONS,
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
        averages[0] = averages[1]
        used[0] = used[1]
        seen[:] = 0
        for k in range(curves):
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
def combine(modes: Array, directions: Array, curves: Array) -> None:
    """Add to `curves` `(frames, columns)` the modes `(frames, modes)` along directions `(modes, columns)`.

    Sums are in a fixed order, so that every machine decodes the same curves.
    """
    count, columns = directions.shape
    first = np.zeros(count, np.int64)
    last = np.zeros(count, np.int64)
    for k in range(count):
        for c in range(columns):
            if directions[k, c] != 0.0:
                if last[k] == 0:
                    first[k] = c
                last[k] = c + 1
    for t in range(curves.shape[0]):
        for k in range(count):
            value = modes[t, k]
            for c in range(first[k], last[k]):
                curves[t, c] += value * directions[k, c]


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
