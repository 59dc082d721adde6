"""Tables of trajectories as columns of numbers: text with or without header, CSV, Parquet.

Text that holds nothing but numbers is parsed in bulk (`_numbers`); CSV with empty cells, words or quotes
goes cell by cell. What the columns mean beyond their names is the business of `trajectories`.
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey._arrays import LARGEST_ARRAY, BoolArray
from marey.errors import FormatError, MareyError, MareyWarning, require
from marey.io import _annotations
from marey.io._files import check_readable, quoted, read_bytes
from marey.io._limits import LIMITS
from marey.io._numbers import parse_table

NAMES = {
    "frame": ("frame", "fr", "frames", "frame_id", "frameid", "frame_number", "framenumber", "frame_no"),
    "id": (
        *("id", "agent", "ped", "person", "pedestrian", "track", "persid", "pid", "agentid", "pedid"),
        *("agent_id", "ped_id", "person_id", "pedestrian_id", "track_id", "trackid", "personid", "object_id"),
    ),
    "x": ("x", "pos_x", "posx", "x_pos", "position_x", "x_est"),
    "y": ("y", "pos_y", "posy", "y_pos", "position_y", "y_est"),
    "z": ("z",),
    "time": ("time", "t", "timestamp", "time_s", "seconds"),
}
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001}
COLUMNS_BY_COUNT = {
    8: ("frame", "id", "x", "z", "y", "vx", "vz", "vy"),
    5: ("id", "frame", "x", "y", "z"),
    4: ("frame", "id", "x", "y"),
}
SEPARATORS = b",; \t"
# A row that leaves a position to be predicted, as in the test sets of TrajNet.
UNKNOWN = re.compile(rb"^[ \t]{0,9}[-+.\d][^\n?]{0,200}\?[^\n]{0,200}$", re.MULTILINE)
FRAME_RATE = re.compile(r"frame[ _]?rate[ :=\t]{0,20}([0-9.]+)", re.IGNORECASE)
# `x/cm`, `x[m]`, `x_mm`: a name and perhaps a unit.
COLUMN = re.compile(r"([a-z_]+?)(?:[/\[(]([a-z]+)[\])]?|_(m|cm|mm))?")


@dataclass(frozen=True)
class Table:
    """Columns of a file by name (`frame, id, x, y, z, time, vx, vy`) and what the file says about them."""

    columns: dict[str, NDArray[np.float64]]
    unit: float | None = None
    """Metres, if the file says."""
    frame_rate: float | None = None
    metres: bool = True
    """Whether a file of this kind holds metres if it does not say."""
    order_known: bool = True
    """Whether `frame` and `id` are known not to be exchanged."""
    walks: BoolArray | None = None
    """Rows by which a unit is told that neither the file nor its format says, `(rows,)`."""
    stride_rate: bool = False
    """Whether the frame rate is that of annotations, not of the frames that are counted."""
    find_line: Callable[[int], int] | None = None

    def line_of(self, row: int) -> int | None:
        """Number of the line a row stands on, if the file has lines."""
        return None if self.find_line is None else self.find_line(row)

    def without_absent(self) -> Table:
        """Rows that state no position (empty cells, NaN) say that someone is absent: drop them."""
        here = ~(np.isnan(self.columns["x"]) & np.isnan(self.columns["y"]))
        if here.all():
            return self
        kept, find = np.flatnonzero(here), self.find_line
        columns = {name: column[kept] for name, column in self.columns.items()}
        return replace(
            self, columns=columns, find_line=None if find is None else lambda row: find(int(kept[row]))
        )


def read_table(path: Path) -> Table:
    """The table of a text, CSV, Parquet, `.vsp` or `.ndjson` file."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        return _read_parquet(path)
    data = read_bytes(path).removeprefix(b"\xef\xbb\xbf")
    if ending == ".vsp":
        columns = _annotations.splines(data, path)
        everyone = np.ones(len(columns["x"]), np.bool_)
        return Table(columns, frame_rate=_annotations.UCY_RATE, walks=everyone)
    if ending == ".ndjson":
        columns, rate = _annotations.json_lines(data, path)
        return Table(columns, unit=1.0, frame_rate=rate, stride_rate=True)
    if _annotations.SDD_ROW.fullmatch(data[: LIMITS.line].partition(b"\n")[0]):
        columns, walks = _annotations.boxes(data, path)
        return Table(columns, frame_rate=_annotations.SDD_RATE, walks=walks)
    return _read_text(data, path)


