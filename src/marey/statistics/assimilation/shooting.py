"""The best trajectory by shooting: L-BFGS on the white controls (Courty 2013, sections 6.2.2 and 7.2.2).

Unlike the published update, which adds the step of the data term alone, this minimises the cost that is
stated. Suited to smooth dynamics. Cost: about one run forwards and one backwards an iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey._random import Rng, as_generator
from marey._work import Progress
from marey.statistics.assimilation.problem import Problem

CORRECTIONS = 20
"""Pairs of steps and gradients by which L-BFGS approximates the Hessian."""


@dataclass(frozen=True, eq=False)
class Assimilation:
    """The best trajectory of a problem.

    Attributes:
        problem: What was solved.
        controls: White controls, `(size,)`.
        states: `(steps + 1, size of the state)`.
        costs: J after each iteration, the first before any.
        evaluations: Gradients computed.
        gradient_norm: Of the last gradient.
        converged: Whether it fell below the tolerance.
    """

    problem: Problem
    controls: Array
    states: Array
    costs: Array
    evaluations: int
    gradient_norm: float
    converged: bool

    @property
    def initial_correction(self) -> Array:
        """By how much the initial state differs from the background, `(size of the state,)`."""
        return np.asarray(self.states[0] - self.problem.background)

    @property
    def model_errors(self) -> Array | None:
        """Found errors of each step, `(steps, size of the state)`; None of an exact model."""
        return self.problem.model_errors(self.controls)

    def deviations(self, *, samples: int = 30, modes: int = 20, rng: Rng = 0) -> Array:
        """Posterior standard deviations of all states, `(steps + 1, size of the state)`.

        The Gauss–Newton Hessian is I + G with G known in its leading eigenvectors (Lanczos); elsewhere the
        observations count for nothing, so few modes overestimate the spread. Its own relative error by
        sampling is about 1 / √(2 samples).

        Args:
            samples: Trajectories drawn.
            modes: Eigenvectors, fewer than the controls.
            rng: Random numbers.
        """
        from scipy.sparse.linalg import LinearOperator, eigsh

        problem, size = self.problem, len(self.controls)
        random = as_generator(rng)
        data = LinearOperator(
            (size, size),
            matvec=lambda z: problem.hessian_product(self.states, np.ravel(z)) - np.ravel(z),
            dtype=np.float64,
        )
        values, vectors = eigsh(data, k=min(modes, size - 1), v0=random.normal(size=size))
        shrink = 1.0 / np.sqrt(1.0 + np.maximum(values, 0.0)) - 1.0
        total = np.zeros_like(self.states)
        for _ in range(samples):
            white = random.normal(size=size)
            total += (
                problem.tangent_states(self.states, white + vectors @ (shrink * (vectors.T @ white))) ** 2
            )
        return np.sqrt(total / samples)


def assimilate(
    problem: Problem,
    *,
    start: Array | None = None,
    iterations: int = 60,
    tolerance: float = 1e-4,
    progress: Progress | None = None,
) -> Assimilation:
    """The trajectory of least cost.

    Args:
        problem: Dynamics, observations and covariances.
        start: Controls to begin from; zeros if None.
        iterations: The most.
        tolerance: Stop when the gradient is so many times smaller than at the start.
        progress: Called with the iterations done and the most there may be.

    >>> from marey.statistics.assimilation import Diagonal
    >>> class Still:
    ...     def step(self, n, state): return state
    ...     def tangent(self, n, state, direction): return direction
    ...     def adjoint(self, n, state, cotangent): return cotangent
    >>> class Seen:  # the value 1, with deviation 1, at time 1
    ...     def residual(self, n, state): return (state - 1.0)[: n == 1]
    ...     def tangent(self, n, state, direction): return direction[: n == 1]
    ...     def adjoint(self, n, state, cotangent): return cotangent
    >>> problem = Problem(Still(), np.zeros(1), 1, [Seen()], initial=Diagonal([1.0]))
    >>> assimilate(problem).states[:, 0].round(6).tolist()
    [0.5, 0.5]
    """
    from scipy.optimize import minimize

    zero = np.zeros(problem.size) if start is None else np.array(start, dtype=np.float64)
    begun = [problem.cost_and_gradient(zero)]
    costs, least = [begun[0][0]], tolerance * float(np.abs(begun[0][1]).max(initial=0.0))

    def evaluated(controls: Array) -> tuple[float, Array]:
        # The first point asked for is the one that the tolerance was found at.
        return begun.pop() if begun else problem.cost_and_gradient(controls)

    def note(intermediate_result: object) -> None:
        costs.append(float(intermediate_result.fun))  # type: ignore[attr-defined]
        if progress is not None:
            progress(len(costs) - 1, iterations)

    found = minimize(
        evaluated,
        zero,
        jac=True,
        method="L-BFGS-B",
        callback=note,
        options={
            "maxiter": iterations,
            "maxfun": 3 * iterations,
            "maxcor": CORRECTIONS,
            "gtol": least,
            "ftol": 0.0,
        },
    )
    controls = np.asarray(found.x, dtype=np.float64)
    gradient_norm = float(np.linalg.norm(found.jac))
    return Assimilation(
        problem,
        controls,
        problem.states(controls),
        np.array(costs),
        int(found.nfev),
        gradient_norm,
        bool(np.abs(found.jac).max(initial=0.0) <= least),
    )
