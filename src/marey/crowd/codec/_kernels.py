"""Compiled space-time 9/7 wavelets of velocity volumes, and the order in which coefficients are coded.

Wavelets go forwards in floats and backwards in whole numbers, so that every machine decodes the same field.
Coefficients stay where their samples were: those of level l lie at odd multiples of 2^l. Bands are coded
coarse to fine in time, then in space; the magnitude of a coefficient is expected from coefficients already
known: beside and above it, before it in time, its parents in space and time, its siblings and the other
velocity component. About 0.2 µs a coefficient; imports numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from marey._arrays import Array, Integers
from marey._compiling import OPTIONS, njit
from marey.statistics.coding._kernels import (
    DECODING,
    INPUTS,
    LARGEST,
    SLOTS,
    code_bit,
    code_magnitude,
    quarter_octave,
)

# Bits after the point of the factors used on whole numbers.
POINT = 20
HALF = 1 << (POINT - 1)


@njit(**OPTIONS)
def forward_space(volume: Array, levels: int, factors: Array, scale: float) -> None:
    """Wavelets of every image of a volume `(frames, rows, columns, parts)`, in place."""
    for t in range(volume.shape[0]):
        for level in range(levels):
            image = volume[t, :: 1 << level, :: 1 << level]
            _lift(image.transpose(1, 0, 2), factors)
            _lift(image, factors)
            image[::2, ::2] *= scale * scale
            image[1::2, 1::2] *= 1.0 / (scale * scale)


@njit(**OPTIONS)
def backward_space(volume: Integers, levels: int, factors: Integers, grow: int, shrink: int) -> None:
    """Inverse of :func:`forward_space` on whole numbers; scales are squared."""
    for t in range(volume.shape[0]):
        for level in range(levels - 1, -1, -1):
            image = volume[t, :: 1 << level, :: 1 << level]
            _scale(image[::2, ::2], shrink)
            _scale(image[1::2, 1::2], grow)
            _lift_back(image, factors)
            _lift_back(image.transpose(1, 0, 2), factors)


@njit(**OPTIONS)
def backward_time(curves: Integers, levels: int, factors: Integers, grow: int, shrink: int) -> None:
    """Inverse of the wavelets of curves `(frames, rows, curves)` on whole numbers, in place."""
    for level in range(levels - 1, -1, -1):
        part = curves[:: 1 << level]
        _scale(part[::2], shrink)
        _scale(part[1::2], grow)
        _lift_back(part, factors)


@njit(**OPTIONS)
def _lift(values: Array, factors: Array) -> None:
    """One level along the first axis of values `(n, m, parts)`: four lifting steps."""
    count, width, parts = values.shape
    for step in range(4):
        for i in range(1 - step % 2, count, 2):
            before, after = i - 1 if i > 0 else i + 1, i + 1 if i + 1 < count else i - 1
            for k in range(width):
                for c in range(parts):
                    values[i, k, c] += factors[step] * (values[before, k, c] + values[after, k, c])


@njit(**OPTIONS)
def _lift_back(values: Integers, factors: Integers) -> None:
    """Inverse of :func:`_lift` on whole numbers."""
    count, width, parts = values.shape
    for step in range(3, -1, -1):
        for i in range(1 - step % 2, count, 2):
            before, after = i - 1 if i > 0 else i + 1, i + 1 if i + 1 < count else i - 1
            for k in range(width):
                for c in range(parts):
                    total = values[before, k, c] + values[after, k, c]
                    values[i, k, c] -= (factors[step] * total + HALF) >> POINT


@njit(**OPTIONS)
def _scale(values: Integers, factor: int) -> None:
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            for c in range(values.shape[2]):
                values[i, k, c] = (factor * values[i, k, c] + HALF) >> POINT


# Where each family of contexts begins, in groups of SLOTS.
EXPECTED, BANDS, NEAR, KIN, OTHER, SIGNS, FLAGS, END = 0, 48, 1968, 2224, 2480, 2992, 3160, 3200
MIXERS = 20
SIGN_MIXER = 18
# Magnitudes around a coefficient, see `_look_around`.
LEFT, ABOVE, DIAGONAL, BEFORE, BEFORE_ASIDE, PARENT, EARLIER, SIBLING, TWIN, AVERAGE, KINDS = range(11)
# What each of them adds to the expected magnitude, in 256ths, by maximum likelihood over captures.
WEIGHTS = np.array([74, 37, 6, 51, 25, 2, 9, 5, 7, 3], dtype=np.int64)
FIRST_AVERAGE = 256
# Coefficients along the side of a tile that is skipped if there is nothing in it.
TILE = 8


@njit(**OPTIONS)
def visit(
    coder: Any, numbers: Integers, values: Array, levels: tuple[int, int], rate_weight: float, deciding: bool
) -> None:
    """Write or read the coefficients `numbers` `(frames, rows, columns, parts)`, or decide on them.

    Deciding rounds `values` so that squared error and `rate_weight` times the expected bits balance. `levels`
    are those of time and of space.
    """
    time_levels, space_levels = levels
    frames, rows, columns, parts = numbers.shape
    around = np.zeros(KINDS, np.int64)
    signs = np.zeros(4, np.int64)
    contexts, groups = np.zeros(INPUTS, np.int64), np.zeros(INPUTS, np.int64)
    averages = np.full((3 * space_levels + 1, parts), FIRST_AVERAGE, np.int64)
    tiles = np.ones((3 * space_levels + 1, rows // TILE + 1, columns // TILE + 1, parts), np.int64)
    for time_band in range(time_levels + 1):
        # Band 0 is what is left after all halvings, then details coarse to fine.
        level = time_levels - max(time_band - 1, 0)
        first = 0 if time_band == 0 else 1 << (level - 1)
        step = 1 << level
        for t in range(first, frames, step):
            for space_band in range(3 * space_levels + 1):
                high = (space_band - 1) // 3
                orientation = 0 if space_band == 0 else 1 + (space_band - 1) % 3
                stride = 1 << (space_levels - high if space_band else space_levels)
                row = stride >> 1 if orientation >= 2 else 0
                column = stride >> 1 if orientation == 1 or orientation == 3 else 0
                grid = (t, row, column, stride)
                _find_tiles(coder, numbers, values, grid, tiles[space_band], contexts, deciding)
                kind = (orientation, time_band, space_band)
                for y in range(row, rows, stride):
                    above = ((y - row) // stride) // TILE
                    for x in range(column, columns, stride):
                        beside = ((x - column) // stride) // TILE
                        for c in range(parts):
                            if not tiles[space_band, above, beside, c]:
                                numbers[t, y, x, c] = 0
                                continue
                            average = averages[space_band, c]
                            place, steps = (t, y, x, c), (step, stride)
                            _look_around(numbers, place, steps, kind, space_levels, average, around, signs)
                            expected = 0
                            for i in range(KINDS):
                                expected += around[i] * WEIGHTS[i]
                            expected = min(max(expected >> 8, 1), 256 * LARGEST)
                            if deciding:
                                number = _decided(values[t, y, x, c], expected, rate_weight)
                            else:
                                old = numbers[t, y, x, c]
                                seen = (expected, around, signs, kind, time_levels, c)
                                number = _coded(coder, old, seen, groups, contexts)
                            numbers[t, y, x, c] = number
                            averages[space_band, c] += ((_size(number) << 8) - average) >> 5


@njit(**OPTIONS)
def _find_tiles(
    coder: Any,
    numbers: Integers,
    values: Array,
    grid: tuple[int, int, int, int],
    tiles: Integers,
    contexts: Integers,
    deciding: bool,
) -> None:
    """Which tiles of a band of an image have anything in them: found out and written, or read.

    `grid` is the image and the first row, column and stride of the band; `tiles` `(down, across, parts)`
    holds those of the image before and gets those of this one.
    """
    t, row, column, stride = grid
    _, rows, columns, parts = numbers.shape
    side = TILE * stride
    for above in range(row, rows, side):
        for beside in range(column, columns, side):
            i, j = (above - row) // side, (beside - column) // side
            for c in range(parts):
                some = 0
                if deciding or not coder[0][DECODING]:
                    for y in range(above, min(above + side, rows), stride):
                        for x in range(beside, min(beside + side, columns), stride):
                            if (abs(values[t, y, x, c]) >= 0.5) if deciding else numbers[t, y, x, c] != 0:
                                some = 1
                if not deciding:
                    known = tiles[i, j, c]
                    known += 2 * tiles[i - 1, j, c] if i > 0 else 0
                    known += 4 * tiles[i, j - 1, c] if j > 0 else 0
                    known += 8 * tiles[i, j, c - 1] if c > 0 else 0
                    contexts[0] = (FLAGS + known) * SLOTS
                    some = code_bit(coder, some, contexts, 1, MIXERS * SLOTS, 0)
                tiles[i, j, c] = some


@njit(**OPTIONS)
def _look_around(
    numbers: Integers,
    place: tuple[int, int, int, int],
    steps: tuple[int, int],
    kind: tuple[int, int, int],
    space_levels: int,
    average: int,
    around: Integers,
    signs: Integers,
) -> None:
    """Magnitudes, times 256, and signs of what is known already; the average where nothing is.

    `place` is (frame, row, column, part), `steps` those in time and space to the next number of its band.
    """
    (t, y, x, c), (step, stride), (orientation, time_band, _) = place, steps, kind
    rows, columns = numbers.shape[1], numbers.shape[2]
    for i in range(KINDS):
        around[i] = average
    signs[:] = 0
    if x >= stride:
        around[LEFT] = _size(numbers[t, y, x - stride, c]) << 8
        signs[0] = _sign(numbers[t, y, x - stride, c])
    if y >= stride:
        around[ABOVE] = _size(numbers[t, y - stride, x, c]) << 8
        signs[1] = _sign(numbers[t, y - stride, x, c])
        corner = x - stride if x >= stride else x
        other = x + stride if x + stride < columns else x
        total = _size(numbers[t, y - stride, corner, c]) + _size(numbers[t, y - stride, other, c])
        around[DIAGONAL] = total << 7
    if t >= step:
        around[BEFORE] = _size(numbers[t - step, y, x, c]) << 8
        signs[2] = _sign(numbers[t - step, y, x, c])
        right = x + stride if x + stride < columns else x
        below = y + stride if y + stride < rows else y
        total = _size(numbers[t - step, y, right, c]) + _size(numbers[t - step, below, x, c])
        around[BEFORE_ASIDE] = total << 7
    if orientation > 0 and stride < 1 << space_levels:
        # The coefficient of the same orientation one level up that covers this place.
        wide = 2 * stride
        above = (y // wide) * wide + (stride if orientation >= 2 else 0)
        beside = (x // wide) * wide + (stride if orientation != 2 else 0)
        above = above if above < rows else above - wide
        beside = beside if beside < columns else beside - wide
        if above >= 0 and beside >= 0:
            around[PARENT] = _size(numbers[t, above, beside, c]) << 8
    if time_band > 0:
        # The band before has its coefficients halfway between those of this one.
        half = step >> 1
        parent = t - half if time_band == 1 or ((t - half) // step) & 1 else t + half
        parent = parent if parent < numbers.shape[0] else t - half
        around[EARLIER] = _size(numbers[parent, y, x, c]) << 8
    half = stride >> 1
    if orientation == 2 and x + half < columns:
        around[SIBLING] = _size(numbers[t, y - half, x + half, c]) << 8
    elif orientation == 3:
        around[SIBLING] = (_size(numbers[t, y - half, x, c]) + _size(numbers[t, y, x - half, c])) << 7
    if c > 0:
        around[TWIN] = _size(numbers[t, y, x, c - 1]) << 8
        signs[3] = _sign(numbers[t, y, x, c - 1])


@njit(**OPTIONS)
def _coded(coder: Any, number: int, seen: Any, groups: Integers, contexts: Integers) -> int:
    expected, around, signs, (orientation, time_band, space_band), time_levels, part = seen
    octave = quarter_octave(expected)
    tempo = 2 if time_band == time_levels else min(time_band, 1)
    groups[0] = EXPECTED + octave
    groups[1] = BANDS + ((min(time_band, 7) * 19 + space_band) * 2 + min(part, 1)) * 6 + min(octave // 6, 5)
    past = quarter_octave((2 * around[BEFORE] + 2 * around[BEFORE_ASIDE]) >> 6) // 2
    beside = quarter_octave((2 * around[LEFT] + 2 * around[ABOVE] + around[DIAGONAL]) >> 6) // 2
    groups[2] = NEAR + min(past, 15) * 16 + min(beside, 15)
    up = quarter_octave(around[PARENT] >> 6) // 3
    early = quarter_octave(around[EARLIER] >> 6) // 3
    groups[3] = KIN + min(up, 7) * 32 + min(early, 7) * 4
    groups[3] += min(around[SIBLING] >> 8, 3)
    groups[4] = OTHER + min(quarter_octave(around[TWIN] >> 6) // 3, 7) * 64
    groups[4] += min(around[LEFT] >> 8, 3) * 16 + min(around[ABOVE] >> 8, 3) * 4 + min(around[BEFORE] >> 8, 3)
    mixer = tempo * 6 + min(octave // 6, 5)
    found = code_magnitude(coder, abs(number), expected, groups, INPUTS, mixer, contexts)
    if found == 0:
        return 0
    contexts[0] = (SIGNS + orientation * 27 + (signs[0] * 3 + signs[1]) * 3 + signs[2]) * SLOTS
    contexts[1] = (SIGNS + 108 + (tempo * 4 + orientation) * 3 + signs[3]) * SLOTS + min(
        space_band, SLOTS - 1
    )
    negative = code_bit(coder, 1 if number < 0 else 0, contexts, 2, SIGN_MIXER * SLOTS + orientation, 6)
    return -found if negative else found


@njit(**OPTIONS)
def _decided(value: float, expected: int, rate_weight: float) -> int:
    """The nearest whole number, or the next smaller if the bits it saves are worth the error."""
    size = abs(value)
    number = math.floor(size + 0.5)
    if number > 0:
        mean = expected / 256.0
        bits = math.log2((1.0 + mean) / mean) + (1.0 if number == 1 else 0.0)
        gained = (size - number + 1.0) ** 2 - (size - number) ** 2
        if gained < rate_weight * bits:
            number -= 1
    return -number if value < 0 else number


@njit(**OPTIONS)
def code_corrections(coder: Any, numbers: Integers, mask: Integers) -> None:
    """Write or read `(frames, rows, columns, parts)` numbers, nearly all zero, where `mask` is 1."""
    frames, rows, columns, parts = numbers.shape
    contexts, groups = np.zeros(INPUTS, np.int64), np.zeros(INPUTS, np.int64)
    values = np.zeros((0, 0, 0, 0))
    tiles = np.zeros((rows // TILE + 1, columns // TILE + 1, parts), np.int64)
    for t in range(frames):
        _find_tiles(coder, numbers, values, (t, 0, 0, 1), tiles, contexts, False)
        for y in range(rows):
            for x in range(columns):
                if not mask[y, x]:
                    continue
                for c in range(parts):
                    if not tiles[y // TILE, x // TILE, c]:
                        continue
                    left = _size(numbers[t, y, x - 1, c]) if x > 0 else 0
                    above = _size(numbers[t, y - 1, x, c]) if y > 0 else 0
                    before = _size(numbers[t - 1, y, x, c]) if t > 0 else 0
                    twin = _size(numbers[t, y, x, c - 1]) if c > 0 else 0
                    total = left + above + before + twin
                    groups[0] = EXPECTED + quarter_octave(min(total << 6, 256 * LARGEST) + 1)
                    groups[1] = (
                        BANDS + min(left, 3) * 64 + min(above, 3) * 16 + min(before, 3) * 4 + min(twin, 3)
                    )
                    size = code_magnitude(coder, abs(numbers[t, y, x, c]), 1, groups, 2, 0, contexts)
                    if size:
                        contexts[0] = SIGNS * SLOTS
                        negative = code_bit(
                            coder, 1 if numbers[t, y, x, c] < 0 else 0, contexts, 1, MIXERS * SLOTS, 0
                        )
                        size = -size if negative else size
                    numbers[t, y, x, c] = size


@njit(**OPTIONS)
def _size(number: int) -> int:
    return min(abs(number), LARGEST)


@njit(**OPTIONS)
def _sign(number: int) -> int:
    """0 for nothing, 1 for more, 2 for less."""
    return 0 if number == 0 else 1 if number > 0 else 2
