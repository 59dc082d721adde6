"""Small tables as CSV: named columns of text or numbers, with the line of every row for errors.

Cell by cell: a second for a million cells.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marey._arrays import Array
from marey.errors import FormatError
from marey.io._files import atomic_write, decoded, quoted, read_bytes
from marey.io._limits import LIMITS


@dataclass(frozen=True)
class Table:
    """Rows of cells without blanks at their ends, and the lines they stand in."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def texts(self, name: str) -> list[str]:
        """The cells of a column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]

    def numbers(self, names: Sequence[str], *, with_gaps: bool = False) -> Array:
        """Finite numbers `(rows, names)` of columns; NaN for empty cells if there may be some."""
        places = [(name, self.header.index(name)) for name in names]
        values = np.full((len(self.rows), len(names)), np.nan)
        for i, row in enumerate(self.rows):
            for k, (name, place) in enumerate(places):
                if not (row[place] or with_gaps):
                    raise self.error(f"{name}: is empty", i)
                if row[place] and not math.isfinite(number := _number(row[place])):
                    raise self.error(f"{quoted(row[place])} in column {quoted(name)} is not a number", i)
                values[i, k] = number if row[place] else np.nan
        return values

    def error(self, message: str, row: int) -> FormatError:
        """An error about a row."""
        return FormatError(message, path=self.path, line=self.lines[row])


def read_table(
    path: Path, needed: Sequence[str] = (), *, without_header: Sequence[Sequence[str]] = ()
) -> Table:
    """The table of a CSV file, its columns named by the first line.

    Args:
        needed: Columns that must be there; case does not matter then.
        without_header: Names of two, three, … columns, if the first line may hold numbers instead.
    """
    lines = csv.reader(io.StringIO(decoded(read_bytes(path, limit=LIMITS.table)).lstrip("\ufeff")))
    try:
        rows = [(lines.line_num, [cell.strip() for cell in row]) for row in lines if any(map(str.strip, row))]
    except csv.Error as error:
        raise FormatError(f"not a table: {error}", path=path, line=lines.line_num) from error
    header = rows[0][1] if rows else []
    header = [name.lower() for name in header] if needed else header
    names = next((list(names) for names in without_header if len(names) == len(header)), [])
    if names and not any(math.isnan(_number(cell)) for cell in header):
        header = names
    else:
        rows = rows[1:]
    missing = [name for name in needed if name not in header]
    if missing:
        raise FormatError(f"there is no column {missing[0]!r}; the first line names the columns", path=path)
    twice = (
        next((name for name in header if name and header.count(name) > 1), None)
        if len(header) < 10_000
        else ""
    )
    if twice is not None:
        raise FormatError(f"two columns are called {quoted(twice)}, or there are too many", path=path, line=1)
    if not rows:
        raise FormatError("the table has no rows", path=path)
    table = Table(path, header, [row for _, row in rows], [line for line, _ in rows])
    for i, row in enumerate(table.rows):
        if len(row) != len(header):
            raise table.error(f"{len(row)} cells for {len(header)} columns", i)
    return table


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table that :func:`read_table` takes back."""
    with atomic_write(Path(path)) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
