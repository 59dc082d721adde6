"""Pedestrian trajectories as tables: ETH/UCY, Jülich/PeTrack text, CSV and Parquet.

Layouts read (text; `#` starts a comment; blanks, tabs, commas or semicolons between numbers):

- a header that names the columns, as a comment (`# id frame x/m y/m z/m`) or as the first line
  (`frame,id,x,y,time`): frame or time, id (agent, ped, person, …), x, y; others are ignored
- 8 columns without header: ETH/UCY obsmat, `frame id x z y vx vz vy`, metres
- 5 columns: Jülich, `id frame x y z`; 4 columns: `frame id x y`. Which of the first two columns is the
  person is decided by the smoothness of the paths (`_trajectory_guesses.person_comes_first`).

Unit: the option, else the header (`x/cm`); a headerless or unit-less text file is measured by how fast its
people walk and how tall they are; CSV and Parquet are metres. Frame rate (of the frame numbers): the option,
else a comment `# framerate: 25 fps`, else the time column, else, in obsmat, what makes positions and
velocities agree. Otherwise it is assumed, and a warning says so: 2.5 annotations per second where only every
n-th frame is annotated (as in ETH/UCY), 16 for centimetres (the first Jülich corridors), 25 for the rest.
Reading costs one bulk parse (`_numbers`) and a sort.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._extras import require
from marey.crowd.rows import LARGEST_NUMBER, Dense, RowError, dense_from_rows
from marey.crowd.tracks import Tracks
from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry.convention import unit_size
from marey.io import _trajectory_guesses as guesses
from marey.io._files import write_beside
from marey.io._trajectory_tables import UNITS, Table, positive, read_table

# Where a file does not say. Second: the first Jülich corridor experiments, in centimetres.
ANNOTATIONS_PER_SECOND = 2.5
CENTIMETRE_RATE, USUAL_RATE = 16.0, 25.0

COLUMNS = ("frame", "id", "x", "y", "time")
ROWS_AT_A_TIME = 100_000


def read(path: Path, *, frame_rate: float | None = None, unit: str | float | None = None) -> Tracks:
    """Tracks of a text, CSV or Parquet file; a warning tells what had to be assumed.

    frame_rate: of the file's frame numbers, per second. Files annotated every n-th frame give tracks at an
        n-th of it (`Tracks.frame_step`).
    unit: of x and y, such as `"cm"`

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "two.csv"
    >>> _ = file.write_text("time,agent,x,y\\n0.0,1,0,0\\n0.1,1,0.12,0\\n0.1,2,3,3\\n")
    >>> read(file).frame_rate, read(file).present.tolist()
    (10.0, [[True, False], [True, True]])
    """
    path = Path(path)
    if frame_rate is not None and positive(frame_rate) is None:
        raise InputError(f"frame rate: must be positive and finite, got {frame_rate}")
    table = read_table(path).without_absent()
    try:
        return _tracks(table, path, frame_rate, None if unit is None else unit_size(unit))
    except RowError as error:
        raise FormatError(str(error), path=path, line=table.line_of(error.row)) from error
    except InputError as error:
        raise FormatError(str(error), path=path) from error


def write(tracks: Tracks, path: Path) -> None:
    """CSV (`frame,id,x,y,time`), Parquet (the same columns) or Jülich text, in metres and seconds.

    Frame numbers are the tracks' own (`Tracks.frame_numbers`); positions are written so that they read
    back bit for bit.
    """
    path = Path(path)
    frame, person, x, y = tracks.to_rows()
    if len(frame) == 0:
        raise InputError(f"{path}: nobody is present in these tracks; nothing to write")
    rate = tracks.frame_rate * tracks.frame_step
    columns: tuple[NDArray[Any], ...] = (frame, person, x, y, frame / rate)
    if path.suffix.lower() == ".parquet":
        arrow, parquet = require("pyarrow", extra="tables"), require("pyarrow.parquet", extra="tables")
        table = arrow.table(dict(zip(COLUMNS, columns, strict=True)))
        note = json.dumps({"version": 1, "frame_rate": rate, "unit": "m"})
        with write_beside(path) as draft:
            parquet.write_table(table.replace_schema_metadata({"marey": note}), draft)
        return
    if path.suffix.lower() == ".csv":
        head, row = ",".join(COLUMNS) + "\n", "%d,%d,%r,%r,%r\n"
    else:
        head = f"# framerate: {rate!r} fps\n# id frame x/m y/m\n"
        row, columns = "%d\t%d\t%r\t%r\n", (person, frame, x, y)
    with write_beside(path) as draft, draft.open("w", encoding="ascii", newline="") as file:
        file.write(head)
        for start in range(0, len(frame), ROWS_AT_A_TIME):
            block = (column[start : start + ROWS_AT_A_TIME].tolist() for column in columns)
            file.writelines(row % values for values in zip(*block, strict=True))


def _tracks(table: Table, path: Path, frame_rate: float | None, unit: float | None) -> Tracks:
    if len(table.columns["x"]) == 0:
        raise FormatError("there is no row with a position", path=path)
    _check_sizes(table)
    rate = frame_rate or table.frame_rate
    if "frame" not in table.columns:
        table, rate = _numbered_by_time(table, rate, path)
    if not table.order_known:
        table = _in_order(table)
    columns = table.columns
    dense = dense_from_rows(columns["frame"], columns["id"], columns["x"], columns["y"])
    rate = rate or _rate_of(columns)
    size = unit or table.unit or _unit(table, dense, rate, path)
    if rate is None:
        rate = _assumed_rate(dense, size, path)
    if dense.moved:
        _warn(
            path,
            f"the annotation leaves its raster of {dense.frame_step} frames while nobody is there; "
            f"rows were moved by up to {dense.moved} frames ({dense.moved / rate:.2g} s)",
        )
    positions = dense.positions if size == 1 else dense.positions * size
    return Tracks(
        positions, rate / dense.frame_step, dense.ids, dense.first_frame, dense.frame_step, path.stem
    )


def _check_sizes(table: Table) -> None:
    for name, column in table.columns.items():
        bad = ~(np.abs(column) <= LARGEST_NUMBER)
        if bad.any():
            row = int(np.argmax(bad))
            raise RowError(f"{name} is {column[row]:g}", row)


def _numbered_by_time(table: Table, rate: float | None, path: Path) -> tuple[Table, float]:
    """Frame numbers for a table that has only times."""
    times = table.columns["time"]
    if rate is None:
        different = np.unique(times)
        _, gaps = guesses.steps(times, table.columns["id"], times, times)
        gaps = gaps if len(gaps) else np.diff(different)
        if len(gaps) == 0:
            raise FormatError("one time tells no frame rate: give frame_rate= (--from-frame-rate)", path=path)
        rate = guesses.rate_from_times(different, float(np.median(gaps)))
    start = times.min()
    numbers = (times - start) * rate
    uneven = np.abs(numbers - np.rint(numbers)) > 0.25
    if uneven.any():
        row = int(np.argmax(uneven))
        raise RowError(f"time {times[row]:g} s does not lie on a raster of {rate:g} per second", row)
    frame = np.rint(numbers) + np.rint(start * rate)
    return replace(table, columns={**table.columns, "frame": frame}), rate


def _in_order(table: Table) -> Table:
    columns = table.columns
    first, second = list(columns)[:2]
    person_first = guesses.person_comes_first(
        columns[first], columns[second], columns["x"], columns["y"], usual=first == "id"
    )
    if person_first == (first == "id"):
        return table
    return replace(table, columns={**columns, "frame": columns["id"], "id": columns["frame"]})


def _rate_of(columns: dict[str, NDArray[np.float64]]) -> float | None:
    """Frames per second from the time column, or from stated velocities."""
    frame = columns["frame"]
    if "time" in columns:
        first, last = int(np.argmin(frame)), int(np.argmax(frame))
        begin, end = columns["time"][first], columns["time"][last]
        frames, seconds = frame[last] - frame[first], end - begin
        if frames == 0:
            frames, seconds = frame[first], begin
        if frames * seconds > 0 and 1e-6 < frames / seconds < 1e6:
            return guesses.tidy_rate(float(frames / seconds))
    if "vx" in columns:
        return guesses.rate_from_velocities(
            *(columns[name] for name in ("frame", "id", "x", "y", "vx", "vy"))
        )
    return None


def _unit(table: Table, dense: Dense, rate: float | None, path: Path) -> float:
    """Metres, by what such files hold or by how people in it walk."""
    columns = table.columns
    lengths, frames = guesses.steps(columns["frame"], columns["id"], columns["x"], columns["y"])
    speeds = lengths / frames * (rate or _usual_rate(dense))
    if table.metres:
        brisk = guesses.brisk_speed(speeds)
        if brisk > guesses.TOO_FAST:
            _warn(path, f"people move at {brisk:.3g} m/s; if not metres, give unit='cm' (--from-unit cm)")
        return 1.0
    guessed = guesses.unit_of_walkers(speeds, columns.get("z"))
    if guessed != "m":
        _warn(path, f"states no unit; how people walk says {guessed}; else give unit='m' (--from-unit m)")
    return UNITS[guessed]


def _usual_rate(dense: Dense) -> float:
    return ANNOTATIONS_PER_SECOND * dense.frame_step if dense.frame_step > 1 else USUAL_RATE


def _assumed_rate(dense: Dense, unit: float, path: Path) -> float:
    rate = CENTIMETRE_RATE if dense.frame_step == 1 and unit == 0.01 else _usual_rate(dense)
    assumed = f"states no frame rate; {rate:g} per second is assumed"
    _warn(path, f"{assumed}; else give frame_rate= (--from-frame-rate)")
    return rate


def _warn(path: Path, message: str) -> None:
    warnings.warn(f"{path}: {message}", MareyWarning, stacklevel=2)
