"""A crowd that walks: social forces, integrated step by step, with people who come and go.

The forces are those of Helbing, Farkas & Vicsek 2000 as changed in Courty 2013, section 6.3.2. Everything
random is drawn from the seed and the number of the step, so that a run that is interrupted and taken up again
ends as the one that was not. Cost: see :mod:`marey.crowd.simulation.bodies`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import FloatArray, IntArray, checked_rate
from marey._progress import Progress
from marey.crowd.simulation.bodies import Bodies
from marey.crowd.simulation.directions import DirectionField
from marey.crowd.simulation.parameters import Parameters
from marey.crowd.simulation.people import RADII, People, joined, random_people
from marey.crowd.simulation.places import Entrance, Goal, spot_in
from marey.crowd.simulation.recording import Frame, Recording
from marey.crowd.simulation.walls import as_walls, distances
from marey.errors import InputError

TRIES = 16
"""Places looked at for one who comes in; if none is free, he tries again in the next step."""


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
        self.directions = list(directions)
        self.goals = [g if g is None or isinstance(g, Goal) else Goal(g) for g in goals]
        self.entrances = list(entrances)
        self.dt, self.hold, self.seed = float(dt), float(hold), int(seed)
        self.bodies = Bodies(
            people,
            self.walls,
            self.directions,
            self.parameters,
            radii=RADII["dataset"][1] if self.entrances else 0.0,
            threads=_work.cores(threads),
        )
        self.time, self.steps = 0.0, 0
        self.parts = 0
        """Parts of steps taken so far: as many as steps unless some had to be divided."""
        self._areas = _flat_areas(self.goals)
        self._next_id = int(people.ids.max()) + 1 if people.count else 0
        self._owed = np.zeros(len(self.entrances))
        self._entered = np.zeros(len(self.entrances), dtype=np.int64)

    @property
    def state(self) -> State:
        """Where the simulation stands; set it to go on from there."""
        return State(
            self.people, self.time, self.steps, self._next_id, self._owed.copy(), self._entered.copy()
        )

    @state.setter
    def state(self, state: State) -> None:
        self.bodies.take(state.people)
        self.time, self.steps, self._next_id = state.time, state.steps, state.next_id
        self._owed, self._entered = np.array(state.owed), np.array(state.entered)
        if len(self._owed) != len(self.entrances):
            raise InputError(f"state: of {len(self._owed)} entrances, and there are {len(self.entrances)}")

    @property
    def people(self) -> People:
        """Everybody who is there now."""
        return self.bodies.now()

    @property
    def count(self) -> int:
        """How many are there now."""
        return self.bodies.people.count

    def step(self, steps: int = 1, *, seconds: float | None = None) -> None:
        """Advance by some steps, of `seconds` instead of the simulator's own dt."""
        dt = self.dt if seconds is None else float(seconds)
        for _ in range(steps):
            moving = self.time + 0.5 * dt >= self.hold
            if moving and self.count:
                self.parts += self.bodies.walk(dt)
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

        >>> Simulator(People([[0, 0]]), directions=[DirectionField.constant(1, 0)]).forces().round(9).tolist()
        [[192.0, 0.0]]
        """
        return self.bodies.forces()

    def wishes(self) -> FloatArray:
        """Unit directions in which everybody wants to go now, `(people, 2)`; zero while held."""
        return self.bodies.wishes() if self.time >= self.hold else np.zeros((self.count, 2))

    def _arrive_at_goals(self) -> None:
        from marey.crowd.simulation import _place_kernels

        if not self.goals or not self.count:
            return
        bodies, ids = self.bodies, self.bodies.people.ids
        there = np.empty(self.count, dtype=np.bool_)
        _place_kernels.inside(bodies.positions, bodies.goal, *self._areas, there)
        if not there.any():
            return
        gone = np.zeros(self.count, dtype=bool)
        for person in np.flatnonzero(there):
            goal = self.goals[bodies.goal[person]]
            assert goal is not None
            if goal.leaves:
                gone[person] = True
                continue
            if goal.back_to is not None:
                rng = np.random.default_rng([self.seed, self.steps, 1, int(ids[person])])
                place = self._free_place(goal.back_to, bodies.people.radius[person], rng)
                if place is None:
                    continue
                bodies.positions[person] = place
            if goal.next_goal is not None:
                bodies.goal[person] = goal.next_goal
        if gone.any():
            bodies.take(self.people[~gone])

    def _let_in(self, dt: float) -> None:
        for which, entrance in enumerate(self.entrances):
            self._owed[which] += entrance.arrivals(self.time, dt, [self.seed, self.steps, 0, which])
            if entrance.most is not None:
                self._owed[which] = min(self._owed[which], entrance.most - self._entered[which])
            while self._owed[which] >= 1.0 - 1e-9:
                rng = np.random.default_rng([self.seed, self.steps, 2, which, self._next_id])
                one = random_people(
                    1,
                    positions=[[0.0, 0.0]],
                    goal=entrance.goal,
                    speed_factor=entrance.speed_factor,
                    kind=entrance.kind,
                    first_id=self._next_id,
                    seed=rng,
                )
                place = self._free_place(entrance.area, one.radius[0], rng)
                if place is None:
                    break
                self.bodies.take(joined([self.people, replace(one, positions=place[None])], renumber=False))
                self._owed[which] -= 1.0
                self._entered[which] += 1
                self._next_id += 1

    def _free_place(self, area: ArrayLike, radius: float, rng: np.random.Generator) -> FloatArray | None:
        """A random place of an area where nobody stands and no wall is, or None after some tries."""
        places, radii = self.bodies.positions, self.bodies.people.radius
        for _ in range(TRIES):
            spot = spot_in(np.asarray(area), rng)
            apart = (places[:, 0] - spot[0]) ** 2 + (places[:, 1] - spot[1]) ** 2
            if (apart >= (radii + radius) ** 2).all() and distances(spot[None], self.walls)[0] >= radius:
                return spot
        return None

    def _frame(self) -> Frame:
        now = self.people
        return Frame(self.time, now.ids, now.positions, now.velocities, self.wishes(), now.radius)


def _flat_areas(goals: Sequence[Goal | None]) -> tuple[FloatArray, IntArray]:
    areas = [np.zeros((0, 2)) if goal is None else np.asarray(goal.area) for goal in goals]
    corners = np.concatenate([np.zeros((0, 2)), *areas])
    return corners, np.cumsum([0, *(len(area) for area in areas)]).astype(np.int64)
