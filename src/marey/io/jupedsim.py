"""JuPedSim's recordings, `.sqlite`: who was where, and the walkable area (database versions 1 and 2).

Tables: `trajectory_data(frame, id, pos_x, pos_y, ori_x, ori_y)`, metres and unit vectors; `metadata(key,
value)` with `version`, `fps` and the bounds of the geometry; `geometry(hash, wkt)`, `frame_data(frame,
geometry_hash)`. Files are opened read-only; nothing in a file is run. Cost: linear in the rows.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np

from marey._arrays import Array, BoolArray, FloatArray
from marey.crowd.polygons import rectangle
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import RowError, Tracks
from marey.errors import FormatError, InputError
from marey.io._files import atomic_write, check_readable
from marey.io._limits import LIMITS
from marey.io.scene_json import to_wkt, walkable_wkt

MAGIC = b"SQLite format 3\x00"
NEEDED = ("frame", "id", "pos_x", "pos_y")
ROWS_AT_A_TIME = 100_000
SCHEMA = """
PRAGMA synchronous=OFF;
PRAGMA journal_mode=OFF;
CREATE TABLE trajectory_data (frame INTEGER NOT NULL, id INTEGER NOT NULL, pos_x REAL NOT NULL,
    pos_y REAL NOT NULL, ori_x REAL NOT NULL, ori_y REAL NOT NULL);
