"""The least controls that make a crowd do what it should: four ways to find them.

All minimise the same cost, ½ ∫ |ε|² / σ² dt of the controls plus half the squared residuals of the terms.

- Shooting: ε at knots, linear between; the crowd is run from its start. For few contacts.
- Collocation: the unknown is the trajectory, by its accelerations before the forces; ε is what the model
  lacks. Gradients do not pass through the chaotic interaction, so crossing groups are solved, too.
- Ensemble: one ε for several starts, and the mean of their costs.
- The published processes 1 and 2 (Courty 2013, section 7.2.2), steps of fixed size on the data term alone,
  for comparison.

Cost: an iteration is about one run forwards and one backwards; collocation evaluates all frames in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from marey._arrays import Array
from marey.crowd.direct.model import CrowdModel, Pairs
from marey.crowd.direct.terms import Term, cost_and_forces

CORRECTIONS, MEMORY = 50, 3e7
"""Pairs of steps and gradients by which L-BFGS approximates the Hessian, and numbers they may take up."""
SETTLED, FALL = 20, 2e-3
"""Iterations over which a cost that falls by no more than this share has settled."""
Watch = Callable[[int, float, Callable[[], Array]], None]
"""Called with the iterations done, the cost, and what makes the controls found so far."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be solved.

    Attributes:
        model: The crowd.
        terms: What it should do.
        steps: Of the run.
        std: Of controls, m/s².
    """

    model: CrowdModel
    terms: list[Term]
    steps: int
    std: float = 0.3

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the controls."""
        return self.steps, self.model.count, 2

    def cost(self, controls: Array) -> float:
        """Of controls `(steps, people, 2)`."""
        return self.effort(controls) + self.cost_and_forces(*self.model.run(controls))[0]

    def cost_and_forces(self, positions: Array, velocities: Array) -> tuple[float, Array, Array]:
        """Of a run, but for the controls; see :func:`terms.cost_and_forces`."""
        return cost_and_forces(self.model, self.terms, positions, velocities)

    def effort(self, controls: Array) -> float:
        """Of the controls alone."""
        return float(0.5 * self.model.dt * (controls**2).sum() / self.std**2)


class Unknowns(Protocol):
    """A parametrisation of controls by white numbers."""

    @property
    def size(self) -> int:
        """How many numbers."""

    def evaluate(self, white: Array) -> tuple[float, Array]:
        """Cost and its gradient."""

    def controls(self, white: Array) -> Array:
        """Controls `(steps, people, 2)`."""


@dataclass(frozen=True, eq=False)
class Shooting:
    """Controls at knots `knot` seconds apart, added to those of `base`."""

    task: Task
    knot: float = 0.5
    base: Array | float = 0.0

    @cached_property
    def _hats(self) -> Array:
        """Weight of each knot at each step, `(steps, knots)`."""
        times = np.arange(self.task.steps) * self.task.model.dt / self.knot
        knots = int(np.ceil(times[-1])) + 1
        return np.asarray(np.maximum(0.0, 1.0 - np.abs(times[:, None] - np.arange(knots))))

    @cached_property
    def _unit(self) -> float:
        return self.task.std / float(np.sqrt(max(self.knot, self.task.model.dt)))

    @cached_property
    def _memory(self) -> list[Pairs]:
        return []

    @property
    def size(self) -> int:
        return int(self._hats.shape[1]) * 2 * self.task.model.count

    def controls(self, white: Array) -> Array:
        added = self._unit * (self._hats @ white.reshape(self._hats.shape[1], -1))
        return np.asarray(self.base + added.reshape(self.task.shape))

    def evaluate(self, white: Array) -> tuple[float, Array]:
        task, controls = self.task, self.controls(white)
        positions, velocities, pairs = task.model.run_and_keep(controls, *self._memory)
        self._memory[:] = [pairs]
        cost, by_y, by_u = task.cost_and_forces(positions, velocities)
        pulled = task.model.sweep(positions, by_y, by_u, pairs) + task.model.dt / task.std**2 * controls
        slope = self._unit * (self._hats.T @ pulled.reshape(task.steps, -1))
        return cost + task.effort(controls), slope.ravel()


