"""Constraints of a directed crowd as a user writes them, and the terms that they become.

Each is one object of the file's list `constraints`, with its `type`. People are numbers, "all", or a group as
"group:A" (the first), "group:0" or "group:GOAL". Times are seconds; a region is a name of the scene (a goal,
or "ground"), a rectangle `[west, south, east, north]` or corners. What cannot be met is refused by name
before anything is solved: places in walls or closer than bodies, speeds beyond 2 m/s.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from marey._arrays import Array, IntArray
from marey.crowd import cameras
from marey.crowd.animation.ground import Flow
from marey.crowd.direct import slots
from marey.crowd.direct.model import CrowdModel
from marey.crowd.direct.terms import OnGrid, Shape, States, Term
from marey.crowd.fields import FieldSeries
from marey.crowd.polygons import contains, polygon, rectangle
from marey.errors import InputError

FASTEST = 2.0
"""m/s that nobody is asked to walk faster than."""
SAMPLES = 0.5
"""Seconds between two samples of a continuous quantity."""
Who = str | list[int]
Region = str | list[float | list[float]]
Seconds = float | list[float]


@dataclass(frozen=True, eq=False)
class Setting:
    """What constraints are about.

    Attributes:
        model: The crowd.
        free: Positions `(steps + 1, people, 2)` without control.
        groups: People by the name of their group.
        regions: Polygons by name.
        obstacles: Polygons.
    """

    model: CrowdModel
    free: Array
    groups: Mapping[str, IntArray]
    regions: Mapping[str, Array]
    obstacles: tuple[Array, ...] = ()

    def people(self, who: Who) -> IntArray:
        """The people meant, `(k,)`."""
        if who == "all":
            return np.arange(self.model.count)
        if isinstance(who, str):
            name = who.removeprefix("group:")
            if name not in self.groups:
                raise InputError(f"who {who!r}: all, a list of numbers, or group:{'|'.join(self.groups)}")
            return self.groups[name]
        found = np.array(who, dtype=np.int64)
        if (
            not len(found)
            or len(np.unique(found)) < len(found)
            or not ((found >= 0) & (found < self.model.count)).all()
        ):
            raise InputError(f"who {who}: different numbers from 0 to {self.model.count - 1}")
        return found

    def step(self, t: float) -> int:
        """The step at a time."""
        n, last = round(t / self.model.dt), len(self.free) - 1
        if not 0 < n <= last:
            raise InputError(f"t {t:g}: after 0 and up to the horizon, {last * self.model.dt:g} s")
        return n

    def span(self, t: Seconds) -> tuple[IntArray, float]:
        """Steps sampled in a span of time, and the seconds that each stands for."""
        first, last = (t, t) if isinstance(t, int | float) else (t[0], t[-1])
        begin, end = self.step(max(first, self.model.dt)), self.step(last)
        every = max(1, round(SAMPLES / self.model.dt))
        steps = np.arange(begin, end + 1, every)
        return steps, max(last - first, SAMPLES) / len(steps)

    def region(self, given: Region | None) -> Array:
        """Its corners `(corners, 2)`."""
        if given is None:
            return self.regions["ground"]
        if isinstance(given, str):
            if given not in self.regions:
                raise InputError(
                    f"region {given!r}: one of {', '.join(self.regions)}, a rectangle or corners"
                )
            return self.regions[given]
        if len(given) == 4 and not isinstance(given[0], list):
            west, south, east, north = given
            if not (west < east and south < north):  # type: ignore[operator]
                raise InputError(f"region {given}: west, south, east, north; the latter two are larger")
            return rectangle(*given)  # type: ignore[arg-type]
        return polygon("region", given)

    def check_places(self, who: IntArray, steps: IntArray, places: Array) -> None:
        """Refuse places that nobody can be at in time."""
        radius = self.model.people.radius[who]
        for at, (n, there) in enumerate(zip(steps, places, strict=True)):
            t = n * self.model.dt
            for obstacle in self.obstacles:
                inside = contains(obstacle, there)
                if inside.any():
                    where = there[inside][0]
                    raise InputError(
                        f"person {who[inside][0]} at {t:g} s: ({where[0]:g}, {where[1]:g}) is in a wall"
                    )
            before = self.model.people.positions[who] if at == 0 else places[at - 1]
            speed = np.linalg.norm(there - before, axis=1) / (
                t - (0.0 if at == 0 else steps[at - 1] * self.model.dt)
            )
            if speed.max() > FASTEST:
                worst = int(speed.argmax())
                raise InputError(
                    f"person {who[worst]} at {t:g} s: would need {speed[worst]:.2g} m/s, "
                    f"more than {FASTEST:g}; give more time"
                )
            gap = np.linalg.norm(there[:, None] - there[None], axis=2) - radius[:, None] - radius[None]
            np.fill_diagonal(gap, np.inf)
            if gap.min() < -0.02:
                i, j = np.unravel_index(int(gap.argmin()), gap.shape)
                raise InputError(
                    f"persons {who[i]} and {who[j]} at {t:g} s: their places are closer than their bodies, "
                    f"by {-gap.min():.2g} m"
                )


class Constraint(Protocol):
    """One of the classes below."""

    @property
    def unit(self) -> str:
        """Of its error."""

    def terms(self, setting: Setting) -> list[Term]:
        """What is minimised for it."""


@dataclass(frozen=True)
class State:
    """People at places `pos` and velocities `vel` at a time, or at several; both `[x, y]` for each person.

    Attributes:
        pos: `(people, 2)`, or for several times `(times, people, 2)`; None: anywhere.
        vel: The same, or one velocity for all.
    """

    who: Who
    t: Seconds
    pos: list[list[float | list[float]]] | None = None
    vel: list[float | list[float]] | None = None
    pos_std: float = 0.1
    vel_std: float = 0.2

    unit = "m"

    def terms(self, setting: Setting) -> list[Term]:
        who = setting.people(self.who)
        steps = np.array([setting.step(t) for t in ([self.t] if isinstance(self.t, int | float) else self.t)])
        shape = (len(steps), len(who), 2)
        places = None if self.pos is None else _shaped("pos", self.pos, shape)
        if places is not None:
            setting.check_places(who, steps, places)
        elif self.vel is None:
            raise InputError("give pos, vel or both")
        velocities = None if self.vel is None else _shaped("vel", self.vel, shape)
        return [
            States(
                who,
                steps,
                places,
                velocities,
                _above("pos_std", self.pos_std),
                _above("vel_std", self.vel_std),
            )
        ]


@dataclass(frozen=True)
class Path:
    """One person along places at times: `pos` `[[x, y], …]`, as many as there are times."""

    who: Who
    t: list[float]
    pos: list[list[float]]
    pos_std: float = 0.1

    unit = "m"

    def terms(self, setting: Setting) -> list[Term]:
        if len(setting.people(self.who)) != 1:
            raise InputError("who: a path is of one person; give each one of their own")
        return State(self.who, self.t, [[place] for place in self.pos], pos_std=self.pos_std).terms(setting)


@dataclass(frozen=True)
class Formation:
    """A group fills a shape at a time: text, the dark of an image, a region, or points.

    Attributes:
        glyph: Text; `font`: a family that matplotlib knows, or a font file.
        image: An image file, whose dark pixels are filled.
        region: To arrive in together.
        points: Places `[x, y]`, as many as people.
        height: Metres, of text or image.
        centre: `[x, y]`, of the shape; the middle of where the group would be without control if None.
        assign: "hungarian": places are shared out by the least sum of squared distances from where people
            would be without control; "order": as they are numbered.
        stand: People want to stand from three seconds before on, and do so then.
    """

    who: Who
    t: float
    glyph: str | None = None
    font: str = "DejaVu Sans"
    image: str | None = None
    region: Region | None = None
    points: list[list[float]] | None = None
    height: float = 8.0
    centre: list[float] | None = None
    assign: str = "hungarian"
    stand: bool = False
    pos_std: float = 0.1

    unit = "m"

    def terms(self, setting: Setting) -> list[Term]:
        who, n = setting.people(self.who), setting.step(self.t)
        if self.assign not in ("hungarian", "order"):
            raise InputError(f"assign {self.assign!r}: hungarian or order")
        if sum(one is not None for one in (self.glyph, self.image, self.region, self.points)) != 1:
            raise InputError("formation: give one of glyph, image, region and points")
        there = setting.free[n][who]
        if self.points is not None:
            places = _shaped("points", self.points, (len(who), 2))
        elif self.region is not None:
            places = slots.inside(setting.region(self.region), len(who))
        else:
            shape = (
                slots.of_text(self.glyph, self.font)
                if self.glyph is not None
                else slots.of_image(str(self.image))
            )
            middle = there.mean(axis=0) if self.centre is None else _shaped("centre", self.centre, (2,))
            least = float(np.sort(setting.model.people.radius[who])[-2:].sum()) if len(who) > 1 else 0.0
            places = slots.filled(shape, len(who), _above("height", self.height), least) + middle
        if self.assign == "hungarian":
            places = slots.assigned(there, places)
        setting.check_places(who, np.array([n]), places[None])
        still = np.zeros((1, len(who), 2)) if self.stand else None
        return [States(who, np.array([n]), places[None], still, _above("pos_std", self.pos_std))]


@dataclass(frozen=True)
class Offsets:
    """People keep offsets from their common centre, wherever that is: `offsets` `[[x, y], …]`."""

    who: Who
    t: Seconds
    offsets: list[list[float]]
    std: float = 0.1

    unit = "m"

    def terms(self, setting: Setting) -> list[Term]:
        who = setting.people(self.who)
        steps = np.array([setting.step(t) for t in ([self.t] if isinstance(self.t, int | float) else self.t)])
        return [Shape(who, steps, _shaped("offsets", self.offsets, (len(who), 2)), _above("std", self.std))]


@dataclass(frozen=True)
class Velocity:
    """The crowd's velocity follows a field over a time.

    Attributes:
        t: From, to.
        field: A captured field, or None.
        stream: `[u, v]`, m/s, added everywhere.
        vortices: `[x, y, radius, speed]` each: `speed` at `radius`, counter-clockwise, falling off beyond.
        grid: Columns and rows of the cells in the region.
        coverage: Cells count as much as there are people.
        sigma: Metres over which people are averaged.
    """

    t: Seconds
    field: FieldSeries | None = None
    stream: list[float] = dataclasses.field(default_factory=lambda: [0.0, 0.0])
    vortices: list[list[float]] = dataclasses.field(default_factory=list)
    region: Region | None = None
    grid: list[int] = dataclasses.field(default_factory=lambda: [32, 16])
    std: float = 0.2
    coverage: bool = True
    sigma: float = 1.0

    unit = "share"

    def terms(self, setting: Setting) -> list[Term]:
        cells, area = _cells(setting.region(self.region), self.grid)
        steps, seconds = setting.span(self.t)
        wanted = np.stack([self.at(cells, n * setting.model.dt) for n in steps])
        return [
            OnGrid(
                "velocity",
                cells,
                steps,
                wanted,
                _above("std", self.std),
                area * seconds,
                self.sigma,
                self.coverage,
            )
        ]

    def at(self, places: Array, seconds: float) -> Array:
        """The velocity wanted at places `(n, 2)`, m/s, at most 2."""
        wanted = np.tile(_shaped("stream", self.stream, (2,)), (len(places), 1))
        for vortex in self.vortices:
            x, y, radius, speed = _shaped("vortices", vortex, (4,))
            off = places - (x, y)
            share = np.sqrt((off**2).sum(axis=1)) / _above("radius", radius)
            turn = speed / radius * np.exp(0.5 * (1.0 - share**2))
            wanted += turn[:, None] * np.stack([-off[:, 1], off[:, 0]], axis=1)
        if self.field is not None:
            wanted += _seen(self.field, places, seconds)
        speed = np.linalg.norm(wanted, axis=1, keepdims=True)
        return np.asarray(wanted * np.minimum(1.0, FASTEST / np.maximum(speed, 1e-9)))


@dataclass(frozen=True)
class _OfRegion:
    """A quantity of the crowd's flow in a region over a time has a value.

    Attributes:
        t: From, to.
        std: Of a square metre over a second.
        sigma: Metres over which people are averaged.
    """

    region: Region
    t: Seconds
    value: float
    std: float = 0.2
    grid: list[int] = dataclasses.field(default_factory=lambda: [32, 32])
    sigma: float = 1.0
    coverage: bool = True

    unit = "1/s"

    def terms(self, setting: Setting) -> list[Term]:
        region = setting.region(self.region)
        cells, area = _cells(region, self.grid)
        cells = cells[contains(region, cells)]
        steps, seconds = setting.span(self.t)
        wanted = np.full((len(steps), len(cells)), float(self.value))
        kind = type(self).__name__.lower()
        return [
            OnGrid(
                kind, cells, steps, wanted, _above("std", self.std), area * seconds, self.sigma, self.coverage
            )
        ]


class Vorticity(_OfRegion):
    __doc__ = _OfRegion.__doc__


class Divergence(_OfRegion):
    __doc__ = _OfRegion.__doc__


@dataclass(frozen=True)
class Density(_OfRegion):
    """People per square metre in a region over a time; 0 clears it."""

    std: float = 0.05
    sigma: float = 0.5

    unit = "1/m²"


TYPES: dict[str, type] = {
    "state": State,
    "path": Path,
    "formation": Formation,
    "shape": Offsets,
    "velocity": Velocity,
    "vorticity": Vorticity,
    "divergence": Divergence,
    "density": Density,
}


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a crowd should do.

    Attributes:
        horizon: Seconds.
        constraints: In the file's order.
        dt: Seconds of a step.
        accel_std: m/s², by how much people may leave the model of walking.
    """

    horizon: float
    constraints: tuple[Constraint, ...]
    dt: float = 0.05
    accel_std: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.horizon <= 3600 or not 0.005 <= self.dt <= 0.05:
            raise InputError(
                f"horizon {self.horizon:g}, dt {self.dt:g}: up to 3600 s in steps of 0.005 to 0.05 s"
            )
        _above("accel_std", self.accel_std)


