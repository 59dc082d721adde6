"""Numbers of text formats in bulk: tables with one row a line, and plain streams.

The values are those of Python's `float`, bit for bit, at about a nanosecond a byte (see `_number_kernels`).
What is not a plain finite decimal number (`nan`, `1,5`, a cut-off line) is an error that names the line.
"""

from __future__ import annotations

import math
import re
import sys
import threading
import warnings
from functools import lru_cache
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Bytes
from marey.errors import FormatError, InputError
from marey.io._files import quoted

BLANKS = b" \t"
Text = bytes | memoryview | Bytes

# Bytes of text that a process reads before compiled code is worth its while: it takes seconds the first time.
SMALL = 4 << 20

# Numbers that need Python's `float` are resolved in batches of this size.
_BATCH = 4096

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def parse_table(
    data: Text,
    columns: int,
    *,
    path: str | PathLike[str],
    first_line: int = 1,
    comment: bytes | None = None,
    separators: bytes = BLANKS,
) -> Array:
    """Numbers `(rows, columns)` of text that holds `columns` of them on each line that is not blank.

    Lines end in LF, CRLF or CR. `first_line` is the number of the first line of `data` in its file, for
    errors. `comment` is a character that starts a comment; `separators` are what stands between numbers,
    e.g. `b", \\t"`.

    >>> parse_table(b"1 2.5e-1\\r\\n\\r\\n-3\\t.5", 2, path="numbers.txt")
    array([[ 1.  ,  0.25],
           [-3.  ,  0.5 ]])
    """
    table = parse_small_table(data, columns, comment=comment, separators=separators)
    if table is None:
        text = NumberText(data, path=path, first_line=first_line, comment=comment, separators=separators)
        table = np.empty((text.most_rows(columns), columns))
        filled = text.fill(table.reshape(-1), columns)
        table = trimmed(table, filled // columns)
    return table


def parse_small_table(
    data: Text, columns: int, *, comment: bytes | None = None, separators: bytes = BLANKS
) -> Array | None:
    """As :func:`parse_table` by NumPy, for the first megabytes that a process reads: it compiles nothing.

    None once more was read, or the compiled parser is there anyway, or something is wrong, which that parser
    then names.
    """
    _small.bytes_read += len(data)
    if _small.bytes_read > SMALL or "marey.io._number_kernels" in sys.modules:
        return None
    text = bytes(data).translate(bytes.maketrans(separators, b" " * len(separators)))
    if comment is not None:
        text = re.sub(re.escape(comment) + rb"[^\r\n]*", b"", text)
    if text.translate(None, b"0123456789+-.eE \t\r\n"):
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # no rows
            table = np.loadtxt(text.decode().splitlines(), dtype=np.float64, comments=None, ndmin=2)
    except ValueError:
        return None
    return table if table.shape[1] == columns and np.isfinite(table).all() else None


def to_floats(words: list[bytes]) -> list[float]:
    """Finite numbers, or an :class:`InputError` that quotes the first word that is none."""
    try:
        values = [*map(float, words)]
    except ValueError:
        values = [math.nan]
    # Python also takes `nan`, `inf` and `1_000` for numbers.
    if not math.isfinite(sum(values)) or b"_" in b"".join(words):
        wrong = next((word for word in words if not _NUMBER.fullmatch(word)), None)
        if wrong is not None:
            raise InputError(f"expected a number, found {quoted(wrong)}")
        raise InputError(f"{quoted(max(words, key=lambda word: abs(float(word))))} is too large a number")
    return values


class _Small(threading.local):
    bytes_read = 0


_small = _Small()


def parse_numbers(data: Text, *, path: str | PathLike[str], first_line: int = 1) -> Array:
    """Numbers `(n,)` of text, however they are broken into lines.

    >>> parse_numbers(b"1 2\\n3", path="numbers.txt")
    array([1., 2., 3.])
    """
    numbers = np.empty(len(data) // 2 + 1)
    return trimmed(numbers, NumberText(data, path=path, first_line=first_line).fill(numbers))


class NumberText:
    """Text of numbers that is read piece by piece into arrays of the caller.

    >>> text, block = NumberText(b"1 2\\n3 4\\n5 6", path="numbers.txt"), np.empty(4)
    >>> text.fill(block, 2), text.fill(block, 2), text.fill(block, 2)
    (4, 2, 0)
    """

    def __init__(
        self,
        data: Text,
        *,
        path: str | PathLike[str],
        first_line: int = 1,
        comment: bytes | None = None,
        separators: bytes = BLANKS,
    ):
        from marey.io import _number_kernels

        self._kernels = _number_kernels
        self.path = path
        self._buffer = np.frombuffer(data, dtype=np.uint8)
        self._buffer.flags.writeable = False
        self._kinds = _kinds(separators, comment)
        self._slow = np.empty((_BATCH, 4), dtype=np.int64)
        self._state = np.zeros(5, dtype=np.int64)
        self._state[_number_kernels.LINE] = first_line

    def most_rows(self, columns: int) -> int:
        """Room for the rows there are: one a line, and a number and its separator take two bytes."""
        return int(min(self._kernels.count_lines(self._buffer), self._buffer.size // (2 * columns) + 1))

    def fill(self, out: Array, columns: int = 0) -> int:
        """The next numbers into the flat `out`, as many as fit; how many there were (0 at the end).

        With `columns`, each line must hold none or that many, and `out` a multiple of it.
        """
        kernels, state = self._kernels, self._state
        state[kernels.FILLED] = 0
        status = kernels.SLOW_FULL
        while status == kernels.SLOW_FULL:
            state[kernels.SLOWS] = 0
            status = kernels.fill(
                self._buffer, self._buffer.size, self._kinds, columns, out, self._slow, state
            )
            self._resolve(out)
        if status == kernels.BAD_TOKEN:
            raise self._bad_token()
        if status == kernels.WRONG_COUNT:
            raise self._error(f"expected {columns} numbers, found {int(state[kernels.ON_LINE])}")
        return int(state[kernels.FILLED])

    def _resolve(self, out: Array) -> None:
        for index, start, stop, line in self._slow[: self._state[self._kernels.SLOWS]].tolist():
            token = self._buffer[start:stop].tobytes()
            value = float(token)
            if not math.isfinite(value):
                raise FormatError(f"{quoted(token)} is too large a number", path=self.path, line=line)
            out[index] = value

    def _bad_token(self) -> FormatError:
        start = int(self._state[self._kernels.POSITION])
        rest = self._buffer[start : start + 64]
        ends = np.flatnonzero(self._kinds[rest] != self._kernels.OTHER)
        token = rest[: ends[0] if ends.size else rest.size].tobytes()
        return self._error(f"expected a number, found {quoted(token)}")

    def _error(self, message: str) -> FormatError:
        return FormatError(message, path=self.path, line=int(self._state[self._kernels.LINE]))


def trimmed(array: Array, length: int) -> Array:
    """The first `length` entries; a copy where much memory would be kept for nothing."""
    return array[:length] if length >= 0.9 * len(array) else array[:length].copy()


@lru_cache(maxsize=16)
def _kinds(separators: bytes, comment: bytes | None) -> NDArray[np.uint8]:
    from marey.io import _number_kernels

    kinds = np.full(256, _number_kernels.OTHER, dtype=np.uint8)
    kinds[list(separators)] = _number_kernels.BLANK
    kinds[list(b"\r\n")] = _number_kernels.NEWLINE
    kinds[list(comment or b"")] = _number_kernels.COMMENT
    kinds.flags.writeable = False
    return kinds
