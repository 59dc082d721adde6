"""Compiled loops over numbers in text: :func:`fill` for tables.

A decimal number is an integer mantissa times a power of ten. Where both are small one multiplication or
division rounds correctly (Clinger 1990); otherwise the top 64 bits of the product with a stored power
decide, unless they lie too near a tie (the idea of Lemire 2021, "Number parsing at a gigabyte per
second"); what is left is reported for Python's `float`. So every value equals Python's, bit for bit.
Eight digits are summed by three multiplications, and 64 bytes compared at once, so that a parser need not
branch on every character (the technique of Langdale and Lemire 2019, "Parsing gigabytes of JSON per
second"); these go by an address and check no bounds. About 10 ns a number. Importing this module imports
numba: do so inside functions.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from marey._arrays import Array, Bytes, Integers
from marey._compiling import njit
from marey.io._files import Untyped

# How `fill` ended: at the end; with `out` or `slow` full; at a bad token; at a line of wrong length.
DONE, OUT_FULL, SLOW_FULL, BAD_TOKEN, WRONG_COUNT = range(5)

# What a byte is to `fill`.
OTHER, BLANK, NEWLINE, COMMENT = range(4)

# Where `fill` stands, in its `state`.
POSITION, FILLED, LINE, ON_LINE, SLOWS = range(5)

# How `number_at` ended: exactly; as a number that only `float(bytes)` rounds rightly; not a number.
EXACT, SLOW, BAD = range(3)
_NO_POWER = 1 << 40
_LARGEST = 64
_EXACT_POWERS = 10.0 ** np.arange(23)
_POWERS_OF_TWO = 2.0 ** np.arange(-400, 401)
_WHOLE_POWERS = np.array([10**count for count in range(9)], dtype=np.uint64)
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**OPTIONS)
def fill(
    buffer: Bytes,
    end: int,
    kinds: Bytes,
    columns: int,
    out: Array,
    slow: Integers,
    state: Integers,
) -> int:
    """Numbers of `buffer[state[POSITION]:end]` into the flat `out`, until something stops it.

    Each line holds none or `columns` numbers; any count if `columns` is 0. `out` holds a multiple of
    `columns`. Numbers for Python go to `slow`: rows of (index in out, start, end, line). After OUT_FULL
    and SLOW_FULL a next call goes on from `state`.
    """
    position, filled, line = state[POSITION], state[FILLED], state[LINE]
    on_line, slows = state[ON_LINE], state[SLOWS]
    capacity, slow_capacity = out.shape[0], slow.shape[0]
    address = address_of(buffer)
    status = DONE
    while True:
        position, filled, line, on_line = _fill_plainly(
            address, position, end, kinds, columns, out, filled, line, on_line
        )
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
            line += _begins_line_end(address, position)
            position += 1
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
        value, stop, how = number_at(address, position, end)
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


@njit(forceinline=True, **OPTIONS)
def _fill_plainly(
    address: int,
    position: int,
    end: int,
    kinds: Bytes,
    columns: int,
    out: Array,
    filled: int,
    line: int,
    on_line: int,
) -> tuple[int, int, int, int]:
    """As `fill`, as far as there are only plain numbers with one blank or line end after each.

    Blanks are found 64 bytes at a time, so that no number waits for the one before it.
    """
    line_start = filled - on_line
    limit = min(line_start + columns, out.shape[0]) if columns else out.shape[0]
    base = position
    while base + 96 <= end and kinds[32] == BLANK:
        blanks = bits_up_to(address, base, 32)
        while blanks:
            stop = base + trailing_zeros(blanks)
            blanks &= blanks - np.uint64(1)
            if stop > position:
                value, plain = plain_number(address, position, stop)
                if not plain or filled == limit:
                    return position, filled, line, filled - line_start
                out[np.uint64(filled)] = value
                filled += 1
            end_byte = byte(address, stop)
            if end_byte != 32:
                kind = kinds[end_byte]
                on_line = filled - line_start
                if (kind != BLANK and kind != NEWLINE) or (kind == NEWLINE and columns and on_line % columns):
                    return stop, filled, line, on_line
                if kind == NEWLINE:
                    line += _begins_line_end(address, stop)
                    line_start = filled
                    limit = min(line_start + columns, out.shape[0]) if columns else out.shape[0]
            position = stop + 1
        base += 64
    return position, filled, line, filled - line_start


@njit(**OPTIONS)
def count_lines(buffer: Bytes) -> int:
    """Lines that end in LF, CRLF or CR, and one for a last line that does not."""
    lines = 1
    for place in range(buffer.size):
        lines += buffer[place] == 10
        lines += buffer[place] == 13 and (place + 1 == buffer.size or buffer[place + 1] != 10)
    return lines


@njit(**OPTIONS)
def _begins_line_end(address: int, position: int) -> bool:
    """Whether the LF or CR at `position` is not the second byte of CRLF."""
    return byte(address, position) == 13 or position == 0 or byte(address, position - 1) != 13


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


_TOPS, _SHIFTS = _powers_of_ten(_LARGEST)


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
def number_at(address: int, position: int, end: int) -> tuple[float, int, int]:
    """The number at `position`, byte by byte: its value, where it ends, and EXACT, SLOW or BAD.

    With SLOW the value is 0 and the caller takes `float` of the bytes between. What may follow a number
    is the caller's business.
    """
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
    """mantissa * 10^exponent rounded to nearest, or 0 if 64 bits of the product leave open which that is."""
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


@intrinsic
def address_of(typing_context: Untyped, buffer: Untyped) -> Untyped:
    """Where an array's bytes are. Inner loops go by it: passing the array itself counts references."""

    def take(context: Untyped, builder: Untyped, signature: Untyped, values: Untyped) -> Untyped:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        return builder.ptrtoint(array.data, ir.IntType(64))

    return types.int64(buffer), take


