"""C3D marker files, read with ezc3d (extra `c3d`).

ezc3d is native code that a damaged file can crash, so it runs in a process of its own: what happens there
becomes one readable line here.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from marey import _child
from marey._arrays import FloatArray
from marey._extras import require
from marey.body.markers import Markers
from marey.errors import FormatError
from marey.geometry.convention import UNITS, Convention, UpAxis, unit_size
from marey.io._files import check_readable
from marey.io._text import all_different

# Damage can also send the library into an endless loop; a sound file is read at over 50 MB a second.
START_SECONDS, BYTES_PER_SECOND = 8.0, 2e6


def read(path: Path, *, unit: str | float | None = None, up: UpAxis | None = None) -> Markers:
    """Labelled markers over time; NaN where one was not seen.

    unit: by default what the file's POINT:UNITS says (millimetres if it says nothing)
    up: by default what POINT:Y_SCREEN says; without it, the axis along which the markers stand tallest
    """
    require("ezc3d", extra="c3d")
    check_readable(path)
    with path.open("rb") as file:
        if file.read(2)[1:] != b"\x50":
            raise FormatError("not a C3D file", path=path)
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "markers.npz"
        seconds = START_SECONDS + path.stat().st_size / BYTES_PER_SECOND
        _child.read("marey.io._c3d_child", path, str(result), kind="C3D", seconds=seconds)
        with np.load(result, allow_pickle=False) as stored:
            positions, facts = stored["positions"], json.loads(str(stored["facts"]))
    if positions.size == 0:
        raise FormatError("holds no markers (analog channels only?)", path=path)
    if not 0 < facts["rate"] < float("inf"):
        raise FormatError(f"states {facts['rate']:g} frames per second (POINT:RATE)", path=path)
    convention = Convention(
        UNITS.get(facts["unit"].lower(), 0.001) if unit is None else unit_size(unit),
        up or _up_axis(facts["y_screen"], positions),
    )
    return Markers(
        tuple(all_different(_names(facts["labels"], positions.shape[1]))),
        convention.to_marey(positions),
        facts["rate"],
        convention=convention,
        name=path.stem,
    )


def _up_axis(y_screen: str, positions: FloatArray) -> UpAxis:
    if y_screen.strip().upper() in ("+Y", "Y", "+Z", "Z"):
        return "z" if y_screen.strip().upper().endswith("Z") else "y"
    usable = positions[np.isfinite(positions).any(axis=(1, 2))]
    tall = (
        np.median(np.nanmax(usable, axis=1) - np.nanmin(usable, axis=1), axis=0) if len(usable) else (0, 1, 0)
    )
    return "z" if tall[2] > tall[1] else "y"


def _names(labels: list[str], count: int) -> list[str]:
    stripped = [label.strip() for label in labels[:count]]
    stripped += [""] * (count - len(stripped))
    return [name or f"marker {i}" for i, name in enumerate(stripped, start=1)]