def _seen(fields: FieldSeries, places: Array, seconds: float) -> Array:
    """A captured field's velocity at places on the ground `(n, 2)`, m/s; 0 beyond its image."""
    from scipy.ndimage import map_coordinates

    flow = Flow.of(fields)
    pixels = cameras.apply(flow.ground.to_pixel, places)
    image = np.asarray(flow.at(seconds), dtype=np.float64)
    at = np.nan_to_num(pixels[:, ::-1].T, nan=-1e6)
    sampled = np.stack([map_coordinates(image[..., i], at, order=1, cval=0.0) for i in range(2)], axis=1)
    moved = cameras.ground_velocities(flow.ground.to_ground, pixels, sampled, frame_rate=fields.frame_rate)
    return np.nan_to_num(moved)


def _cells(region: Array, grid: list[int]) -> tuple[Array, float]:
    """Cell centres `(cells, 2)` of a region's bounds, and the area of a cell."""
    if len(grid) != 2 or not all(1 <= n <= 256 for n in grid):
        raise InputError(f"grid {grid}: columns and rows, from 1 to 256")
    low, high = region.min(axis=0), region.max(axis=0)
    size = (high - low) / grid
    x, y = (low[i] + (np.arange(grid[i]) + 0.5) * size[i] for i in range(2))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2), float(size.prod())


def _shaped(name: str, values: object, shape: tuple[int, ...]) -> Array:
    try:
        found = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
    except ValueError as error:
        raise InputError(f"{name}: {'(' + ', '.join(map(str, shape)) + ')'} numbers are needed") from error
    return np.array(found)


def _above(name: str, value: float) -> float:
    if not value > 0:
        raise InputError(f"{name} {value:g}: must be above 0")
    return float(value)
