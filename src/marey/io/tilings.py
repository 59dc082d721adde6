"""Environments made of captured flows, described in a JSON file: which capture lies where, and the walls.

    {"rows": 60, "columns": 140, "reach": 8,
     "patches": [{"field": "door.zarr", "at": [0, 0]},
                 {"field": "hall.zarr", "centre": [90, 30], "turn": 90, "scale": 1.5, "weight": 2}],
     "walls": [[[60, 20], [80, 20], [80, 40], [60, 40]]]}

Names of captures are relative to the file; places are `[column, row]` in pixels, turns degrees clockwise.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from marey.crowd.fields import FieldSeries
from marey.crowd.tiling import REACH, Patch, Tiling
from marey.errors import FormatError, InputError, MareyError
from marey.io._files import read_bytes

LARGEST_FILE = 4 << 20
MOST_PATCHES = 500

KEYS = {"rows", "columns", "patches", "walls", "reach", "frames", "frame_rate"}
PATCH_KEYS = {"field", "at", "centre", "turn", "scale", "weight", "masked", "start"}


def read(path: Path) -> Tiling:
    """The environment a file describes, with its captures read; all at the frame rate of the first one."""
    path = Path(path)
    told = _told(path)
    try:
        return _tiling(told, path.parent)
    except InputError as error:
        raise FormatError(str(error), path=path) from error


def captures(path: Path) -> list[Path]:
    """The captures a file names, unread."""
    told = _told(Path(path))
    patches = told.get("patches", []) if isinstance(told, dict) else []
    patches = patches if isinstance(patches, list) else []
    names = [patch.get("field") for patch in patches if isinstance(patch, dict)]
    return [Path(path).parent / name for name in names if isinstance(name, str)]


def _told(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path, limit=LARGEST_FILE).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON ({' '.join(str(error).split())[:100]})", path=path) from error


def _tiling(told: Any, folder: Path) -> Tiling:
    _check_keys("the file", told, KEYS, {"rows", "columns", "patches"})
    if not isinstance(told["patches"], list) or not 0 < len(told["patches"]) <= MOST_PATCHES:
        raise InputError(f'"patches": a list of 1 to {MOST_PATCHES} patches')
    walls = told.get("walls", [])
    if not isinstance(walls, list):
        raise InputError('"walls": a list of polygons, each a list of [column, row]')
    outlines = tuple(_corners(f"wall {n}", wall) for n, wall in enumerate(walls, 1))
    rows, columns = (_whole(f'"{key}"', told[key], 1) for key in ("rows", "columns"))
    rate = _number('"frame_rate"', told["frame_rate"]) if "frame_rate" in told else None
    patches, loaded = [], dict[Path, FieldSeries]()
    for number, entry in enumerate(told["patches"], 1):
        patches.append(_patch(number, entry, folder, rate, loaded))
        rate = patches[0].fields.frame_rate
    frames = _whole('"frames"', told["frames"], 1) if "frames" in told else None
    if frames is not None:
        patches = [_cut(n, patch, frames) for n, patch in enumerate(patches, 1)]
    reach = _number('"reach"', told["reach"]) if "reach" in told else REACH
    return Tiling(tuple(patches), rows, columns, outlines, reach)


def _patch(number: int, told: Any, folder: Path, rate: float | None, known: dict[Path, FieldSeries]) -> Patch:
    from marey.io import load

    name = f"patch {number}"
    _check_keys(name, told, PATCH_KEYS, {"field"})
    if not isinstance(told["field"], str):
        raise InputError(f'{name}: "field" is the name of a capture')
    if "at" in told and "centre" in told:
        raise InputError(f'{name}: give "at" (its first pixel) or "centre", not both')
    source = folder / told["field"]
    if source not in known:
        loaded = load(source)
        if not isinstance(loaded, FieldSeries):
            raise InputError(f"{name}: {source} is a {type(loaded).__name__}, not velocity fields")
        known[source] = loaded
    fields = known[source]
    if rate is not None and not np.isclose(rate, fields.frame_rate):
        fields = fields.resample(rate)
    place = told.get("centre", told.get("at", [0, 0]))
    if not isinstance(place, list) or len(place) != 2:
        raise InputError(f"{name}: a place is [column, row], got {place!r:.60}")
    column, row = (_number(f"{name}, place", value) for value in place)
    numbers = {
        key: _number(f'{name}, "{key}"', told[key]) for key in ("turn", "scale", "weight") if key in told
    }
    try:
        return Patch(
            fields,
            column,
            row,
            turn=math.radians(numbers.get("turn", 0.0)),
            scale=numbers.get("scale", 1.0),
            weight=numbers.get("weight", 1.0),
            centred="centre" in told,
            masked=told.get("masked", "wall"),
            start=_whole(f'{name}, "start"', told.get("start", 0), 0),
        )
    except MareyError as error:
        raise InputError(f"{name}: {error}") from error


def _cut(number: int, patch: Patch, frames: int) -> Patch:
    there = patch.fields.frames - patch.start
    if there < frames:
        raise InputError(
            f"patch {number} has {there} frames, {frames} are wanted; make it longer with marey crowd extend"
        )
    return replace(patch, fields=patch.fields[patch.start : patch.start + frames], start=0)


def _check_keys(name: str, told: Any, known: set[str], needed: set[str]) -> None:
    if not isinstance(told, dict):
        raise InputError(f"{name}: an object with {', '.join(sorted(needed))} was expected")
    for key in needed - told.keys():
        raise InputError(f'{name}: "{key}" is missing')
    for key in told.keys() - known:
        raise InputError(f"{name}: {key!r:.40} is not known; known are {', '.join(sorted(known))}")


def _corners(name: str, told: Any) -> Any:
    if not isinstance(told, list) or len(told) > 10_000:
        raise InputError(f"{name}: a list of corners [column, row]")
    if not all(isinstance(corner, list) and len(corner) == 2 for corner in told):
        raise InputError(f"{name}: every corner is [column, row]")
    return np.array([[_number(name, value) for value in corner] for corner in told]).reshape(-1, 2)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        raise InputError(f"{name}: a number was expected, got {value!r:.40}")
    return float(value)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 10**9:
        raise InputError(f"{name}: a whole number from {least} was expected, got {value!r:.40}")
    return value


__all__ = ["captures", "read"]