CREATE TABLE metadata(key TEXT NOT NULL UNIQUE PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE geometry(hash INTEGER NOT NULL, wkt TEXT NOT NULL);
CREATE UNIQUE INDEX geometry_hash ON geometry(hash);
CREATE TABLE frame_data(frame INTEGER NOT NULL, geometry_hash INTEGER NOT NULL);
"""


def read(path: Path) -> Tracks:
    """Tracks of a recording; frame numbers and ids are the file's."""
    path = Path(path)
    with _opened(path) as connection:
        _check_table(connection, "metadata", ("key", "value"), path)
        version = _number(connection, "version", path)
        if version not in (1, 2):
            raise FormatError(f"JuPedSim database version {version:g}; versions 1 and 2 are read", path=path)
        rate = _number(connection, "fps", path)
        if not rate > 0:
            raise FormatError(f"its fps are {rate:g}", path=path)
        frame, person, x, y = _rows(connection, path)
    try:
        return Tracks.from_rows(frame, person, x, y, rate, name=path.stem)
    except RowError as error:
        raise FormatError(f"row {error.row} of trajectory_data: {error}", path=path) from error
    except InputError as error:
        raise FormatError(str(error), path=path) from error


def write(crowd: Tracks | SimulatedCrowd, path: Path, *, scene: Scene | None = None) -> None:
    """A recording that JuPedSim and PedPy read; without `scene`, a rectangle round everyone is walkable.

    A simulated crowd brings its scene.
    """
    tracks, velocities = (crowd, None) if isinstance(crowd, Tracks) else (crowd.tracks, crowd.velocities)
    scene = crowd.scene if scene is None and isinstance(crowd, SimulatedCrowd) else scene
    path = Path(path)
    present = tracks.present
    if not present.any():
        raise InputError(f"{path}: there is no one in these tracks; nothing to write")
    if scene is None:
        around = 1.0  # metres
        (left, bottom), (right, top) = (
            (extreme(tracks.positions, axis=(0, 1)) + side).tolist()
            for extreme, side in ((np.nanmin, -around), (np.nanmax, around))
        )
        area = to_wkt([(rectangle(left, bottom, right, top), ())])
    else:
        left, bottom, (right, top) = 0.0, 0.0, map(float, scene.size)
        area = walkable_wkt(scene)
    facing = _facing(tracks.velocities() if velocities is None else velocities, present)
    assert tracks.ids is not None
    index, agent = np.nonzero(present)
    numbers = tracks.frame_numbers // tracks.frame_step
    # Signed 64 bits, which is what SQLite's integers are.
    mark = int.from_bytes(hashlib.sha256(area.encode()).digest()[:8], "big", signed=True)
    metadata = {
        "version": 2,
        "fps": tracks.frame_rate,
        "xmin": left,
        "xmax": right,
        "ymin": bottom,
        "ymax": top,
    }
    columns = (numbers[index], tracks.ids[agent], *tracks.positions[index, agent].T, *facing[index, agent].T)
    try:
        with atomic_write(path) as draft, closing(sqlite3.connect(draft)) as connection:
            connection.executescript(SCHEMA)
            connection.executemany(
                "INSERT INTO metadata VALUES(?, ?)", [(k, repr(v)) for k, v in metadata.items()]
            )
            connection.execute("INSERT INTO geometry VALUES(?, ?)", (mark, area))
            connection.executemany(
                "INSERT INTO frame_data VALUES(?, ?)", ((n, mark) for n in numbers.tolist())
            )
            for start in range(0, len(index), ROWS_AT_A_TIME):
                block = (column[start : start + ROWS_AT_A_TIME].tolist() for column in columns)
                rows = zip(*block, strict=True)
                connection.executemany("INSERT INTO trajectory_data VALUES(?, ?, ?, ?, ?, ?)", rows)
            connection.execute("CREATE INDEX frame_id_idx ON trajectory_data(frame, id)")
            connection.commit()
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be written: {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    check_readable(path)
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise FormatError("not an SQLite database", path=path)
    address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            # A schema is text from the file: no function of ours may be called from it.
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA cell_size_check=ON")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LIMITS.small_json)
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise FormatError(f"a damaged SQLite database ({' '.join(str(found).split())})", path=path)
            yield connection
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeDecodeError) as error:
        raise FormatError(f"a damaged SQLite database ({error})", path=path) from error


def _check_table(connection: sqlite3.Connection, name: str, columns: tuple[str, ...], path: Path) -> None:
    """An ordinary table with these columns: a view or a virtual table could be anything."""
    found = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    ordinary = found is not None and found[0] == "table" and isinstance(found[1], str)
    if not ordinary or found[1].lstrip().upper().startswith("CREATE VIRTUAL"):
        raise FormatError(f"has no table {name}: not a JuPedSim recording", path=path)
    there = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
    for column in columns:
        if column not in there:
            raise FormatError(f"table {name} has no column {column}", path=path)


def _number(connection: sqlite3.Connection, key: str, path: Path) -> float:
    found = connection.execute("SELECT value FROM metadata WHERE key = ?", (key,)).fetchone()
    if found is None:
        raise FormatError(f"its metadata have no {key}", path=path)
    try:
        number = float(found[0])
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise FormatError(f"its metadata say {key} is {str(found[0])[:40]!r}", path=path)
    return number


def _rows(connection: sqlite3.Connection, path: Path) -> Array:
    """frame, id, x, y as `(4, rows)`."""
    _check_table(connection, "trajectory_data", NEEDED, path)
    cursor = connection.execute(f"SELECT {', '.join(NEEDED)} FROM trajectory_data LIMIT {LIMITS.rows + 1}")
    parts: list[Array] = []
    count = 0
    while block := cursor.fetchmany(ROWS_AT_A_TIME):
        try:
            parts.append(np.array(block, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise FormatError(
                f"rows from {count} of trajectory_data: not all are numbers", path=path
            ) from error
        count += len(block)
    if count > LIMITS.rows:
        raise FormatError(f"has more than {LIMITS.rows} rows; read it in parts", path=path)
    if not parts:
        raise FormatError("holds no positions: trajectory_data is empty", path=path)
    return np.ascontiguousarray(np.concatenate(parts).T)


def _facing(velocities: FloatArray, present: BoolArray) -> FloatArray:
    """Unit vectors `(frames, agents, 2)`: where one walks, or last walked, or will first walk; else +x."""
    speed = np.linalg.norm(np.nan_to_num(velocities), axis=-1)
    walks = present & (speed > 0.05)  # m/s; below it, the direction is that of before
    last = np.maximum.accumulate(np.where(walks, np.arange(len(present))[:, None], -1), axis=0)
    chosen = np.where(last >= 0, last, walks.argmax(axis=0))
    directions = np.take_along_axis(velocities, chosen[..., None], axis=0)
    length = np.linalg.norm(directions, axis=-1, keepdims=True)
    known = walks.any(axis=0)[None, :, None] & (length > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(known, directions / length, [1.0, 0.0])
