"""C3D marker files, in and out: coordinates as integers or floats, in the byte orders of Intel, DEC and SGI.

A file is a header of 512 bytes, a section of parameters in groups, and rows of frames: four numbers for each
point (the fourth below zero: not seen), then the analog samples, which are passed over ("The C3D File Format
User Guide", 2021). Header and parameters often disagree: what fits the size of the file counts. Written are
floats in Intel's order. Cost: one pass over the bytes.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from marey._arrays import Array, FloatArray
from marey.body.markers import Markers
from marey.errors import FormatError, MareyWarning
from marey.geometry.convention import UNITS, Convention, UpAxis, unit_size
from marey.io._files import atomic_write, decoded, read_bytes, unique_names
from marey.io._limits import LIMITS

BLOCK = 512
INTEL, DEC, SGI = 84, 85, 86
POINTS, CHANNELS, START = ("POINT", "USED"), ("ANALOG", "CHANNELS"), ("POINT", "DATA_START")
# Parameters by group and name: numbers, or texts.
Values = list[float] | list[str]
Parameters = dict[tuple[str, str], Values]


def read(path: Path, *, unit: str | float | None = None, up: UpAxis | None = None) -> Markers:
    """Labelled markers over time; NaN where one was not seen.

    unit: by default what the file's POINT:UNITS says (millimetres if it says nothing)
    up: by default what POINT:Y_SCREEN says; without it, the axis along which the markers stand tallest
    """
    path = Path(path)
    data = read_bytes(path)
    if len(data) < 2 * BLOCK or data[1] != 0x50:
        raise FormatError("not a C3D file", path=path)
    layout = _layout(data, path)
    positions = _positions(data, layout, path)
    parameters = layout.parameters
    own_unit = UNITS.get(_text(parameters, "UNITS").lower(), 0.001)
    screen = _text(parameters, "Y_SCREEN").upper().lstrip("+-")
    own_up: UpAxis = ("y" if screen == "Y" else "z") if screen in ("Y", "Z") else tallest_axis(positions)
    convention = Convention(own_unit if unit is None else unit_size(unit), up or own_up)
    labels: list[str] = []
    for name in ("LABELS", *(f"LABELS{i}" for i in range(2, 100))):
        labels += [str(label).strip() for label in parameters.get(("POINT", name), ())]
    labels = [*labels, *[""] * layout.points][: layout.points]
    names = unique_names([label or f"marker {i}" for i, label in enumerate(labels, start=1)])
    positions = convention.to_marey(positions)
    return Markers(tuple(names), positions, layout.rate, convention=convention, name=path.stem)


def write(markers: Markers, path: Path, *, unit: str | float | None = None, up: UpAxis | None = None) -> None:
    """A file that other programs read; in the markers' own unit and axes unless others are given.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "head.c3d"
    >>> write(Markers(("head",), [[[0, 1.75, 0]]], 100), path, unit="mm")
    >>> read(path).positions.tolist()
    [[[0.0, 1.75, 0.0]]]
    """
    own = markers.convention
    convention = Convention(own.unit if unit is None else unit_size(unit), own.up if up is None else up)
    if convention.unit_name not in UNITS:  # no word for it in the file
        convention = Convention(0.001, convention.up)
    frames, points = markers.frames, len(markers.names)
    seen = markers.present
    rows = np.zeros((frames, points, 4), "<f4")
    with np.errstate(over="ignore"):
        rows[..., :3] = np.where(seen[..., None], convention.from_marey(markers.positions), 0.0)
    rows[..., 3] = np.where(seen, 0.0, -1.0)
    if not np.isfinite(rows).all() or points > 65535:
        raise FormatError("the markers are too many, or too far away, for a C3D file", path=path)
    stated = min(frames, 65535)
    counts = np.array([points, stated], "<u2").view("<i2")
    parameters: dict[tuple[str, str], object] = {
        ("POINT", "USED"): counts[:1],
        ("POINT", "SCALE"): np.array([-1.0], "<f4"),
        ("POINT", "RATE"): np.array([markers.frame_rate], "<f4"),
        ("POINT", "DATA_START"): np.zeros(1, "<i2"),
        ("POINT", "FRAMES"): counts[1:],
        ("POINT", "UNITS"): [convention.unit_name],
        ("POINT", "X_SCREEN"): ["+X"],
        ("POINT", "Y_SCREEN"): [f"+{convention.up.upper()}"],
    }
    for number, start in enumerate(range(0, points, 255), start=1):
        name = f"LABELS{number if number > 1 else ''}"
        parameters["POINT", name] = list(markers.names[start : start + 255])
    parameters["TRIAL", "ACTUAL_START_FIELD"] = np.array([1, 0], "<i2")
    parameters["TRIAL", "ACTUAL_END_FIELD"] = np.array([frames], "<u4").view("<i2")
    parameters["ANALOG", "USED"] = np.zeros(1, "<i2")
    start = 2 + -(-len(_encoded(parameters)) // BLOCK)
    parameters["POINT", "DATA_START"] = np.array([start], "<i2")
    section = _encoded(parameters).ljust((start - 2) * BLOCK, b"\0")
    head = struct.pack("<BBHHHHHfHHf", 2, 0x50, points, 0, 1, stated, 0, -1.0, start, 0, markers.frame_rate)
    with atomic_write(Path(path)) as draft:
        body = section[:2] + bytes([start - 2, INTEL]) + section[4:] + rows.tobytes()
        draft.write_bytes(head.ljust(BLOCK, b"\0") + body + bytes(-len(body) % BLOCK))


def tallest_axis(positions: FloatArray) -> UpAxis:
    """The axis, y or z, along which the markers `(frames, markers, 3)` stand tallest; y if none is seen."""
    usable = positions[np.isfinite(positions).any(axis=(1, 2))]
    if not len(usable):
        return "y"
    tall = np.median(np.nanmax(usable, axis=1) - np.nanmin(usable, axis=1), axis=0)
    return "z" if tall[2] > tall[1] else "y"


@dataclass(frozen=True)
class _Layout:
    """Where the frames are: their first byte, how many, and what each holds.

    scale: of coordinates stored as integers; below zero: they are floats
    """

    parameters: Parameters
    order: int
    start: int
    frames: int
    points: int
    analog: int
    scale: float
    rate: float

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return 4 if self.scale < 0 else 2

    @property
    def width(self) -> int:
        """Numbers of a frame."""
        return 4 * self.points + self.analog

    def spare(self, size: int) -> int:
        """Bytes of a file of `size` that follow the frames."""
        return size - self.start - self.frames * self.width * self.itemsize


def _layout(data: bytes, path: Path) -> _Layout:
    """The reading of header and parameters by which the frames make up the file."""
    section = max(data[0] - 1, 1) * BLOCK
    stated = data[section + 3] if section + 4 <= len(data) else 0
    problem = "its header and parameters do not fit together"
    for order in sorted((INTEL, DEC, SGI), key=lambda order: order != stated):
        parameters = _parameters(data, section, order)
        points, analog, first, last = _words(data, 2, order)[:4]
        start, samples = _words(data, 16, order)[:2]
        own = {name: _whole(parameters, group, name) for group, name in (POINTS, CHANNELS, START)}
        rates, scales = (
            [*_numbers(data[at : at + 4], "f4", order).tolist(), *parameters.get(("POINT", name), ())[:1]]
            for at, name in ((20, "RATE"), (12, "SCALE"))
        )
        rates = [rate for rate in rates[::-1] if isinstance(rate, float) and 1e-3 < rate < 1e6]
        scales = [scale for scale in scales if isinstance(scale, float) and 1e-12 < abs(scale) < 1e12]
        starts = (start, own["DATA_START"], section // BLOCK + 1 + data[section + 2])
        counts = [(last - first) % 65536 + 1, *_lengths(parameters)]
        widths = product((points, own["USED"]), (analog, own["CHANNELS"] * samples))
        layouts = [
            _Layout(parameters, order, (at - 1) * BLOCK, count, used, channels, scale, rates[0])
            for at, scale, (used, channels), count in product(starts, scales, dict.fromkeys(widths), counts)
            if rates and 0 < (at - 1) * BLOCK < len(data)
        ]
        fitting = [layout for layout in layouts if layout.points and layout.spare(len(data)) >= 0]
        if fitting:
            # Of several, the first after whose frames no more than the rest of a block follows.
            whole = (layout for layout in fitting if layout.spare(len(data)) <= BLOCK)
            return next(whole, max(fitting, key=lambda layout: layout.frames))
        for layout in layouts:
            room = (len(data) - layout.start) // max(layout.width * layout.itemsize, 1)
            if layout.points and room:
                message = f"{path}: declares {layout.frames} frames and has {room}; all {room} were read"
                warnings.warn(MareyWarning(message), stacklevel=2)
                return replace(layout, frames=room)
        if not points and not own["USED"]:
            problem = "holds no markers (analog channels only?)"
        elif scales and not rates:
            problem = "states no positive number of frames per second (POINT:RATE)"
    raise FormatError(problem, path=path)


def _lengths(parameters: Parameters) -> Iterator[int]:
    """What the parameters say of the number of frames; the header counts to 65,535."""
    long = parameters.get(("POINT", "LONG_FRAMES"), [0.0])[0]
    starts, ends = (parameters.get(("TRIAL", f"ACTUAL_{end}_FIELD"), []) for end in ("START", "END"))
    if len(starts) == len(ends) == 2 and isinstance(starts[0], float):
        first, last = ((int(low) & 0xFFFF) + ((int(high) & 0xFFFF) << 16) for low, high in (starts, ends))
        yield from (n for n in (last - first + 1,) if 0 < n < LIMITS.rows)
    yield from (int(n) for n in (long,) if isinstance(n, float) and 0 < n < LIMITS.rows)
    yield from (n for n in (_whole(parameters, "POINT", "FRAMES"),) if n)


def _whole(parameters: Parameters, group: str, name: str) -> int:
    """A count of 16 bits; 0 if it is not there."""
    value = (parameters.get((group, name if group == "POINT" else "USED")) or [0.0])[0]
    return int(value) & 0xFFFF if isinstance(value, float) and abs(value) < 1e6 else 0


def _words(data: bytes, at: int, order: int) -> list[int]:
    """Whole numbers of 16 bits without sign in the header."""
    return [int(n) & 0xFFFF for n in _numbers(data[at : at + 10], "i2", order)]


def _positions(data: bytes, layout: _Layout, path: Path) -> Array:
    """Coordinates `(frames, points, 3)` in the file's unit, NaN where a marker was not seen."""
    if layout.frames * layout.points * 3 > LIMITS.values:
        raise FormatError(f"{layout.frames} frames of {layout.points} points are too many", path=path)
    kind = "f4" if layout.scale < 0 else "i2"
    dtype = np.dtype((">" if layout.order == SGI else "<") + kind)
    raw = np.ndarray((layout.frames, layout.width), dtype, data, layout.start)[:, : 4 * layout.points]
    if layout.order == DEC and kind == "f4":
        raw = _numbers(np.ascontiguousarray(raw).tobytes(), kind, DEC).reshape(raw.shape)
    rows = raw.reshape(layout.frames, layout.points, 4).astype(np.float64)
    positions = rows[..., :3] * (1.0 if layout.scale < 0 else layout.scale)
    unseen = (rows[..., 3] < 0) | ~(np.abs(positions) < 1e30).all(axis=-1)
    positions[unseen] = np.nan
    return positions


