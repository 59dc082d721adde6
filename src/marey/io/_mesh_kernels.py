"""Compiled loops over the text of OBJ files.

They never read past the end of what they are given, whatever is in it; about 1 ns a byte. Importing this
module imports numba: do so inside functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Bytes, Integers
from marey._compiling import njit
from marey.io._number_kernels import BAD, SLOW, read_number

Triangles = NDArray[np.int32]


def compile_options(known: object) -> dict[str, Any]:
    """Options for numba: without reference counts, where it is among the options `known` to this numba.

    Nothing is allocated here, so arrays need no counts, which cost three times the work. The option is
    private: without it these loops are slower, but the same.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    return {**options, "_nrt": False} if hasattr(known, "_nrt") else options


try:
    from numba.core.options import DefaultOptions
except ImportError:  # it has moved
    DefaultOptions = None
_OPTIONS = compile_options(DefaultOptions)

# How `read_obj` ended.
DONE, SLOW_FULL, BAD_NUMBER, FEW_NUMBERS, BAD_CORNER, FEW_CORNERS, NO_VERTEX, NO_UV, TOO_MANY = range(9)

# Where `read_obj` stands, in its `state`; whether corners without and with texture coordinates were met; and
# one more than where a material library is named.
POSITION, VERTICES, UVS, TRIANGLES, SLOWS, PLAIN, TEXTURED, LIBRARY, STATE_SIZE = range(9)

# What `count_obj` counts, besides VERTICES, UVS and TRIANGLES: where the first face begins, whether points
# come after it, and whether the first vertex has a colour.
FACES_AT, POINTS_AFTER_FACES, COLOURED, COUNTS_SIZE = 4, 5, 6, 7

# Numbers that a vertex may have: coordinates, a weight, a colour.
MOST_NUMBERS = 7

# Lines of an OBJ file that matter, and colours, which are part of a vertex line.
OTHER, VERTEX, UV, FACE, COLOUR = range(5)

# What a byte is: part of a token, blank (0 stands for a line end that was taken away), a line end, the
# start of a comment.
_TOKEN, _BLANK, _NEWLINE, _COMMENT = range(4)
_KINDS = np.zeros(256, dtype=np.uint8)
_KINDS[[0, 9, 32]] = _BLANK
_KINDS[[10, 13]] = _NEWLINE
_KINDS[35] = _COMMENT
_LF, _CR, _SLASH, _MINUS = 10, 13, 47, 45


@njit(**_OPTIONS)
def count_obj(buffer: Bytes, counts: Integers) -> None:
    """Vertices, texture coordinates and triangles of an OBJ file, as `read_obj` will find them.

    `counts` begins as zeros.
    """
    end = buffer.shape[0]
    counts[FACES_AT] = end
    position = 0
    while position < end:
        start = position
        kind, position = _keyword(buffer, position, end)
        tokens = 0
        if kind == FACE or (kind == VERTEX and counts[VERTICES] == 0):
            tokens = _count_tokens(buffer, position, end)
        if kind == VERTEX:
            counts[VERTICES] += 1
            if counts[VERTICES] == 1:
                counts[COLOURED] = tokens >= 6
        elif kind == UV:
            counts[UVS] += 1
        elif kind == FACE:
            counts[TRIANGLES] += max(tokens - 2, 0)
            counts[FACES_AT] = min(counts[FACES_AT], start)
        if (kind == VERTEX or kind == UV) and counts[FACES_AT] < end:  # noqa: SIM109
            counts[POINTS_AFTER_FACES] = 1
        position = _next_line(buffer, position, end)