@dataclass(frozen=True, eq=False)
class Collocation:
    """Accelerations before forces, relative to those of a trajectory that is known.

    Attributes:
        task: What is solved.
        base: Positions and velocities `(steps + 1, people, 2)` that zeros stand for.
    """

    task: Task
    base: tuple[Array, Array]

    @property
    def size(self) -> int:
        return int(np.prod(self.task.shape))

    @cached_property
    def _unit(self) -> float:
        return self.task.std / float(np.sqrt(self.task.model.dt))

    @cached_property
    def _based(self) -> Array:
        velocities, model = self.base[1], self.task.model
        return np.asarray(np.diff(velocities, axis=0) / model.dt + model.friction * velocities[:-1])

    def controls(self, white: Array) -> Array:
        wanted = self._based + self._unit * white.reshape(self.task.shape)
        return self.task.model.needed_controls(self.task.model.glide(wanted)[0], wanted)

    def evaluate(self, white: Array) -> tuple[float, Array]:
        model = self.task.model
        wanted = self._based + self._unit * white.reshape(self.task.shape)
        positions, velocities = model.glide(wanted)
        cost, by_y, by_u = self.task.cost_and_forces(positions, velocities)
        gain = 1.0 / self._unit**2
        lacking = model.needed_controls(positions, wanted, gain, by_y)
        gradient = self._unit * (model.pull_glide(by_y, by_u) + gain * lacking)
        return cost + self.task.effort(lacking), gradient.ravel()


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The mean cost of several tasks under the same controls."""

    members: Sequence[Shooting]

    @property
    def size(self) -> int:
        return self.members[0].size

    def controls(self, white: Array) -> Array:
        return self.members[0].controls(white)

    def evaluate(self, white: Array) -> tuple[float, Array]:
        from marey import _work

        found = _work.map(lambda one: one.evaluate(white), self.members)
        return float(np.mean([cost for cost, _ in found])), np.mean([slope for _, slope in found], axis=0)


@dataclass
class Solution:
    """What a solver found.

    Attributes:
        controls: `(steps, people, 2)`, m/s².
        costs: After each iteration, the first before any.
        interrupted: Whether the user stopped it; the controls are the best until then.
        white: The unknowns that they were made of.
        runs: Costs of the starts of an ensemble.
    """

    controls: Array
    costs: list[float] = field(default_factory=list)
    interrupted: bool = False
    white: Array = field(default_factory=lambda: np.empty(0))
    runs: tuple[float, ...] = ()

    @property
    def iterations(self) -> int:
        """How many were done."""
        return max(len(self.costs) - 1, 0)


def minimise(unknowns: Unknowns, start: Array, iterations: int, watch: Watch) -> Solution:
    """L-BFGS from the unknowns `start`; an interruption keeps the best so far."""
    from scipy.optimize import minimize

    best = start
    costs: list[float] = []

    def note(intermediate_result: object) -> None:
        nonlocal best
        best = np.array(intermediate_result.x)  # type: ignore[attr-defined]
        costs.append(float(intermediate_result.fun))  # type: ignore[attr-defined]
        watch(len(costs) - 1, costs[-1], lambda: unknowns.controls(best))
        if len(costs) > SETTLED and costs[-1 - SETTLED] - costs[-1] < FALL * costs[-1]:
            raise StopIteration

    def evaluated(x: Array) -> tuple[float, Array]:
        cost, slope = unknowns.evaluate(x)
        if not costs:
            costs.append(cost)
        return cost, slope

    interrupted, corrections = False, int(np.clip(0.5 * MEMORY / unknowns.size, 5, CORRECTIONS))
    try:
        found = minimize(
            evaluated, start, jac=True, method="L-BFGS-B", callback=note, options={"maxiter": iterations,
            "maxfun": 3 * iterations, "maxcor": corrections, "ftol": 1e-9, "gtol": 1e-9},
        )  # fmt: skip
        best = found.x
    except KeyboardInterrupt:
        interrupted = True
    return Solution(unknowns.controls(best), costs, interrupted, best)


def published(task: Task, iterations: int, watch: Watch, *, inner: int = 1, step: float = 1.0) -> Solution:
    """Processes 1 and 2 of Courty 2013, section 7.2.2: ε grows by Q λ, halved steps where the cost rises.

    Args:
        task: What is solved.
        iterations: Passes backwards.
        watch: Called after each.
        inner: Passes before the crowd is run again (process 2); 0: never (process 1), so that the trajectory
            is the sum of linearised changes.
        step: Factor of Q λ at first; 1 as published diverges unless controls are trusted little.
    """
    model = task.model
    controls = np.zeros(task.shape)
    positions, velocities = model.run(controls)
    gain = task.std**2 / model.dt
    solution = Solution(controls, [task.cost_and_forces(positions, velocities)[0]])
    for number in range(iterations):
        cost, by_y, by_u = task.cost_and_forces(positions, velocities)
        change = -gain * model.sweep(positions, by_y, by_u)
        linear = model.tangent(positions, change)
        for _ in range(30):
            tried = controls + step * change
            if inner and (number + 1) % inner == 0:
                reached = model.run(tried)
            else:
                reached = positions + step * linear[0], velocities + step * linear[1]
            after = task.cost_and_forces(*reached)[0]
            if after < cost:
                break
            step *= 0.5
        else:
            break
        controls, (positions, velocities) = tried, reached
        solution.controls = controls
        solution.costs.append(after)
        watch(number + 1, after, lambda: solution.controls)
    return solution