def _parameters(data: bytes, section: int, order: int) -> Parameters:
    """Parameters by group and name, as far as they make sense."""
    found: dict[tuple[int, str], Values] = {}
    groups: dict[int, str] = {}
    at, end = section + 4, min(len(data), section + BLOCK * max(data[section + 2 : section + 3] or b"\1"))
    try:
        while at + 4 <= end:
            length, group = struct.unpack_from("bb", data, at)
            if not length or not group:
                break
            here = at + 2 + abs(length)
            name = decoded(data[at + 2 : here]).strip().upper()
            step = int(_numbers(data[here : here + 2], "i2", order)[0]) & 0xFFFF
            if group < 0:
                groups[-group] = name
            else:
                found[group, name] = _values(data, here + 2, order)
            if step < 2:
                break
            at = here + step
    except (IndexError, ValueError, struct.error):
        pass  # damaged from here on: the header says enough
    return {(groups.get(group, ""), name): values for (group, name), values in found.items()}


def _values(data: bytes, at: int, order: int) -> Values:
    """The value of a parameter: its type, its dimensions, its numbers or letters."""
    size, count = struct.unpack_from("bB", data, at)
    shape = list(data[at + 2 : at + 2 + count])
    start, total = at + 2 + count, int(np.prod(shape, dtype=np.int64))
    raw = data[start : start + total * abs(size)]
    if size == -1:
        width = shape[0] if shape else 1
        return [decoded(raw[i : i + width]).rstrip("\0 ") for i in range(0, len(raw), max(width, 1))]
    kind = {1: "u1", 2: "i2", 4: "f4"}[size] if size in (1, 2, 4) else ""
    return [float(value) for value in _numbers(raw, kind, order)] if kind else []


