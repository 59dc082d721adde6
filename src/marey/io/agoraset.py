"""Population files of the Agoraset dataset: `NAME.constant.data` and `NAME.temporal.data`, little-endian.

constant: uint32 times, uint32 people, then float32 mass, radius, will (the desired speed in m/s) and fatigue,
each `(people,)`. temporal: float32 times `(times,)`, then positions, velocities and the directions people
want to go, float32 `(people, times, 2)`. As the published dataset's own parser reads them (metres, seconds,
kilograms). Cost: linear in the bytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey._arrays import Array, FloatArray
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import FormatError
from marey.io._files import atomic_write_files, read_bytes
from marey.io._limits import LIMITS

CONSTANT, TEMPORAL = ".constant.data", ".temporal.data"


def read(path: Path) -> Tracks:
    """Tracks of a population at the mean rate of its times; `path` is either file or how both begin."""
    stem = _stem(Path(path))
    constant, temporal = Path(f"{stem}{CONSTANT}"), Path(f"{stem}{TEMPORAL}")
    header = np.frombuffer(read_bytes(constant)[:8].ljust(8, b"\0"), "<u4")
    times, people = header.tolist()
    if times == 0 or people == 0 or times * people > LIMITS.values:
        raise FormatError(
            f"{times} times of {people} people: needs one of each, and not too many", path=constant
        )
    _values(constant, 2 + 4 * people)
    values = _values(temporal, times + 6 * people * times)
    seconds = values[:times].astype(np.float64)
    if (np.diff(seconds) <= 0).any():
        raise FormatError("times: must grow", path=temporal)
    rate = (times - 1) / float(seconds[-1] - seconds[0]) if times > 1 else 25.0
    # float32 seconds: 25 is stored as 24.9999.
    rate = float(round(rate)) if abs(rate - round(rate)) < 2e-3 * rate else rate
    positions = values[times : times + 2 * people * times].reshape(people, times, 2)
    return Tracks(np.swapaxes(positions, 0, 1), rate, name=stem.name)


def write(crowd: SimulatedCrowd, path: Path) -> None:
    """Both files of a simulated crowd. The format has no absence: people who left stay where last seen."""
    stem, present = _stem(Path(path)), crowd.tracks.present
    last = np.maximum.accumulate(np.where(present, np.arange(crowd.frames)[:, None], -1), axis=0)
    nearest = np.where(last >= 0, last, present.argmax(axis=0))
    places = np.take_along_axis(crowd.positions, nearest[..., None], axis=0)
    moving = [
        np.where(present[..., None], values, 0.0) for values in (crowd.velocities, crowd.desired_directions)
    ]
    fixed = (crowd.mass, crowd.radius, crowd.desired_speed, np.zeros(crowd.agents))
    names = [f"{stem.name}{CONSTANT}", f"{stem.name}{TEMPORAL}"]
    with atomic_write_files(Path(path), names) as folder:
        counts = np.array([crowd.frames, crowd.agents], "<u4").tobytes()
        (folder / names[0]).write_bytes(counts + b"".join(map(_packed, fixed)))
        with (folder / names[1]).open("wb") as file:
            file.write(_packed(np.arange(crowd.frames) / crowd.frame_rate))
            for values in (places, *moving):
                file.write(_packed(np.swapaxes(values, 0, 1)))


def _values(path: Path, count: int) -> FloatArray:
    """All numbers of a file, of which there must be so many; its header reads as two tiny ones."""
    data = read_bytes(path)
    if len(data) != 4 * count:
        raise FormatError(f"has {len(data)} bytes; its header asks for {4 * count}", path=path)
    values = np.frombuffer(data, "<f4")
    if not np.isfinite(values[2 if path.name.endswith(CONSTANT) else 0 :]).all():
        raise FormatError("holds a value that is not a finite number", path=path)
    return values


def _packed(array: Array | FloatArray) -> bytes:
    return np.ascontiguousarray(array, dtype="<f4").tobytes()


def _stem(path: Path) -> Path:
    for ending in (CONSTANT, TEMPORAL):
        if path.name.endswith(ending):
            return path.with_name(path.name.removesuffix(ending))
    return path
