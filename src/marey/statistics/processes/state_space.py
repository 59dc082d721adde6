"""Matérn covariances as linear systems: likelihood, smoother and conditional draws.

Exact for even frames and any missing values (Courty 2013, section 3.2; a Kalman filter takes the place
of dense matrices). Draws given data are unconditional ones corrected by the smoother (Matheron's rule), so
their distribution is the joint posterior. Cost: frames x states² a draw, frames x states³ once a component,
less where its covariances settle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array
from marey.errors import InputError
from marey.statistics.processes.covariances import Matern

# Imaginary step of a parameter, so small that its square vanishes beside 1.
STEP = 1e-30
# Numbers below which a thread costs more than it helps.
WORTH_A_THREAD = 100_000


class System(NamedTuple):
    """How states move from frame to frame; the first state is the process.

    Args:
        A: `(components, n, n)`, transition.
        Q: `(components, n, n)`, covariance of what a step adds.
        P0: `(components, n, n)`, stationary covariance.
    """

    A: Array
    Q: Array
    P0: Array


class Sums(NamedTuple):
    """Of the `number` of innovations of one series: log variances, squares over variances, and their slopes.

    Slopes `(3,)` are by the logarithms of variance, length and noise.
    """

    number: int
    logs: float
    squares: float
    log_slopes: Array
    square_slopes: Array

    @classmethod
    def of(cls, run: Callable[[complex, complex], tuple[complex, complex]], noise: float, count: int) -> Sums:
        """From both sums as a function of an imaginary step of the log-length, and of the noise.

        Variance and noise scaled together move all `count` logarithms equally and divide the squares: that
        gives the slopes by the variance.
        """
        logs, squares = run(STEP * 1j, noise)
        by_length = np.array([logs.imag, squares.imag]) / STEP
        by_noise = np.array(run(0j, noise * (1 + STEP * 1j))).imag / STEP
        by_variance = np.array([count, -squares.real]) - by_noise
        slopes = np.stack([by_variance, by_length, by_noise], axis=1)
        return cls(count, float(logs.real), float(squares.real), *slopes)

    @property
    def log_likelihood(self) -> tuple[float, Array]:
        """Log-likelihood of the values, and its gradient."""
        value = -0.5 * (self.logs + self.squares + self.number * np.log(2 * np.pi))
        return float(value), -0.5 * (self.log_slopes + self.square_slopes)


def innovation_sums(
    covariance: Matern, noise: float, frame_rate: float, series: ArrayLike, known: ArrayLike | None = None
) -> Sums:
    """The likelihood of one series `(frames,)`, of which some values may be missing, by the filter.

    >>> from marey.statistics.processes.covariances import Matern12
    >>> value, _ = innovation_sums(Matern12(1.0, 0.5), 0.1, 1.0, [0.3, -0.2]).log_likelihood
    >>> C = np.array([[1.1, np.exp(-2.0)], [np.exp(-2.0), 1.1]])
    >>> x = np.array([0.3, -0.2])
    >>> dense = -0.5 * (x @ np.linalg.solve(C, x) + np.log(np.linalg.det(2 * np.pi * C)))
    >>> bool(np.isclose(value, dense, rtol=1e-12))
    True
    """
    from marey.statistics.processes import _kernels

    values = np.asarray(series, dtype=float)
    valid = np.ones(len(values), dtype=bool) if known is None else np.ascontiguousarray(known, dtype=bool)
    values = np.where(valid, values, 0.0)
    A, Q, P0 = (matrices[0] for matrices in system_of(covariance, frame_rate))
    slope = covariance.transition_slopes([1 / frame_rate])[0, 0]
    moved = slope @ P0 @ A.T

    def run(step: complex, errors: complex) -> tuple[complex, complex]:
        added = Q - step * (moved + moved.T)
        sums = _kernels.filter_sums(values, valid, A + step * slope, added, P0 + 0j, complex(errors))
        return complex(sums[0]), complex(sums[1])

    return Sums.of(run, noise, int(valid.sum()))


def prior_sample(
    covariance: Matern, frame_rate: float, frames: int, *, draws: int, rng: np.random.Generator
) -> Array:
    """Unconditional draws `(draws, frames, components)`."""
    from marey.statistics.processes import _kernels

    A, Q, P0 = system_of(covariance, frame_rate)
    noise = rng.standard_normal((len(A), draws, frames, A.shape[-1]))
    noise = np.ascontiguousarray(noise.transpose(2, 0, 3, 1))
    first, roots = _kernels.lower_roots(P0), _kernels.lower_roots(Q)
    values = np.empty((frames, len(A), draws))
    states = first @ noise[0]
    values[0] = states[:, 0]

    def run(start: int, stop: int) -> None:
        _kernels.advance(start, stop, states, A, roots, noise[1:], values[1:])

    by_components(run, len(A), noise.size)
    return np.ascontiguousarray(values.transpose(2, 0, 1))


def smoothed(
    covariance: Matern,
    frame_rate: float,
    series: ArrayLike,
    known: ArrayLike,
    noise: ArrayLike,
    *,
    variance: bool = True,
) -> tuple[Array, Array]:
    """Posterior means, shaped as `series`, and variances `(frames, components)`.

    Args:
        covariance: Of the process.
        frame_rate: Frames a second.
        series: `(..., frames, components)`.
        known: Which values count, broadcast to `(frames, components)`.
        noise: Variance of each value's error, 0 if it must be met, broadcast to `(frames, components)`.
        variance: Whether to compute variances; they are empty otherwise.
    """
    from marey.statistics.processes import _kernels

    system = system_of(covariance, frame_rate)
    values = np.asarray(series, dtype=float)
    shape = values.shape
    if shape[-1] != covariance.components:
        raise InputError(f"expected values (..., frames, {covariance.components}), got {shape}")
    valid = np.ascontiguousarray(np.broadcast_to(np.asarray(known, bool), shape[-2:]).T)
    errors = np.ascontiguousarray(np.broadcast_to(np.asarray(noise, float), shape[-2:]).T)
    given = np.moveaxis(values.reshape(-1, *shape[-2:]), -1, 0)
    given = np.ascontiguousarray(np.where(valid[:, None], given, 0.0))
    means, variances = np.empty_like(given), np.zeros(valid.shape)

    def run(start: int, stop: int) -> None:
        _kernels.smooth(start, stop, given, valid, errors, *system, variance, means, variances)

    by_components(run, covariance.components, 2 * given.size * system.A.shape[-1])
    return np.moveaxis(means, 0, -1).reshape(shape), variances.T if variance else np.empty((0, 0))


def system_of(covariance: Matern, frame_rate: float) -> System:
    """The linear system of a covariance on even frames."""
    A = covariance.transitions([1 / frame_rate])[0]
    P0 = covariance.stationary_covariance()
    return System(A, P0 - A @ P0 @ A.swapaxes(-1, -2), P0)


def by_components(run: Callable[[int, int], None], components: int, numbers: int) -> None:
    """`run(start, stop)` of ranges of components, by threads if there are many numbers."""
    _work.spread(run, components, least=max(1, -(-WORTH_A_THREAD * components // max(numbers, 1))))