def _numbers(raw: bytes, kind: str, order: int) -> np.ndarray:
    """Numbers of a file: SGI's are big-endian, DEC's floats four times as large with their halves swapped."""
    if order == DEC and kind == "f4":
        swapped = np.frombuffer(raw, "<u2").reshape(-1, 2)[:, ::-1]
        return np.ascontiguousarray(swapped).view("<f4")[:, 0] / np.float32(4)
    return np.frombuffer(raw, (">" if order == SGI else "<") + kind)


def _encoded(parameters: dict[tuple[str, str], object]) -> bytes:
    """The section of parameters, from its four bytes on."""
    groups = list(dict.fromkeys(group for group, _ in parameters))
    parts = [b"\1\x50\0\0"]
    for number, group in enumerate(groups, start=1):
        parts.append(struct.pack("bb", len(group), -number) + group.encode() + b"\3\0\0")
    for (group, name), values in parameters.items():
        if isinstance(values, np.ndarray):
            body = struct.pack("bBB", values.itemsize, 1, len(values)) + values.tobytes()
        else:
            texts = [str(value).encode()[:120] for value in values]  # type: ignore[attr-defined]
            width = max(map(len, texts))
            body = struct.pack("bBBB", -1, 2, width, len(texts)) + b"".join(t.ljust(width) for t in texts)
        head = struct.pack("bb", len(name), groups.index(group) + 1) + name.encode()
        parts.append(head + struct.pack("<H", len(body) + 3) + body + b"\0")
    return b"".join(parts) + b"\0\0"


def _text(parameters: Parameters, name: str) -> str:
    return str((parameters.get(("POINT", name)) or [""])[0]).strip()
