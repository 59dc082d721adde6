"""Annotations of people in videos as tables: Stanford Drone boxes, UCY splines (.vsp), TrajNet++ (.ndjson).

SDD: `track xmin ymin xmax ymax frame lost occluded generated "label"`, pixels, 30 frames per second; a person
is the middle of a box. UCY: points `x y frame gaze` a person, straight between them, y up from the middle of
the image, 25 frames per second. TrajNet++: lines of JSON, `{"track": {"f", "p", "x", "y"}}` in metres and
`{"scene": {"fps"}}`. Cost: linear in the rows, microseconds each.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from marey._arrays import Array, BoolArray
from marey.errors import FormatError
from marey.io._files import quoted
from marey.io._json import decode
from marey.io._limits import LIMITS

Columns = dict[str, Array]
SDD_RATE, UCY_RATE = 30.0, 25.0
ON_WHEELS = ("Biker", "Skater", "Cart", "Car", "Bus")
SDD_ROW = re.compile(rb'\s*\d+( -?\d+){8} "\w+"\s*')


def boxes(data: bytes, path: Path) -> tuple[Columns, BoolArray]:
    """Columns of an SDD file, y up, and which rows are of people on foot; cars and carts are left out."""
    rows, walks = [], []
    for number, line in enumerate(data.splitlines(), start=1):
        words = line.split()
        if not SDD_ROW.fullmatch(line):
            if words:
                raise FormatError("expected nine numbers and a label", path=path, line=number)
            continue
        label = words[9].decode().strip('"')
        if label not in ON_WHEELS[2:] and words[6] == b"0":
            rows.append([int(word[:18]) for word in words[:6]])
            walks.append(label not in ON_WHEELS)
    if not rows:
        raise FormatError("there is nobody in it", path=path)
    person, left, top, right, bottom, frame = np.array(rows, dtype=np.float64).T
    return {"frame": frame, "id": person, "x": (left + right) / 2, "y": -(top + bottom) / 2}, np.array(walks)


def splines(data: bytes, path: Path) -> Columns:
    """Columns of a UCY file of splines, a row for every person and frame."""
    lines = data.decode("latin-1").splitlines()
    people, at = _count(lines, 0, path), 1
    found: list[Array] = []
    total = 0
    for person in range(people):
        count = _count(lines, at, path)
        rows = [line.split()[:3] for line in lines[at + 1 : at + 1 + count]]
        at += 1 + count
        try:
            x, y, frame = np.array(rows, dtype=np.float64).reshape(count, 3).T
        except ValueError:
            message = f"needs {count} rows of x, y and frame from here on"
            raise FormatError(message, path=path, line=at - count) from None
        if not count or not np.isfinite(frame).all():
            continue
        order = np.argsort(frame, kind="stable")
        x, y, frame = x[order], y[order], frame[order]
        total += int(frame[-1] - frame[0]) + 1
        if total > LIMITS.vertices:
            raise FormatError("its splines have too many frames", path=path)
        frames = np.arange(np.ceil(frame[0]), np.floor(frame[-1]) + 1)
        where = (np.interp(frames, frame, x), np.interp(frames, frame, y))
        found.append(np.stack([frames, np.full(len(frames), float(person)), *where]))
    if not found:
        raise FormatError("there is nobody in it", path=path)
    return dict(zip(("frame", "id", "x", "y"), np.concatenate(found, axis=1), strict=True))


class _Scene(msgspec.Struct):
    fps: float | None = None


Whole = Annotated[int, msgspec.Meta(ge=-(10**15), le=10**15)]


class _Track(msgspec.Struct):
    f: Whole
    p: Whole
    x: float | None = None
    y: float | None = None


class _Line(msgspec.Struct):
    scene: _Scene | None = None
    track: _Track | None = None


def json_lines(data: bytes, path: Path) -> tuple[Columns, float | None]:
    """Columns of a TrajNet++ file, and how many of its annotations are a second, if it says."""
    rows: dict[tuple[int, int], tuple[float, float]] = {}
    rates: list[float] = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            parsed = decode(line, _Line, path)
        except FormatError as error:
            message = str(error).removeprefix(f"{path}: ").removeprefix(f"{path}:1: ")
            raise FormatError(message, path=path, line=number) from error
        if parsed.scene is not None and parsed.scene.fps:
            rates.append(parsed.scene.fps)
        if (track := parsed.track) is not None and track.x is not None and track.y is not None:
            rows[track.f, track.p] = (track.x, track.y)  # scenes that overlap repeat rows
    if not rows:
        raise FormatError("there is no track in it", path=path)
    table = np.array([(*key, *place) for key, place in rows.items()], dtype=np.float64).T
    return dict(zip(("frame", "id", "x", "y"), table, strict=True)), float(
        np.median(rates)
    ) if rates else None


def _count(lines: list[str], at: int, path: Path) -> int:
    found = re.match(r"\s*(\d{1,9})\b", lines[at]) if at < len(lines) else None
    if found is None:
        shown = quoted(lines[at]) if at < len(lines) else "the end"
        raise FormatError(f"expected a count, found {shown}", path=path, line=at + 1)
    return int(found[1])
