"""Compiled loops of the codec: an adaptive binary range coder and the order in which numbers go through it.

Every bit is predicted by several contexts whose estimates are mixed in the logistic domain by weights that
learn (as in PAQ, Mahoney 2005). All arithmetic that the decoder must repeat is on whole numbers, so a file
decodes to the same numbers on every machine. About 50 ns a bit. Importing this module imports numba.

A `coder` is a tuple of arrays: registers, buffer, probabilities, counts, weights, squash, stretch, rates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Registers of the range coder.
LOW, HIGH, PLACE, CODE, DECODING, OVERFLOW = range(6)
# Steps of the unary code of a magnitude that have probabilities of their own; beyond, Elias gamma.
UNARY = 18
SLOTS = UNARY + 1
# Where each family of contexts begins, in groups of SLOTS.
EXPECTED, SERIES, PLACES, AROUND, ACTIVITY, FLAGS, PLAIN, END = 0, 48, 448, 1248, 1848, 2648, 2700, 3100
BITS = END * SLOTS  # single contexts of escape and refinement bits
CONTEXTS = BITS + 256
INPUTS = 5
MIXERS = 20 * SLOTS
ALONE = MIXERS  # the mixer that passes a single context through
# Magnitudes are taken for no more than this when others are expected from them, so that nothing overflows.
LARGEST = 1 << 22
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**OPTIONS)
def code_bit(coder: Any, bit: int, contexts: Whole, inputs: int, mixer: int, learning: int) -> int:
    """Write `bit`, or read one, predicted by the first `inputs` of `contexts`; then learn from it."""
    registers, buffer, probabilities, counts, weights, squash, stretch, rates = coder
    total = 0
    for i in range(inputs):
        total += stretch[probabilities[contexts[i]] >> 4] * weights[mixer, i]
    mixed = min(max(total >> 16, -2047), 2047)
    chance = squash[mixed + 2048]
    bit = _narrow(registers, buffer, bit, chance)
    error = ((bit << 16) - chance) * learning
    for i in range(inputs):
        context = contexts[i]
        weights[mixer, i] += (stretch[probabilities[context] >> 4] * error + (1 << 17)) >> 18
        rate = rates[counts[context]]
        if bit:
            probabilities[context] += ((65535 - probabilities[context]) * rate) >> 16
        else:
            probabilities[context] -= (probabilities[context] * rate) >> 16
        if counts[context] < 255:
            counts[context] += 1
    return bit


@njit(**OPTIONS)
def _narrow(registers: Whole, buffer: NDArray[np.uint8], bit: int, chance: int) -> int:
    """The range coder itself: keep the part of the interval that stands for `bit`."""
    middle = registers[LOW] + (((registers[HIGH] - registers[LOW]) * chance) >> 16)
    if registers[DECODING]:
        bit = 1 if registers[CODE] <= middle else 0
    if bit:
        registers[HIGH] = middle
    else:
        registers[LOW] = middle + 1
    while ((registers[LOW] ^ registers[HIGH]) & 0xFF000000) == 0:
        place = registers[PLACE]
        if registers[DECODING]:
            byte = int(buffer[place]) if place < buffer.shape[0] else 0
            registers[CODE] = ((registers[CODE] << 8) & 0xFFFFFFFF) | byte
        elif place < buffer.shape[0]:
            buffer[place] = registers[HIGH] >> 24
        else:
            registers[OVERFLOW] = 1
        registers[PLACE] = place + 1
        registers[LOW] = (registers[LOW] << 8) & 0xFFFFFFFF
        registers[HIGH] = ((registers[HIGH] << 8) & 0xFFFFFFFF) | 255
    return bit


@njit(**OPTIONS)
def code_number(
    coder: Any, number: int, expected: int, groups: Whole, inputs: int, mixer: int, contexts: Whole
) -> int:
    """Write or read one signed whole number whose magnitude should be about `expected` / 256.

    The high part of the magnitude is unary, bit by bit in the contexts of `groups`; a large magnitude is
    expected to have low bits that are noise, which cost one bit each.
    """
    registers, buffer = coder[0], coder[1]
    decoding = registers[DECODING]
    shift = 0
    while (expected >> (shift + 10)) > 0:
        shift += 1
    magnitude = abs(number)
    high = magnitude >> shift
    found = 0
    while found < UNARY:
        for i in range(inputs):
            contexts[i] = groups[i] * SLOTS + found
        if not code_bit(coder, 1 if high > found else 0, contexts, inputs, mixer * SLOTS + found, 14):
            break
        found += 1
    if found == UNARY:
        found += _code_gamma(coder, high - UNARY, contexts)
    for j in range(shift - 1, -1, -1):
        if j == shift - 1:
            contexts[0] = BITS + 64 + min(j, 31)
            low = code_bit(coder, (magnitude >> j) & 1, contexts, 1, ALONE, 0)
        else:
            low = _narrow(registers, buffer, (magnitude >> j) & 1, 32768)
        found = (found << 1) | low
    if found == 0:
        return 0
    negative = _narrow(registers, buffer, 1 if number < 0 else 0, 32768)
    return -found if (negative if decoding else number < 0) else found


@njit(**OPTIONS)
def _code_gamma(coder: Any, rest: int, contexts: Whole) -> int:
    """Elias gamma code of a number that is 0 or more: its length in unary, then its bits."""
    registers, buffer = coder[0], coder[1]
    length = 0
    if not registers[DECODING]:
        while ((rest + 1) >> (length + 1)) > 0:
            length += 1
    found = 0
    while found < 40:
        contexts[0] = BITS + found
        if not code_bit(coder, 1 if found < length else 0, contexts, 1, ALONE, 0):
            break
        found += 1
    value = 1
    for j in range(found - 1, -1, -1):
        value = (value << 1) | _narrow(registers, buffer, ((rest + 1) >> j) & 1, 32768)
    return value - 1


@njit(**OPTIONS)
def code_plain(coder: Any, numbers: Whole, family: int, expected: int) -> None:
    """Write or read numbers one after the other; each is expected to be as large as those before it."""
    contexts, groups = np.zeros(INPUTS, np.int64), np.zeros(INPUTS, np.int64)
    average = expected
    before = 0
    for i in range(numbers.shape[0]):
        groups[0] = PLAIN + family * 48 + quarter_octave(average)
        groups[1] = PLAIN + 336 + family * 4 + min(before, 3)
        numbers[i] = code_number(coder, numbers[i], average, groups, 2, 15 + min(family, 4), contexts)
        before = _size(numbers[i])
        average += ((before << 8) - average) >> 2
        average = max(average, 8)


@njit(**OPTIONS)
def code_bands(coder: Any, numbers: Whole, sizes: Whole) -> None:
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
                last = _size(numbers[start + t - 1, k]) << 8 if t > 0 else average
                second = _size(numbers[start + t - 2, k]) << 8 if t > 1 else last
                beside = _size(numbers[start + t, k - 1]) << 8 if k > 0 else average
                further = _size(numbers[start + t, k - 2]) << 8 if k > 1 else beside
                above = aside = average
                if band > 1:
                    near = min(t >> 1, parents - 1)
                    next_to = min(max(near + 1 if t & 1 else near - 1, 0), parents - 1)
                    typical = averages[0, k] + 8
                    above = min((_size(numbers[parents_start + near, k]) << 8) * average // typical, most)
                    aside = min((_size(numbers[parents_start + next_to, k]) << 8) * average // typical, most)
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
                averages[1, k] += ((_size(number) << 8) - average) // (min(seen[k], 20) + 3)
                seen[k] += 1
                numbers_before = min(numbers_before + _size(number), 4 * LARGEST)
                averages_before = min(averages_before + average, 1024 * LARGEST)
        parents_start, parents = start, size
        start += size


@njit(**OPTIONS)
def _code_used(
    coder: Any, numbers: Whole, start: int, size: int, k: int, used: Whole, contexts: Whole
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
def _first_guess(averages: Whole, k: int, band: int) -> int:
    """What the average magnitude of a band should be before anything of it is known, times 256."""
    if band == 0:
        return 256 * 24
    if band == 1:
        return max(averages[0, k] >> 2, 40)
    return max((averages[0, k] * 96) >> 8, 24)


@njit(**OPTIONS)
def _size(number: int) -> int:
    """The magnitude as far as expectations go."""
    return min(abs(number), LARGEST)


@njit(**OPTIONS)
def quarter_octave(value: int) -> int:
    """0 for 0, then a step for every quarter of an octave, roughly; 47 at most.

    >>> [quarter_octave(v) for v in (0, 1, 2, 3, 4, 256)]
    [0, 1, 5, 7, 9, 33]
    """
    if value < 1:
        return 0
    octave = 0
    rest = value
    while rest >= 2:
        rest >>= 1
        octave += 1
    return min(47, octave * 4 + (((value << 2) >> octave) & 3) + 1)
