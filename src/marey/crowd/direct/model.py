"""The crowd that is controlled: its model of walking, run under controls, and derivatives of what it does.

Controls are accelerations added to those of the smooth social forces (Courty 2013, section 7.2.1); positions
follow velocities, so the only thing that a control can do is push. Time is discrete: velocities first, then
positions with the new velocities. The derivatives are those of the discrete model. Cost: about 0.1 µs a
person and step of a run, twice that backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import AnyArray, Array, checked
from marey.crowd.polygons import WallIndex, edges, wall_index
from marey.crowd.scenes import Scene
from marey.crowd.simulation.pedestrians import Parameters, Pedestrians
from marey.crowd.simulation.routes import DirectionField, desired_directions, flattened

REACH, WALL_REACH = 2.0, 1.5
"""Metres beyond which forces of people and of walls are left out; they are below 1e-3 N there."""
BRAKE = 4.0
"""m/s² by which two people slow down towards each other, together."""
Pairs = tuple[AnyArray, Array, AnyArray]
"""Who were near each other, the forces over their distances, and where those of each step begin."""
NOT_KEPT: Pairs = np.empty((0, 2), np.uint32), np.empty(0), np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class CrowdModel:
    """People, where they want to go, and the walls between.

    Attributes:
        people: At the start; `goal` counts in `goals`.
        goals: Directions to each goal.
        walls: Near which people are pushed away.
        until: `(people,)`, seconds after which a person wants to stand; inf: never.
        dt: Seconds of a step; at most 0.05, or bodies run through each other in jams.
        strength: Newtons of the repulsion at touch.
        range: Metres over which it falls by e.

    >>> two = Pedestrians([[0, 0], [3, 0]], radius=0.3, mass=70, response_time=0.5, desired_speed=1)
    >>> model = CrowdModel.of(two, [DirectionField.constant(1, 0)])
    >>> model.run(np.zeros((200, 2, 2)))[1][-1].round(3).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """

    people: Pedestrians
    goals: tuple[DirectionField, ...]
    walls: WallIndex
    until: Array
    dt: float = 0.05
    strength: float = Parameters.control().people.strength
    range: float = Parameters.control().people.range

    @classmethod
    def of(
        cls,
        people: Pedestrians,
        goals: Sequence[DirectionField],
        *,
        walls: ArrayLike | None = None,
        until: ArrayLike = np.inf,
        dt: float = 0.05,
    ) -> CrowdModel:
        """From walls `(walls, 4)`; `until` is one number or one a person."""
        ends = np.broadcast_to(np.asarray(until, dtype=np.float64), people.count)
        return cls(people, tuple(goals), wall_index(walls, WALL_REACH), ends, dt)

    @classmethod
    def of_scene(cls, scene: Scene, people: Pedestrians, *, dt: float = 0.05) -> CrowdModel:
        """People of a scene, whose goals are those of its groups; they want to walk after its rest."""
        fields = {group.goal: desired_directions(scene, group.goal) for group in scene.groups}
        goals = [fields[group.goal] for group in scene.groups]
        return cls.of(people, goals, walls=edges(scene.obstacles), dt=dt)

    @property
    def count(self) -> int:
        """Number of people."""
        return self.people.count

    def standing(self, until: ArrayLike) -> CrowdModel:
        """The model with other times after which people want to stand."""
        return replace(self, until=np.broadcast_to(np.asarray(until, dtype=np.float64), self.count))

    def run(self, controls: ArrayLike) -> tuple[Array, Array]:
        """Positions and velocities `(steps + 1, people, 2)` under accelerations `(steps, people, 2)`."""
        return self.run_and_keep(controls, NOT_KEPT)[:2]

    def run_and_keep(self, controls: ArrayLike, memory: Pairs | None = None) -> tuple[Array, Array, Pairs]:
        """As :meth:`run`, and the pairs that were near each other, for :meth:`sweep`.

        `memory` is what this gave before: new memory takes longer to get than to fill.
        """
        from marey.crowd.direct import _kernels

        given = checked("controls", controls, (None, self.count, 2))
        positions, velocities = np.empty((2, len(given) + 1, self.count, 2))
        positions[0], velocities[0] = self.people.positions, self.people.velocities
        if memory is None:
            size = 8 * self.count * len(given)
            memory = np.empty((size, 2), np.uint32), np.empty(size), np.zeros(len(given) + 1, np.int64)
        return positions, velocities, _kernels.run(positions, velocities, given, memory, *self._constants)

    def following(
        self, wanted: Callable[[Array, float], Array], steps: int, *, besides: bool = False
    ) -> Array:
        """Controls `(steps, people, 2)` with which `wanted` of places and time is the desired velocity.

        Args:
            wanted: From places `(people, 2)` and seconds to velocities `(people, 2)`, m/s; NaN of those who
                go on as they like.
            steps: Of the run.
            besides: Whether it is added to what people want themselves.

        People also brake before they bump into each other.
        """
        from marey.crowd.direct import _kernels

        dt, traits, goals, constants, walls = self._constants
        y, u = np.array(self.people.positions), np.array(self.people.velocities)
        controls, force = np.empty((steps, self.count, 2)), np.zeros_like(y)
        order, pairs = _kernels.no_pairs(self.count)
        alone = (traits, goals, constants, wall_index(None, WALL_REACH), pairs)
        for n in range(steps):
            if not besides:
                _kernels.accelerations(y, n * dt, *alone, force)
            controls[n] = np.nan_to_num(self.friction * wanted(y, n * dt) - (0.0 if besides else force))
            pairs = _kernels.find_pairs(y, traits, constants, order, pairs)
            _kernels.accelerations(y, n * dt, traits, goals, constants, walls, pairs, force)
            controls[n] += self._brakes(y, u, pairs[0][: pairs[3]].T)
            u = u + dt * (force - self.friction * u + controls[n])
            y = y + dt * u
        return controls

    def _brakes(self, y: Array, u: Array, pairs: AnyArray) -> Array:
        """Accelerations of pairs `(2, pairs)` who approach faster than they could stop at :data:`BRAKE`."""
        i, j = pairs
        off = y[j] - y[i]
        d = np.maximum(np.linalg.norm(off, axis=1, keepdims=True), 1e-6)
        gap = np.maximum(d[:, 0] - self.people.radius[i] - self.people.radius[j], 0.0)
        excess = ((u[i] - u[j]) * off).sum(axis=1) / d[:, 0] - np.sqrt(2 * BRAKE * gap)
        push = np.maximum(excess, 0.0)[:, None] / (4 * self.dt) * off / d
        result = np.zeros_like(y)
        np.subtract.at(result, i, push)
        np.add.at(result, j, push)
        return result

    def tangent(self, positions: Array, controls: Array) -> tuple[Array, Array]:
        """How positions and velocities change, linearised about a run, under small controls."""
        from marey.crowd.direct import _kernels

        dy, du = np.zeros((2, *positions.shape))
        _kernels.tangent(positions, dy, du, controls, *self._constants)
        return dy, du

    def sweep(
        self, positions: Array, by_positions: Array, by_velocities: Array, pairs: Pairs | None = None
    ) -> Array:
        """Derivatives by the controls of a run from those by positions and velocities, which are used up."""
        from marey.crowd.direct import _kernels

        result = np.empty((len(positions) - 1, self.count, 2))
        _kernels.sweep(positions, by_positions, by_velocities, pairs or NOT_KEPT, *self._constants, result)
        return result

    def squeeze(self, positions: Array, slack: float, std: float, by_positions: Array) -> float:
        """Cost of bodies that overlap more than `slack` in a run, by `std`, whose derivatives are added."""
        from marey.crowd.direct import _kernels

        weight = self.dt / std**2
        return float(_kernels.squeeze(positions, self._constants[1], slack, weight, by_positions))

    def needed_controls(
        self, positions: Array, wanted: Array, gain: float = 0.0, by_positions: Array | None = None
    ) -> Array:
        """Controls `(steps, people, 2)` for `wanted` accelerations, friction apart, at positions.

        To `by_positions` are added the derivatives of half of `gain` times the controls' squares.
        """
        from marey.crowd.direct import _kernels

        result = np.empty_like(wanted)
        pulled = result if by_positions is None else by_positions

        def part(first: int, last: int) -> None:
            _kernels.lacking(positions, wanted, first, last, gain, *self._constants, result, pulled)

        _work.spread(part, len(wanted), least=64)
        return result

    def glide(self, wanted: Array) -> tuple[Array, Array]:
        """Positions and velocities `(steps + 1, people, 2)` of accelerations in the place of forces."""
        from marey.crowd.direct import _kernels

        positions, velocities = np.empty((2, len(wanted) + 1, self.count, 2))
        positions[0], velocities[0] = self.people.positions, self.people.velocities
        _kernels.glide(positions, velocities, wanted, *self._constants[:2])
        return positions, velocities

    def pull_glide(self, by_positions: Array, by_velocities: Array) -> Array:
        """The transpose of :meth:`glide`, of derivatives that are used up."""
        from marey.crowd.direct import _kernels

        result = np.empty((len(by_positions) - 1, self.count, 2))
        _kernels.pull_glide(by_positions, by_velocities, *self._constants[:2], result)
        return result

    @property
    def friction(self) -> Array:
        """1 / response time, `(people, 1)`, 1/s."""
        return 1.0 / self.people.response_time[:, None]

    @cached_property
    def _constants(self) -> tuple[Any, ...]:
        people = self.people
        traits = np.column_stack(
            [1.0 / people.mass, 1.0 / people.response_time, people.desired_speed, people.radius, people.goal,
             self.until]
        )  # fmt: skip
        vectors, heads = flattened(list(self.goals))
        return self.dt, traits, (heads, vectors), (self.strength, self.range, REACH, WALL_REACH), self.walls
