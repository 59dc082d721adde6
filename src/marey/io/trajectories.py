"""Pedestrian trajectories as tables: ETH/UCY, Jülich/PeTrack text, CSV and Parquet.

Layouts read (text; `#` starts a comment; blanks, tabs, commas or semicolons between numbers):

- a header that names the columns, as a comment (`# id frame x/m y/m z/m`) or as the first line
  (`frame,id,x,y,time`): frame or time, id (agent, ped, person, …), x, y; others are ignored
- 8 columns without header: ETH/UCY obsmat, `frame id x z y vx vz vy`, metres
- 5 columns: Jülich, `id frame x y z`; 4 columns: `frame id x y`. Which of the first two columns is the
  person is decided by the smoothness of the paths (`person_comes_first`).

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

import numpy as np
from numpy.typing import NDArray

from marey._arrays import AnyArray, Array, Integers
from marey.crowd.tracks import LARGEST_NUMBER, RowError, Tracks, dense_from_rows
from marey.errors import FormatError, InputError, MareyWarning, require
from marey.geometry.convention import unit_size
from marey.io._files import atomic_write
from marey.io._trajectory_tables import UNITS, Table, positive, read_table

# Where a file does not say. Second: the first Jülich corridor experiments, in centimetres.
ANNOTATIONS_PER_SECOND = 2.5
CENTIMETRE_RATE, USUAL_RATE = 16.0, 25.0
COLUMNS = ("frame", "id", "x", "y", "time")
ROWS_AT_A_TIME = 100_000

# Nine in ten steps of walkers are slower than something near this, in metres per second.
BRISK = 1.2

# Faster than any runner: then the unit is not the metre.
TOO_FAST = 12.0
TALL = (0.8, 2.5)


def read(path: Path, *, frame_rate: float | None = None, unit: str | float | None = None) -> Tracks:
    """Tracks of a text, CSV or Parquet file; a warning says what had to be assumed.

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
        raise InputError(f"{path}: there is no one in these tracks; nothing to write")
    rate = tracks.frame_rate * tracks.frame_step
    columns: tuple[AnyArray, ...] = (frame, person, x, y, frame / rate)
    if path.suffix.lower() == ".parquet":
        arrow, parquet = require("pyarrow", extra="tables"), require("pyarrow.parquet", extra="tables")
        table = arrow.table(dict(zip(COLUMNS, columns, strict=True)))
        note = json.dumps({"version": 1, "frame_rate": rate, "unit": "m"})
        with atomic_write(path) as draft:
            parquet.write_table(table.replace_schema_metadata({"marey": note}), draft)
        return
    if path.suffix.lower() == ".csv":
        head, row = ",".join(COLUMNS) + "\n", "%d,%d,%r,%r,%r\n"
    else:
        head = f"# framerate: {rate!r} fps\n# id frame x/m y/m\n"
        row, columns = "%d\t%d\t%r\t%r\n", (person, frame, x, y)
    with atomic_write(path) as draft, draft.open("w", encoding="ascii", newline="") as file:
        file.write(head)
        for start in range(0, len(frame), ROWS_AT_A_TIME):
            block = (column[start : start + ROWS_AT_A_TIME].tolist() for column in columns)
            file.writelines(row % values for values in zip(*block, strict=True))


def _tracks(table: Table, path: Path, frame_rate: float | None, unit: float | None) -> Tracks:
    if len(table.columns["x"]) == 0:
        raise FormatError("there is no row with a position", path=path)
    for name, column in table.columns.items():
        bad = ~(np.abs(column) <= LARGEST_NUMBER)
        if bad.any():
            row = int(np.argmax(bad))
            raise RowError(f"{name} is {column[row]:g}", row)
    rate = frame_rate or table.frame_rate
    if "frame" not in table.columns:
        table, rate = _numbered_by_time(table, rate, path)
    if not table.order_known:
        table = _in_order(table)
    columns = table.columns
    dense = dense_from_rows(columns["frame"], columns["id"], columns["x"], columns["y"])
    rate = rate or _rate_of(columns)
    if rate and table.stride_rate and frame_rate is None:
        rate *= dense.frame_step
    usual = ANNOTATIONS_PER_SECOND * dense.frame_step if dense.frame_step > 1 else USUAL_RATE
    size = unit or table.unit or _unit(table, rate or usual, path)
    if rate is None:
        rate = CENTIMETRE_RATE if dense.frame_step == 1 and size == 0.01 else usual
        assumed = f"states no frame rate; {rate:g} per second is assumed"
        _warn(path, f"{assumed}; else give frame_rate= (--from-frame-rate)")
    if dense.moved:
        _warn(
            path,
            f"the annotation leaves its raster of {dense.frame_step} frames while no one is there; "
            f"rows were moved by up to {dense.moved} frames ({dense.moved / rate:.2g} s)",
        )
    positions = dense.positions if size == 1 else dense.positions * size
    return Tracks(
        positions, rate / dense.frame_step, dense.ids, dense.first_frame, dense.frame_step, path.stem
    )


