"""Population files of the Agoraset dataset: `NAME.constant.data` and `NAME.temporal.data`, little-endian.

constant: uint32 times, uint32 people, then float32 mass, radius, will and fatigue, each `(people,)`.
temporal: float32 times `(times,)`, then positions, velocities and wishes, float32 `(people, times, 2)`.
As the published dataset's own parser reads them (metres, seconds, kilograms). Cost: linear in the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, assign, checked
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import FormatError, InputError
from marey.io._files import atomic_write_files, read_bytes

CONSTANT, TEMPORAL = ".constant.data", ".temporal.data"
HEADER = 8
MOST_VALUES = 500_000_000


@dataclass(frozen=True, eq=False)
class Population:
    """A crowd as the dataset stores it; everyone is there all the time.

    times: `(times,)` seconds
    positions, velocities, wishes: `(people, times, 2)`; wishes are the directions people want to go
    mass, radius: `(people,)` kilograms and metres
    will, fatigue: `(people,)`: the desired speed in m/s, and what the dataset calls fatigue (zero if unknown)
    """

    times: FloatArray
    positions: FloatArray
    velocities: FloatArray
    wishes: FloatArray
    mass: FloatArray
    radius: FloatArray
    will: FloatArray
    fatigue: FloatArray

    def __post_init__(self) -> None:
        times = checked("times", self.times, (None,))
        people = len(np.atleast_1d(np.asarray(self.mass)))
        if len(times) == 0 or people == 0:
            raise InputError("population: there is no time or nobody")
        if (np.diff(times) <= 0).any():
            raise InputError("times: must grow")
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("mass", "radius", "will", "fatigue"), (people,))
        shapes |= dict.fromkeys(("positions", "velocities", "wishes"), (people, len(times), 2))
        arrays = {
            name: checked(name, getattr(self, name), shape, finite=name in ("mass", "radius"))
            for name, shape in shapes.items()
        }
        assign(self, times=times, **arrays)

    def tracks(self, name: str = "") -> Tracks:
        """Where everyone is over time, at the mean rate of `times`."""
        times = np.asarray(self.times, dtype=np.float64)
        rate = (len(times) - 1) / float(times[-1] - times[0]) if len(times) > 1 else 25.0
        # float32 seconds: 25 is stored as 24.9999.
        rate = float(round(rate)) if abs(rate - round(rate)) < 2e-3 * rate else rate
        return Tracks(np.swapaxes(self.positions, 0, 1), rate, name=name)


def read(path: Path) -> Tracks:
    """Tracks of a population; `path` is either of its two files or their common beginning."""
    return read_population(path).tracks(_stem(Path(path)).name)


def write(crowd: SimulatedCrowd, path: Path) -> None:
    """Both files of a simulated crowd. The format has no absence: whoever is gone stands where last seen."""
    write_population(population_of(crowd), path)


def population_of(crowd: SimulatedCrowd) -> Population:
    """A simulated crowd as the dataset stores it; those who are not there yet or any more stand still."""
    present = crowd.tracks.present
    frames = np.arange(crowd.frames)[:, None]
    last = np.maximum.accumulate(np.where(present, frames, -1), axis=0)
    nearest = np.where(last >= 0, last, present.argmax(axis=0))
    places = np.take_along_axis(crowd.positions, nearest[..., None], axis=0)
    velocities = np.where(present[..., None], crowd.velocities, 0.0)
    wishes = np.where(present[..., None], crowd.desired_directions, 0.0)
    return Population(
        np.arange(crowd.frames) / crowd.frame_rate,
        np.swapaxes(places, 0, 1),
        np.swapaxes(velocities, 0, 1),
        np.swapaxes(wishes, 0, 1),
        crowd.mass,
        crowd.radius,
        crowd.desired_speed,
        np.zeros(crowd.agents),
    )


def read_population(path: Path) -> Population:
    """All that the two files hold."""
    stem = _stem(Path(path))
    constant, temporal = Path(f"{stem}{CONSTANT}"), Path(f"{stem}{TEMPORAL}")
    data = read_bytes(constant)
    if len(data) < HEADER:
        raise FormatError("too short for its header", path=constant)
    times, people = (int(n) for n in np.frombuffer(data, "<u4", 2))
    if times == 0 or people == 0:
        raise FormatError(f"says {times} times and {people} people", path=constant)
    if times * people > MOST_VALUES:
        raise FormatError(f"{times} times of {people} people are too many", path=constant)
    _check_size(constant, len(data), HEADER + 16 * people)
    fixed = np.frombuffer(data, "<f4", offset=HEADER).reshape(4, people)
    moving = read_bytes(temporal)
    _check_size(temporal, len(moving), 4 * (times + 6 * people * times))
    values = np.frombuffer(moving, "<f4")
    paths = values[times:].reshape(3, people, times, 2)
    for place, array in ((constant, fixed), (temporal, values)):
        if not np.isfinite(array).all():
            raise FormatError("holds a value that is not a finite number", path=place)
    try:
        return Population(values[:times], *paths, *fixed)
    except InputError as error:
        raise FormatError(str(error), path=temporal) from error


def write_population(population: Population, path: Path) -> tuple[Path, Path]:
    """Both files; `path` is either of them or their common beginning. Returns their names."""
    stem = _stem(Path(path))
    constant, temporal = Path(f"{stem}{CONSTANT}"), Path(f"{stem}{TEMPORAL}")
    counts = np.array([len(population.times), len(population.mass)], "<u4")
    with atomic_write_files(Path(path), [constant.name, temporal.name]) as folder:
        fixed = (population.mass, population.radius, population.will, population.fatigue)
        (folder / constant.name).write_bytes(counts.tobytes() + b"".join(map(_packed, fixed)))
        moving = (population.times, population.positions, population.velocities, population.wishes)
        with (folder / temporal.name).open("wb") as file:
            for array in moving:
                file.write(_packed(array))
    return constant, temporal


def _packed(array: FloatArray) -> bytes:
    packed: NDArray[np.float32] = np.ascontiguousarray(array, dtype="<f4")
    return packed.tobytes()


def _stem(path: Path) -> Path:
    for ending in (CONSTANT, TEMPORAL):
        if path.name.endswith(ending):
            return path.with_name(path.name.removesuffix(ending))
    return path


def _check_size(path: Path, found: int, wanted: int) -> None:
    if found != wanted:
        raise FormatError(f"has {found} bytes; its header asks for {wanted}", path=path)