def _read_text(data: bytes, path: Path) -> Table:
    data = UNKNOWN.sub(b"", data) if b"?" in data else data
    header = _header(data, path)
    rows = memoryview(data)[header.start :]
    names = header.names or COLUMNS_BY_COUNT.get(header.count, ())
    if not names:
        raise FormatError(
            f"{header.count} columns and no header: expected 4 (frame id x y), 5 (id frame x y z) or "
            "8 (obsmat), or a line that names them, such as '# id frame x/m y/m'",
            path=path,
            line=header.line,
        )
    obsmat = not header.names and header.count == 8
    table = Table(
        {},
        unit=header.unit,
        frame_rate=header.frame_rate,
        metres=header.is_line or obsmat,
        order_known=bool(header.names) or obsmat,
        find_line=lambda row: _line_of_row(bytes(rows), row, header.line),
    )
    try:
        numbers = parse_table(
            rows, header.count, path=path, first_line=header.line, comment=b"#", separators=SEPARATORS
        )
    except FormatError:
        if not header.is_line:
            raise
        return _of_one_person(_read_csv(bytes(rows), header, table, path), path)
    columns = {name: numbers[:, i] for i, name in enumerate(names) if name}
    return _of_one_person(replace(table, columns=columns), path)


def _of_one_person(table: Table, path: Path) -> Table:
    """A table without a column of persons is of one, if no time comes twice."""
    if "id" in table.columns:
        return table
    times = table.columns["time" if "time" in table.columns else "frame"]
    if (np.diff(times) <= 0).any():
        row = int(np.argmax(np.diff(times) <= 0)) + 1
        message = "names no column of persons (id), and its times do not grow as those of one person"
        raise FormatError(message, path=path, line=table.line_of(row))
    message = f"{path}: names no column of persons (id); it is read as the trajectory of one"
    warnings.warn(MareyWarning(message), stacklevel=2)
    return replace(table, columns={**table.columns, "id": np.zeros(len(times))})


@dataclass(frozen=True)
class _Header:
    start: int
    """Byte where the rows begin."""
    line: int
    count: int
    """Columns of the first row."""
    names: tuple[str, ...]
    """Our names of the columns, empty for others; none at all without a header."""
    unit: float | None
    frame_rate: float | None
    is_line: bool
    """The names stand on a line of their own, not in a comment."""
    delimiter: str


