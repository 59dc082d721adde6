"""The pedestrians of a simulation: bodies, masses, speeds, positions and velocities.

Radius, mass, response time and desired speed are drawn for each, so that a crowd is made of different
pedestrians (Courty 2013, section 6.3.2). Cost: about 1 µs each to place them at random with room around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, IntArray, assign, checked
from marey.crowd.polygons import contains, polygon, rectangle
from marey.crowd.simulation.constants import POPULATIONS, Population
from marey.crowd.simulation.walls import distances
from marey.errors import InputError

# Random candidates for each pedestrian before they are placed in rows.
CANDIDATES = 40
# Pedestrians in the rows that are tried at most.
MAX_ROOM = 50_000_000


@dataclass(frozen=True, eq=False)
class Pedestrians:
    """All pedestrians of a simulation, one row each.

    Attributes:
        positions, velocities: `(people, 2)`, metres and metres per second.
        radius, mass, response_time, desired_speed: `(people,)`, m, kg, s, m/s; one number stands for all.
        goal: `(people,)`, which of the simulation's directions and goals each follows; -1 for none.
        ids: `(people,)`, numbers that stay with a pedestrian.

    >>> two = Pedestrians([[0, 0], [1, 0]])
    >>> two.count, two.mass.tolist(), two.ids.tolist()
    (2, [80.0, 80.0], [0, 1])
    """

    positions: Array
    velocities: Array = None  # type: ignore[assignment]
    radius: Array = 0.25  # type: ignore[assignment]
    mass: Array = 80.0  # type: ignore[assignment]
    response_time: Array = 0.5  # type: ignore[assignment]
    desired_speed: Array = 1.2  # type: ignore[assignment]
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
            raise InputError("ids: two pedestrians have the same number")
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
        """Number of pedestrians."""
        return len(self.positions)

    def __getitem__(self, chosen: slice | IntArray | np.ndarray) -> Pedestrians:
        """Some of them."""
        return Pedestrians(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})


def random_pedestrians(
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
) -> Pedestrians:
    """Pedestrians of random size, mass and speed, at rest, at random positions in an area.

    Args:
        count: how many.
        area: corners `(corners, 2)` of a polygon, or a rectangle `(x, y, x, y)`; instead of it, `positions`.
        speed_factor: of the desired speeds; 4 in the dataset's panic.
        goal: of all of them.
        kind: of population, one of :data:`marey.crowd.simulation.constants.POPULATIONS`.
        spacing: least distance between two; twice the largest radius unless given.
        walls: `(walls, 4)` from which everybody keeps half the spacing.
        first_id: ids count from here.
        seed: or generator.

    >>> crowd = random_pedestrians(50, area=(0, 0, 10, 10), seed=1)
    >>> bool((crowd.radius >= 0.2).all()), float((crowd.mass / crowd.radius).round(9)[0])
    (True, 320.0)
    """
    if kind not in POPULATIONS:
        raise InputError(f"kind: must be {', '.join(POPULATIONS)}, got {kind!r}")
    rng, population = np.random.default_rng(seed), POPULATIONS[kind]
    radius, mass, response, speed = _traits(population, count, rng)
    if positions is None:
        if area is None:
            raise InputError("pedestrians need an area or positions")
        least = spacing if spacing is not None else 2 * population.radius[1]
        positions = _positions_apart(count, area, least, rng, walls=walls)
    goals, ids = np.full(count, goal), np.arange(first_id, first_id + count)
    places, still = np.asarray(positions, np.float64), np.zeros((count, 2))
    return Pedestrians(places, still, radius, mass, response, speed_factor * speed, goals, ids)


def _traits(population: Population, count: int, rng: np.random.Generator) -> tuple[Array, ...]:
    """Radius, mass, response time and desired speed, `(count,)` each."""
    radius = rng.uniform(*population.radius, count)
    mass = 320.0 * radius if population.mass is None else rng.uniform(*population.mass, count)
    if population.response_time is None:
        return radius, mass, mass / 140.0, np.full(count, population.speed)
    response = population.response_time * rng.uniform(0.9, 1.1, count)
    low, high = 1 - population.speed_spread, 1 + population.speed_spread
    return radius, mass, response, population.speed * rng.uniform(low, high, count)


def joined(groups: Sequence[Pedestrians], *, renumber: bool = True) -> Pedestrians:
    """Several groups as one, with ids 0, 1, 2, … unless they keep theirs.

    >>> joined([Pedestrians([[0, 0]]), Pedestrians([[1, 0]])]).ids.tolist()
    [0, 1]
    """
    if not groups:
        return Pedestrians(np.zeros((0, 2)))
    values = {
        f.name: np.concatenate([getattr(group, f.name) for group in groups]) for f in fields(Pedestrians)
    }
    if renumber:
        values["ids"] = np.arange(len(values["ids"]))
    return Pedestrians(**values)


def as_polygon(area: ArrayLike) -> Array:
    """Corners `(corners, 2)` of a polygon or of a rectangle `(x, y, x, y)`."""
    given = np.asarray(area, dtype=np.float64)
    return polygon("area", rectangle(*given) if given.shape == (4,) else given)


def _positions_apart(
    count: int,
    area: ArrayLike,
    spacing: float,
    rng: np.random.Generator,
    *,
    walls: ArrayLike | None = None,
) -> Array:
    """Random positions `(count, 2)` in an area, `spacing` apart: Poisson disks, or rows if it is crowded."""
    from marey.crowd.animation.seeding import mark_apart

    if not (np.isfinite(spacing) and spacing > 0):
        raise InputError(f"spacing: must be more than 0 metres, got {spacing}")
    corners = as_polygon(area)
    low, high = corners.min(axis=0), corners.max(axis=0)

    def allowed(points: Array) -> Array:
        kept = contains(corners, points)
        if walls is not None:
            kept[kept] = distances(points[kept], walls) >= 0.5 * spacing
        return points[kept]

    # More than fit by far, so that placing them is not tried.
    room = 2 * float(np.prod((high - low) / spacing + 2))
    darts = min(CANDIDATES * count + 1000, 20_000_000) if 0 < count < room else 0
    candidates = allowed(rng.uniform(low, high, (darts, 2)))
    chosen = np.zeros(len(candidates), dtype=bool)
    taken = mark_apart(candidates, spacing, count, chosen) if len(candidates) else 0
    if taken == count:
        return candidates[chosen]
    lattice = allowed(_rows(low, high, spacing, rng)) if room < MAX_ROOM else np.zeros((0, 2))
    if len(lattice) < count:
        raise InputError(
            f"area: {count} people at least {spacing:g} m apart do not fit, "
            f"{max(len(lattice), taken)} do; take fewer, or a larger area"
        )
    return lattice[rng.permutation(len(lattice))[:count]]


def _rows(low: Array, high: Array, spacing: float, rng: np.random.Generator) -> Array:
    """A hexagonal lattice `(points, 2)` with a random offset."""
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