@njit(**_OPTIONS)
def read_obj(
    buffer: Bytes,
    end: int,
    vertices: Array,
    colours: Array,
    uv: Array,
    faces: Triangles,
    uv_faces: Triangles,
    numbers: Array,
    slow: Integers,
    state: Integers,
) -> int:
    """Fill the arrays from `buffer[state[POSITION]:end]`, until something stops it.

    Polygons become fans. `uv_faces` is -1 where a corner has no texture coordinate; `colours` may have no
    row. Numbers for Python go to `slow`: rows of (VERTEX, UV or COLOUR, index in that flat array, start,
    end), or (OTHER, …) for a number nobody keeps. On an error `state[POSITION]` is where it is. `numbers`
    is room for MOST_NUMBERS of them.
    """
    while state[POSITION] < end:
        if state[SLOWS] + MOST_NUMBERS > slow.shape[0]:
            return SLOW_FULL
        kind, position = _keyword(buffer, state[POSITION], end)
        status = DONE
        if kind == FACE:
            status, position = _read_face(
                buffer, position, end, vertices.shape[0], uv.shape[0], faces, uv_faces, state
            )
        elif kind != OTHER:
            before = state[SLOWS]
            found, position = _read_numbers(buffer, position, end, kind, numbers, slow, state)
            if found < 0:
                status = BAD_NUMBER
            elif kind == VERTEX:
                status = _keep_vertex(found, before, vertices, colours, numbers, slow, state)
            else:
                status = _keep_uv(found, before, uv, numbers, slow, state)
        elif _starts(buffer, position, end, 109, 116):  # mtllib
            state[LIBRARY] = position + 1
        if status != DONE:
            state[POSITION] = position
            return status
        state[POSITION] = _next_line(buffer, position, end)
    return DONE


@njit(**_OPTIONS)
def _read_face(
    buffer: Bytes,
    position: int,
    end: int,
    most: int,
    uv_most: int,
    faces: Triangles,
    uv_faces: Triangles,
    state: Integers,
) -> tuple[int, int]:
    """The corners of a face, as a fan of triangles."""
    first = previous = np.int64(0)
    first_uv = previous_uv = np.int64(0)
    row, corners = state[TRIANGLES], 0
    met, uv_met = state[VERTICES], state[UVS]
    while True:
        while position < end and _KINDS[buffer[position]] == _BLANK:
            position += 1
        if position >= end or _KINDS[buffer[position]] != _TOKEN:
            break
        status, stop, vertex, uv = _read_corner(buffer, position, end, met, most, uv_met, uv_most)
        if status != DONE:
            return status, position
        position = stop
        state[PLAIN if uv < 0 else TEXTURED] = 1
        if corners == 0:
            first, first_uv = vertex, uv
        elif corners >= 2:
            if row >= faces.shape[0]:
                return TOO_MANY, position
            faces[row, 0], faces[row, 1], faces[row, 2] = first, previous, vertex
            uv_faces[row, 0], uv_faces[row, 1], uv_faces[row, 2] = first_uv, previous_uv, uv
            row += 1
        previous, previous_uv = vertex, uv
        corners += 1
    state[TRIANGLES] = row
    return (DONE if corners >= 3 else FEW_CORNERS), position


@njit(**_OPTIONS)
def _read_corner(
    buffer: Bytes, position: int, end: int, met: int, most: int, uv_met: int, uv_most: int
) -> tuple[int, int, np.int64, np.int64]:
    """A corner `v`, `v/vt`, `v//vn` or `v/vt/vn`; negative numbers count back from what was met.

    Returns how it ended, where, the vertex, and the texture coordinate or -1.
    """
    uv = np.int64(-1)
    value, position = _read_index(buffer, position, end)
    vertex = value - 1 if value > 0 else met + value
    if value == 0:
        return BAD_CORNER, position, vertex, uv
    if not 0 <= vertex < most:
        return NO_VERTEX, position, vertex, uv
    if position < end and buffer[position] == _SLASH:
        value, position = _read_index(buffer, position + 1, end)
        if value != 0:
            uv = value - 1 if value > 0 else uv_met + value
            if not 0 <= uv < uv_most:
                return NO_UV, position, vertex, uv
        if position < end and buffer[position] == _SLASH:
            value, position = _read_index(buffer, position + 1, end)
    if position < end and _KINDS[buffer[position]] == _TOKEN:
        return BAD_CORNER, position, vertex, uv
    return DONE, position, vertex, uv


@njit(**_OPTIONS)
def _read_index(buffer: Bytes, position: int, end: int) -> tuple[np.int64, int]:
    """A whole number other than 0; 0 if there is none. It stops before it overflows."""
    negative = position < end and buffer[position] == _MINUS
    if negative:
        position += 1
    value = np.int64(0)
    while position < end:
        digit = np.int64(buffer[position]) - 48
        if digit < 0 or digit > 9 or value > 1 << 40:
            break
        value = value * 10 + digit
        position += 1
    return (-value if negative else value), position


