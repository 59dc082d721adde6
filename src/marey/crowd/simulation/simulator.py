"""A crowd that walks: social forces, integrated step by step.

The forces are those of Helbing, Farkas & Vicsek 2000 with the changes of Courty 2013, section 6.3.2. Drag and
friction are solved exactly within a step and positions follow the new velocities (semi-implicit Euler); steps
are divided where bodies are stiff or fast. A step costs about half a microsecond a person on one core at one
person a square metre; results do not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import BoolArray, FloatArray, IntArray, checked_rate
from marey._progress import Progress
from marey.crowd.simulation.directions import DirectionField, flattened
from marey.crowd.simulation.parameters import FADING, Interaction, Parameters
from marey.crowd.simulation.people import People, joined, random_people
from marey.crowd.simulation.places import Entrance, Goal, spot_in
from marey.crowd.simulation.recording import Frame, Recording
from marey.crowd.simulation.walls import as_walls, distances, index_of
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.crowd.simulation import _kernels

LONGEST_MOVE = 0.1
"""Metres one may move in a part of a step; less if somebody is smaller than usual."""
MOST_PARTS = 256
TRIES = 16
SHARED_FROM = 3000
"""People from which on threads are worth their while."""


@dataclass(frozen=True, eq=False)
class State:
    """All that a simulation needs to go on exactly as if it had not been interrupted.

    owed: `(entrances,)`, people who arrived and have not found room; entered: `(entrances,)`, who came in
    """

    people: People
    time: float
    steps: int
    next_id: int
    owed: FloatArray
    entered: IntArray

    def arrays(self) -> dict[str, np.ndarray]:
        """As arrays, for `np.savez`.

        >>> state = Simulator(People([[0, 0]])).state
        >>> State.from_arrays(state.arrays()).people.count
        1
        """
        return {
            **{f"people_{f.name}": np.asarray(getattr(self.people, f.name)) for f in fields(People)},
            "time": np.array(self.time),
            "steps": np.array(self.steps),
            "next_id": np.array(self.next_id),
            "owed": np.asarray(self.owed),
            "entered": np.asarray(self.entered),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> State:
        """The inverse of `arrays`."""
        try:
            people = People(**{f.name: arrays[f"people_{f.name}"] for f in fields(People)})
            return cls(
                people,
                float(arrays["time"]),
                int(arrays["steps"]),
                int(arrays["next_id"]),
                np.array(arrays["owed"], dtype=np.float64),
                np.array(arrays["entered"], dtype=np.int64),
            )
        except KeyError as error:
            raise InputError(f"state: there is no array {error.args[0]!r}") from error


class Simulator:
    """People who walk in their directions among walls and each other.

    people: who is there at the start
    walls: `(walls, 4)`, both ends of each
    directions: one field a goal; without, nobody wants to go anywhere
    goals: areas, by goal; None for one that is never reached
    entrances: where people come in
    dt: seconds of a step
    hold: seconds at the start in which nobody moves (the dataset's 3)
    threads: how many at most; as many as the machine has unless given

    >>> walker = Simulator(People([[0, 0]]), directions=[DirectionField.constant(1, 0)])
    >>> walker.step(250)
    >>> walker.people.velocities.round(3).tolist()
    [[1.2, 0.0]]
    """

    def __init__(
        self,
        people: People,
        walls: ArrayLike | None = None,
        directions: Sequence[DirectionField] = (),
        parameters: Parameters | None = None,
        *,
        goals: Sequence[Goal | ArrayLike | None] = (),
        entrances: Sequence[Entrance] = (),
        dt: float = 0.02,
        hold: float = 0.0,
        seed: int = 0,
        threads: int | None = None,
    ):
        if not (np.isfinite(dt) and 0 < dt <= 0.5):
            raise InputError(f"dt: must be more than 0 and at most 0.5 seconds, got {dt}")
        if not hold >= 0:
            raise InputError(f"hold: must be 0 seconds or more, got {hold}")
        self.parameters = Parameters() if parameters is None else parameters
        self.walls = as_walls(walls)
        self.directions = [directions] if isinstance(directions, DirectionField) else list(directions)
        self.goals = [g if g is None or isinstance(g, Goal) else Goal(g) for g in goals]
        self.entrances = list(entrances)
        self.dt, self.hold, self.seed = float(dt), float(hold), int(seed)
        self.threads = max(1, (os.cpu_count() or 1) if threads is None else int(threads))
        self._fields = flattened(self.directions)
        self._areas = _flat_areas(self.goals)
        self._largest = 0.0
        self.parts = 0
        """Parts of steps taken so far: equal to the steps unless some had to be divided."""
        none = np.zeros(len(self.entrances))
        first_free = int(people.ids.max()) + 1 if people.count else 0
        self.state = State(people, 0.0, 0, first_free, none, none.astype(np.int64))

    @property
    def state(self) -> State:
        """Where the simulation stands; set it to go on from there."""
        return State(
            self.people, self.time, self.steps, self._next_id, self._owed.copy(), self._entered.copy()
        )

    @state.setter
    def state(self, state: State) -> None:
        self._take(state.people)
        self.time, self.steps, self._next_id = state.time, state.steps, state.next_id
        self._owed, self._entered = np.array(state.owed), np.array(state.entered)
        if len(self._owed) != len(self.entrances):
            raise InputError(f"state: of {len(self._owed)} entrances, and there are {len(self.entrances)}")

    @property
    def people(self) -> People:
        """Everybody who is there now."""
        mass, response, speed, radius = self._traits.T
        return People(
            self._positions.copy(), self._velocities.copy(), radius.copy(), mass.copy(), response.copy(),
            speed.copy(), self._goal.copy(), self._ids.copy(),
        )  # fmt: skip

    @property
    def count(self) -> int:
        """How many are there now."""
        return len(self._ids)

    def step(self, steps: int = 1, *, seconds: float | None = None) -> None:
        """Advance by some steps, of `seconds` instead of the simulator's own dt."""
        dt = self.dt if seconds is None else float(seconds)
        for _ in range(steps):
            moving = self.time + 0.5 * dt >= self.hold
            if moving and self.count:
                self._walk(dt)
            if moving:
                self._arrive_at_goals()
                self._let_in(dt)
            self.time += dt
            self.steps += 1

    def frames(self, seconds: float, frame_rate: float = 25.0) -> Iterator[Frame]:
        """Frame after frame, the present one first: `seconds * frame_rate + 1` of them."""
        rate = checked_rate(frame_rate)
        if not (np.isfinite(seconds) and seconds >= 0):
            raise InputError(f"seconds: must be 0 or more, got {seconds}")
        steps = max(1, math.ceil(1.0 / (rate * self.dt) - 1e-9))
        yield self._frame()
        for _ in range(round(seconds * rate)):
            self.step(steps, seconds=1.0 / (rate * steps))
            yield self._frame()

    def run(self, seconds: float, frame_rate: float = 25.0, *, progress: Progress | None = None) -> Recording:
        """Simulate and record; steps are shortened so that a whole number of them makes a frame.

        >>> walker = Simulator(People([[0, 0]]), directions=[DirectionField.constant(1, 0)])
        >>> walker.run(2, 10).positions.shape
        (21, 1, 2)
        """
        total = round(seconds * frame_rate) + 1
        taken = []
        for done, frame in enumerate(self.frames(seconds, frame_rate), start=1):
            taken.append(frame)
            if progress is not None:
                progress(done, total)
        return Recording.of(taken, frame_rate)

    def forces(self) -> FloatArray:
        """Newtons on everybody now, `(people, 2)`.

        >>> Simulator(People([[0, 0]]), directions=[DirectionField.constant(1, 0)]).forces().tolist()
        [[192.0, 0.0]]
        """
        self._evaluate()
        return self._result[:, :2].copy()

    def wishes(self) -> FloatArray:
        """Unit directions in which everybody wants to go now, `(people, 2)`; zero while held."""
        self._look()
        return self._wishes.copy() if self.time >= self.hold else np.zeros_like(self._wishes)

    def _take(self, people: People) -> None:
        self._positions = np.array(people.positions, dtype=np.float64)
        self._velocities = np.array(people.velocities, dtype=np.float64)
        self._traits = np.column_stack(
            [people.mass, people.response_time, people.desired_speed, people.radius]
        ).astype(np.float64)
        self._goal = np.array(people.goal, dtype=np.int64)
        self._ids = np.array(people.ids, dtype=np.int64)
        count = len(self._ids)
        self._wishes, self._result = np.zeros((count, 2)), np.zeros((count, 6))
        self._order, self._sorted = np.zeros(count, dtype=np.int64), np.zeros((7, count))
        largest = float(self._traits[:, 3].max()) if count else 0.0
        largest = max(largest, 0.3 if self.entrances else 0.05)
        if largest > self._largest:
            self._largest = largest
            self._prepare()
        smallest = float(self._traits[:, 3].min()) if count else 0.2
        self._farthest = min(LONGEST_MOVE, 0.45 * smallest, self.parameters.people.range)

    def _prepare(self) -> None:
        from marey.crowd.simulation import _kernels
        from marey.crowd.simulation._pair_kernels import power_table

        chosen = self.parameters
        people, obstacles = chosen.people, chosen.obstacles
        reach, wall_reach = people.reach(2 * self._largest), obstacles.reach(self._largest)
        reach = max(reach, 2 * self._largest * max(1.0, chosen.stumble_reach))
        self._law = _kernels.Law(
            *_scaled(people, reach), people.contact, people.friction,
            *_scaled(obstacles, wall_reach), obstacles.contact, obstacles.friction,
            chosen.perception is not None, chosen.stumble, chosen.stumble_reach, chosen.reluctance,
        )  # fmt: skip
        self._power = power_table(chosen.perception or 1.0)
        index = index_of(self.walls, wall_reach)
        grid = _kernels.Grid(*index.origin, index.cell, index.columns, index.rows)
        self._index = (index.features, index.around, grid, index.starts, index.lists)

    def _walk(self, dt: float) -> None:
        from marey.crowd.simulation import _kernels

        left = dt
        parts = 0
        while left > 0.0:
            fastest = self._evaluate()
            more = max(1, min(math.ceil(left * fastest - 1e-9), MOST_PARTS - parts))
            step = left / more
            _shared(
                lambda a, b, step=step: _kernels.move(
                    a, b, self._positions, self._velocities, self._traits, self._result, step,
                    self._farthest, *self._index,
                ),
                self.count, self.threads,
            )  # fmt: skip
            left = left - step if more > 1 else 0.0
            parts += 1
        self.parts += parts

    def _look(self) -> None:
        from marey.crowd.simulation import _kernels

        _kernels.directions(self._positions, self._goal, *self._fields, self._wishes, 0, self.count)

    def _evaluate(self) -> float:
        """Forces on all; returns how many parts of steps a second they need."""
        from marey.crowd.simulation import _kernels

        if not self.count:
            return 0.0
        self._look()
        grid, starts = self._cells()
        _kernels.sort_by_cell(
            self._positions,
            self._velocities,
            self._traits,
            self._wishes,
            grid,
            starts,
            self._order,
            self._sorted,
        )
        features, around, wall_grid, wall_starts, wall_lists = self._index
        rates = _shared(
            lambda a, b: _kernels.forces(
                a, b, self._sorted, self._order, grid, starts, self._traits, self._law, *self._power,
                features, around, wall_grid, wall_starts, wall_lists, self._farthest, self._result,
            ),
            self.count, self.threads,
        )  # fmt: skip
        return max(rates)

    def _cells(self) -> tuple[_kernels.Grid, IntArray]:
        from marey.crowd.simulation import _kernels

        low, high = self._positions.min(axis=0), self._positions.max(axis=0)
        size = high - low
        # Cells so small that few neighbours are looked at in vain, so large that there are not too many.
        cell = max(self._law.reach / 3, math.sqrt(size[0] * size[1] / (8 * self.count + 64)), max(size) / 1e6)
        columns, rows = int(size[0] / cell) + 1, int(size[1] / cell) + 1
        return (
            _kernels.Grid(float(low[0]), float(low[1]), cell, columns, rows),
            np.empty(columns * rows + 1, dtype=np.int64),
        )

    def _arrive_at_goals(self) -> None:
        from marey.crowd.simulation import _kernels

        if not self.goals or not self.count:
            return
        there = np.empty(self.count, dtype=np.bool_)
        _kernels.inside(self._positions, self._goal, *self._areas, there)
        if not there.any():
            return
        gone = np.zeros(self.count, dtype=bool)
        for person in np.flatnonzero(there):
            goal = self.goals[self._goal[person]]
            assert goal is not None
            if goal.leaves:
                gone[person] = True
                continue
            if goal.back_to is not None:
                rng = np.random.default_rng([self.seed, self.steps, 1, int(self._ids[person])])
                place = self._free_place(goal.back_to, self._traits[person, 3], rng, ~gone)
                if place is None:
                    continue
                self._positions[person] = place
            if goal.next_goal is not None:
                self._goal[person] = goal.next_goal
        if gone.any():
            self._take(self.people[~gone])

    def _let_in(self, dt: float) -> None:
        for which, entrance in enumerate(self.entrances):
            self._owed[which] += entrance.arrivals(self.time, dt, [self.seed, self.steps, 0, which])
            if entrance.most is not None:
                self._owed[which] = min(self._owed[which], entrance.most - self._entered[which])
            newcomers = []
            while self._owed[which] >= 1.0 - 1e-9:
                rng = np.random.default_rng([self.seed, self.steps, 2, which, len(newcomers)])
                one = random_people(
                    1, positions=[[0.0, 0.0]], goal=entrance.goal, speed_factor=entrance.speed_factor,
                    first_id=self._next_id, seed=rng,
                )  # fmt: skip
                place = self._free_place(entrance.area, one.radius[0], rng, None, newcomers)
                if place is None:
                    break
                newcomers.append(People(place[None], None, one.radius, one.mass, one.response_time,
                                        one.desired_speed, one.goal, one.ids))  # fmt: skip
                self._owed[which] -= 1.0
                self._entered[which] += 1
                self._next_id += 1
            if newcomers:
                self._take(joined([self.people, *newcomers], renumber=False))

    def _free_place(
        self,
        area: ArrayLike,
        radius: float,
        rng: np.random.Generator,
        counts: BoolArray | None,
        newcomers: Sequence[People] = (),
    ) -> FloatArray | None:
        """A random place of an area where nobody stands and no wall is, or None after some tries."""
        places, radii = self._positions, self._traits[:, 3]
        if counts is not None:
            places, radii = places[counts], radii[counts]
        if newcomers:
            places = np.concatenate([places, *(n.positions for n in newcomers)])
            radii = np.concatenate([radii, *(n.radius for n in newcomers)])
        for _ in range(TRIES):
            spot = spot_in(np.asarray(area), rng)
            apart = (places[:, 0] - spot[0]) ** 2 + (places[:, 1] - spot[1]) ** 2
            if (apart >= (radii + radius) ** 2).all() and distances(spot[None], self.walls)[0] >= radius:
                return spot
        return None

    def _frame(self) -> Frame:
        return Frame(
            self.time, self._ids.copy(), self._positions.copy(), self._velocities.copy(),
            self.wishes(), self._traits[:, 3].copy(),
        )  # fmt: skip


def _scaled(interaction: Interaction, reach: float) -> tuple[float, float, float, float]:
    strength = math.log2(interaction.strength) if interaction.strength > 0 else -900.0
    return 1.0 / (interaction.range * math.log(2.0)), strength, reach, 1.0 / (FADING * interaction.range)


def _flat_areas(goals: Sequence[Goal | None]) -> tuple[FloatArray, IntArray]:
    areas = [np.zeros((0, 2)) if goal is None else np.asarray(goal.area) for goal in goals]
    corners = np.concatenate([np.zeros((0, 2)), *areas])
    return corners, np.cumsum([0, *(len(area) for area in areas)]).astype(np.int64)


def _shared(work: Callable[[int, int], Any], count: int, threads: int) -> list[Any]:
    """`work` on parts of 0 … count, on several threads if there are many people."""
    if threads == 1 or count < SHARED_FROM:
        return [work(0, count)]
    # Parts smaller than a thread's share, because people stand more densely in some places.
    edges = np.linspace(0, count, 4 * threads + 1).astype(int).tolist()
    return list(_pool(os.getpid(), threads).map(work, edges[:-1], edges[1:]))


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # A pool does not survive a fork, hence one for each process.
    return ThreadPoolExecutor(threads, thread_name_prefix="marey-crowd")
