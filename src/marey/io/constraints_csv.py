"""Constraints of an animation as tables (CSV): a path, key poses at times, directions while playing.

A path has columns `x, z` (metres on the ground) or `x, y, z`, and `label` where behaviours are wanted: a
row's label holds from there to the next row. Key poses have `pose` (`SEQUENCE:FRAME`, or a number of the
library) and `time` (seconds). Directions have `time, x, z`; one holds until the next. Shares of a second clip
have `time` and `share`, straight between rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from marey._arrays import Array
from marey.errors import FormatError, InputError
from marey.geometry import planar
from marey.geometry.planar import Behaviour
from marey.io._limits import LIMITS
from marey.io._tables import Table, read_table, write_table
from marey.surface.sequence import Library
from marey.surface.synthesis.animation import Animation


def read_path(path: Path) -> planar.Path:
    """The curve through the points of a table, with the behaviours its labels ask for.

    >>> import tempfile
    >>> table = Path(tempfile.mkdtemp()) / "path.csv"
    >>> _ = table.write_text("x,z,label\\n0,0,walk\\n0,3,run\\n0,9,\\n")
    >>> [(part.labels, part.start, part.stop) for part in read_path(table).behaviours]
    [(('walk',), 0.0, 3.0), (('run',), 3.0, 9.0)]
    """
    table = read_table(path, ("x", "z"), without_header=(("x", "z"), ("x", "y", "z")))
    corners = table.numbers(("x", "y", "z") if "y" in table.header else ("x", "z"))
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    labels = table.texts("label") if "label" in table.header else []
    behaviours = [
        Behaviour((label,), float(along[i]), float(along[i + 1]))
        for i, label in enumerate(labels[:-1])
        if label and along[i + 1] > along[i]
    ]
    try:
        return planar.Path.through(corners, behaviours=_merged(behaviours))
    except InputError as error:
        raise FormatError(str(error), path=path) from error


def read_key_poses(path: Path, library: Library) -> tuple[list[int], Array]:
    """Frames of a library and the times, seconds, at which they are to be taken."""
    table = read_table(path, ("pose", "time"))
    times, frames = _times(table), []
    for i, pose in enumerate(table.texts("pose")):
        try:
            frames.append(library.frame(pose))
        except InputError as error:
            raise table.error(str(error), i) from error
    return frames, times


def read_directions(path: Path) -> Array:
    """Times in seconds, rising from 0, and directions on the ground, `(rows, 3)`."""
    return _over_time(path, "x", "z")[0]


def read_blend_weights(path: Path) -> Array:
    """Times in seconds, rising, and shares of the second of two clips, 0…1, `(rows, 2)`.

    >>> import tempfile
    >>> table = Path(tempfile.mkdtemp()) / "shares.csv"
    >>> _ = table.write_text("time,share\\n0,0\\n1.5,1\\n")
    >>> read_blend_weights(table).tolist()
    [[0.0, 0.0], [1.5, 1.0]]
    """
    rows, table = _over_time(path, "share")
    outside = (rows[:, 1] < 0) | (rows[:, 1] > 1)
    if outside.any():
        at = int(np.argmax(outside))
        raise table.error(f"share {rows[at, 1]:g}: it must lie in 0…1", at)
    return rows


def write_provenance(animation: Animation, library: Library, path: Path) -> None:
    """A table of where each frame of an animation comes from: two captured frames and the second's share."""
    origin, rows = animation.provenance, []
    for i, (source, destination) in enumerate(zip(origin.sources, origin.destinations, strict=True)):
        (first, k), (second, m) = library.locate(int(source)), library.locate(int(destination))
        kind, share = "blended" if origin.synthetic[i] else "captured", f"{origin.weights[i]:.6g}"
        rows.append((i, kind, library.names[first], k, library.names[second], m, share))
    write_table(path, ("frame", "kind", "sequence", "source", "to_sequence", "destination", "share"), rows)


def _merged(behaviours: Sequence[Behaviour]) -> list[Behaviour]:
    """Parts that follow each other with the same labels as one."""
    found: list[Behaviour] = []
    for part in behaviours:
        if found and found[-1].labels == part.labels and found[-1].stop == part.start:
            part = Behaviour(part.labels, found.pop().start, part.stop)
        found.append(part)
    return found


def _times(table: Table) -> Array:
    times = table.numbers(["time"])[:, 0]
    late = np.abs(times) > LIMITS.seconds
    if late.any():
        at = int(np.argmax(late))
        raise table.error(f"time {times[at]:g}: at most an hour, {LIMITS.seconds:g} seconds", at)
    return times


def _over_time(path: Path, *columns: str) -> tuple[Array, Table]:
    """Rising times and the numbers of the columns, `(rows, 1 + columns)`."""
    table = read_table(path, ("time", *columns))
    times = _times(table)
    late = np.diff(times) <= 0
    if late.any():
        raise table.error("its time is not after that of the row before", int(np.argmax(late)) + 1)
    return np.column_stack([times, table.numbers(columns)]), table
