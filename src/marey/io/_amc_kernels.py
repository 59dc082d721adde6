"""The compiled loop of the AMC reader: what stands first on each line. About 2 ns a byte.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_TAB, _LF, _CR, _BLANK, _HASH = 9, 10, 13, 32, 35


@njit(cache=True, nogil=True, error_model="numpy")
def take_words(
    text: Bytes, numbers: Bytes, starts: Ints, stops: Ints, others: Ints, lines: Ints, alike: Ints
) -> int:
    """Take the first word off each line, unless it begins with a digit; how many lines have words.

    For each of those: where the word begins and stops, how many other words there are, and the number of
    the line, counted from 0. `alike` is an earlier line with the same word, where the frame before has it
    in the same place, else the line itself. Words that are taken become blanks in `numbers`, a copy of
    `text`, so that numbers are left.
    """
    end = text.shape[0]
    position = rows = line = 0
    # Rows at which this frame and the one before begin.
    frame = before = 0
    while position < end:
        words = 0
        while position < end and text[position] != _LF and text[position] != _CR:
            if text[position] == _BLANK or text[position] == _TAB:
                position += 1
                continue
            if text[position] == _HASH:
                while position < end and text[position] != _LF and text[position] != _CR:
                    position += 1
                break
            start = position
            while position < end and not (
                text[position] == _BLANK
                or _TAB <= text[position] <= _LF
                or text[position] == _CR
                or text[position] == _HASH
            ):
                position += 1
            words += 1
            if words > 1:
                continue
            starts[rows], stops[rows], lines[rows], alike[rows] = start, position, line, rows
            if 48 <= text[start] <= 57:
                frame, before = rows, frame
                continue
            twin = alike[before + rows - frame]
            if twin < rows and _same(text, starts[twin], stops[twin], start, position):
                alike[rows] = twin
            numbers[start:position] = _BLANK
        if words:
            others[rows] = words - 1
            rows += 1
        if position + 1 < end and text[position] == _CR and text[position + 1] == _LF:
            position += 1
        position += 1
        line += 1
    return rows


@njit(cache=True, nogil=True, error_model="numpy")
def _same(buffer: Bytes, start: int, stop: int, other_start: int, other_stop: int) -> bool:
    if stop - start != other_stop - other_start:
        return False
    for i in range(stop - start):  # noqa: SIM110 - numba has no all()
        if buffer[start + i] != buffer[other_start + i]:
            return False
    return True
