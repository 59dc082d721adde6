"""The people of a simulation: who they are, where they are and how fast.

Bodies, masses, response times and desired speeds are drawn for each person, as the source does to make
crowds of different people (Courty 2013, section 6.3.2). Placing people at random with room around them
costs about 1 µs a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import FloatArray, IntArray, assign, checked
from marey.errors import InputError

RADII = {"dataset": (0.2, 0.3), "everyday": (0.08, 0.12), "control": (0.25, 0.35)}
"""Smallest and largest radius of a body by kind of people, metres."""
MASS_PER_RADIUS = 320.0
RESPONSE_TIME, DESIRED_SPEED, SPREAD = 0.5, 1.2, 0.1
EVERYDAY_MASSES = (60.0, 90.0)
EVERYDAY_RESPONSE, EVERYDAY_SPEED, EVERYDAY_SPREAD = 0.32, 1.45, 0.2
CONTROL_MASSES, CONTROL_FATIGUE, CONTROL_SPEED = (60.0, 80.0), 140.0, 1.0
# How many darts are thrown for each person before people are placed in rows.
DARTS = 40


@dataclass(frozen=True, eq=False)
class People:
    """Everybody in a simulation, one row a person.

    positions, velocities: `(people, 2)`, metres and metres per second
    radius, mass, response_time, desired_speed: `(people,)`, m, kg, s, m/s; one number stands for all
    goal: `(people,)`, which of the simulation's directions and goals one follows; -1 for none
    ids: `(people,)`, numbers that stay with a person

    >>> two = People([[0, 0], [1, 0]])
    >>> two.count, two.mass.tolist(), two.ids.tolist()
    (2, [80.0, 80.0], [0, 1])
    """

    positions: FloatArray
    velocities: FloatArray = None  # type: ignore[assignment]
    radius: FloatArray = 0.25  # type: ignore[assignment]
    mass: FloatArray = 80.0  # type: ignore[assignment]
    response_time: FloatArray = RESPONSE_TIME  # type: ignore[assignment]
    desired_speed: FloatArray = DESIRED_SPEED  # type: ignore[assignment]
    goal: IntArray = 0  # type: ignore[assignment]
    ids: IntArray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        positions = checked("positions", np.reshape(self.positions, (-1, 2)), (None, 2))
        count = len(positions)
        velocities = np.zeros((count, 2)) if self.velocities is None else self.velocities
        values = {
            name: checked(name, _for_all(getattr(self, name), count), (count,))
            for name in ("radius", "mass", "response_time", "desired_speed")
        }
        for name, value in values.items():
            if (value < 0).any() or (name != "desired_speed" and (value == 0).any()):
                raise InputError(f"{name}: person {int(np.argmin(value))} has {value.min():g}")
        ids = np.arange(count) if self.ids is None else self.ids
        ids = checked("ids", ids, (count,), dtype=np.int64)
        if len(np.unique(ids)) != count:
            raise InputError("ids: two people have the same number")
        assign(
            self,
            positions=positions,
            velocities=checked("velocities", np.reshape(velocities, (-1, 2)), (count, 2)),
            goal=checked("goal", _for_all(self.goal, count), (count,), dtype=np.int64),
            ids=ids,
            **values,
        )

    @property
    def count(self) -> int:
        """How many."""
        return len(self.positions)

    def __getitem__(self, chosen: slice | IntArray | np.ndarray) -> People:
        """Some of them."""
        return People(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})


def random_people(
    count: int,
    *,
    area: ArrayLike | None = None,
    positions: ArrayLike | None = None,
    speed_factor: float = 1.0,
    goal: int = 0,
    kind: str = "dataset",
    spacing: float | None = None,
    walls: ArrayLike | None = None,
    first_id: int = 0,
    seed: int | Sequence[int] | np.random.Generator = 0,
) -> People:
    """People of random size, mass and speed, at rest, at random places of an area.

    area: corners `(corners, 2)` of a polygon, or a rectangle `(x, y, x, y)`; instead of it, `positions`
    speed_factor: of the desired speeds; 4 in the source's panic
    kind: "dataset" draws r 0.2 … 0.3 m, m = 320 r, 0.5 s and 1.2 m/s ± 10 %; "everyday", for
        `Parameters.everyday()`, r 0.08 … 0.12 m (what of a body does not give way), 60 … 90 kg, 0.32 s ± 10 %
        and 1.45 m/s ± 20 %; "control" r 0.25 … 0.35 m, 60 … 80 kg and the response time m / 140 at 1 m/s
        (Courty 2013, section 7.2.1)
    spacing: least distance between two; twice the largest radius unless given
    walls: `(walls, 4)` from which everybody keeps half the spacing

    >>> crowd = random_people(50, area=(0, 0, 10, 10), seed=1)
    >>> bool((crowd.radius >= 0.2).all()), float((crowd.mass / crowd.radius).round(9)[0])
    (True, 320.0)
    """
    if count < 0:
        raise InputError(f"people: there cannot be {count}")
    if not (np.isfinite(speed_factor) and speed_factor >= 0):
        raise InputError(f"speed factor: must be 0 or more, got {speed_factor}")
    rng = np.random.default_rng(seed)
    if kind not in RADII:
        raise InputError(f"kind: must be {', '.join(RADII)}, got {kind!r}")
    radius = rng.uniform(*RADII[kind], count)
    if kind == "dataset":
        mass = MASS_PER_RADIUS * radius
        response = RESPONSE_TIME * rng.uniform(1 - SPREAD, 1 + SPREAD, count)
        speed = DESIRED_SPEED * rng.uniform(1 - SPREAD, 1 + SPREAD, count)
    elif kind == "everyday":
        mass = rng.uniform(*EVERYDAY_MASSES, count)
        response = EVERYDAY_RESPONSE * rng.uniform(1 - SPREAD, 1 + SPREAD, count)
        speed = EVERYDAY_SPEED * rng.uniform(1 - EVERYDAY_SPREAD, 1 + EVERYDAY_SPREAD, count)
    else:
        mass = rng.uniform(*CONTROL_MASSES, count)
        response, speed = mass / CONTROL_FATIGUE, np.full(count, CONTROL_SPEED)
    if positions is None:
        if area is None:
            raise InputError("people need an area or positions")
        least = spacing if spacing is not None else 2 * RADII[kind][1]
        positions = places_apart(count, area, least, rng, walls=walls)
    return People(
        positions=np.asarray(positions, dtype=np.float64),
        radius=radius,
        mass=mass,
        response_time=response,
        desired_speed=speed_factor * speed,
        goal=np.full(count, goal),
        ids=np.arange(first_id, first_id + count),
    )


def joined(groups: Sequence[People], *, renumber: bool = True) -> People:
    """Several groups as one; numbered 0, 1, 2, … unless they keep their numbers.

    >>> joined([People([[0, 0]]), People([[1, 0]])]).ids.tolist()
    [0, 1]
    """
    if not groups:
        return People(np.zeros((0, 2)))
    values = {f.name: np.concatenate([getattr(group, f.name) for group in groups]) for f in fields(People)}
    if renumber:
        values["ids"] = np.arange(len(values["ids"]))
    return People(**values)


def moved(people: People, *, speed_factor: float) -> People:
    """The same people in a hurry."""
    return replace(people, desired_speed=people.desired_speed * speed_factor)


def polygon_of(area: ArrayLike) -> FloatArray:
    """Corners `(corners, 2)` of a polygon or of a rectangle `(x, y, x, y)`."""
    given = np.asarray(area, dtype=np.float64)
    if given.shape == (4,):
        x0, y0, x1, y1 = given
        given = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    corners = checked("area", given, (None, 2))
    if len(corners) < 3:
        raise InputError(f"area: a polygon needs three corners, got {len(corners)}")
    return corners


def contains(area: FloatArray, points: FloatArray) -> np.ndarray:
    """Which points `(points, 2)` lie in the polygon `(corners, 2)`."""
    from marey.crowd.simulation import _place_kernels

    result = np.zeros(len(points), dtype=np.bool_)
    starts = np.array([0, len(area)], dtype=np.int64)
    _place_kernels.inside(
        np.array(points, dtype=np.float64),
        np.zeros(len(points), dtype=np.int64),
        np.array(area, dtype=np.float64),
        starts,
        result,
    )
    return result


def places_apart(
    count: int,
    area: ArrayLike,
    spacing: float,
    rng: np.random.Generator,
    *,
    walls: ArrayLike | None = None,
) -> FloatArray:
    """`(count, 2)` random places in an area at least `spacing` apart: darts, or rows if it is crowded."""
    from marey.crowd.simulation import _place_kernels
    from marey.crowd.simulation.walls import distances

    if not (np.isfinite(spacing) and spacing > 0):
        raise InputError(f"spacing: must be more than 0 metres, got {spacing}")
    corners = polygon_of(area)
    low, high = corners.min(axis=0), corners.max(axis=0)
    cell = spacing / np.sqrt(2.0)
    columns, rows = (int(n) for n in np.floor((high - low) / cell) + 1)
    if columns * rows > 400_000_000:
        raise InputError("area: too large to scatter people in; give positions")

    def allowed(points: FloatArray) -> FloatArray:
        kept = contains(corners, points)
        if walls is not None:
            kept[kept] = distances(points[kept], walls) >= 0.5 * spacing
        return points[kept]

    if count == 0:
        return np.zeros((0, 2))
    darts = allowed(rng.uniform(low, high, (min(DARTS * count + 1000, 20_000_000), 2)))
    chosen = np.empty(count, dtype=np.int64)
    taken = _place_kernels.scattered(darts, spacing, cell, columns, rows, low[0], low[1], count, chosen)
    if taken == count:
        return darts[chosen]
    lattice = allowed(_rows(low, high, spacing, rng))
    if len(lattice) < count:
        raise InputError(
            f"area: {count} people at least {spacing:g} m apart do not fit, "
            f"{max(len(lattice), taken)} do; take fewer, or a larger area"
        )
    return lattice[rng.permutation(len(lattice))[:count]]


def _rows(low: FloatArray, high: FloatArray, spacing: float, rng: np.random.Generator) -> FloatArray:
    """A hexagonal lattice at a random place."""
    shift = rng.uniform(0.0, 0.5 * spacing, 2)
    height = spacing * np.sqrt(0.75)
    y = np.arange(low[1] + shift[1], high[1], height)
    x = np.arange(low[0] + shift[0] - spacing, high[0] + spacing, spacing * (1 + 1e-9))
    points = np.stack(np.meshgrid(x, y), axis=-1)
    points[1::2, :, 0] += 0.5 * spacing
    return points.reshape(-1, 2)


def _for_all(value: ArrayLike, count: int) -> np.ndarray:
    array = np.asarray(value)
    return np.broadcast_to(array, (count,)).copy() if array.ndim == 0 else array
