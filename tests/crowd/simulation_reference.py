"""Social forces written as one would write them first: all pairs, one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marey.crowd.simulation.engine import Simulator
from marey.crowd.simulation.pedestrians import Parameters, Pedestrians
from marey.crowd.simulation.routes import DirectionField


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


def plain_forces(
    people: Pedestrians, wishes: np.ndarray, law: Parameters, reach: float = np.inf
) -> np.ndarray:
    """Newtons `(people, 2)`, without walls; avoidance fades out before `reach`."""
    x, v, r, m = people.positions, people.velocities, people.radius, people.mass
    tau = people.response_time
    total = m[:, None] * (people.desired_speed[:, None] * wishes - v) / tau[:, None]
    for i in range(people.count):
        for n in range(people.count):
            if n == i:
                continue
            d = float(np.hypot(*(x[n] - x[i])))
            e = (x[n] - x[i]) / d
            t = np.array([-e[1], e[0]])
            avoidance = law.people.strength * np.exp((r[i] + r[n] - d) / law.people.range)
            if np.isfinite(reach):
                share = np.clip((reach - d) / (0.6 * law.people.range), 0.0, 1.0)
                avoidance *= share**2 * (3 - 2 * share)
            if law.perception is not None:
                angle = np.arctan2(abs(e[0] * wishes[i, 1] - e[1] * wishes[i, 0]), e @ wishes[i])
                avoidance *= 1 - (angle / np.pi) ** law.perception
            overlap = max(r[i] + r[n] - d, 0.0)
            total[i] -= (avoidance + law.people.contact * overlap) * e
            total[i] += law.people.friction * overlap * ((v[n] - v[i]) @ t) * t
            near = max(0.0, law.stumble_reach * (r[i] + r[n]) - d)
            total[i] -= law.stumble * (v[i] @ v[i]) * v[i] * near
        speed = float(np.hypot(*v[i]))
        if speed > 0:
            total[i] += law.reluctance * m[i] / tau[i] * v[i] * min(0.0, v[i] @ wishes[i] / speed)
    return total


def recorded(crowd: Simulator, seconds: float, rate: float) -> dict[str, np.ndarray]:
    """Times `(frames,)`, positions, velocities, directions `(frames, people, 2)` of those there at first."""
    steps = round(1 / (rate * crowd.dt))
    frames, times = [crowd.frame()], [crowd.time]
    for _ in range(round(seconds * rate)):
        crowd.step(steps, seconds=1 / (rate * steps))
        frames.append(crowd.frame())
        times.append(crowd.time)
    found = np.full((3, len(frames), len(frames[0].ids), 2), np.nan)
    for number, frame in enumerate(frames):
        column = np.searchsorted(frames[0].ids, frame.ids)
        found[:, number, column] = frame.positions, frame.velocities, frame.directions
    return {"times": np.array(times), **dict(zip(("positions", "velocities", "directions"), found))}
