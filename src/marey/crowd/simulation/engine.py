"""Social forces on pedestrians, integrated step by step, with pedestrians who enter and leave.

The forces are those of Helbing, Farkas & Vicsek 2000 as changed in Courty 2013, section 6.3.2. Drag and
friction are solved exactly within a step and positions follow the new velocities (semi-implicit Euler). A
step is divided where bodies are stiff (less than one radian of the fastest oscillation a substep) or fast
(0.1 m a substep), which keeps Helbing's hard bodies from exploding. Everything random is drawn from the seed
and the number of the step, so that a run that is interrupted and resumed ends as the one that was not. Cost:
about one microsecond a pedestrian and substep on one core, at one pedestrian a square metre; results do not
depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array, IntArray, assign, derived
from marey.crowd.polygons import Grid, as_walls, contains, wall_distances, wall_index
from marey.crowd.simulation.pedestrians import (
    POPULATIONS,
    SETTINGS,
    Interaction,
    Parameters,
    Pedestrians,
    as_polygon,
    joined,
    random_pedestrians,
)
from marey.crowd.simulation.routes import DirectionField, flattened
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class Entrance:
    """An area in which pedestrians appear at random times; those who find no room come later.

    Attributes:
        area: corners `(corners, 2)`, or a rectangle `(x, y, x, y)`.
        rate: pedestrians a second.
        goal: of those who enter.
        speed_factor: of their desired speeds.
        kind: of population, as in `random_pedestrians`.
    """

    area: ArrayLike
    rate: float
    goal: int = 0
    speed_factor: float = 1.0
    kind: str = "dataset"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rate) and self.rate >= 0):
            raise InputError(f"rate: must be 0 people a second or more, got {self.rate}")
        assign(self, area=as_polygon(self.area))


class Frame(NamedTuple):
    """Everybody present at one time, `(people,)` or `(people, 2)` each; directions are unit vectors."""

    ids: IntArray
    positions: Array
    velocities: Array
    directions: Array


@dataclass(frozen=True, eq=False)
class State:
    """All that a simulation needs to go on exactly as if it had not been interrupted.

    Attributes:
        people: as they are.
        time: seconds.
        steps: taken so far.
        next_id: of the next to enter.
        owed: `(entrances,)`, pedestrians who arrived and have not found room.
    """

    people: Pedestrians
    time: float
    steps: int
    next_id: int
    owed: Array


class PairConstants(NamedTuple):
    """An interaction for the kernels: `scale` = 1 / (b ln 2), `strength` = log2 a.

    Forces fade out in a band of width 1 / `fade` before `reach`.
    """

    scale: float
    strength: float
    reach: float
    fade: float
    contact: float
    friction: float

    @classmethod
    def of(cls, given: Interaction, reach: float) -> PairConstants:
        """Of an interaction up to a distance."""
        strength = math.log2(given.strength) if given.strength > 0 else -900.0
        scale, fade = 1.0 / (given.range * math.log(2.0)), 1.0 / (SETTINGS.fading * given.range)
        return cls(scale, strength, reach, fade, given.contact, given.friction)


class ForceConstants(NamedTuple):
    """Constants of all forces as the kernels take them."""

    people: PairConstants
    walls: PairConstants
    perceives: bool
    stumble: float
    stumble_reach: float
    reluctance: float


class ForceEngine:
    """Pedestrians who move by social forces.

    Attributes:
        positions, velocities: `(people, 2)`, metres and m/s, now.
        walls: `(walls, 4)`, both ends of each.
        parameters: constants of the forces.
    """

    def __init__(
        self,
        people: Pedestrians,
        walls: ArrayLike | None = None,
        directions: Sequence[DirectionField] = (),
        parameters: Parameters | None = None,
        *,
        least_radius: float = 0.0,
        threads: int | None = None,
    ):
        self.walls = as_walls(walls)
        self.parameters = Parameters() if parameters is None else parameters
        self.threads = _work.cores(threads)
        self._fields = flattened(list(directions))
        self._largest, self._least_radius = 0.0, least_radius
        self.set_pedestrians(people)

    def set_pedestrians(self, people: Pedestrians) -> None:
        """Go on with these."""
        self.positions = np.array(people.positions, dtype=np.float64)
        self.velocities = np.array(people.velocities, dtype=np.float64)
        self._people = people
        count = people.count
        self._traits = np.column_stack(
            [people.mass, 1.0 / people.mass, 1.0 / people.response_time, people.desired_speed, people.radius]
        )
        self._goals = np.array(people.goal, dtype=np.int64)
        self._directions, self._result = np.zeros((count, 2)), np.zeros((count, 6))
        self._order, self._sorted = np.zeros(count, dtype=np.int64), np.zeros((7, count))
        largest = max(float(people.radius.max()) if count else 0.0, self._least_radius)
        if largest > self._largest:
            self._largest = largest
            self._prepare()
        smallest = float(people.radius.min()) if count else 0.2
        self._max_move = min(SETTINGS.max_move, 0.45 * smallest, self.parameters.people.range)

    @property
    def people(self) -> Pedestrians:
        """Everybody who is present now."""
        return replace(self._people, positions=self.positions.copy(), velocities=self.velocities.copy())

    count = derived(len, "positions", "Number of pedestrians now.")

    def advance(self, seconds: float) -> None:
        """Move everybody on."""
        from marey.crowd.simulation import _step_kernels

        left, substeps = seconds if self.count else 0.0, 0
        while left > 0.0:
            rate = self._evaluate()
            more = max(1, min(math.ceil(left * rate - 1e-9), SETTINGS.max_substeps - substeps))
            step = left / more

            def part(first: int, last: int, step: float = step) -> None:
                _step_kernels.move(
                    first, last, self.positions, self.velocities, self._traits, self._result, step,
                    self._max_move, self._walls,
                )  # fmt: skip

            _work.spread(part, self.count, least=SETTINGS.min_share, jobs=self.threads)
            left = left - step if more > 1 else 0.0
            substeps += 1

    def update_routes(self) -> tuple[float, float, float, float]:
        """Update everybody's desired direction; returns the bounds x, y, x, y of all positions."""
        from marey.crowd.simulation import _route_kernels

        bounds: tuple[float, float, float, float] = _route_kernels.directions(
            self.positions, self._goals, *self._fields, self._directions
        )
        return bounds

    def desired_directions(self) -> Array:
        """Unit directions in which everybody wants to go, `(people, 2)`."""
        self.update_routes()
        return self._directions.copy()

    def forces(self) -> Array:
        """Newtons on everybody now, `(people, 2)`.

        >>> east = DirectionField.constant(1, 0)
        >>> ForceEngine(Pedestrians([[0, 0]]), None, [east]).forces().round(9).tolist()
        [[192.0, 0.0]]
        """
        self._evaluate()
        return self._result[:, :2] * self._traits[:, :1]

    def _evaluate(self) -> float:
        """Accelerations of all; returns how many substeps a second they need."""
        from marey.crowd.simulation import _step_kernels

        count = self.count
        x, y, right, top = self.update_routes()
        width, height = right - x, top - y
        # As large as forces reach, or larger so that there are not many more cells than pedestrians.
        sparse = math.sqrt(width * height / (8 * count + 64))
        cell = max(self._constants.people.reach, sparse, max(width, height) / 1e6)
        grid = Grid(x, y, cell, int(width / cell) + 1, int(height / cell) + 1)
        starts = np.empty(grid.columns * grid.rows + 1, dtype=np.int64)
        _step_kernels.sort_by_cell(
            self.positions, self.velocities, self._traits, self._directions,
            grid, starts, self._order, self._sorted,
        )  # fmt: skip

        def part(first: int, last: int) -> tuple[float, float, float]:
            largest: tuple[float, float, float] = _step_kernels.forces(
                first, last, self._sorted, self._order, grid, starts, self._traits, self._constants,
                *self._power, self._walls, self._result,
            )  # fmt: skip
            return largest

        parts = _work.spread(part, count, least=SETTINGS.min_share, jobs=self.threads)
        speed2, acceleration2, stiffness = np.max(parts, axis=0)
        moving = math.sqrt(speed2) + math.sqrt(speed2 + 4.0 * self._max_move * math.sqrt(acceleration2))
        return max(moving / (2.0 * self._max_move), math.sqrt(2.0 * stiffness))

    def _prepare(self) -> None:
        from marey.crowd.simulation._step_kernels import power_table

        chosen = self.parameters
        people, obstacles = chosen.people, chosen.obstacles
        touching = 2 * self._largest * max(1.0, chosen.stumble_reach)
        reach, wall_reach = people.reach(2 * self._largest), obstacles.reach(self._largest)
        self._constants = ForceConstants(
            PairConstants.of(people, max(reach, touching)),
            PairConstants.of(obstacles, wall_reach),
            chosen.perception is not None,
            chosen.stumble,
            chosen.stumble_reach,
            chosen.reluctance,
        )
        self._power = power_table(chosen.perception or 1.0)
        self._walls = wall_index(self.walls, wall_reach)


