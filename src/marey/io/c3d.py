"""C3D marker files, read with ezc3d (extra `c3d`).

ezc3d is native code that a damaged file can crash, so it runs in a process of its own: what happens there
becomes one readable line here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np

from marey._arrays import FloatArray
from marey.body.markers import Markers
from marey.errors import FormatError, require
from marey.geometry.convention import UNITS, Convention, UpAxis, unit_size
from marey.io import _isolated
from marey.io._files import Untyped, check_readable, unique_names

T = TypeVar("T")

# Damage can also send the library into an endless loop; a sound file is read at over 50 MB a second.
ALLOWANCE = _isolated.Allowance(8.0, 2e6, reserved_bytes=4 << 30, bytes_per_byte=100, memory="AS")


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
    size = None if unit is None else unit_size(unit)
    return _isolated.read(read_markers, path, ALLOWANCE, kind="C3D", unit=size, up=up)


def read_markers(path: Path, *, unit: float | None, up: UpAxis | None) -> Markers:
    """The markers, read in this process."""
    import ezc3d

    content = ezc3d.c3d(str(path))
    point = content["parameters"]["POINT"]
    positions = np.moveaxis(content["data"]["points"][:3], 0, -1).swapaxes(0, 1)
    residuals = content["data"]["meta_points"]["residuals"][0].T
    if positions.size == 0:
        raise FormatError("holds no markers (analog channels only?)", path=path)
    rate = float(_value(point, "RATE", [0.0])[0])
    if not 0 < rate < float("inf"):
        raise FormatError(f"states {rate:g} frames per second (POINT:RATE)", path=path)
    unseen = (residuals < 0) | ~np.isfinite(positions).all(axis=-1)
    positions = np.where(unseen[..., None], np.nan, positions)
    own_unit = UNITS.get(str(_value(point, "UNITS", ["mm"])[0]).lower(), 0.001)
    own_up = _up_axis(str(_value(point, "Y_SCREEN", [""])[0]), positions)
    convention = Convention(unit or own_unit, up or own_up)
    labels: list[str] = []
    for name in ("LABELS", *(f"LABELS{i}" for i in range(2, 20))):
        labels += map(str, _value(point, name, []))
    return Markers(
        tuple(unique_names(_names(labels, positions.shape[1]))),
        convention.to_marey(positions),
        rate,
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


def _value(group: Untyped, name: str, default: list[T]) -> list[T]:
    found = list(group[name]["value"]) if name in group else []
    return found or default
