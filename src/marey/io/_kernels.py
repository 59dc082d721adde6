"""Compiled text-to-number loops, for `_numbers` and for the kernels of other text formats.

A decimal number is an integer mantissa times a power of ten. Where both are small one multiplication or
division rounds correctly (Clinger 1990); otherwise the top 64 bits of the product with a stored power
decide, unless they lie too near a tie (the idea of Lemire 2021, "Number parsing at a gigabyte per
second"); what is left is reported for Python's `float`. So every value equals Python's, bit for bit.
About 1 ns a byte. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

# How `read_number` ended: exactly; as a number that only `float(bytes)` rounds rightly; not a number.
EXACT, SLOW, BAD = 0, 1, 2

# How `fill` ended: at the end; with `out` or `slow` full; at a bad token; at a line of wrong length.
DONE, OUT_FULL, SLOW_FULL, BAD_TOKEN, WRONG_COUNT = 0, 1, 2, 3, 4

# What a byte is to `fill`.
OTHER, BLANK, NEWLINE, COMMENT = 0, 1, 2, 3

# Where `fill` stands, in its `state`.
POSITION, FILLED, LINE, ON_LINE, SLOWS = 0, 1, 2, 3, 4


def _powers_of_ten(largest: int) -> tuple[NDArray[np.uint64], Ints]:
    """10^q for |q| <= largest as `top * 2^shift`, `top` the leading 64 bits, the rest cut off."""
    tops, shifts = [], []
    for q in range(-largest, largest + 1):
        above, below = (10**q, 1) if q >= 0 else (1, 10**-q)
        shift = above.bit_length() - below.bit_length() - 64
        top = (above << max(-shift, 0)) // (below << max(shift, 0))
        if top >> 64:
            shift += 1
            top = (above << max(-shift, 0)) // (below << max(shift, 0))
        tops.append(top)
        shifts.append(shift)
    return np.array(tops, dtype=np.uint64), np.array(shifts, dtype=np.int64)


_LARGEST = 64
_TOPS, _SHIFTS = _powers_of_ten(_LARGEST)
_EXACT_POWERS = 10.0 ** np.arange(23)
_POWERS_OF_TWO = 2.0 ** np.arange(-400, 401)


@njit(**OPTIONS)
def read_number(buffer: Bytes, position: int, end: int) -> tuple[float, int, int]:
    """The number at `position`: its value, where it ends, and EXACT, SLOW or BAD.

    With SLOW the value is 0 and the caller takes `float` of the bytes between. What may follow a number
    is the caller's business.
    """
    negative = False
    if position < end and (buffer[position] == 45 or buffer[position] == 43):
        negative = buffer[position] == 45
        position += 1

    mantissa = np.uint64(0)
    first = position
    while position < end:
        digit = np.uint64(buffer[position]) - np.uint64(48)
        if digit > np.uint64(9):
            break
        mantissa = mantissa * np.uint64(10) + digit
        position += 1
    digits = position - first
    exponent = 0
    if position < end and buffer[position] == 46:
        position += 1
        first = position
        while position < end:
            digit = np.uint64(buffer[position]) - np.uint64(48)
            if digit > np.uint64(9):
                break
            mantissa = mantissa * np.uint64(10) + digit
            position += 1
        exponent = first - position
        digits -= exponent
    if digits == 0:
        return 0.0, position, BAD

    if position < end and (buffer[position] | 32) == 101:
        position += 1
        sinks = False
        if position < end and (buffer[position] == 45 or buffer[position] == 43):
            sinks = buffer[position] == 45
            position += 1
        first = position
        power = 0
        while position < end and 48 <= buffer[position] <= 57:
            if power < 100_000:
                power = power * 10 + int(buffer[position]) - 48
            position += 1
        if position == first:
            return 0.0, position, BAD
        exponent += -power if sinks else power

    if digits > 19:
        return 0.0, position, SLOW
    if mantissa < np.uint64(1 << 53) and -22 <= exponent <= 22:
        value = float(mantissa)
        if exponent < 0:
            value /= _EXACT_POWERS[-exponent]
        else:
            value *= _EXACT_POWERS[exponent]
    elif mantissa == np.uint64(0):
        value = 0.0
    elif -_LARGEST <= exponent <= _LARGEST:
        value = _leading_product(mantissa, exponent)
        if value == 0.0:
            return 0.0, position, SLOW
    else:
        return 0.0, position, SLOW
    return (-value if negative else value), position, EXACT


@njit(**OPTIONS)
def fill(
    buffer: Bytes,
    end: int,
    kinds: Bytes,
    columns: int,
    out: Floats,
    slow: Ints,
    state: Ints,
) -> int:
    """Numbers of `buffer[state[POSITION]:end]` into the flat `out`, until something stops it.

    Each line holds none or `columns` numbers; any count if `columns` is 0. `out` holds a multiple of
    `columns`. Numbers for Python go to `slow`: rows of (index in out, start, end, line). After OUT_FULL
    and SLOW_FULL a next call goes on from `state`.
    """
    position, filled, line = state[POSITION], state[FILLED], state[LINE]
    on_line, slows = state[ON_LINE], state[SLOWS]
    capacity, slow_capacity = out.shape[0], slow.shape[0]
    status = DONE
    while True:
        kind = OTHER
        while position < end:
            kind = kinds[buffer[position]]
            if kind != BLANK:
                break
            position += 1
        if position >= end:
            if columns and on_line != 0 and on_line != columns:
                status = WRONG_COUNT
            break
        if kind == COMMENT:
            while position < end and kinds[buffer[position]] != NEWLINE:
                position += 1
            continue
        if kind == NEWLINE:
            if columns and on_line != 0 and on_line != columns:
                status = WRONG_COUNT
                break
            if buffer[position] == 13 and position + 1 < end and buffer[position + 1] == 10:
                position += 1
            position += 1
            line += 1
            on_line = 0
            continue
        if columns and on_line == columns:
            on_line += _count_on_line(buffer, position, end, kinds)
            status = WRONG_COUNT
            break
        if filled == capacity:
            status = OUT_FULL
            break
        if slows == slow_capacity:
            status = SLOW_FULL
            break
        value, stop, how = read_number(buffer, position, end)
        if how == BAD or (stop < end and kinds[buffer[stop]] == OTHER):
            status = BAD_TOKEN
            break
        if how == SLOW:
            slow[slows, 0] = filled
            slow[slows, 1] = position
            slow[slows, 2] = stop
            slow[slows, 3] = line
            slows += 1
        out[filled] = value
        filled += 1
        on_line += 1
        position = stop
    state[POSITION], state[FILLED], state[LINE] = position, filled, line
    state[ON_LINE], state[SLOWS] = on_line, slows
    return status


@njit(**OPTIONS)
def count_lines(buffer: Bytes) -> int:
    """Line ends, and one for a last line without: no fewer than the lines there are."""
    ends = 1
    for byte in buffer:
        ends += (byte == 10) | (byte == 13)
    return ends


@njit(**OPTIONS)
def _count_on_line(buffer: Bytes, position: int, end: int, kinds: Bytes) -> int:
    """Words from `position` to the end of the line."""
    words, inside = 0, False
    while position < end and kinds[buffer[position]] != NEWLINE and kinds[buffer[position]] != COMMENT:
        blank = kinds[buffer[position]] == BLANK
        words += inside and blank
        inside = not blank
        position += 1
    return words + inside


@njit(**OPTIONS)
def _leading_product(mantissa: np.uint64, exponent: int) -> float:
    """mantissa * 10^exponent rounded to nearest, or 0 if 64 bits of the product do not tell which that is."""
    zeros = 0
    while not mantissa >> np.uint64(63):
        mantissa <<= np.uint64(1)
        zeros += 1
    top = _TOPS[exponent + _LARGEST]
    shift = _SHIFTS[exponent + _LARGEST] - zeros

    half = np.uint64(32)
    mask = np.uint64(0xFFFFFFFF)
    a, b = mantissa >> half, mantissa & mask
    c, d = top >> half, top & mask
    middle = a * d + ((b * d) >> half)
    carry = (middle & mask) + b * c
    product = a * c + (middle >> half) + (carry >> half)
    shift += 64
    if not product >> np.uint64(63):
        product = (product << np.uint64(1)) | ((carry & mask) >> np.uint64(31))
        shift -= 1
    # The stored power was cut off: the true value is less than 3 units of `product` above it. Of its
    # last 11 bits 0x400 is a tie.
    spare = product & np.uint64(0x7FF)
    if np.uint64(0x3FE) <= spare <= np.uint64(0x400):
        return 0.0
    leading = product >> np.uint64(11)
    if spare > np.uint64(0x400):
        leading += np.uint64(1)
    return float(leading) * _POWERS_OF_TWO[shift + 11 + 400]
