"""A vector autoregression: each frame follows linearly from those before, plus noise (Courty 2013, 2.3.1).

    x_t − μ = A₁ (x_{t−1} − μ) + … + A_m (x_{t−m} − μ) + ε_t,   ε_t ~ N(0, Q)

All components move together, so what the example coordinates stays coordinated. Simulation costs
O(frames · order · components²); the stationary law is found once, by doubling.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import assign, checked
from marey._random import Rng
from marey.errors import InputError
from marey.statistics.autoregression.jumps import NOTHING, Jumps

if TYPE_CHECKING:
    from marey.statistics.autoregression.streaming import Stream

Array = NDArray[np.float64]


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
        try:
            jumps = self.jumps
        except InputError:
            return self._stationary_of_any_noise()
        return _turned(jumps.stationary(), self.order, self.components)

    @cached_property
    def long_run_precision(self) -> Array:
        """Inverse covariance of `order` frames in a row `(order · components)²`, oldest first."""
        return self.jumps.precision()

    @cached_property
    def jumps(self) -> Jumps:
        """What many steps at once do to the state."""
        return Jumps(self)

    @cached_property
    def noise_factor(self) -> Array:
        """`F` with `F Fᵀ` the noise covariance."""
        try:
            return np.asarray(np.linalg.cholesky(self.noise))
        except np.linalg.LinAlgError:
            return factor(self.noise)

    @cached_property
    def steps_forward(self) -> Array:
        """A_iᵀ `(order, components, components)`, for rows of series."""
        return np.array(self.coefficients.swapaxes(1, 2), order="C")

    @cached_property
    def steps_backward(self) -> Array:
        """A_i `(order, components, components)`, for rows of series."""
        return np.array(self.coefficients, order="C")

    def covariances(self, lags: int) -> Array:
        """Covariances `(lags, components, components)` of a frame with those before: E[x_t x_{t−h}ᵀ]."""
        size, order = self.components, self.order
        found = np.empty((max(lags, order), size, size))
        found[:order] = self.stationary[:size].reshape(size, order, size).swapaxes(0, 1)
        for lag in range(order, lags):
            found[lag] = np.einsum("iab,ibc->ac", self.coefficients, found[lag - order : lag][::-1])
        return found[:lags]

    def sample(
        self, frames: int, *, rng: Rng = None, count: int | None = None, history: ArrayLike | None = None
    ) -> Array:
        """New series `(frames, components)`, or `(count, frames, components)`.

        history: `(order, components)`, the frames before, oldest first; drawn from the long run if None
        """
        rng = np.random.default_rng(rng)
        number, size, order = (1 if count is None else count), self.components, self.order
        past = np.empty((frames + order, number, size))
        if history is None:
            drawn = rng.standard_normal((number, order * size)) @ self._stationary_factor.T
            past[:order] = drawn.reshape(number, order, size).transpose(1, 0, 2)[::-1]
        else:
            past[:order] = (checked("history", history, (order, size)) - self.mean)[:, None]
        past[order:] = rng.standard_normal((frames, number, size)) @ self.noise_factor.T
        from marey.statistics.autoregression._kernels import run_forward

        run_forward(past, self.steps_forward)
        made = np.ascontiguousarray((past[order:] + self.mean).transpose(1, 0, 2))
        return made[0] if count is None else made

    def stream(
        self,
        rng: Rng = None,
        *,
        characters: int | None = None,
        history: ArrayLike | None = None,
        horizon: int | None = None,
    ) -> Stream:
        """Endless simulation frame by frame, see :class:`.streaming.Stream`."""
        from marey.statistics.autoregression.streaming import Stream

        return Stream(self, rng, characters=characters, history=history, horizon=horizon)

    def residuals(self, series: ArrayLike) -> Array:
        """What each frame adds `(frames − order, components)`: the frame minus what was expected."""
        centred = np.asarray(series, dtype=np.float64) - self.mean
        order = self.order
        found = centred[order:].copy()
        for i, matrix in enumerate(self.coefficients, start=1):
            found -= centred[order - i : len(centred) - i] @ matrix.T
        return found

    @cached_property
    def _stationary_factor(self) -> Array:
        return factor(self.stationary)

    def _stationary_of_any_noise(self) -> Array:
        if self.radius >= 1.0:
            raise InputError(f"the model is not stable (spectral radius {self.radius:.6f}): it has no law")
        found, step = np.zeros_like(self.companion), self.companion
        found[: self.components, : self.components] = self.noise
        while np.abs(step).max() > NOTHING:
            found, step = found + step @ found @ step.T, step @ step
        return 0.5 * (found + found.T)


def factor(covariance: Array) -> Array:
    """A matrix `F` with `F Fᵀ` the covariance, also where that is singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _turned(covariance: Array, order: int, size: int) -> Array:
    """Oldest frame first made newest first."""
    grid = covariance.reshape(order, size, order, size)[::-1, :, ::-1]
    return np.ascontiguousarray(grid).reshape(covariance.shape)