@njit(**_OPTIONS)
def _read_numbers(
    buffer: Bytes, position: int, end: int, kind: int, numbers: Array, slow: Integers, state: Integers
) -> tuple[int, int]:
    """The numbers of a line, MOST_NUMBERS at most: how many, or -1 if one is none, and where it ends."""
    found = 0
    while found < MOST_NUMBERS:
        while position < end and _KINDS[buffer[position]] == _BLANK:
            position += 1
        if position >= end or _KINDS[buffer[position]] != _TOKEN:
            break
        value, stop, how = read_number(buffer, position, end)
        if how == BAD or (stop < end and _KINDS[buffer[stop]] == _TOKEN):
            return -1, position
        if how == SLOW:
            row = state[SLOWS]
            slow[row, 0], slow[row, 1], slow[row, 2], slow[row, 3] = kind, found, position, stop
            state[SLOWS] += 1
        numbers[found] = value
        found += 1
        position = stop
    return found, position


@njit(**_OPTIONS)
def _keep_vertex(
    found: int, before: int, vertices: Array, colours: Array, numbers: Array, slow: Integers, state: Integers
) -> int:
    row = state[VERTICES]
    if found < 3:
        return FEW_NUMBERS
    if row >= vertices.shape[0]:
        return TOO_MANY
    for axis in range(3):
        vertices[row, axis] = numbers[axis]
    coloured = found >= 6 and colours.shape[0] > 0
    if colours.shape[0]:
        for axis in range(3):
            colours[row, axis] = numbers[3 + axis] if coloured else 1.0
    for i in range(before, state[SLOWS]):
        if slow[i, 1] < 3:
            slow[i, 1] += 3 * row
        elif coloured and slow[i, 1] < 6:
            slow[i, 0] = COLOUR
            slow[i, 1] += 3 * row - 3
        else:
            slow[i, 0] = OTHER
    state[VERTICES] += 1
    return DONE


@njit(**_OPTIONS)
def _keep_uv(found: int, before: int, uv: Array, numbers: Array, slow: Integers, state: Integers) -> int:
    row = state[UVS]
    if found < 1:
        return FEW_NUMBERS
    if row >= uv.shape[0]:
        return TOO_MANY
    uv[row, 0] = numbers[0]
    uv[row, 1] = numbers[1] if found > 1 else 0.0
    for i in range(before, state[SLOWS]):
        if slow[i, 1] < 2:
            slow[i, 1] += 2 * row
        else:
            slow[i, 0] = OTHER
    state[UVS] += 1
    return DONE


@njit(**_OPTIONS)
def _keyword(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """What the line at `position` holds, and where the rest of it (of another line: all of it) begins."""
    while position < end and _KINDS[buffer[position]] == _BLANK:
        position += 1
    if position + 1 >= end:
        return OTHER, position
    letter, alone = buffer[position], _KINDS[buffer[position + 1]] != _TOKEN
    if letter == 118 and alone:  # v
        return VERTEX, position + 1
    if letter == 102 and alone:  # f
        return FACE, position + 1
    if _starts(buffer, position, end, 118, 116) and (  # vt
        position + 2 >= end or _KINDS[buffer[position + 2]] != _TOKEN
    ):
        return UV, position + 2
    return OTHER, position


@njit(**_OPTIONS)
def _starts(buffer: Bytes, position: int, end: int, letter: int, after: int) -> bool:
    return position + 1 < end and buffer[position] == letter and buffer[position + 1] == after


@njit(**_OPTIONS)
def _count_tokens(buffer: Bytes, position: int, end: int) -> int:
    """Tokens from `position` to the end of the line or a comment."""
    tokens = 0
    while True:
        while position < end and _KINDS[buffer[position]] == _BLANK:
            position += 1
        if position >= end or _KINDS[buffer[position]] != _TOKEN:
            return tokens
        tokens += 1
        while position < end and _KINDS[buffer[position]] == _TOKEN:
            position += 1


@njit(**_OPTIONS)
def _next_line(buffer: Bytes, position: int, end: int) -> int:
    while position < end and _KINDS[buffer[position]] != _NEWLINE:
        position += 1
    return position + 1
