"""Decimal numbers in text, for compiled loops: :func:`read_number`.

A decimal number is an integer mantissa times a power of ten. Where both are small one multiplication or
division rounds correctly (Clinger 1990); otherwise the top 64 bits of the product with a stored power
decide, unless they lie too near a tie (the idea of Lemire 2021, "Number parsing at a gigabyte per
second"); what is left is reported for Python's `float`. So every value equals Python's, bit for bit.
Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.io._byte_kernels import (
    OPTIONS,
    address_of,
    byte,
    eight_bytes,
    leading_digits,
    number_length,
    value_of_digits,
)

Bytes = NDArray[np.uint8]

# How `read_number` ended: exactly; as a number that only `float(bytes)` rounds rightly; not a number.
EXACT, SLOW, BAD = 0, 1, 2


def _powers_of_ten(largest: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
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


_NO_POWER = 1 << 40
_LARGEST = 64
_TOPS, _SHIFTS = _powers_of_ten(_LARGEST)
_EXACT_POWERS = 10.0 ** np.arange(23)
_POWERS_OF_TWO = 2.0 ** np.arange(-400, 401)
_WHOLE_POWERS = np.array([10**count for count in range(9)], dtype=np.uint64)


@njit(forceinline=True, **OPTIONS)
def read_number(buffer: Bytes, position: int, end: int) -> tuple[float, int, int]:
    """The number at `position`: its value, where it ends, and EXACT, SLOW or BAD.

    With SLOW the value is 0 and the caller takes `float` of the bytes between. What may follow a number
    is the caller's business.
    """
    address = address_of(buffer)
    if position + 48 <= end:
        stop = position + number_length(address, position)
        value, plain = plain_number(address, position, stop)
        if plain and (byte(address, stop) | 32) != 101:
            return value, stop, EXACT
    return any_number(address, position, end)


@njit(forceinline=True, **OPTIONS)
def plain_number(address: int, start: int, stop: int) -> tuple[float, bool]:
    """The number between, and whether it is one of up to 7 digits before the point and 16 after it.

    Reads up to 32 bytes from `start` on. Signs, points and lengths come as they please in a file, so there
    is hardly a branch on them.
    """
    negative = byte(address, start) == 45
    start += negative
    if stop - start <= 8:
        value, plain = _short_number(address, start, stop - start)
    else:
        value, plain = _long_number(address, start, stop)
    return (-value if negative else value), plain


@njit(**OPTIONS)
def any_number(address: int, position: int, end: int) -> tuple[float, int, int]:
    """As `read_number`, byte by byte."""
    negative = position < end and byte(address, position) == 45
    if negative or (position < end and byte(address, position) == 43):
        position += 1
    mantissa = np.uint64(0)
    digits = exponent = 0
    pointed = False
    while position < end:
        character = byte(address, position)
        if 48 <= character <= 57:
            mantissa = mantissa * np.uint64(10) + np.uint64(character - 48)
            digits += 1
            exponent -= pointed
        elif character == 46 and not pointed:
            pointed = True
        else:
            break
        position += 1
    if digits == 0:
        return 0.0, position, BAD
    if position < end and (byte(address, position) | 32) == 101:
        position, power = _read_power(address, position + 1, end)
        exponent += power
        if power == _NO_POWER:
            return 0.0, position, BAD
    value, exact = _decimal(mantissa, exponent)
    if digits > 19 or not exact:
        return 0.0, position, SLOW
    return (-value if negative else value), position, EXACT


@njit(forceinline=True, **OPTIONS)
def _short_number(address: int, start: int, length: int) -> tuple[float, bool]:
    """Digits and a point in at most eight bytes: the point is taken out, the rest summed at once."""
    word = eight_bytes(address, start)
    before = leading_digits(word)
    pointed = before < length
    low = (np.uint64(1) << np.uint64(8 * before & 63)) - np.uint64(1)
    word = (word & low) | ((word >> np.uint64(8)) & ~low)
    count = length - pointed
    plain = (
        (before < 8)
        & (count > 0)
        & (leading_digits(word) >= count)
        & ((byte(address, start + before) == 46) | (not pointed))
    )
    return float(value_of_digits(word, count)) / _EXACT_POWERS[np.uint64(count - before)], plain


@njit(forceinline=True, **OPTIONS)
def _long_number(address: int, start: int, stop: int) -> tuple[float, bool]:
    """What is before the point and eight digits after it, each summed at once."""
    word = eight_bytes(address, start)
    before = leading_digits(word)
    mantissa = value_of_digits(word, before)
    start += before
    after = stop - start - 1
    word = eight_bytes(address, start + 1)
    count = max(min(after, 8), 0)
    plain = (before < 8) & (byte(address, start) == 46) & (leading_digits(word) >= count)
    mantissa = mantissa * _WHOLE_POWERS[count] + value_of_digits(word, count)
    if after > 8:
        value, exact = _with_more_digits(address, start + 9, mantissa, before, after)
        return value, plain and exact
    return float(mantissa) / _EXACT_POWERS[count], plain


@njit(**OPTIONS)
def _with_more_digits(
    address: int, position: int, mantissa: np.uint64, before: int, after: int
) -> tuple[float, bool]:
    """The rest of a plain number with more than 8 digits after the point."""
    if after > 16 or before + after > 19:
        return 0.0, False
    word = eight_bytes(address, position)
    count = after - 8
    value, exact = _decimal(mantissa * _WHOLE_POWERS[count] + value_of_digits(word, count), -after)
    return value, exact and leading_digits(word) >= count


@njit(**OPTIONS)
def _read_power(address: int, position: int, end: int) -> tuple[int, int]:
    """What follows an `e`: where it ends, and the power of ten or _NO_POWER."""
    sinks = False
    if position < end and (byte(address, position) == 45 or byte(address, position) == 43):
        sinks = byte(address, position) == 45
        position += 1
    first = position
    power = 0
    while position < end and 48 <= byte(address, position) <= 57:
        if power < 100_000:
            power = power * 10 + byte(address, position) - 48
        position += 1
    if position == first:
        return position, _NO_POWER
    return position, (-power if sinks else power)


@njit(**OPTIONS)
def _decimal(mantissa: np.uint64, exponent: int) -> tuple[float, bool]:
    """mantissa * 10^exponent, and whether that is the nearest number for sure."""
    if mantissa < np.uint64(1 << 53) and -22 <= exponent <= 22:
        if exponent < 0:
            return float(mantissa) / _EXACT_POWERS[-exponent], True
        return float(mantissa) * _EXACT_POWERS[exponent], True
    if mantissa == np.uint64(0):
        return 0.0, True
    if -_LARGEST <= exponent <= _LARGEST:
        value = _leading_product(mantissa, exponent)
        return value, value != 0.0
    return 0.0, False


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
