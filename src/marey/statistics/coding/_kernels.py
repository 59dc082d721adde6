"""Compiled adaptive binary range coder, how a whole number goes through it, and lifting of wavelets.

Every bit is predicted by several contexts whose estimates are mixed in the logistic domain by weights that
learn (as in PAQ, Mahoney 2005). All arithmetic that the decoder must repeat is on whole numbers, so a file
decodes to the same numbers on every machine. About 50 ns a bit. Importing this module imports numba.

A `coder` is a tuple of arrays: registers, buffer, probabilities, counts, weights, squash, stretch, rates.
Its contexts come in groups of SLOTS, with those of escape and refinement bits after the last group; its last
mixer passes a single context through. Lifting is in place and sums in a fixed order, so that every machine
decodes the same curves.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._arrays import Array, IntArray
from marey._compiling import OPTIONS, njit

Whole = NDArray[np.int64]
Coder = tuple[IntArray, ...]

# One version of each: constants would otherwise make versions of their own.
_WHOLE, _BYTES = types.int64[::1], types.uint8[::1]
_CODER = types.Tuple(
    (
        _WHOLE,
        _BYTES,
        types.int32[::1],
        _BYTES,
        types.int64[:, ::1],
        types.int32[::1],
        types.int32[::1],
        _WHOLE,
    )
)
_BIT = types.int64(_CODER, types.int64, _WHOLE, types.int64, types.int64, types.int64)
_NUMBER = types.int64(_CODER, types.int64, types.int64, _WHOLE, types.int64, types.int64, _WHOLE)
_NARROW = types.int64(_WHOLE, _BYTES, types.int64, types.int64)

# Registers of the range coder.
LOW, HIGH, PLACE, CODE, DECODING, OVERFLOW = range(6)
# Steps of the unary code of a magnitude that have probabilities of their own; beyond, Elias gamma.
UNARY = 18
SLOTS = UNARY + 1
# Groups that stand for an expected magnitude, in quarter octaves; they are a coder's first.
OCTAVES = 48
# Contexts of escape and refinement bits.
SINGLE = 256
# Contexts that predict one bit at most.
INPUTS = 5
# Magnitudes are taken for no more than this when others are expected from them, so that nothing overflows.
LARGEST = 1 << 22


@njit(_BIT, **OPTIONS)
def code_bit(coder: Coder, bit: int, contexts: Whole, inputs: int, mixer: int, learning: int) -> int:
    """Write `bit`, or read one, predicted by the first `inputs` of `contexts`; then learn from it."""
    registers, buffer, probabilities, counts, weights, squash, stretch, rates = coder
    total = 0
    for i in range(inputs):
        total += stretch[probabilities[contexts[i]] >> 4] * weights[mixer, i]
    mixed = min(max(total >> 16, -2047), 2047)
    probability = squash[mixed + 2048]
    bit = _narrow(registers, buffer, bit, probability)
    error = ((bit << 16) - probability) * learning
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


@njit(_NARROW, **OPTIONS)
def _narrow(registers: Whole, buffer: NDArray[np.uint8], bit: int, probability: int) -> int:
    """The range coder itself: keep the part of the interval that stands for `bit`."""
    middle = registers[LOW] + (((registers[HIGH] - registers[LOW]) * probability) >> 16)
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


@njit(_NUMBER, **OPTIONS)
def code_number(
    coder: Coder, number: int, expected: int, groups: Whole, inputs: int, mixer: int, contexts: Whole
) -> int:
    """Write or read one signed whole number whose magnitude should be about `expected` / 256."""
    found = code_magnitude(coder, abs(number), expected, groups, inputs, mixer, contexts)
    if found == 0:
        return 0
    negative = _narrow(coder[0], coder[1], 1 if number < 0 else 0, 32768)
    return -found if (negative if coder[0][DECODING] else number < 0) else found


@njit(_NUMBER, **OPTIONS)
def code_magnitude(
    coder: Coder, magnitude: int, expected: int, groups: Whole, inputs: int, mixer: int, contexts: Whole
) -> int:
    """Write or read a whole number from 0 on that should be about `expected` / 256.

    Its high part is unary, bit by bit in the contexts of `groups`; a large magnitude is expected to have low
    bits that are noise, which cost one bit each.
    """
    registers, buffer = coder[0], coder[1]
    shift = 0
    while (expected >> (shift + 10)) > 0:
        shift += 1
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
            contexts[0] = coder[2].shape[0] - SINGLE + 64 + min(j, 31)
            low = code_bit(coder, (magnitude >> j) & 1, contexts, 1, coder[4].shape[0] - 1, 0)
        else:
            low = _narrow(registers, buffer, (magnitude >> j) & 1, 32768)
        found = (found << 1) | low
    return found


@njit(**OPTIONS)
def _code_gamma(coder: Coder, rest: int, contexts: Whole) -> int:
    """Elias gamma code of a number that is 0 or more: its length in unary, then its bits."""
    registers, buffer = coder[0], coder[1]
    length = 0
    if not registers[DECODING]:
        while ((rest + 1) >> (length + 1)) > 0:
            length += 1
    found = 0
    while found < 40:
        contexts[0] = coder[2].shape[0] - SINGLE + found
        if not code_bit(coder, 1 if found < length else 0, contexts, 1, coder[4].shape[0] - 1, 0):
            break
        found += 1
    value = 1
    for j in range(found - 1, -1, -1):
        value = (value << 1) | _narrow(registers, buffer, ((rest + 1) >> j) & 1, 32768)
    return value - 1


@njit(**OPTIONS)
def size_of(number: int) -> int:
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


@njit(cache=True, nogil=True, error_model="numpy")
def lift_curves(curves: Array, levels: int, factors: Array, scale: float, inverse: bool) -> None:
    """Wavelets of curves `(frames, curves)`, or back; samples of a level stay at multiples of its stride."""
    frames = curves.shape[0]
    for i in range(levels):
        stride = 1 << (levels - 1 - i if inverse else i)
        if stride >= frames:
            continue
        if inverse:
            _scale(curves, stride, scale)
            for step in range(factors.shape[0] - 1, -1, -1):
                _lift(curves, stride, -factors[step], 1 - step % 2)
        else:
            for step in range(factors.shape[0]):
                _lift(curves, stride, factors[step], 1 - step % 2)
            _scale(curves, stride, 1.0 / scale)


@njit(cache=True, nogil=True, error_model="numpy")
def _lift(curves: Array, stride: int, factor: float, first: int) -> None:
    """Add `factor` times both neighbours to every other sample from `first` on; the ends are mirrored."""
    frames, count = curves.shape
    for t in range(first * stride, frames, 2 * stride):
        left = t - stride if t >= stride else t + stride
        right = t + stride if t + stride < frames else t - stride
        for k in range(count):
            curves[t, k] += factor * (curves[left, k] + curves[right, k])


@njit(cache=True, nogil=True, error_model="numpy")
def _scale(curves: Array, stride: int, odd: float) -> None:
    """Multiply odd samples by `odd` and divide even ones by it."""
    frames, count = curves.shape
    even = 1.0 / odd
    for t in range(0, frames, stride):
        factor = odd if (t // stride) & 1 else even
        for k in range(count):
            curves[t, k] *= factor
