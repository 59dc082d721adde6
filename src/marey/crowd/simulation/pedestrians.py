"""Constants of the social forces (three published sets, one fitted) and the pedestrians that go with them.

Pedestrians and obstacles repel each other by a exp(gap / b); where bodies touch, contact k and friction kappa
are added (Helbing, Farkas & Vicsek 2000). The dataset's set, the default, makes bodies softer and adds
perception, stumbling and reluctance (Courty 2013, section 6.3.2 and table 1): the look of a pressed crowd,
but pedestrians are far too slow where it is dense. Helbing's hard bodies jam before doors and form lanes. The
everyday set has speeds and flows of pedestrians who walk, not of a panic; it is fitted to experiments by
`reproduce/crowd_calibration.py`. The control set has neither contact nor perception (Courty 2013,
section 7.2.1). Radius, mass, response time and desired speed are drawn for each pedestrian. Cost: about 1 µs
each to place them at random with room around.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, IntArray, assign, checked, derived
from marey.crowd.polygons import contains, polygon, rectangle, wall_distances
from marey.errors import InputError

SETS = ("dataset", "helbing", "everyday", "control")


@dataclass(frozen=True)
class EngineSettings:
    """Numbers of the integration, in metres, seconds and newtons.

    Attributes:
        step: length of a step.
        negligible: repulsion where it is left out; just before it fades out, which removes less than 0.01 N.
        fading: width of the band in which it fades out, in multiples of its range.
        max_move: of a pedestrian in a substep; less if one is smaller than usual.
        max_substeps: of a step; should more be needed, moves are cut short.
        min_share: pedestrians below whom another thread costs more than it helps.
        tries: positions tried for an entering pedestrian, who is retried in the next step.
    """

    step: float = 0.02
    negligible: float = 0.005
    fading: float = 0.6
    max_move: float = 0.1
    max_substeps: int = 256
    min_share: int = 1500
    tries: int = 16


SETTINGS = EngineSettings()


@dataclass(frozen=True)
class Population:
    """Distribution of the pedestrians that go with a set of constants; ranges are uniform.

    Attributes:
        radius: metres, smallest and largest.
        mass: kilograms, smallest and largest; None: 320 kg a metre of radius.
        response_time: seconds, mean of a range of ± 10 %; None: mass / 140.
        speed: desired speed, metres a second, mean.
        speed_spread: share by which desired speeds are higher or lower at most.
    """

    radius: tuple[float, float] = (0.2, 0.3)
    mass: tuple[float, float] | None = None
    response_time: float | None = 0.5
    speed: float = 1.2
    speed_spread: float = 0.1


POPULATIONS = {
    "dataset": Population(),
    "everyday": Population((0.08, 0.12), (60.0, 90.0), 0.32, 1.45, 0.2),
    "control": Population((0.25, 0.35), (60.0, 80.0), None, 1.0, 0.0),
}
"""By the name of the constants; those of the dataset go with Helbing's too."""


@dataclass(frozen=True)
class Interaction:
    """Force of another pedestrian or of an obstacle.

    Attributes:
        strength: a, newtons at touch.
        range: b, metres over which repulsion falls by e.
        contact: k, newtons a metre of overlap.
        friction: kappa, kg / (m s): newtons a metre of overlap and m/s of sliding.
    """

    strength: float
    range: float
    contact: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        _check_not_negative(self, "strength", "contact", "friction")
        if not (math.isfinite(self.range) and self.range > 0):
            raise InputError(f"range: must be more than 0 metres, got {self.range}")

    def reach(self, radii: float) -> float:
        """Distance in metres beyond which repulsion is left out, for bodies whose radii sum up to `radii`.

        >>> round(Interaction(600, 0.3).reach(0.6), 2)
        4.11
        """
        if self.strength <= SETTINGS.negligible:
            return radii
        return radii + self.range * math.log(self.strength / SETTINGS.negligible)