def _header(data: bytes, path: Path) -> _Header:
    names: tuple[str, ...] = ()
    unit = frame_rate = None
    is_line = False
    for line, (start, text) in enumerate(_lines(data), start=1):
        words = text.strip()
        if words.startswith("#"):
            found = FRAME_RATE.search(words)
            frame_rate = frame_rate or (positive(found.group(1)) if found else None)
            stated = _column_names(words.lstrip("# \t"))
            names, unit = stated if stated[0] else (names, unit)
        elif words and not names and not re.match(r"[-+.]?\d", words):
            names, unit = _column_names(words)
            is_line = True
            if not names:
                message = f"{quoted(words)}: neither numbers nor column names (frame or time, id, x, y)"
                raise FormatError(message, path=path, line=line)
        elif words and is_line and not re.search(r"\d", words):
            # A row of units below the names.
            cells = [cell.strip(" \t\"'[]()").lower() for cell in words.split(_delimiter(words))]
            stated_unit = dict(zip(names, cells, strict=False)).get("x", "")
            unit = UNITS.get(stated_unit, unit)
        elif words:
            delimiter = _delimiter(words)
            count = (
                len(words.split(delimiter)) if is_line else len(re.split(r"[,;\s]+", words.strip(",; \t")))
            )
            if len(text) >= LIMITS.line or len(names) > count:
                message = f"expected {len(names) or 'a few'} columns, found {count}"
                raise FormatError(message, path=path, line=line)
            return _Header(start, line, count, names, unit, frame_rate, is_line, delimiter or " ")
    raise FormatError("there is no row of numbers", path=path)


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Start and text of each line, whether they end in LF, CRLF or CR."""
    start, newline = 0, -1
    while start < len(data):
        if newline < start:
            newline = data.find(b"\n", start)
            newline = len(data) if newline < 0 else newline
        end = data.find(b"\r", start, newline)
        end = newline if end < 0 else end
        yield start, data[start : min(end, start + LIMITS.line)].decode("latin-1")
        start = end + (2 if data[end : end + 2] == b"\r\n" else 1)


def _delimiter(line: str) -> str | None:
    """What stands between cells; None = blanks."""
    return next((mark for mark in ";,\t" if mark in line), None)


def _column_names(line: str) -> tuple[tuple[str, ...], float | None]:
    """Our names of the columns that `line` lists, and the unit of x; nothing if it is no such list."""
    line = re.sub(r"[ \t]{1,9}[\[(]([a-z]{1,9})[\])]", r"/\1", line.lower())
    names: list[str] = []
    unit = None
    for word in line.split(_delimiter(line)):
        name = word.strip(" \t\"'<>")
        found = COLUMN.fullmatch(name)
        bases = {name, found.group(1)} if found else {name}
        ours = next((key for key, theirs in NAMES.items() if bases & set(theirs)), "")
        names.append(ours if ours not in names else "")
        stated = (found.group(2) or found.group(3)) if found else None
        if ours == "x" and stated:
            unit = UNITS.get(stated)
    complete = {"x", "y"} <= set(names) and ("frame" in names or "time" in names)
    return (tuple(names), unit) if complete else ((), None)


def _line_of_row(rows: bytes, row: int, first_line: int) -> int:
    filled = (i for i, (_, text) in enumerate(_lines(rows)) if text.split("#")[0].strip(" \t,;"))
    return first_line + next((i for n, i in enumerate(filled) if n == row), 0)


def _read_csv(rows: bytes, header: _Header, table: Table, path: Path) -> Table:
    """A CSV file with empty cells, words or quotes in it, cell by cell."""
    wanted = {name: i for i, name in enumerate(header.names) if name in ("frame", "id", "x", "y", "time")}
    values: dict[str, list[float]] = {name: [] for name in wanted}
    lines: list[int] = []
    text = io.StringIO(rows.decode("utf-8", errors="replace"), newline="")
    cells = csv.reader(text, delimiter=header.delimiter, skipinitialspace=True)
    try:
        for row in cells:
            line = header.line + cells.line_num - 1
            if not any(cell.strip() for cell in row) or row[0].startswith("#"):
                continue
            if len(row) <= max(wanted.values()):
                raise FormatError(f"expected {header.count} cells, found {len(row)}", path=path, line=line)
            for name, column in wanted.items():
                values[name].append(_cell(row[column], name, path, line))
            lines.append(line)
    except csv.Error as error:
        raise FormatError(
            f"not a CSV file ({error})", path=path, line=header.line + cells.line_num
        ) from error
    columns = {name: np.array(column, dtype=np.float64) for name, column in values.items()}
    return replace(table, columns=columns, find_line=lambda row: lines[row])


def _cell(text: str, name: str, path: Path, line: int) -> float:
    stripped = text.strip()
    if not stripped and name in ("x", "y"):
        return float("nan")
    try:
        return float(stripped)
    except ValueError:
        message = f"{name} is {quoted(stripped)}, not a number"
        raise FormatError(message, path=path, line=line) from None


def _read_parquet(path: Path) -> Table:
    check_readable(path)
    arrow, parquet = require("pyarrow", extra="tables"), require("pyarrow.parquet", extra="tables")
    try:
        with parquet.ParquetFile(path) as file:
            found = file.schema_arrow
            names, unit = _column_names(",".join(found.names))
            if not names:
                listed = quoted(", ".join(found.names))
                raise FormatError(f"has columns {listed}; expected frame or time, id, x, y", path=path)
            wanted = {ours: theirs for ours, theirs in zip(names, found.names, strict=False) if ours}
            if file.metadata.num_rows * 8 * len(wanted) > LARGEST_ARRAY:
                raise FormatError(f"has {file.metadata.num_rows} rows: too many to hold", path=path)
            rows = file.read(columns=list(wanted.values()))
            columns = {}
            for ours, theirs in wanted.items():
                column = rows.column(theirs)
                if column.to_numpy().dtype.kind not in "iuf":
                    raise FormatError(f"column {theirs!r} holds {column.type}, not numbers", path=path)
                columns[ours] = np.asarray(column.to_numpy(), dtype=np.float64)
            note = json.loads((found.metadata or {}).get(b"marey", b"{}"))
    except MareyError:
        raise
    except (arrow.ArrowException, OSError, ValueError, KeyError, TypeError, MemoryError) as error:
        raise FormatError(
            f"not a Parquet file, or a damaged one ({quoted(str(error))})", path=path
        ) from error
    rate = positive(note.get("frame_rate", 0)) if isinstance(note, dict) else None
    return Table(columns, unit=unit, frame_rate=rate)


def positive(value: str | float) -> float | None:
    """A positive finite number, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) and number > 0 else None
