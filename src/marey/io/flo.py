"""Middlebury optical flow, `.flo`: one field a file, or a numbered series of them.

A file is the tag `PIEH`, width and height (little-endian int32) and rows of `u, v` pairs (float32); values
beyond 1e9 mean "unknown" (Baker et al., "A Database and Evaluation Methodology for Optical Flow", 2011).
Values come back bit for bit. Cost: one copy.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey._arrays import read_only
from marey._work import Progress, tracked
from marey.crowd.fields import FieldSeries, concatenate
from marey.errors import FormatError, InputError
from marey.io._files import check_readable, read_bytes, series_files, series_name, time_facts, write_series
from marey.io._limits import LIMITS

TAG = b"PIEH"
HEADER_BYTES = 12
UNKNOWN_ABOVE = 1e9
UNKNOWN = np.float32(1e10)


def read(path: Path, *, frame_rate: float = 25.0) -> FieldSeries:
    """The field of one file, or the series of `flow_%04d.flo` or of a folder.

    frame_rate: frames per second, which the files do not state

    Pixels that are unknown in any of the files are masked, and zero.
    """
    path = Path(path)
    files = series_files(path, (".flo",))
    rows, columns = _size(files[0])
    if len(files) * rows * columns * 8 > LIMITS.file:
        raise FormatError(f"{len(files)} fields of {columns} × {rows} are too large to hold", path=path)
    velocities = np.empty((len(files), rows, columns, 2), dtype=np.float32)
    mask = np.ones((rows, columns), dtype=np.bool_)
    for field, file in zip(velocities, files, strict=True):
        if _size(file) != (rows, columns):
            raise FormatError(f"is not {columns} × {rows} as {files[0].name} is", path=file)
        field[:] = _field(file, rows, columns)
        with np.errstate(invalid="ignore"):
            known = (np.abs(field) <= UNKNOWN_ABOVE).all(axis=-1)
        field[~known] = 0
        mask &= known
    velocities[:, ~mask] = 0
    return FieldSeries(
        read_only(velocities), frame_rate, None if mask.all() else mask, name=series_name(path)
    )


def facts(path: Path) -> dict[str, object]:
    """What a series is, from its number of files and at most eight of them."""
    files = series_files(path, (".flo",))
    sample = concatenate([read(file) for file in files[:: -(-len(files) // 8)]])
    return {**sample.facts(), **time_facts(len(files), sample.frame_rate)}


def write(fields: FieldSeries, path: Path, *, progress: Progress | None = None) -> None:
    """One file for one field, a numbered series (`flow_%04d.flo`) for several; masked pixels are unknown."""
    path = Path(path)
    largest = np.abs(fields.velocities).max()
    if largest > UNKNOWN_ABOVE:
        raise InputError(f"{path}: a velocity of {largest:g} would mean 'unknown' in a .flo file")
    write_series(path, (_encoded(fields, i) for i in tracked(range(fields.frames), progress)), fields.frames)


def _size(file: Path) -> tuple[int, int]:
    """Rows and columns, after checking them against the length of the file."""
    check_readable(file)
    try:
        with file.open("rb") as stream:
            header = stream.read(HEADER_BYTES)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=file) from error
    if not header.startswith(TAG):
        raise FormatError("does not begin with 'PIEH': not a Middlebury flow file", path=file)
    if len(header) < HEADER_BYTES:
        raise FormatError(f"holds {len(header)} bytes; the header alone has {HEADER_BYTES}", path=file)
    columns, rows = np.frombuffer(header, dtype="<i4", offset=4).tolist()
    expected, found = HEADER_BYTES + 8 * columns * rows, file.stat().st_size
    if columns < 1 or rows < 1 or expected != found:
        raise FormatError(
            f"declares {columns} × {rows} pixels ({expected} bytes) and holds {found} bytes", path=file
        )
    return rows, columns


def _field(file: Path, rows: int, columns: int) -> NDArray[np.float32]:
    return np.frombuffer(read_bytes(file), dtype="<f4", offset=HEADER_BYTES).reshape(rows, columns, 2)


def _encoded(fields: FieldSeries, frame: int) -> bytes:
    values = fields.velocities[frame].astype("<f4")
    if fields.mask is not None:
        values[~fields.mask] = UNKNOWN
    return bytes(TAG + np.array([fields.columns, fields.rows], dtype="<i4").tobytes() + values.tobytes())
