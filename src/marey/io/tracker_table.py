"""Tables of trackers: a row a frame, columns named after what is tracked (CSV).

`time` (seconds) or `frame` if there is one, then for each tracker `NAME_x, NAME_y, NAME_z` in metres and,
for those that tell a direction, `NAME_qw, NAME_qx, NAME_qy, NAME_qz`. NAME is a joint, `JOINT_end`, or any
name that is mapped to one. Empty cells are missing samples. Cell by cell: a second for a million cells.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey.body.trackers import Trackers
from marey.errors import FormatError
from marey.io._files import atomic_write, decoded, quoted, read_bytes

POSITION, ROTATION = ("_x", "_y", "_z"), ("_qw", "_qx", "_qy", "_qz")
MOST_COLUMNS = 10_000
_TINY = 1e-9


@np.errstate(all="ignore")  # what overflows is refused as not finite
def read(path: Path, *, frame_rate: float | None = None) -> Trackers:
    """Trackers of a table.

    frame_rate: frames per second; from the column `time` if None
    """
    path = Path(path)
    lines = csv.reader(io.StringIO(decoded(read_bytes(path)).lstrip("\ufeff")))
    try:
        header = [cell.strip() for cell in next(lines, [])]
        rows = [(lines.line_num, row) for row in lines if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise FormatError(f"not a table: {error}", path=path, line=lines.line_num) from error
    names = _names(header, path)
    if not rows:
        raise FormatError("the table has no row of numbers", path=path)
    cells = np.array([_numbers(row, header, path, line) for line, row in rows])
    column = {name: cells[:, i] for i, name in enumerate(header)}
    positions = np.stack([np.stack([column[n + end] for end in POSITION], -1) for n in names], 1)
    turned = [name for name in names if all(name + end in column for end in ROTATION)]
    rotations = None
    if turned:
        rotations = np.full((*positions.shape[:2], 4), np.nan)
        for i, name in enumerate(names):
            if name in turned:
                rotations[:, i] = _unit(np.stack([column[name + end] for end in ROTATION], -1))
    rate = _rate(column.get("time"), frame_rate, path)
    return Trackers(names, positions, rate, rotations, name=path.stem)


def write(trackers: Trackers, path: Path) -> None:
    """A table that :func:`read` takes back."""
    header = ["time"]
    blocks: list[NDArray[np.float64]] = [np.arange(trackers.frames)[:, None] / trackers.frame_rate]
    for i, name in enumerate(trackers.names):
        header += [name + end for end in POSITION]
        blocks.append(np.asarray(trackers.positions[:, i]))
        if trackers.rotations is not None and np.isfinite(trackers.rotations[:, i]).all(axis=1).any():
            header += [name + end for end in ROTATION]
            blocks.append(np.asarray(trackers.rotations[:, i]))
    table = np.concatenate(blocks, axis=1)
    with atomic_write(Path(path)) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([f"{v:.9g}" if np.isfinite(v) else "" for v in row] for row in table.tolist())


def _names(header: Sequence[str], path: Path) -> tuple[str, ...]:
    if len(header) > MOST_COLUMNS:
        raise FormatError(f"{len(header)} columns; a table of trackers has at most {MOST_COLUMNS}", path=path)
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise FormatError(f"two columns are called {quoted(twice)}", path=path, line=1)
    there = set(header)
    names = tuple(
        name[:-2]
        for name in header
        if name.endswith("_x") and all(name[:-2] + end in there for end in POSITION)
    )
    if not names:
        raise FormatError(
            "no tracker found: columns must be called NAME_x, NAME_y, NAME_z (and NAME_qw … NAME_qz), "
            f"got {', '.join(quoted(name) for name in header[:6])}",
            path=path,
            line=1,
        )
    return names


def _numbers(row: Sequence[str], header: Sequence[str], path: Path, line: int) -> list[float]:
    if len(row) != len(header):
        raise FormatError(f"{len(row)} cells in a table of {len(header)} columns", path=path, line=line)
    values = []
    for cell, name in zip(row, header):
        try:
            values.append(float(cell) if cell.strip() else np.nan)
        except ValueError:
            raise FormatError(
                f"{quoted(cell)} in column {quoted(name)} is not a number", path=path, line=line
            ) from None
    return values


def _unit(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(quaternions, axis=1, keepdims=True)
    return np.where(norms > _TINY, quaternions / np.where(norms > _TINY, norms, 1.0), np.nan)


def _rate(times: NDArray[np.float64] | None, given: float | None, path: Path) -> float:
    if given is not None:
        return given
    if times is None or len(times) < 2:
        missing = "no column `time`" if times is None else "no second row"
        raise FormatError(f"{missing} to tell the frame rate; give it, e.g. --from-frame-rate 60", path=path)
    steps = np.diff(times)
    if not np.isfinite(steps).all() or steps.min() <= 0:
        row = int(np.flatnonzero(~(steps > 0) | np.isinf(steps))[0]) + 3
        raise FormatError("the times must rise from row to row", path=path, line=row)
    if steps.max() > 1.5 * np.median(steps):
        row = int(np.argmax(steps)) + 3
        raise FormatError(
            "the times are not evenly spaced; write missing frames as rows with empty cells",
            path=path,
            line=row,
        )
    return float((len(times) - 1) / (times[-1] - times[0]))