class Simulator(ForceEngine):
    """Pedestrians who walk to their goals among walls and each other.

    >>> walker = Simulator(Pedestrians([[0, 0]]), directions=[DirectionField.constant(1, 0)])
    >>> walker.step(250)
    >>> walker.people.velocities.round(3).tolist()
    [[1.2, 0.0]]
    """

    def __init__(
        self,
        people: Pedestrians,
        walls: ArrayLike | None = None,
        directions: Sequence[DirectionField] = (),
        parameters: Parameters | None = None,
        *,
        goals: Sequence[ArrayLike | None] = (),
        entrances: Sequence[Entrance] = (),
        dt: float = SETTINGS.step,
        hold: float = 0.0,
        seed: int = 0,
        threads: int | None = None,
    ):
        """A simulation at its start.

        Args:
            people: who is present at the start.
            walls: `(walls, 4)`, both ends of each.
            directions: one field a goal; without, no pedestrian wants to go anywhere.
            parameters: constants of the forces.
            goals: areas by goal, in which pedestrians leave; None for one that is never reached.
            entrances: areas in which pedestrians enter.
            dt: seconds of a step.
            hold: seconds at the start in which no pedestrian moves (the dataset's 3).
            seed: of everything random.
            threads: how many at most; None: one a core.
        """
        if not (np.isfinite(dt) and 0 < dt <= 0.5):
            raise InputError(f"dt: must be more than 0 and at most 0.5 seconds, got {dt}")
        if not hold >= 0:
            raise InputError(f"hold: must be 0 seconds or more, got {hold}")
        self.entrances = list(entrances)
        least = POPULATIONS["dataset"].radius[1] if self.entrances else 0.0
        super().__init__(people, walls, directions, parameters, least_radius=least, threads=threads)
        self.dt, self.hold, self.seed = float(dt), float(hold), int(seed)
        self.time, self.steps = 0.0, 0
        areas = [np.zeros((0, 2)) if area is None else as_polygon(area) for area in goals]
        self._corners = np.concatenate([np.zeros((0, 2)), *areas])
        self._corner_starts = np.cumsum([0, *(len(area) for area in areas)]).astype(np.int64)
        self._next_id = int(people.ids.max()) + 1 if people.count else 0
        self._owed = np.zeros(len(self.entrances))

    @property
    def state(self) -> State:
        """The present state; set it to go on from there."""
        return State(self.people, self.time, self.steps, self._next_id, self._owed.copy())

    @state.setter
    def state(self, state: State) -> None:
        self.set_pedestrians(state.people)
        self.time, self.steps, self._next_id = state.time, state.steps, state.next_id
        self._owed = np.array(state.owed)

    @property
    def held(self) -> bool:
        """Whether all stand still yet."""
        # Steps add up to the time of holding but for rounding.
        return self.time < self.hold - 1e-9

    def step(self, steps: int = 1, *, seconds: float | None = None) -> None:
        """Advance by some steps, of `seconds` instead of the simulator's own dt."""
        dt = self.dt if seconds is None else float(seconds)
        for _ in range(steps):
            if not self.held:
                self.advance(dt)
                self._leave_at_goals()
                self._enter(dt)
            self.time += dt
            self.steps += 1

    def frame(self) -> Frame:
        """Everybody now."""
        return Frame(
            self._people.ids, self.positions.copy(), self.velocities.copy(), self.desired_directions()
        )

    def desired_directions(self) -> Array:
        """Unit directions in which everybody wants to go now, `(people, 2)`; zero while held."""
        return np.zeros((self.count, 2)) if self.held else super().desired_directions()

    def _leave_at_goals(self) -> None:
        from marey.crowd.simulation import _route_kernels

        there = np.zeros(self.count, dtype=np.bool_)
        _route_kernels.inside(self.positions, self._goals, self._corners, self._corner_starts, there)
        if there.any():
            self.set_pedestrians(self.people[~there])

    def _enter(self, dt: float) -> None:
        for which, entrance in enumerate(self.entrances):
            arrivals = np.random.default_rng([self.seed, self.steps, 0, which])
            self._owed[which] += arrivals.poisson(entrance.rate * dt)
            while self._owed[which] >= 1.0:
                rng = np.random.default_rng([self.seed, self.steps, 2, which, self._next_id])
                one = random_pedestrians(
                    1,
                    positions=[[0.0, 0.0]],
                    goal=entrance.goal,
                    speed_factor=entrance.speed_factor,
                    kind=entrance.kind,
                    first_id=self._next_id,
                    seed=rng,
                )
                place = self._free_position(np.asarray(entrance.area), float(one.radius[0]), rng)
                if place is None:
                    break
                self.set_pedestrians(joined([self.people, replace(one, positions=place)], renumber=False))
                self._owed[which] -= 1.0
                self._next_id += 1

    def _free_position(self, area: Array, radius: float, rng: np.random.Generator) -> Array | None:
        """A random position `(1, 2)` in an area away from people and walls, or None after some tries."""
        for _ in range(SETTINGS.tries):
            tries = rng.uniform(area.min(axis=0), area.max(axis=0), (64, 2))
            within = contains(area, tries)
            spot = tries[[int(np.argmax(within))]] if within.any() else area.mean(axis=0, keepdims=True)
            apart = ((self.positions - spot) ** 2).sum(axis=1)
            if (apart >= (self._people.radius + radius) ** 2).all() and wall_distances(
                spot, self.walls
            ) >= radius:
                return spot
        return None
