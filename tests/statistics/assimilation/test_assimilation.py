"""Claims about the assimilation engine: exact gradients, and the closed forms of linear Gaussian problems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from marey.errors import InputError
from marey.statistics.assimilation import (
    Diagonal,
    Problem,
    SmoothGrid,
    Stacked,
    assimilate,
)
from tests.statistics.assimilation.operators import dot_product_error, taylor_orders

Array = NDArray[np.float64]


@dataclass
class Linear:
    """x -> A x."""

    matrix: Array

    def step(self, n: int, state: Array) -> Array:
        return self.matrix @ state

    def tangent(self, n: int, state: Array, direction: Array) -> Array:
        return self.matrix @ direction

    def adjoint(self, n: int, state: Array, cotangent: Array) -> Array:
        return self.matrix.T @ cotangent


@dataclass
class Bent:
    """A pendulum-like map: x -> A x + sin(x) / 4."""

    matrix: Array

    def step(self, n: int, state: Array) -> Array:
        return self.matrix @ state + 0.25 * np.sin(state)

    def tangent(self, n: int, state: Array, direction: Array) -> Array:
        return self.matrix @ direction + 0.25 * np.cos(state) * direction

    def adjoint(self, n: int, state: Array, cotangent: Array) -> Array:
        return self.matrix.T @ cotangent + 0.25 * np.cos(state) * cotangent


@dataclass
class Seen:
    """H x with independent errors, at some times."""

    operator: Array
    values: Array
    deviation: float
    every: int = 1

    def residual(self, n: int, state: Array) -> Array:
        return (self.operator @ state - self.values[n])[: self._count(n)] / self.deviation

    def tangent(self, n: int, state: Array, direction: Array) -> Array:
        return (self.operator @ direction)[: self._count(n)] / self.deviation

    def adjoint(self, n: int, state: Array, cotangent: Array) -> Array:
        return self.operator[: self._count(n)].T @ cotangent / self.deviation

    def _count(self, n: int) -> int:
        return len(self.operator) if n % self.every == 0 else 0


STEPS, SIZE = 12, 4


@pytest.fixture
def toy() -> Problem:
    rng = np.random.default_rng(3)
    matrix = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0] * 0.97
    seen = Seen(rng.normal(size=(2, SIZE)), rng.normal(size=(STEPS + 1, 2)), 0.3, every=2)
    deviations = Diagonal([0.5, 1.0, 2.0, 0.7]), Diagonal([0.1, 0.2, 0.3, 0.4])
    return Problem(Linear(matrix), rng.normal(size=SIZE), STEPS, [seen], *deviations)


def smoothed_by_rauch_tung_striebel(toy: Problem) -> tuple[Array, Array]:
    """Means `(times, size)` and covariances `(times, size, size)` by filter and smoother."""
    seen, matrix = toy.observations[0], toy.dynamics.matrix  # type: ignore[attr-defined]
    initial, model = (np.diag(one.deviation**2) for one in (toy.initial, toy.model))  # type: ignore[union-attr]
    noise = np.eye(len(seen.operator)) * seen.deviation**2  # type: ignore[attr-defined]
    mean, spread = toy.background, initial
    means, spreads, ahead = [], [], []
    for n in range(toy.steps + 1):
        if n:
            mean, spread = matrix @ mean, matrix @ spread @ matrix.T + model
        ahead.append((mean, spread))
        if n % seen.every == 0:  # type: ignore[attr-defined]
            h = seen.operator  # type: ignore[attr-defined]
            gain = spread @ h.T @ np.linalg.inv(h @ spread @ h.T + noise)
            mean, spread = mean + gain @ (seen.values[n] - h @ mean), spread - gain @ h @ spread  # type: ignore[attr-defined]
        means.append(mean)
        spreads.append(spread)
    for n in range(toy.steps - 1, -1, -1):
        gain = spreads[n] @ matrix.T @ np.linalg.inv(ahead[n + 1][1])
        means[n] = means[n] + gain @ (means[n + 1] - ahead[n + 1][0])
        spreads[n] = spreads[n] + gain @ (spreads[n + 1] - ahead[n + 1][1]) @ gain.T
    return np.array(means), np.array(spreads)


def test_the_best_trajectory_is_that_of_the_normal_equations(toy: Problem) -> None:
    # J is quadratic: its Hessian by columns, its gradient at zero.
    states = toy.states(np.zeros(toy.size))
    hessian = np.stack([toy.hessian_product(states, unit) for unit in np.eye(toy.size)])
    exact = np.linalg.solve(hessian, -toy.cost_and_gradient(np.zeros(toy.size))[1])
    found = assimilate(toy, iterations=300, tolerance=1e-12)
    assert np.abs(found.controls - exact).max() < 1e-8
    assert (np.diff(found.costs) <= 1e-12).all()
    assert assimilate(toy).converged and not assimilate(toy, iterations=2).converged


def test_the_best_trajectory_is_the_smoothed_mean(toy: Problem) -> None:
    means, _ = smoothed_by_rauch_tung_striebel(toy)
    found = assimilate(toy, iterations=300, tolerance=1e-12)
    assert np.abs(found.states - means).max() < 1e-8
    assert np.abs(found.initial_correction - (means[0] - toy.background)).max() < 1e-8


def test_the_spread_is_that_of_the_smoother(toy: Problem) -> None:
    _, spreads = smoothed_by_rauch_tung_striebel(toy)
    found = assimilate(toy, iterations=300, tolerance=1e-12)
    exact = np.sqrt(np.diagonal(spreads, axis1=1, axis2=2))
    spread = found.deviations(samples=2000, modes=toy.size - 1)
    assert np.abs(spread / exact - 1).max() < 0.08


def test_gradients_of_a_nonlinear_problem_are_exact(toy: Problem) -> None:
    problem = Problem(
        Bent(toy.dynamics.matrix),  # type: ignore[attr-defined]
        toy.background,
        STEPS,
        toy.observations,
        toy.initial,
        toy.model,
        knot_steps=4,
    )
    rng = np.random.default_rng(0)
    assert problem.size == SIZE * (1 + 4)  # knots at 0, 4, 8, 12
    at, direction = rng.normal(size=(2, problem.size))
    gradient = problem.cost_and_gradient(at)[1]
    orders = taylor_orders(
        lambda z: np.array([problem.cost_and_gradient(z)[0]]),
        lambda d: np.array([gradient @ d]),
        at,
        direction,
        np.logspace(-1, -5, 5),
    )
    assert np.abs(orders - 2).max() < 0.05


def test_trajectories_change_as_their_tangent_says(toy: Problem) -> None:
    rng = np.random.default_rng(1)
    direction = rng.normal(size=toy.size)
    states = toy.states(np.zeros(toy.size))
    moved = toy.tangent_states(states, direction)
    assert np.abs(toy.states(direction) - states - moved).max() < 1e-12
    # The Gauss–Newton Hessian is symmetric.
    first, second = rng.normal(size=(2, toy.size))
    products = [toy.hessian_product(states, one) for one in (first, second)]
    assert abs(second @ products[0] - first @ products[1]) < 1e-10 * np.linalg.norm(products[0])


def test_roots_of_covariances_are_transposed_by_their_adjoints() -> None:
    rng = np.random.default_rng(2)
    open_cells = rng.random((9, 12)) > 0.2
    smooth = SmoothGrid(open_cells, 0.3, 2.0)
    for covariance in (smooth, Stacked([smooth, Diagonal([0.0, 2.0])])):
        assert dot_product_error(covariance.root, covariance.root_adjoint, covariance.size, rng) < 1e-12


def test_a_smooth_field_has_its_deviation_and_length_and_stops_at_walls() -> None:
    open_cells = np.ones((41, 41), dtype=bool)
    open_cells[:, 30] = False
    smooth = SmoothGrid(open_cells, 0.3, 3.0)
    numbers = np.full(open_cells.shape, -1)
    numbers[open_cells] = np.arange(smooth.size)
    unit = np.zeros(smooth.size)
    unit[numbers[20, 15]] = 1.0
    covariance = np.zeros(open_cells.shape)
    covariance[open_cells] = smooth.root(smooth.root_adjoint(unit))
    assert abs(covariance[20, 15] - 0.09) < 1e-4
    assert abs(covariance[20, 18] / covariance[20, 15] - np.exp(-0.5)) < 0.03
    assert (covariance[:, 31:] == 0).all()


def test_what_leaves_nothing_to_find_is_refused() -> None:
    with pytest.raises(InputError, match="nothing is unknown"):
        Problem(Linear(np.eye(2)), np.zeros(2), 3, [])
    with pytest.raises(InputError, match="at least 1"):
        Problem(Linear(np.eye(2)), np.zeros(2), 0, [], Diagonal([1.0, 1.0]))
    with pytest.raises(InputError, match="negative"):
        Diagonal([-1.0])
