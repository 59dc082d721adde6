"""Places of known experiments for `crowd_physics.py`, `crowd_calibration.py` and `crowd_pedpy.py`.

The corridor of 1.8 m with its narrow entrance or exit and the opening of 0.5 m are those of the Jülich
experiments (`crowd/juelich_unidirectional`, `crowd/juelich_bottleneck` of the real data), the room of 15 m is
that of Helbing, Farkas & Vicsek 2000.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from marey.crowd.polygons import edges
from marey.crowd.simulation.engine import Frame, Simulator
from marey.crowd.simulation.pedestrians import Parameters, Pedestrians, random_pedestrians
from marey.crowd.simulation.routes import DirectionField

CORRIDOR = (1.8, 8.0)
CORRIDOR_RATE, OPENING_RATE = 16.0, 25.0
# Width of entrance and exit, people.
EXPERIMENTS = {"uo-050-180-180": (0.5, 1.8, 61), "uo-180-180-120": (1.8, 1.2, 170)}
OPENING, ROOM, WAITING = 0.5, 5.6, 75
EDGES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])


@dataclass(frozen=True)
class Contender:
    """A set of constants with the people who go with it."""

    law: Parameters
    kind: str = "dataset"
    speed_factor: float = 1.0
    response_time: float | None = None

    def people(self, count: int, area: tuple[float, float, float, float], seed: int) -> Pedestrians:
        found = random_pedestrians(
            count, area=area, speed_factor=self.speed_factor, kind=self.kind, seed=seed
        )
        if self.response_time is None:
            return found
        scaled = found.response_time * self.response_time / found.response_time.mean()
        return replace(found, response_time=scaled)


# In the experiments people walk at 1.5 m/s where they are free.
CONTENDERS = {
    "dataset": Contender(Parameters(), "dataset", 1.5 / 1.2),
    "Helbing": Contender(Parameters.helbing(), "dataset", 1.5 / 1.2),
    "everyday": Contender(Parameters.everyday(), "everyday"),
}


def data_folder(given: Path | None) -> Path:
    return given or Path(os.environ.get("MAREY_DATA", Path(__file__).parents[2] / "shared" / "data"))


def corridor_experiments(data: Path | None) -> dict[str, np.ndarray]:
    """Positions `(frames, people, 2)` in metres, along the corridor first, its middle at 0."""
    from marey import io

    found = {}
    for name in EXPERIMENTS:
        path = data_folder(data) / "crowd" / "juelich_unidirectional" / f"{name}.txt"
        if path.exists():
            tracks = io.load(path, frame_rate=CORRIDOR_RATE, unit="cm")
            found[name] = tracks.positions[:, :, ::-1] * [-1.0, 1.0]
        else:
            print(f"  not at hand (--data, MAREY_DATA): {path.name}")
    return found


def opening_experiment(data: Path | None) -> np.ndarray | None:
    """Positions `(frames, people, 2)`; people leave downwards through the opening at y = 0."""
    from marey import io

    path = data_folder(data) / "crowd" / "juelich_bottleneck" / "040_c_56_h-.txt"
    if not path.exists():
        print(f"  not at hand (--data, MAREY_DATA): {path.name}")
        return None
    return io.load(path, frame_rate=OPENING_RATE).positions


def field_of(
    formula: Callable[[np.ndarray], np.ndarray],
    lower: tuple[float, float],
    upper: tuple[float, float],
    spacing: float = 0.25,
) -> DirectionField:
    """Directions `(points, 2)` that `formula` gives at points `(points, 2)`, between two corners."""
    columns, rows = (int(np.ceil((b - a) / spacing)) + 1 for a, b in zip(lower, upper, strict=True))
    x, y = lower[0] + spacing * np.arange(columns), lower[1] + spacing * np.arange(rows)
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return DirectionField(np.asarray(formula(points), np.float64).reshape(rows, columns, 2), lower, spacing)


def frames(crowd: Simulator, seconds: float, rate: float) -> Iterator[Frame]:
    """Frame after frame, the present one first; steps are shortened so that a whole number makes a frame."""
    steps = max(1, math.ceil(1.0 / (rate * crowd.dt) - 1e-9))
    yield crowd.frame()
    for _ in range(round(seconds * rate)):
        crowd.step(steps, seconds=1.0 / (rate * steps))
        yield crowd.frame()


def recorded(crowd: Simulator, seconds: float, rate: float) -> np.ndarray:
    """Positions `(frames, people, 2)`, NaN after somebody has left."""
    taken = list(frames(crowd, seconds, rate))
    positions = np.full((len(taken), len(taken[0].ids), 2), np.nan)
    for number, frame in enumerate(taken):
        positions[number, np.searchsorted(taken[0].ids, frame.ids)] = frame.positions
    return positions


def corridor(who: Contender, entry: float, exit_: float, count: int, *, seed: int = 2) -> np.ndarray:
    """Positions in 90 s of a corridor between -4 and 4 m, people waiting before it."""
    width, length = CORRIDOR
    middle, half = width / 2, length / 2
    low_in, high_in = middle - entry / 2, middle + entry / 2
    low, high = middle - exit_ / 2, middle + exit_ / 2
    deep = half + 3 + count / 12.0
    lower = [
        (-deep, -3.0), (-half, -3.0), (-half, low_in), (-half + 0.01, 0.0), (half, 0.0), (half, low),
        (half + 5, low - 5),
    ]  # fmt: skip
    upper = [(x, width - y) for x, y in lower]
    walls = edges([lower, upper], closed=False)

    def formula(points: np.ndarray) -> np.ndarray:
        x, y = points.T
        here = np.where(x < -half, -half + 0.1, np.where(x < half, half + 0.1, half + 50))
        gate = np.where(x < -half, y.clip(low_in + 0.15, high_in - 0.15), y.clip(low + 0.15, high - 0.15))
        return np.column_stack([here - x, gate - y])

    field = field_of(formula, (-deep, -3.0), (half + 5, width + 3.0), spacing=0.1)
    area = (-deep + 0.3, -2.7, -half - 0.3, width + 2.7)
    people = who.people(count, area, seed)
    goals = [(half + 3, -9, half + 9, width + 9)]
    crowd = Simulator(people, walls, [field], who.law, goals=goals, dt=1 / 32, threads=1)
    return recorded(crowd, 90.0, CORRIDOR_RATE)


def opening(who: Contender, *, seed: int = 3, seconds: float = 120.0) -> np.ndarray:
    """Positions of 75 people before an opening of 0.5 m, 1.1 m long, in a room of 5.6 m; they go down."""
    half, side, deep = OPENING / 2, ROOM / 2, 1.1
    right = [(side, 7.0), (side, 0.0), (half, 0.0), (half, -deep), (half + 3, -deep - 3)]
    walls = edges([right, [(-x, y) for x, y in right]], closed=False)

    def formula(points: np.ndarray) -> np.ndarray:
        x, y = points.T
        below = np.where(y > 0.05, -0.1, np.where(y > -deep, -deep - 0.1, -50.0))
        return np.column_stack([x.clip(-half + 0.2, half - 0.2) - x, below - y])

    field = field_of(formula, (-side, -deep - 3), (side, 7.0), spacing=0.05)
    area = (-side + 0.3, 0.5, side - 0.3, 6.7)
    people = who.people(WAITING, area, seed)
    crowd = Simulator(people, walls, [field], who.law, goals=[(-4, -4, 4, -deep - 1)], threads=1)
    return recorded(crowd, seconds, OPENING_RATE)


def door_room(
    people: Pedestrians, law: Parameters, *, room: float, width: float, thick: float, dt: float
) -> Simulator:
    """A square room with a door in the middle of its right side, and everybody on the way out."""
    half, low, high = room / 2, (room - width) / 2, (room + width) / 2
    end = room + thick
    walls = edges(
        [[(end + 6, low - 6), (end, low), (room, low), (room, 0), (0, 0), (0, room), (room, room),
          (room, high), (end, high), (end + 6, high + 6)]], closed=False,
    )  # fmt: skip
    margin = min(0.3, 0.3 * width)

    def formula(points: np.ndarray) -> np.ndarray:
        y = points[:, 1].clip(low + margin, high - margin)
        gate = np.column_stack([np.full(len(points), room + 0.5 * thick), y])
        out = np.column_stack([np.full(len(points), end + 20.0), np.full(len(points), half)])
        return np.where((points[:, 0] < room)[:, None], gate, out) - points

    field = field_of(formula, (0, 0), (end + 6, room), spacing=0.1)
    return Simulator(people, walls, [field], law, goals=[(end + 3, 0, end + 6, room)], dt=dt, threads=1)


def speed_and_density(positions: np.ndarray, rate: float) -> np.ndarray:
    """Pedestrians a m² and their mean speed over half a second, `(samples, 2)`, in the middle 2 m."""
    half = max(1, round(0.25 * rate))
    speed = np.full(positions.shape[:2], np.nan)
    speed[half:-half] = (positions[2 * half :, :, 0] - positions[: -2 * half, :, 0]) / (2 * half / rate)
    inside = (np.abs(positions[..., 0]) < 1.0) & np.isfinite(speed)
    count = inside.sum(axis=1)
    mean = np.where(inside, speed, 0.0).sum(axis=1) / np.maximum(count, 1)
    return np.column_stack([count / (2.0 * CORRIDOR[0]), mean])[count > 0][::4]


def binned(samples: np.ndarray, edges: np.ndarray = EDGES, *, least: int = 5) -> np.ndarray:
    """Mean speed between edges of density, NaN where there are fewer than `least` samples."""
    kept = [samples[(samples[:, 0] >= a) & (samples[:, 0] < b), 1] for a, b in pairwise(edges)]
    return np.array([v.mean() if len(v) >= least else np.nan for v in kept])


def crossing_times(along: np.ndarray, rate: float) -> np.ndarray:
    """Seconds at which people `(frames, people)` first are beyond 0, sorted; those who never are left out."""
    beyond = along > 0.0
    return np.sort(beyond.argmax(axis=0)[beyond.any(axis=0)] / rate)


def steady_flow(times: np.ndarray, count: int) -> float:
    """Pedestrians a second between the first and last tenth of `count`; 0 if fewer than half came."""
    first, last = count // 10, min(len(times), count - count // 10) - 1
    if last < count // 2:
        return 0.0
    return (last - first) / (times[last] - times[first])