def _load(bits: int) -> Untyped:
    def load(context: Untyped, builder: Untyped, signature: Untyped, values: Untyped) -> Untyped:
        number = ir.IntType(bits)
        word = builder.load(builder.inttoptr(builder.add(*values), number.as_pointer()))
        word.align = 1
        return word if bits == 64 else builder.zext(word, ir.IntType(64))

    return load


@intrinsic
def byte(typing_context: Untyped, address: Untyped, position: Untyped) -> Untyped:
    return types.int64(types.int64, types.int64), _load(8)


@intrinsic
def eight_bytes(typing_context: Untyped, address: Untyped, position: Untyped) -> Untyped:
    """Eight bytes as an integer, the first byte lowest."""
    return types.uint64(types.int64, types.int64), _load(64)


@intrinsic
def bits_up_to(typing_context: Untyped, address: Untyped, position: Untyped, byte: Untyped) -> Untyped:
    """Which of the 64 bytes from `position` on are no larger than `byte`, the first byte lowest."""

    def compare(context: Untyped, builder: Untyped, signature: Untyped, values: Untyped) -> Untyped:
        vector = ir.VectorType(ir.IntType(8), 64)
        text = builder.load(builder.inttoptr(builder.add(*values[:2]), vector.as_pointer()))
        text.align = 1
        byte = builder.trunc(values[2], ir.IntType(8))
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), byte, ir.IntType(32)(0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        bits = builder.icmp_unsigned("<=", text, builder.shuffle_vector(first, first, places))
        return builder.bitcast(bits, ir.IntType(64))

    return types.uint64(types.int64, types.int64, types.int64), compare


@intrinsic
def trailing_zeros(typing_context: Untyped, word: Untyped) -> Untyped:
    """Zero bits below the lowest one bit; 64 for zero."""

    def count(context: Untyped, builder: Untyped, signature: Untyped, values: Untyped) -> Untyped:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), count


@njit(**OPTIONS)
def leading_digits(word: np.uint64) -> int:
    """How many of eight bytes, from the first on, are digits."""
    # A byte that is no digit sets its top bit, and a carry spoils bytes after it alone.
    digits = word ^ np.uint64(0x3030303030303030)
    others = (digits | (digits + np.uint64(0x7676767676767676))) & np.uint64(0x8080808080808080)
    return trailing_zeros(others) >> 3


@njit(**OPTIONS)
def value_of_digits(word: np.uint64, count: int) -> np.uint64:
    """The number that the first `count` of eight bytes spell: sums of pairs, of fours, of all eight."""
    # In two steps: a shift by all 64 bits at once is not defined.
    half = np.uint64(32 - 4 * count)
    digits = ((word ^ np.uint64(0x3030303030303030)) << half) << half
    pairs = ((digits * np.uint64(10 * 2**8 + 1)) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    fours = ((pairs * np.uint64(100 * 2**16 + 1)) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    return (fours * np.uint64(10_000 * 2**32 + 1)) >> np.uint64(32)
