"""An assimilation problem: dynamics, observations, covariances, and the cost of controls with its gradient.

    x_0 = b + B^(1/2) z_0,    x_(n+1) = F_n(x_n) + Q^(1/2) w_n,    n = 0 … steps - 1
    J(z) = 1/2 |z|² + 1/2 Σ_n |R_n^(-1/2) (H_n(x_n) - y_n)|²

The controls z are white: z_0, and the values of w at knots, between which w is linear in time. The gradient
is that of the discrete cost, by the transpose of each step (Courty 2013, eq. 6.7, with the sign that agrees
with finite differences). Cost: one run of the dynamics forwards and one backwards; memory: all states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, assign, checked
from marey.errors import InputError


class Dynamics(Protocol):
    """A model in discrete time. States are `(size,)`; all methods leave their arguments alone."""

    def step(self, n: int, state: Array) -> Array:
        """F_n(x), the state at time n + 1."""

    def tangent(self, n: int, state: Array, direction: Array) -> Array:
        """F'_n(x) d."""

    def adjoint(self, n: int, state: Array, cotangent: Array) -> Array:
        """F'_n(x)ᵀ c."""


class Observation(Protocol):
    """What is known of the state, in units of its standard deviation; empty at times without a value."""

    def residual(self, n: int, state: Array) -> Array:
        """R_n^(-1/2) (H_n(x) - y_n), `(values,)`."""

    def tangent(self, n: int, state: Array, direction: Array) -> Array:
        """Its derivative along a direction `(size,)`."""

    def adjoint(self, n: int, state: Array, cotangent: Array) -> Array:
        """The transpose of that derivative on a cotangent `(values,)`."""


class Covariance(Protocol):
    """A covariance C by a root of it: C = root rootᵀ."""

    size: int
    """Of the white vectors."""

    def root(self, white: Array) -> Array:
        """C^(1/2) z, the length of a state."""

    def root_adjoint(self, state: Array) -> Array:
        """(C^(1/2))ᵀ x, `(size,)`."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that defines the best trajectory.

    Attributes:
        dynamics: The model.
        background: `(size,)`, the initial state before anything is observed.
        steps: How many; there are `steps + 1` states.
        observations: What is known at times 0 to `steps`.
        initial: Covariance B of the initial state; None = it is known exactly.
        model: Covariance Q of the error of one step; None = the model is exact.
        knot_steps: From one value of the model error to the next.
    """

    dynamics: Dynamics
    background: Array
    steps: int
    observations: Sequence[Observation]
    initial: Covariance | None = None
    model: Covariance | None = None
    knot_steps: int = 1

    def __post_init__(self) -> None:
        if self.steps < 1 or self.knot_steps < 1:
            raise InputError(f"steps: {self.steps} in knots of {self.knot_steps}; both must be at least 1")
        if self.initial is None and self.model is None:
            raise InputError("problem: without covariances of the start or the model nothing is unknown")
        assign(self, background=checked("background", self.background, (None,)))

    @property
    def size(self) -> int:
        """Number of controls."""
        own = 0 if self.initial is None else self.initial.size
        return own + (0 if self.model is None else self.model.size * self._hats.shape[1])

    @cached_property
    def _hats(self) -> Array:
        """Weight of each knot in the model error of each step, `(steps, knots)`."""
        knots = int(np.ceil((self.steps - 1) / self.knot_steps)) + 1
        at = np.arange(self.steps)[:, None] / self.knot_steps
        return np.maximum(0.0, 1.0 - np.abs(at - np.arange(knots)))

    def initial_state(self, controls: Array) -> Array:
        """x_0 of controls, `(size of the state,)`."""
        start = np.array(self.background)
        return start if self.initial is None else start + self.initial.root(controls[: self.initial.size])

    def model_errors(self, controls: Array) -> Array | None:
        """Q^(1/2) w_n `(steps, size of the state)`; None of an exact model."""
        if self.model is None:
            return None
        own = 0 if self.initial is None else self.initial.size
        knots = controls[own:].reshape(self._hats.shape[1], self.model.size)
        return self._hats @ np.stack([self.model.root(knot) for knot in knots])

    def states(self, controls: ArrayLike) -> Array:
        """The trajectory of controls `(size,)`: `(steps + 1, size of the state)`."""
        given = checked("controls", controls, (self.size,))
        states = np.empty((self.steps + 1, len(self.background)))
        states[0] = self.initial_state(given)
        errors = self.model_errors(given)
        for n in range(self.steps):
            states[n + 1] = self.dynamics.step(n, states[n])
            if errors is not None:
                states[n + 1] += errors[n]
        return states

    def cost_and_gradient(self, controls: ArrayLike) -> tuple[float, Array]:
        """J and its gradient `(size,)`."""
        given = np.asarray(controls, dtype=np.float64)
        states = self.states(given)
        cost, forces = 0.5 * float(given @ given), np.zeros_like(states)
        for n, state in enumerate(states):
            for seen in self.observations:
                residual = seen.residual(n, state)
                if residual.size:
                    cost += 0.5 * float(residual @ residual)
                    forces[n] += seen.adjoint(n, state, residual)
        return cost, given + self._pulled_back(states, forces)

    def tangent_states(self, states: Array, direction: Array) -> Array:
        """How the trajectory changes with the controls along a direction: as `states`."""
        moved = np.empty_like(states)
        moved[0] = self.initial_state(direction) - self.background
        errors = self.model_errors(direction)
        for n in range(self.steps):
            moved[n + 1] = self.dynamics.tangent(n, states[n], moved[n])
            if errors is not None:
                moved[n + 1] += errors[n]
        return moved

    def hessian_product(self, states: Array, direction: Array) -> Array:
        """The Gauss–Newton Hessian at a trajectory times a direction `(size,)`."""
        moved = self.tangent_states(states, direction)
        forces = np.zeros_like(states)
        for n, state in enumerate(states):
            for seen in self.observations:
                residual = seen.tangent(n, state, moved[n])
                if residual.size:
                    forces[n] += seen.adjoint(n, state, residual)
        return np.asarray(direction + self._pulled_back(states, forces))

    def _pulled_back(self, states: Array, forces: Array) -> Array:
        """Derivatives by the states `(steps + 1, …)` as one by the controls `(size,)`."""
        knots = None if self.model is None else np.zeros((self._hats.shape[1], self.model.size))
        multiplier = forces[-1].copy()
        for n in range(self.steps - 1, -1, -1):
            if self.model is not None and knots is not None:
                white = self.model.root_adjoint(multiplier)
                for knot in np.flatnonzero(self._hats[n]):
                    knots[knot] += self._hats[n, knot] * white
            multiplier = self.dynamics.adjoint(n, states[n], multiplier) + forces[n]
        parts = [] if self.initial is None else [self.initial.root_adjoint(multiplier)]
        return np.concatenate([*parts, *([] if knots is None else [knots.ravel()])])
