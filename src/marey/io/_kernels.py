"""Compiled loops over tables of numbers in text, for `_numbers`; and `read_number` for other formats' loops.

About 10 ns a number. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.io._byte_kernels import (
    OPTIONS,
    address_of,
    bits_equal,
    bits_up_to,
    byte,
    count_ones,
    trailing_zeros,
)
from marey.io._decimal_kernels import BAD, EXACT, SLOW, Bytes, any_number, plain_number, read_number

__all__ = ["BAD", "EXACT", "OPTIONS", "SLOW", "count_lines", "fill", "read_number"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# How `fill` ended: at the end; with `out` or `slow` full; at a bad token; at a line of wrong length.
DONE, OUT_FULL, SLOW_FULL, BAD_TOKEN, WRONG_COUNT = 0, 1, 2, 3, 4

# What a byte is to `fill`.
OTHER, BLANK, NEWLINE, COMMENT = 0, 1, 2, 3

# Where `fill` stands, in its `state`.
POSITION, FILLED, LINE, ON_LINE, SLOWS = 0, 1, 2, 3, 4


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
        value, stop, how = any_number(address, position, end)
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
    out: Floats,
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
    address = address_of(buffer)
    lines = 1
    position = 0
    returned = np.uint64(0)
    while position + 64 <= buffer.size:
        returns = bits_equal(address, position, 13)
        feeds = bits_equal(address, position, 10) & ~(returns << np.uint64(1) | returned)
        lines += count_ones(returns) + count_ones(feeds)
        returned = returns >> np.uint64(63)
        position += 64
    for place in range(position, buffer.size):
        if buffer[place] == 10 or buffer[place] == 13:
            lines += _begins_line_end(address, place)
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
