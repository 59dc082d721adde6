"""The Gaussian process whose covariances are those of an example, at every lag and between all components.

A series is the example itself, played from all times at once with random weights: x_t = Σ_k e_k w_{t−k} / √N
with white w has E[x_t x_{t−h}ᵀ] = (1/N) Σ e_k e_{k−h}ᵀ, the example's sample covariances. So nothing of its
second order is lost, which is what Courty & Cuzol 2010, section 7, ask for; constraints are met by kriging in
the weights. The example's ends are tapered, else its first and last frame would come as noise. O(frames log
frames) a draw; n constraints cost n² (frames + example) once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, assign, checked, derived, width
from marey.errors import InputError
from marey.statistics.processes.process import LinearConstraint

# Share of the example that fades at each end.
TAPER = 0.1
# Eigenvalues of the constraints' covariance below this share of the largest count as met already.
NEGLIGIBLE = 1e-13


@dataclass(frozen=True, eq=False)
class ExampleProcess:
    """Series about 0 that vary together, over time and across components, as an example does.

    Args:
        example: `(frames, components)`, about 0.

    >>> example = np.sin(np.arange(200)[:, None] / 8 + [0.0, 1.0])
    >>> process = ExampleProcess(example)
    >>> process.sample(300, rngs=[0, 1]).shape, float(process.covariances(1)[0, 0, 0].round(2))
    ((2, 300, 2), 0.5)
    """

    example: Array

    def __post_init__(self) -> None:
        assign(self, example=checked("example", self.example, (None, None)))

    @classmethod
    def of(cls, series: ArrayLike, *, taper: float = TAPER) -> ExampleProcess:
        """The process of a series about 0, faded in and out and scaled to its old variance.

        Args:
            series: `(frames, components)`.
            taper: Share of the frames that fade at each end.
        """
        values = checked("series", series, (None, None))
        frames = len(values)
        long = max(taper * frames, 1.0)
        away = np.minimum(np.arange(frames) + 0.5, np.arange(frames)[::-1] + 0.5)
        faded = values * np.sin(0.5 * np.pi * np.minimum(away / long, 1.0))[:, None] ** 2
        before, after = (values**2).sum(axis=0), (faded**2).sum(axis=0)
        return cls(faded * np.sqrt(before / np.maximum(after, 1e-300)))

    components = derived(width, "example", "How many numbers a frame has.")

    def covariances(self, lags: int) -> Array:
        """Covariances `(lags, components, components)` of a frame with those before: E[x_t x_{t−h}ᵀ]."""
        frames = len(self.example)
        spectrum = np.fft.rfft(self.example, 2 * frames, axis=0)
        found = np.fft.irfft(spectrum[:, :, None] * spectrum[:, None].conj(), 2 * frames, axis=0) / frames
        whole = np.zeros((lags, self.components, self.components))
        whole[: min(lags, frames)] = found[: min(lags, frames)]
        return whole

    def degrees_of_freedom(self, frames: int) -> int:
        """How many numbers of a series of so many frames can be constrained."""
        return frames + len(self.example) - 1

    def sample(
        self,
        frames: int,
        *,
        rngs: Sequence[np.random.Generator | np.random.SeedSequence | int],
        constraints: Sequence[LinearConstraint] = (),
    ) -> Array:
        """New series `(draws, frames, components)`, one a generator or seed, that meet the constraints."""
        length = self.degrees_of_freedom(frames)
        weights = np.stack([np.random.default_rng(rng).standard_normal(length) for rng in rngs])
        if constraints:
            weights = self._constrained(weights, frames, constraints)
        return self._played(weights, frames)

    def _played(self, weights: Array, frames: int) -> Array:
        from scipy.fft import irfft, next_fast_len, rfft

        # What wraps around falls on frames before the first.
        size = next_fast_len(weights.shape[1], real=True)
        shape = rfft(self.example, size, axis=0) / np.sqrt(len(self.example))
        made = irfft(rfft(weights, size, axis=1)[:, :, None] * shape, size, axis=1)
        start = len(self.example) - 1
        return np.ascontiguousarray(made[:, start : start + frames])

    def _constrained(self, weights: Array, frames: int, constraints: Sequence[LinearConstraint]) -> Array:
        rows = np.concatenate([self._rows(constraint, frames) for constraint in constraints])
        if len(rows) > rows.shape[1]:
            raise InputError(
                f"{len(rows)} constraints are more than the {rows.shape[1]} numbers of the series"
            )
        values = np.concatenate(
            [np.broadcast_to(np.asarray(c.value, dtype=float), (self.components,)) for c in constraints]
        )
        sizes, along = np.linalg.eigh(rows @ rows.T)
        free = sizes > NEGLIGIBLE * max(sizes[-1], 1e-300)
        inverse = (along[:, free] / sizes[free]) @ along[:, free].T
        for _ in range(2):  # the second round takes away what rounding left
            weights = weights + (values - weights @ rows.T) @ inverse @ rows
        return weights

    def _rows(self, constraint: LinearConstraint, frames: int) -> Array:
        """How the weights make the weighted sums, `(components, weights)`."""
        long = len(self.example)
        rows = np.zeros((self.components, self.degrees_of_freedom(frames)))
        backwards = self.example[::-1].T / np.sqrt(long)
        for frame, weight in zip(constraint.frames, constraint.weights, strict=True):
            rows[:, frame : frame + long] += weight * backwards
        return rows


def autocovariances(series: ArrayLike, lags: int) -> Array:
    """Sample covariances `(..., lags, components)` of each component of `(..., frames, components)` with
    itself, about its mean and divided by the frames, so that they belong to a process.

    >>> autocovariances(np.array([[1.0], [-1.0], [1.0], [-1.0]]), 2).ravel().tolist()
    [1.0, -0.75]
    """
    values = np.asarray(series, dtype=np.float64)
    frames = values.shape[-2]
    spectrum = np.fft.rfft(values - values.mean(axis=-2, keepdims=True), 2 * frames, axis=-2)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, 2 * frames, axis=-2)[..., :lags, :] / frames)
