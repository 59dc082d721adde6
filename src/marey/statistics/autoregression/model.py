"""A vector autoregression: each frame follows linearly from those before, plus noise (Courty 2013, 2.3.1).

    x_t − μ = A₁ (x_{t−1} − μ) + … + A_m (x_{t−m} − μ) + ε_t,   ε_t ~ N(0, Q)

All components move together, so what the example coordinates stays coordinated. Simulation costs
O(frames · order · components²); the stationary distribution is found once, by doubling. States are `order`
frames in a row, newest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, assign, checked, derived
from marey._random import Rng
from marey.errors import InputError
from marey.statistics._linear import lower_root, psd_root

if TYPE_CHECKING:
    from marey.statistics.autoregression.stream import Stream


class Transition(NamedTuple):
    """n steps of the state: the matrix Fⁿ, and the covariance Σ Fᵏ Q Fᵏᵀ of the noise gathered."""

    matrix: Array
    covariance: Array

    def then(self, later: Transition) -> Transition:
        """These steps, then the later ones."""
        moved = later.matrix @ self.covariance @ later.matrix.T
        return Transition(later.matrix @ self.matrix, later.covariance + 0.5 * (moved + moved.T))


@dataclass(frozen=True, eq=False)
class VectorAutoregression:
    """How several numbers follow one another over time.

    Args:
        mean: `(components,)`.
        coefficients: `(order, components, components)`, A₁ … A_m.
        noise: `(components, components)`, covariance of what each frame adds.

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

    components = derived(len, "mean", "How many numbers a frame has.")

    order = derived(len, "coefficients", "How many frames back it looks.")

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

    def transition(self, steps: int) -> Transition:
        """So many steps at once, at least one, by doubling: O(log steps · (order · components)³)."""
        whole: Transition | None = None
        for level in range(steps.bit_length()):
            if level == len(self._doublings):
                self._doublings.append(self._doublings[-1].then(self._doublings[-1]))
            if steps >> level & 1:
                part = self._doublings[level]
                whole = part if whole is None else whole.then(part)
        assert whole is not None
        return whole

    def transition_energy(self, steps: int) -> tuple[Array, Array] | None:
        """The matrix Fⁿ of so many steps, and the precision that they give to the states (after, before).

        That is (I, −Fⁿ)ᵀ W⁻¹ (I, −Fⁿ) with W the noise gathered; None where W is too near to singular.
        """
        from scipy.linalg.lapack import dpotrf, dtrtrs

        if steps not in self._energies:
            matrix, covariance = self.transition(steps)
            root, failed = dpotrf(covariance, lower=1)
            # The share of each variance that the numbers before it leave open bounds the rounding errors.
            if failed or (np.diagonal(root) ** 2 < 1e-9 * np.diagonal(covariance)).any():
                self._energies[steps] = None
            else:
                half = dtrtrs(root, np.concatenate([np.eye(len(matrix)), -matrix], axis=1), lower=1)[0]
                self._energies[steps] = matrix, half.T @ half
        return self._energies[steps]

    @cached_property
    def residual_energy(self) -> tuple[Array, Array, Array]:
        """Steps `B = (I, −A₁ … −A_m)` of the residuals, `Q⁻¹B_j` and `B_iᵀQ⁻¹B_j`."""
        steps = np.concatenate([np.eye(self.components)[None], -self.coefficients])
        try:
            weighed = np.linalg.solve(self.noise, steps)
        except np.linalg.LinAlgError as error:
            raise InputError("the model's noise is singular: some numbers never vary freely") from error
        return steps, weighed, steps.swapaxes(1, 2)[:, None] @ weighed

    @cached_property
    def stationary(self) -> Array:
        """Covariance of the state `(order · components)²` in the long run."""
        if self.radius >= 1.0:
            raise InputError(
                f"the model is not stable (spectral radius {self.radius:.6f}): it has no stationary state"
            )
        step = self._doublings[0]
        while np.abs(step.matrix).max() > np.finfo(float).eps ** 1.125:
            step = step.then(step)
        return step.covariance

    @cached_property
    def stationary_precision(self) -> Array:
        """The inverse of :attr:`stationary`."""
        from scipy.linalg import cho_solve

        # Components of equal variance, so that a floor on the diagonal is small beside each.
        scale = 1.0 / np.sqrt(np.maximum(np.diagonal(self.stationary), 1e-300))
        root = lower_root(self.stationary * scale[:, None] * scale)
        return np.asarray(cho_solve((root, True), np.diag(scale)) * scale[:, None])

    @cached_property
    def noise_root(self) -> Array:
        """`F` with `F Fᵀ` the noise covariance."""
        return psd_root(self.noise)

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

        Args:
            frames: How many.
            rng: Seed or generator.
            count: How many series; one, without that axis, if None.
            history: `(order, components)`, the frames before, oldest first; drawn from the stationary
                distribution if None.
        """
        rng = np.random.default_rng(rng)
        number, size, order = (1 if count is None else count), self.components, self.order
        past = np.empty((frames + order, number, size))
        if history is None:
            drawn = rng.standard_normal((number, order * size)) @ psd_root(self.stationary).T
            past[:order] = drawn.reshape(number, order, size).transpose(1, 0, 2)[::-1]
        else:
            past[:order] = (checked("history", history, (order, size)) - self.mean)[:, None]
        past[order:] = rng.standard_normal((frames, number, size)) @ self.noise_root.T
        from marey.statistics.autoregression._kernels import run_forward

        run_forward(past, self.transposed_coefficients)
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
        """Endless simulation frame by frame, see :class:`.stream.Stream`."""
        from marey.statistics.autoregression.stream import Stream

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
    def transposed_coefficients(self) -> Array:
        """A_iᵀ `(order, components, components)`, for rows of series."""
        return np.ascontiguousarray(self.coefficients.swapaxes(1, 2))

    @cached_property
    def _doublings(self) -> list[Transition]:
        push = np.zeros_like(self.companion)
        push[: self.components, : self.components] = self.noise
        return [Transition(self.companion, push)]

    @cached_property
    def _energies(self) -> dict[int, tuple[Array, Array] | None]:
        return {}