@dataclass(frozen=True)
class Parameters:
    """Constants of the forces on a pedestrian.

    Attributes:
        people, obstacles: forces of other pedestrians and of walls.
        perception: exponent gamma of 1 - (angle / pi)^gamma, the weight of a neighbour at that angle from
            the desired direction; None: all count equally.
        stumble: psi, kg s / m³; drag -psi |v|² v per metre by which a neighbour is nearer than
            `stumble_reach` times the radii.
        stumble_reach: see `stumble`.
        reluctance: nu, the drag of walking away from the goal, in multiples of the usual one.

    >>> Parameters().people.strength, Parameters.helbing().people.strength
    (600.0, 2000.0)
    """

    people: Interaction = field(default_factory=lambda: Interaction(600.0, 0.3, 6e3, 12e3))
    obstacles: Interaction = field(default_factory=lambda: Interaction(400.0, 0.3, 6e3, 12e3))
    perception: float | None = 0.7
    stumble: float = 300.0
    stumble_reach: float = 1.2
    reluctance: float = 2.0

    def __post_init__(self) -> None:
        if self.perception is not None and not 0 < self.perception <= 10:
            raise InputError(
                f"perception: must be more than 0 and at most 10, or None, got {self.perception}"
            )
        _check_not_negative(self, "stumble", "stumble_reach", "reluctance")

    @classmethod
    def named(cls, name: str) -> Parameters:
        """One of the sets by name.

        >>> Parameters.named("helbing") == Parameters.helbing()
        True
        """
        if name not in SETS:
            raise InputError(f"there are no constants {name!r}; there are {', '.join(SETS)}")
        chosen: Parameters = getattr(cls, name)()
        return chosen

    @property
    def kind(self) -> str:
        """Name of the population that goes with these constants, in :data:`POPULATIONS`."""
        return next((name for name in ("everyday", "control") if self == self.named(name)), "dataset")

    @classmethod
    def dataset(cls) -> Parameters:
        """Soft bodies, perception, stumbling and reluctance: Courty 2013, table 1 and section 6.3.2."""
        return cls()

    @classmethod
    def helbing(cls) -> Parameters:
        """Helbing, Farkas & Vicsek 2000: hard bodies, avoidance of short range, no direction preferred."""
        rigid = Interaction(2000.0, 0.08, 1.2e5, 2.4e5)
        return cls(rigid, rigid, None, 0.0, 0.0, 0.0)

    @classmethod
    def everyday(cls) -> Parameters:
        """Speeds and flows of pedestrians in corridors and doors, for `random_pedestrians(kind="everyday")`.

        Fitted to two corridor experiments, uo-050-180-180 and uo-180-180-120 of Jülich
        (`reproduce/crowd_calibration.py`); bodies have no friction. For walking only: in a hurry they
        squeeze through doors far faster than real pedestrians. Its forces reach 5.6 m.
        """
        people, obstacles = Interaction(285.0, 0.49, 2e4), Interaction(100.0, 0.08, 2e4)
        return cls(people, obstacles, 0.68, 0.0, 0.0, 2.0)

    @classmethod
    def control(cls) -> Parameters:
        """Courty 2013, section 7.2.1: smooth forces only, for `random_pedestrians(kind="control")`."""
        smooth = Interaction(1000.0, 0.08)
        return cls(smooth, smooth, None, 0.0, 0.0, 0.0)


def _check_not_negative(constants: Interaction | Parameters, *names: str) -> None:
    for name in names:
        value = getattr(constants, name)
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"{name}: must be 0 or more, got {value}")


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

    count = derived(len, "positions", "Number of pedestrians.")

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
        kind: of population, one of :data:`marey.crowd.simulation.pedestrians.POPULATIONS`.
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
    if not (np.isfinite(spacing) and spacing > 0):
        raise InputError(f"spacing: must be more than 0 metres, got {spacing}")
    corners = as_polygon(area)
    low, high = corners.min(axis=0), corners.max(axis=0)

    def allowed(points: Array) -> Array:
        kept = contains(corners, points)
        if walls is not None:
            kept[kept] = wall_distances(points[kept], walls) >= 0.5 * spacing
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


def mark_apart(points: Array, distance: float, count: int, chosen: BoolArray) -> int:
    """Mark in `chosen` `(n,)` points `(n, 2)`, in turn, no nearer than `distance` to one chosen before.

    Args:
        points: Candidates, and those chosen before.
        distance: Metres.
        count: How many are wanted, those marked before included.
        chosen: True for those chosen before; gets the new ones.

    Returns:
        How many are chosen now.
    """
    from marey.crowd.simulation import _route_kernels

    # At most 2000 cells along each axis; few points far apart need no more.
    width = max(distance, float(np.ptp(points, axis=0).max()) / 2000)
    return int(_route_kernels.poisson_disk(np.ascontiguousarray(points), distance, count, width, chosen))


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
