"""Environments made of captured flows, described in a JSON file: which capture lies where, and the walls.

    {"rows": 60, "columns": 140, "reach": 8,
     "patches": [{"field": "door.zarr", "at": [0, 0]},
                 {"field": "hall.zarr", "centre": [90, 30], "turn": 90, "scale": 1.5, "weight": 2}],
     "walls": [[[60, 20], [80, 20], [80, 40], [60, 40]]]}

Names of captures are relative to the file; places are `[column, row]` in pixels, turns degrees clockwise.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from marey.crowd.fields import FieldSeries
from marey.crowd.tiling import REACH, Patch, Tiling
from marey.errors import FormatError, InputError, MareyError
from marey.io._json import Strict, read_json
from marey.io._limits import LIMITS

Count = Annotated[int, Meta(ge=1, le=10**9)]
Number = Annotated[float, Meta(ge=-1e9, le=1e9)]
Place = tuple[Number, Number]


class _Patch(Strict, frozen=True):
    field: str
    at: Place | None = None
    centre: Place | None = None
    turn: Number = 0.0
    scale: Number = 1.0
    weight: Number = 1.0
    masked: str = "wall"
    start: Annotated[int, Meta(ge=0, le=10**9)] = 0


class _Tiling(Strict, frozen=True):
    rows: Count
    columns: Count
    patches: Annotated[list[_Patch], Meta(min_length=1, max_length=500)]
    walls: list[Annotated[list[Place], Meta(max_length=10_000)]] = msgspec.field(default_factory=list)
    reach: Number = REACH
    frames: Count | None = None
    frame_rate: Number | None = None


def read(path: Path) -> Tiling:
    """The environment a file describes, with its captures read; all at the frame rate of the first one."""
    path = Path(path)
    parsed = read_json(path, _Tiling, limit=LIMITS.small_json)
    place, rate, loaded = "", parsed.frame_rate, dict[Path, FieldSeries]()
    patches = []
    try:
        for number, entry in enumerate(parsed.patches):
            place = f"patches[{number}]: "
            patch = _patch(entry, path.parent, rate, loaded)
            patches.append(patch if parsed.frames is None else _cut(patch, parsed.frames))
            rate = patches[0].fields.frame_rate
        place = ""
        walls = tuple(np.reshape(np.array(wall, dtype=np.float64), (-1, 2)) for wall in parsed.walls)
        return Tiling(tuple(patches), parsed.rows, parsed.columns, walls, parsed.reach)
    except MareyError as error:
        raise FormatError(f"{place}{error}", path=path) from error


def captures(path: Path) -> list[Path]:
    """The captures a file names, unread."""
    parsed = read_json(Path(path), _Tiling, limit=LIMITS.small_json)
    return [Path(path).parent / patch.field for patch in parsed.patches]


def _patch(entry: _Patch, folder: Path, rate: float | None, known: dict[Path, FieldSeries]) -> Patch:
    from marey.io import load

    if entry.at is not None and entry.centre is not None:
        raise InputError("give 'at' (its first pixel) or 'centre', not both")
    source = folder / entry.field
    if source not in known:
        loaded = load(source)
        if not isinstance(loaded, FieldSeries):
            raise InputError(f"{source} is a {type(loaded).__name__}, not velocity fields")
        known[source] = loaded
    fields = known[source]
    if rate is not None and not np.isclose(rate, fields.frame_rate):
        fields = fields.resample(rate)
    return Patch(
        fields,
        *(entry.centre or entry.at or (0.0, 0.0)),
        turn=math.radians(entry.turn),
        scale=entry.scale,
        weight=entry.weight,
        centred=entry.centre is not None,
        masked=entry.masked,  # type: ignore[arg-type]
        start=entry.start,
    )


def _cut(patch: Patch, frames: int) -> Patch:
    length = patch.fields.frames - patch.start
    if length < frames:
        raise InputError(f"has {length} frames, {frames} are wanted; make it longer with marey crowd extend")
    return replace(patch, fields=patch.fields[patch.start : patch.start + frames], start=0)