def _numbered_by_time(table: Table, rate: float | None, path: Path) -> tuple[Table, float]:
    """Frame numbers for a table that has only times."""
    times = table.columns["time"]
    if rate is None:
        different = np.unique(times)
        _, gaps = steps(times, table.columns["id"], times, times)
        gaps = gaps if len(gaps) else np.diff(different)
        if len(gaps) == 0:
            raise FormatError(
                "cannot infer the frame rate from one time stamp; pass frame_rate= (--from-frame-rate)",
                path=path,
            )
        rate = rate_from_times(different, float(np.median(gaps)))
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
    person_first = person_comes_first(
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
            return tidy_rate(float(frames / seconds))
    if "vx" in columns:
        return rate_from_velocities(*(columns[name] for name in ("frame", "id", "x", "y", "vx", "vy")))
    return None


def _unit(table: Table, rate: float, path: Path) -> float:
    """Metres, by what such files hold or by how people in it walk."""
    columns = table.columns
    lengths, frames = steps(columns["frame"], columns["id"], columns["x"], columns["y"])
    speeds = lengths / frames * rate
    if table.walks is not None:
        return _unit_of_walkers(table, rate, path)
    if table.metres:
        brisk = brisk_speed(speeds)
        if brisk > TOO_FAST:
            _warn(path, f"people move at {brisk:.3g} m/s; if not metres, give unit='cm' (--from-unit cm)")
        return 1.0
    guessed = unit_of_walkers(speeds, columns.get("z"))
    if guessed != "m":
        _warn(path, f"states no unit; how people walk says {guessed}; else give unit='m' (--from-unit m)")
    return UNITS[guessed]


def _unit_of_walkers(table: Table, rate: float, path: Path) -> float:
    """Metres, or else pixels as large as makes people on foot walk as people do, by their steps a second."""
    frame, walks = table.columns["frame"], table.walks
    some = (np.mod(frame, max(round(rate), 1)) == 0) & (walks if walks is not None and walks.any() else True)
    lengths, frames = steps(*(table.columns[name][some] for name in ("frame", "id", "x", "y")))
    brisk = brisk_speed(lengths / frames * rate)
    if 0.3 < brisk < 5 or not brisk > 0:
        return 1.0
    size = float(f"{BRISK / brisk:.2g}")
    _warn(path, f"its positions are pixels; {size:g} m each makes people walk as they do; else give unit=")
    return size


def _warn(path: Path, message: str) -> None:
    warnings.warn(f"{path}: {message}", MareyWarning, stacklevel=2)


def person_comes_first(first: Array, second: Array, x: Array, y: Array, *, usual: bool) -> bool:
    """Whether rows are `id frame x y` rather than `frame id x y`.

    In the right reading the successive positions of one person lie on a smooth path; in the wrong one they
    are those of different people in one frame. Where that is not clear, there are fewer people
    than frames; where that is not clear either, `usual` holds.

    >>> walk = np.arange(5.0)
    >>> person_comes_first(walk, np.ones(5), walk, walk, usual=True)
    False
    """
    frame_first = _roughness(first, second, x, y)
    id_first = _roughness(second, first, x, y)
    for by_frame, by_id in zip(frame_first, id_first, strict=True):
        if np.isfinite(by_frame) and np.isfinite(by_id) and max(by_frame, by_id) > 1.5 * min(by_frame, by_id):
            return bool(by_id < by_frame)
    different_first, different_second = len(np.unique(first)), len(np.unique(second))
    return usual if different_first == different_second else different_first < different_second


def unit_of_walkers(speeds: Array, heights: Array | None) -> str:
    """Name of the unit in which walkers of these speeds (units per second) and heights are plausible.

    >>> unit_of_walkers(np.array([120.0, 140.0]), None), unit_of_walkers(np.array([0.1]), np.array([183.0]))
    ('cm', 'cm')
    """
    if heights is not None and len(heights):
        height = float(np.median(heights))
        for name, size in UNITS.items():
            if TALL[0] <= height * size <= TALL[1]:
                return name
    brisk = brisk_speed(speeds)
    if not brisk > 0:
        return "m"
    return min(UNITS, key=lambda name: abs(np.log(brisk * UNITS[name] / BRISK)))


def brisk_speed(speeds: Array) -> float:
    """The speed nine in ten steps stay below; 0 where nothing moves."""
    return float(np.percentile(speeds, 90)) if len(speeds) else 0.0


def steps(frame: Array, person: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Length of each person's steps from row to row, and the frames they take, each `(steps,)`."""
    lengths, frames, _ = _steps(frame, person, x, y)
    return lengths[frames > 0], frames[frames > 0]


def _steps(frame: Array, person: Array, x: Array, y: Array) -> tuple[Array, Array, Integers]:
    """Lengths and frames of steps, also those of no frames, and the rows they begin at."""
    order = np.lexsort((frame, person))
    same = np.diff(person[order]) == 0
    lengths = np.hypot(np.diff(x[order]), np.diff(y[order]))[same]
    return lengths, np.diff(frame[order])[same], order[:-1][same]


def rate_from_velocities(
    frame: Array, person: Array, x: Array, y: Array, vx: Array, vy: Array
) -> float | None:
    """Frames per second that make steps and stated velocities agree, or None if none does.

    >>> rows = np.arange(4.0)
    >>> rate_from_velocities(rows * 6, np.ones(4), rows * 0.5, rows, np.full(4, 1.25), np.full(4, 2.5))
    15.0
    """
    lengths, frames, rows = _steps(frame, person, x, y)
    speeds = np.hypot(vx, vy)[rows]
    moving = (lengths > 1e-3) & (speeds > 1e-3) & (frames > 0)
    if not moving.any():
        return None
    ratios = speeds[moving] * frames[moving] / lengths[moving]
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    if high - low > 0.25 * middle:
        return None
    stride = float(np.median(frames))
    return float(f"{middle / stride:.3g}") * stride


def rate_from_times(times: Array, gap: float) -> float:
    """Samples per second of (rounded) times `(n,)`, ascending, that lie about `gap` seconds apart.

    The estimate is refined over ever longer stretches, so that rounding does not add up.

    >>> rate_from_times(np.round(np.arange(2000) / 30, 2), 0.03)
    30.0
    """
    since = times - times[0]
    reach = 3.0 * gap
    while True:
        near = since[since <= reach]
        count = np.rint(near / gap)
        if count.any():
            gap = float(count @ near / (count @ count))
        if reach >= since[-1]:
            return tidy_rate(1 / gap, 1e-4)
        reach *= 2


def tidy_rate(rate: float, tolerance: float = 1e-12) -> float:
    """A rate that is a whole number but for rounding is that number."""
    for whole in (round(rate), round(rate * 10) / 10):
        if whole and abs(rate - whole) <= tolerance * rate:
            return float(whole)
    return rate


def _roughness(frame: Array, person: Array, x: Array, y: Array) -> tuple[float, float]:
    """How much paths bend from row to row, and how long the steps are (medians; infinite if unknown)."""
    order = np.lexsort((frame, person))
    path = np.stack([x[order], y[order]], axis=-1)
    same = np.diff(person[order]) == 0
    step = np.diff(path, axis=0)
    bends = np.diff(step, axis=0)[same[1:] & same[:-1]]
    medians = [float(np.median(np.hypot(*v.T))) if len(v) else np.inf for v in (bends, step[same])]
    return medians[0], medians[1]
