"""Acclaim motion, `.amc`: for each frame its number on a line, then a line for each bone that moves.

Bones may come in any order, which may change from frame to frame. Words are looked at line by line in a
compiled loop, numbers are parsed in bulk (`_numbers`). Cost: some 10 ns a byte.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey.errors import FormatError, MareyWarning
from marey.io._files import read_bytes
from marey.io._numbers import NumberText
from marey.io._text import decoded, shown

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

# Twenty minutes at 120 frames per second take 110 MB.
LARGEST_FILE = 1 << 27

_FIRST_FRAME = re.compile(rb"(?:\A|(?<=[\r\n]))[ \t]*\d+[ \t]*(?=[\r\n#]|\Z)")
_COMMENT = re.compile(rb"#[^\r\n]*")


@dataclass(frozen=True)
class Amc:
    """What a motion file says.

    values: by bone, `(frames, freedoms)`; bones that are in no frame are missing
    in_degrees, frame_rate: None if the file does not say
    """

    frames: int
    values: dict[str, Array]
    in_degrees: bool | None
    frame_rate: float | None


def read_amc(path: Path, freedoms: Mapping[str, int]) -> Amc:
    """The motion in an AMC file, for bones of these names and numbers of freedoms."""
    text = read_bytes(path, limit=LARGEST_FILE)
    first = _FIRST_FRAME.search(text)
    if first is None:
        raise FormatError("no frame found; not an AMC file", path=path)
    head = text[: first.start()]
    first_line = len(head.splitlines()) + 1
    body = np.frombuffer(text, dtype=np.uint8)[len(head) :]
    nameless = body.copy()
    rows = _take_rows(body, nameless, freedoms, path, first_line)
    numbers = np.empty(rows.numbers)
    NumberText(nameless.data, path=path, first_line=first_line, comment=b"#").fill(numbers)
    frames = np.flatnonzero(rows.bone < 0)
    _check_numbering(numbers[rows.start[frames]], path)
    keywords = _COMMENT.sub(b"", head).upper().split()
    return Amc(
        len(frames),
        _values(rows, numbers, freedoms, path),
        True if b":DEGREES" in keywords else False if b":RADIANS" in keywords else None,
        _stated_rate(keywords),
    )


@dataclass(frozen=True)
class _Rows:
    """The lines with something on them.

    bone: which it is of, -1 for the number of a frame
    start: where its numbers begin among all `numbers` there are
    line: its number in the file
    """

    bone: Ints
    start: Ints
    line: Ints
    numbers: int


def _take_rows(
    body: Bytes, nameless: Bytes, freedoms: Mapping[str, int], path: Path, first_line: int
) -> _Rows:
    """The lines of a file from its first frame on; the names on them are taken off the copy `nameless`."""
    from marey.io._amc_kernels import take_words
    from marey.io._kernels import count_lines

    table = np.empty((5, min(count_lines(body), len(body) // 2 + 1)), dtype=np.int64)
    count = take_words(body, nameless, *table)
    starts, stops, others, lines, alike = table[:, :count]
    lines += first_line
    index = {name: i for i, name in enumerate(freedoms)}
    bone = np.empty(count, dtype=np.int64)
    for row in np.flatnonzero(alike == np.arange(count)).tolist():
        word = body[starts[row] : stops[row]].tobytes()
        found = -1 if word.isdigit() else index.get(decoded(word))
        if found is None:
            message = f"bone {shown(word)} is not in the skeleton file"
            raise FormatError(message, path=path, line=int(lines[row]))
        bone[row] = found
    bone = bone[alike]
    expected = np.array([*freedoms.values(), 0], dtype=np.int64)[bone]
    wrong = np.flatnonzero(others != expected)
    if wrong.size:
        row = int(wrong[0])
        title = "the number of a frame" if bone[row] < 0 else f"bone {list(freedoms)[bone[row]]!r}"
        message = f"{title} is followed by {expected[row]} numbers, found {others[row]}"
        raise FormatError(message, path=path, line=int(lines[row]))
    ends = np.cumsum(expected + (bone < 0))
    return _Rows(bone, np.concatenate([[0], ends[:-1]]), lines, int(ends[-1]))


def _values(rows: _Rows, numbers: Array, freedoms: Mapping[str, int], path: Path) -> dict[str, Array]:
    is_frame = rows.bone < 0
    frame = np.cumsum(is_frame) - 1
    frames = int(frame[-1]) + 1
    order = np.argsort(rows.bone, kind="stable")
    ends = np.searchsorted(rows.bone[order], np.arange(len(freedoms) + 1))
    values = {}
    for bone, (name, width) in enumerate(freedoms.items()):
        mine = order[ends[bone] : ends[bone + 1]]
        if len(mine) == 0:
            continue
        again = np.flatnonzero(np.diff(frame[mine]) == 0)
        if again.size:
            line = int(rows.line[mine[again[0] + 1]])
            raise FormatError(f"bone {name!r} is there twice in a frame", path=path, line=line)
        if len(mine) < frames:
            without = np.setdiff1d(np.arange(frames), frame[mine])[0]
            line = int(rows.line[np.flatnonzero(is_frame)[without]])
            message = f"this frame has no line for bone {name!r}, which other frames have"
            raise FormatError(message, path=path, line=line)
        values[name] = numbers[rows.start[mine][:, None] + np.arange(width)]
    return values


def _check_numbering(numbers: Array, path: Path) -> None:
    jumps = np.flatnonzero(np.diff(numbers) != 1)
    if jumps.size:
        before, after = numbers[jumps[0] : jumps[0] + 2]
        warnings.warn(
            f"{path}: frame {after:.0f} follows frame {before:.0f}; all frames are read as evenly spaced",
            MareyWarning,
            stacklevel=2,
        )


def _stated_rate(keywords: list[bytes]) -> float | None:
    """Frames per second, which some programs write; None if it makes no sense."""
    if b":SAMPLES-PER-SECOND" not in keywords[:-1]:
        return None
    try:
        rate = float(keywords[keywords.index(b":SAMPLES-PER-SECOND") + 1])
    except ValueError:
        return None
    return rate if 0 < rate < 1e6 else None
