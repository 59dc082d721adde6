"""Logs of alarms, as JSON and as tables (CSV): what `marey crowd density --alarms` writes.

    {"format": "marey alarms", "name": "door", "seconds": 40.0, "settings": {"level": 2.0, …},
     "alarms": [{"zone": 1, "start": 12.4, "end": 30.0, "x": 29.5, "y": 8.1, "peak": 3.2, …}]}

A table has the columns of an alarm; what was watched, and by which settings, is in JSON alone.
"""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from marey.crowd.density.danger import Alarm, Alarms, DangerSettings
from marey.io._files import atomic_write, decoded, read_bytes
from marey.io._json import Strict, read_json
from marey.io._limits import LIMITS
from marey.io._tables import read_table, write_table

NUMBERS = tuple(one.name for one in fields(Alarm) if one.name not in ("zone", "reason"))
COLUMNS = ("zone", *NUMBERS, "reason")
Number = Annotated[float, Meta(ge=-1e9, le=1e9)]


class _Log(Strict, frozen=True):
    format: Literal["marey alarms"]
    alarms: Annotated[list[Alarm], Meta(max_length=1_000_000)]
    settings: dict[str, float | None]
    seconds: Number = 0.0
    name: str = ""


def read(path: Path) -> Alarms:
    """The alarms in a file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "log.csv"
    >>> write(Alarms((Alarm(1, 2, 3, 4, 5, 2.5, 6, 0, 0, 0, "dense"),)), file)
    >>> read(file).alarms[0].end
    3.0
    """
    path = Path(path)
    if path.suffix.lower() == ".csv":
        lines = decoded(read_bytes(path, limit=LIMITS.table)).split()
        if lines == [",".join(COLUMNS)]:
            return Alarms(())
        table = read_table(path, COLUMNS)
        found = [
            Alarm(zone=int(row[0]), reason=reason, **dict(zip(NUMBERS, row[1:], strict=True)))
            for row, reason in zip(
                table.numbers(("zone", *NUMBERS)).tolist(), table.texts("reason"), strict=True
            )
        ]
        return Alarms(tuple(found))
    kept = read_json(path, _Log, limit=LIMITS.table)
    known = {name: math.inf if value is None else value for name, value in kept.settings.items()}
    names = {one.name for one in fields(DangerSettings)}
    settings = DangerSettings(**{name: value for name, value in known.items() if name in names})
    return Alarms(tuple(kept.alarms), settings, kept.seconds, kept.name)


def write(alarms: Alarms, path: Path) -> None:
    """Write a log; the ending says which of the two."""
    path = Path(path)
    if path.suffix.lower() == ".csv":
        rows = [
            [f"{v:.6g}" if isinstance(v, float) else str(v) for v in asdict(one).values()]
            for one in alarms.alarms
        ]
        write_table(path, COLUMNS, [tuple(row) for row in rows])
        return
    settings = {
        name: value if math.isfinite(value) else None for name, value in asdict(alarms.settings).items()
    }
    kept = _Log("marey alarms", list(alarms.alarms), settings, alarms.seconds, alarms.name)
    with atomic_write(path) as draft:
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1))
