"""Tables of what an animation is asked for (CSV): a path, key poses at times, directions while playing.

A path has columns `x, z` (metres on the ground) or `x, y, z`, and `label` where behaviours are asked for: a
row's label holds from there to the next row. Key poses have `pose` (`SEQUENCE:FRAME`, or a number of the
library) and `time` (seconds). Directions have `time, x, z`; one holds until the next. Shares of a second clip
have `time` and `share`, straight between rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from marey._arrays import Array
from marey.errors import FormatError, InputError
from marey.geometry import paths
from marey.geometry.paths import Behaviour
from marey.io._files import atomic_write, decoded, quoted, read_bytes
from marey.surface.library import Library
from marey.surface.synthesis.animation import Animation

LARGEST_TABLE = 64 << 20
# Seconds; what is asked for later is a slip of the pen.
LONGEST_TIME = 3600.0


def read_path(path: Path) -> paths.Path:
    """The curve through the points of a table, with the behaviours its labels ask for.

    >>> import tempfile
    >>> table = Path(tempfile.mkdtemp()) / "way.csv"
    >>> _ = table.write_text("x,z,label\\n0,0,walk\\n0,3,run\\n0,9,\\n")
    >>> [(asked.labels, asked.start, asked.stop) for asked in read_path(table).behaviours]
    [(('walk',), 0.0, 3.0), (('run',), 3.0, 9.0)]
    """
    header, rows = _table(path, ("x", "z"), default=("x", "z"))
    axes = ("x", "y", "z") if "y" in header else ("x", "z")
    corners = _numbers(header, rows, axes, path)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    labels = [row[header.index("label")] for _, row in rows] if "label" in header else []
    behaviours = [
        Behaviour((label,), float(along[i]), float(along[i + 1]))
        for i, label in enumerate(labels[:-1])
        if label and along[i + 1] > along[i]
    ]
    try:
        return paths.Path.through(corners, behaviours=_merged(behaviours))
    except InputError as error:
        raise FormatError(str(error), path=path) from error


def read_key_poses(path: Path, library: Library) -> tuple[list[int], Array]:
    """Frames of a library and the times, seconds, at which they are to be taken."""
    header, rows = _table(path, ("pose", "time"))
    times = _numbers(header, rows, ("time",), path)[:, 0]
    _check_times(times, [line for line, _ in rows], path)
    frames = []
    for line, row in rows:
        try:
            frames.append(library.frame(row[header.index("pose")]))
        except InputError as error:
            raise FormatError(str(error), path=path, line=line) from error
    return frames, times


def read_directions(path: Path) -> Array:
    """Times in seconds, rising from 0, and directions on the ground, `(rows, 3)`."""
    return _over_time(path, ("time", "x", "z"))[0]


def read_blend_weights(path: Path) -> Array:
    """Times in seconds, rising, and shares of the second of two clips, 0…1, `(rows, 2)`.

    >>> import tempfile
    >>> table = Path(tempfile.mkdtemp()) / "shares.csv"
    >>> _ = table.write_text("time,share\\n0,0\\n1.5,1\\n")
    >>> read_blend_weights(table).tolist()
    [[0.0, 0.0], [1.5, 1.0]]
    """
    table, lines = _over_time(path, ("time", "share"))
    outside = (table[:, 1] < 0) | (table[:, 1] > 1)
    if outside.any():
        at = int(np.argmax(outside))
        raise FormatError(f"share {table[at, 1]:g}: it must lie in 0…1", path=path, line=lines[at])
    return table


def write_provenance(animation: Animation, library: Library, path: Path) -> None:
    """A table of where each frame of an animation comes from: two captured frames and the second's share."""
    origin = animation.provenance
    with atomic_write(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["frame", "kind", "sequence", "source", "to_sequence", "destination", "share"])
        for i, (source, destination) in enumerate(zip(origin.sources, origin.destinations, strict=True)):
            (first, k), (second, m) = library.locate(int(source)), library.locate(int(destination))
            kind = "blended" if origin.synthetic[i] else "captured"
            share = f"{origin.weights[i]:.6g}"
            writer.writerow([i, kind, library.names[first], k, library.names[second], m, share])


def _merged(behaviours: Sequence[Behaviour]) -> list[Behaviour]:
    """Parts that follow each other with the same labels as one."""
    found: list[Behaviour] = []
    for part in behaviours:
        if found and found[-1].labels == part.labels and found[-1].stop == part.start:
            part = Behaviour(part.labels, found.pop().start, part.stop)
        found.append(part)
    return found


def _table(
    path: Path, needed: Sequence[str], default: Sequence[str] = ()
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Names of the columns, and rows with their lines; `default` names those of a table without header."""
    text = decoded(read_bytes(path, limit=LARGEST_TABLE)).lstrip("\ufeff")
    lines = csv.reader(io.StringIO(text))
    try:
        rows = [(lines.line_num, [cell.strip() for cell in row]) for row in lines if any(map(str.strip, row))]
    except csv.Error as error:
        raise FormatError(f"not a table: {error}", path=path, line=lines.line_num) from error
    header = [cell.lower() for cell in rows[0][1]] if rows else []
    if default and header and all(map(_is_number, header)):
        header = list(default) if len(header) == len(default) else ["x", "y", "z"][: len(header)]
    else:
        rows = rows[1:]
    missing = [name for name in needed if name not in header]
    if missing:
        raise FormatError(f"there is no column {missing[0]!r}; the first line names the columns", path=path)
    if not rows:
        raise FormatError("the table has no rows", path=path)
    for line, row in rows:
        if len(row) != len(header):
            raise FormatError(f"{len(row)} cells for {len(header)} columns", path=path, line=line)
    return header, rows


def _check_times(times: Array, lines: Sequence[int], path: Path) -> None:
    far = np.abs(times) > LONGEST_TIME
    if far.any():
        at = int(np.argmax(far))
        told = f"time {times[at]:g}: at most an hour, {LONGEST_TIME:g} seconds"
        raise FormatError(told, path=path, line=lines[at])


def _over_time(path: Path, columns: Sequence[str]) -> tuple[Array, list[int]]:
    """Numbers of the columns, the first of which rises, and the lines they stand in."""
    header, rows = _table(path, columns)
    table, lines = _numbers(header, rows, columns, path), [line for line, _ in rows]
    _check_times(table[:, 0], lines, path)
    late = np.diff(table[:, 0]) <= 0
    if late.any():
        line = lines[int(np.argmax(late)) + 1]
        raise FormatError("its time is not after that of the row before", path=path, line=line)
    return table, lines


def _numbers(
    header: Sequence[str], rows: Sequence[tuple[int, list[str]]], columns: Sequence[str], path: Path
) -> Array:
    places = [header.index(name) for name in columns]
    values = np.empty((len(rows), len(columns)))
    for i, (line, row) in enumerate(rows):
        for k, place in enumerate(places):
            if not _is_number(row[place]):
                raise FormatError(f"{columns[k]}: {quoted(row[place])} is not a number", path=path, line=line)
            values[i, k] = float(row[place])
    return values


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
