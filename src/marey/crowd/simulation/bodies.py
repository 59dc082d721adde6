"""People as the compiled loops want them, and one step of them: forces, then the move.

Drag and friction are solved exactly within a step and positions follow the new velocities (semi-implicit
Euler). A step is divided where bodies are stiff (less than one radian of the fastest oscillation a part) or
fast (0.1 m a part), which keeps Helbing's hard bodies from exploding. About one microsecond a person and
part on one core, at one person a square metre; results do not depend on the number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from marey import _work
from marey._arrays import FloatArray
from marey.crowd.simulation.directions import DirectionField, flattened
from marey.crowd.simulation.parameters import FADING, Interaction, Parameters
from marey.crowd.simulation.people import People
from marey.crowd.simulation.walls import index_of

LONGEST_MOVE = 0.1
"""Metres one may move in a part of a step; less if somebody is smaller than usual."""
MOST_PARTS = 256
"""Parts of a step; should more be needed, moves are cut short."""
FEWEST = 1500
"""People below whom another thread costs more than it helps."""


class Bodies:
    """Moving people: `positions`, `velocities` `(people, 2)` and what does not change about them.

    radii: least size of the largest body to come, metres
    """

    def __init__(
        self,
        people: People,
        walls: FloatArray,
        directions: list[DirectionField],
        parameters: Parameters,
        *,
        radii: float,
        threads: int,
    ):
        self.walls, self.parameters, self.threads = walls, parameters, threads
        self._fields = flattened(directions)
        self._largest = 0.0
        self._least_reach = radii
        self.take(people)

    def take(self, people: People) -> None:
        """Go on with these people."""
        self.positions = np.array(people.positions, dtype=np.float64)
        self.velocities = np.array(people.velocities, dtype=np.float64)
        self.people = people
        self.goal = np.array(people.goal, dtype=np.int64)
        count = people.count
        self._traits = np.column_stack(
            [people.mass, 1.0 / people.mass, 1.0 / people.response_time, people.desired_speed, people.radius]
        )
        self._wishes, self._result = np.zeros((count, 2)), np.zeros((count, 6))
        self._order, self._sorted = np.zeros(count, dtype=np.int64), np.zeros((7, count))
        largest = max(float(people.radius.max()) if count else 0.0, self._least_reach)
        if largest > self._largest:
            self._largest = largest
            self._prepare()
        smallest = float(people.radius.min()) if count else 0.2
        self._farthest = min(LONGEST_MOVE, 0.45 * smallest, self.parameters.people.range)

    def now(self) -> People:
        """Everybody as they are."""
        old = self.people
        return People(
            self.positions.copy(), self.velocities.copy(), old.radius, old.mass, old.response_time,
            old.desired_speed, self.goal.copy(), old.ids,
        )  # fmt: skip

    def walk(self, seconds: float) -> int:
        """Advance; returns in how many parts."""
        from marey.crowd.simulation import _kernels

        left, parts = seconds, 0
        while left > 0.0:
            pace = self.evaluate()
            more = max(1, min(math.ceil(left * pace - 1e-9), MOST_PARTS - parts))
            step = left / more

            def part(first: int, last: int, step: float = step) -> None:
                _kernels.move(
                    first, last, self.positions, self.velocities, self._traits, self._result, step,
                    self._farthest, *self._index,
                )  # fmt: skip

            _work.spread(part, len(self.positions), least=FEWEST, jobs=self.threads)
            left = left - step if more > 1 else 0.0
            parts += 1
        return parts

    def look(self) -> tuple[float, float, float, float]:
        """Find everybody's wish; returns the bounds x, y, x, y of all places."""
        from marey.crowd.simulation import _place_kernels

        return _place_kernels.directions(self.positions, self.goal, *self._fields, self._wishes)

    def wishes(self) -> FloatArray:
        """Unit directions in which everybody wants to go, `(people, 2)`."""
        self.look()
        return self._wishes.copy()

    def forces(self) -> FloatArray:
        """Newtons on everybody, `(people, 2)`."""
        self.evaluate()
        return self._result[:, :2] * self._traits[:, :1]

    def evaluate(self) -> float:
        """Accelerations of all; returns how many parts of a step a second they need."""
        from marey.crowd.simulation import _kernels

        count = len(self.positions)
        if not count:
            return 0.0
        x, y, right, top = self.look()
        width, height = right - x, top - y
        # As large as forces reach, or larger so that there are not many more cells than people.
        cell = max(self._law.reach, math.sqrt(width * height / (8 * count + 64)), max(width, height) / 1e6)
        grid = _kernels.Grid(x, y, cell, int(width / cell) + 1, int(height / cell) + 1)
        starts = np.empty(grid.columns * grid.rows + 1, dtype=np.int64)
        _kernels.sort_by_cell(
            self.positions, self.velocities, self._traits, self._wishes,
            grid, starts, self._order, self._sorted,
        )  # fmt: skip

        def part(first: int, last: int) -> tuple[float, float, float]:
            return _kernels.forces(
                first, last, self._sorted, self._order, grid, starts, self._traits, self._law,
                *self._power, *self._index, self._result,
            )  # fmt: skip

        parts = _work.spread(part, count, least=FEWEST, jobs=self.threads)
        speed2, acceleration2, stiffness = np.max(parts, axis=0)
        moving = math.sqrt(speed2) + math.sqrt(speed2 + 4.0 * self._farthest * math.sqrt(acceleration2))
        return max(moving / (2.0 * self._farthest), math.sqrt(2.0 * stiffness))

    def _prepare(self) -> None:
        from marey.crowd.simulation import _kernels
        from marey.crowd.simulation._pair_kernels import power_table

        chosen = self.parameters
        people, obstacles = chosen.people, chosen.obstacles
        touching = 2 * self._largest * max(1.0, chosen.stumble_reach)
        reach, wall_reach = people.reach(2 * self._largest), obstacles.reach(self._largest)
        self._law = _kernels.Law(
            *_scaled(people, max(reach, touching)), people.contact, people.friction,
            *_scaled(obstacles, wall_reach), obstacles.contact, obstacles.friction,
            chosen.perception is not None, chosen.stumble, chosen.stumble_reach, chosen.reluctance,
        )  # fmt: skip
        self._power = power_table(chosen.perception or 1.0)
        index = index_of(self.walls, wall_reach)
        grid = _kernels.Grid(*index.origin, index.cell, index.columns, index.rows)
        self._index = (index.features, index.around, grid, index.starts, index.lists)


def _scaled(interaction: Interaction, reach: float) -> tuple[float, float, float, float]:
    strength = math.log2(interaction.strength) if interaction.strength > 0 else -900.0
    return 1.0 / (interaction.range * math.log(2.0)), strength, reach, 1.0 / (FADING * interaction.range)
