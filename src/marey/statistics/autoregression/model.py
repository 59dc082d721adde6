"""A vector autoregression: each frame follows linearly from those before, plus noise (Courty 2013, 2.3.1).

    x_t − μ = A₁ (x_{t−1} − μ) + … + A_m (x_{t−m} − μ) + ε_t,   ε_t ~ N(0, Q)

All components move together, so what the example coordinates stays coordinated. Simulation costs
O(frames · order · components²); the stationary law is solved once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import assign, checked
from marey.errors import InputError

Array = NDArray[np.float64]
Seed = np.random.Generator | int | None


@dataclass(frozen=True, eq=False)
class VectorAutoregression:
    """How several numbers follow one another over time.

    mean: `(components,)`
    coefficients: `(order, components, components)`, A₁ … A_m
    noise: `(components, components)`, covariance of what each frame adds

    >>> swing = VectorAutoregression([0.0], [[[1.9]], [[-0.95]]], [[0.01]])
    >>> swing.sample(200, rng=0).shape, round(swing.radius, 3)
    ((200, 1), 0.975)
    """

    mean: Array
    coefficients: Array
    noise: Array

    def __post_init__(self) -> None:
        mean = checked("mean", self.mean, (None,))
        size = len(mean)
        coefficients = checked("coefficients", self.coefficients, (None, size, size))
        noise = checked("noise", self.noise, (size, size))
        if not len(coefficients):
            raise InputError("coefficients: at least order 1")
        if np.abs(noise - noise.T).max(initial=0.0) > 1e-8 * max(1e-300, np.abs(noise).max(initial=0.0)):
            raise InputError("noise: a covariance is symmetric")
        assign(self, mean=mean, coefficients=coefficients, noise=noise)

    @property
    def components(self) -> int:
        """How many numbers a frame has."""
        return len(self.mean)

    @property
    def order(self) -> int:
        """How many frames back it looks."""
        return len(self.coefficients)

    @cached_property
    def companion(self) -> Array:
        """The first-order form `(order · components)²` of the recursion, newest frame first."""
        size, order = self.components, self.order
        matrix = np.eye(order * size, k=-size)
        matrix[:size] = np.concatenate(list(self.coefficients), axis=1)
        return matrix

    @cached_property
    def radius(self) -> float:
        """Spectral radius of the recursion: below 1 it is stable."""
        return float(np.abs(np.linalg.eigvals(self.companion)).max())

    @cached_property
    def stationary(self) -> Array:
        """Covariance of `order` frames in a row `(order · components)²`, newest first, in the long run."""
        if self.radius >= 1.0:
            raise InputError(f"the model is not stable (spectral radius {self.radius:.6f}): it has no law")
        from scipy.linalg import solve_discrete_lyapunov

        push = np.zeros_like(self.companion)
        push[: self.components, : self.components] = self.noise
        found = solve_discrete_lyapunov(self.companion, push)
        return np.asarray(0.5 * (found + found.T))

    def covariances(self, lags: int) -> Array:
        """Covariances `(lags, components, components)` of a frame with those before: E[x_t x_{t−h}ᵀ]."""
        size, order = self.components, self.order
        found = np.empty((max(lags, order), size, size))
        found[:order] = self.stationary[:size].reshape(size, order, size).swapaxes(0, 1)
        for lag in range(order, lags):
            found[lag] = np.einsum("iab,ibc->ac", self.coefficients, found[lag - order : lag][::-1])
        return found[:lags]

    def sample(
        self, frames: int, *, rng: Seed = None, count: int | None = None, history: ArrayLike | None = None
    ) -> Array:
        """New series `(frames, components)`, or `(count, frames, components)`.

        history: `(order, components)`, the frames before, oldest first; drawn from the long run if None
        """
        rng = np.random.default_rng(rng)
        number, size, order = (1 if count is None else count), self.components, self.order
        past = np.empty((frames + order, number, size))
        if history is None:
            drawn = rng.standard_normal((number, order * size)) @ factor(self.stationary).T
            past[:order] = drawn.reshape(number, order, size).transpose(1, 0, 2)[::-1]
        else:
            past[:order] = (checked("history", history, (order, size)) - self.mean)[:, None]
        push = rng.standard_normal((frames, number, size)) @ factor(self.noise).T
        step = self.companion[:size].T
        for t in range(frames):
            past[t + order] = (
                push[t] + past[t : t + order][::-1].transpose(1, 0, 2).reshape(number, -1) @ step
            )
        made = np.ascontiguousarray((past[order:] + self.mean).transpose(1, 0, 2))
        return made[0] if count is None else made

    def residuals(self, series: ArrayLike) -> Array:
        """What each frame adds `(frames − order, components)`: the frame minus what was expected."""
        centred = np.asarray(series, dtype=np.float64) - self.mean
        order = self.order
        found = centred[order:].copy()
        for i, matrix in enumerate(self.coefficients, start=1):
            found -= centred[order - i : len(centred) - i] @ matrix.T
        return found


def factor(covariance: Array) -> Array:
    """A matrix `F` with `F Fᵀ` the covariance, also where that is singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
