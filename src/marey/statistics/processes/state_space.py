"""Matérn covariances as linear systems: likelihood, smoother and conditional draws.

Exact for any sorted times and any missing values (Courty 2013, section 3.2; a Kalman filter takes the place
of dense matrices). Draws given data are unconditional ones corrected by the smoother (Matheron's rule), so
their distribution is the joint posterior. Cost: times x states² a draw, times x states³ once a component; on
even steps the covariances settle after a few frames and are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array, Integers
from marey.errors import InputError
from marey.statistics.processes.covariances import Matern

# Steps that differ by less than this many seconds are the same.
SAME_STEP = 1e-10
# Numbers below which a thread costs more than it helps.
WORTH_A_THREAD = 100_000


class System(NamedTuple):
    """How states move over each step; the first state is the process.

    Args:
        which: `(times,)`, the step that leads to each time.
        A: `(components, steps, n, n)`, transition.
        Q: `(components, steps, n, n)`, covariance of what a step adds.
        P0: `(components, n, n)`, stationary covariance.
    """

    which: Integers
    A: Array
    Q: Array
    P0: Array


class Sums(NamedTuple):
    """Of the innovations of one series: log variances, squares over variances, and their slopes."""

    logs: float
    squares: float
    log_slopes: Array
    square_slopes: Array

    def log_likelihood(self, count: int) -> tuple[float, Array]:
        """Log-likelihood of `count` values, and its gradient."""
        value = -0.5 * (self.logs + self.squares + count * np.log(2 * np.pi))
        return float(value), -0.5 * (self.log_slopes + self.square_slopes)


def innovation_sums(
    covariance: Matern, noise: float, times: ArrayLike, series: ArrayLike, known: ArrayLike | None = None
) -> Sums:
    """The likelihood of one series `(times,)`; slopes by the logarithms of variance, length and noise."""
    from marey.statistics.processes import _kernels

    values = np.asarray(series, dtype=float)
    valid = np.ones(len(values), dtype=bool) if known is None else np.ascontiguousarray(known, dtype=bool)
    steps, which = _distinct_steps(times)
    A, dA = covariance.transitions(steps)[:, 0], covariance.transition_slopes(steps)[:, 0]
    P0 = covariance.stationary_covariance()[0]
    AT = A.swapaxes(-1, -2)
    Q, moved = P0 - A @ P0 @ AT, dA @ P0 @ AT
    zero = np.zeros_like(A)
    return Sums(
        *_kernels.filter_sums(
            np.where(valid, values, 0.0),
            valid,
            which,
            np.ascontiguousarray(A),
            Q,
            P0,
            float(noise),
            np.stack([zero, dA, zero], axis=1),
            np.stack([Q, -moved - moved.swapaxes(-1, -2), zero], axis=1),
            np.stack([P0, zero[0], zero[0]]),
            np.array([0.0, 0.0, noise]),
        )
    )


def log_likelihood(
    covariance: Matern, noise: float, times: ArrayLike, series: ArrayLike, known: ArrayLike | None = None
) -> tuple[float, Array]:
    """Log-likelihood of one series, and its gradient by the logarithms of variance, length and noise.

    >>> from marey.statistics.processes.covariances import Matern12
    >>> value, _ = log_likelihood(Matern12(1.0, 0.5), 0.1, [0.0, 1.0], [0.3, -0.2])
    >>> C = np.array([[1.1, np.exp(-2.0)], [np.exp(-2.0), 1.1]])
    >>> x = np.array([0.3, -0.2])
    >>> dense = -0.5 * (x @ np.linalg.solve(C, x) + np.log(np.linalg.det(2 * np.pi * C)))
    >>> bool(np.isclose(value, dense, rtol=1e-12))
    True
    """
    count = len(np.asarray(series)) if known is None else int(np.sum(known))
    return innovation_sums(covariance, noise, times, series, known).log_likelihood(count)


def prior_sample(
    covariance: Matern, times: ArrayLike | System, *, draws: int, rng: np.random.Generator
) -> Array:
    """Unconditional draws `(draws, times, components)`."""
    from marey.statistics.processes import _kernels

    system = system_of(covariance, times)
    components, _, n, _ = system.A.shape
    noise = rng.standard_normal((components, draws, len(system.which), n))
    values = np.empty(noise.shape[:3])
    first, roots = _kernels.lower_roots(system.P0[:, None])[:, 0], _kernels.lower_roots(system.Q)

    def run(start: int, stop: int) -> None:
        _kernels.prior_paths(start, stop, system.which, system.A, roots, first, noise, values)

    by_components(run, components, noise.size)
    return np.moveaxis(values, 0, -1)


def smoothed(
    covariance: Matern,
    times: ArrayLike | System,
    series: ArrayLike,
    known: ArrayLike,
    noise: ArrayLike,
    *,
    variance: bool = True,
) -> tuple[Array, Array]:
    """Posterior means, shaped as `series`, and variances `(times, components)`.

    Args:
        covariance: Of the process.
        times: Seconds, ascending.
        series: `(..., times, components)`.
        known: Which values count, broadcast to `(times, components)`.
        noise: Variance of each value's error, 0 if it must be met, broadcast to `(times, components)`.
        variance: Whether to compute variances; they are empty otherwise.
    """
    from marey.statistics.processes import _kernels

    system = system_of(covariance, times)
    values = np.asarray(series, dtype=float)
    shape = values.shape
    if shape[-2:] != (len(system.which), covariance.components):
        raise InputError(f"expected values (..., {len(system.which)}, {covariance.components}), got {shape}")
    valid = np.ascontiguousarray(np.broadcast_to(np.asarray(known, bool), shape[-2:]).T)
    errors = np.ascontiguousarray(np.broadcast_to(np.asarray(noise, float), shape[-2:]).T)
    given = np.moveaxis(values.reshape(-1, *shape[-2:]), -1, 0)
    given = np.ascontiguousarray(np.where(valid[:, None], given, 0.0))
    means, variances = np.empty_like(given), np.zeros(valid.shape)

    def run(start: int, stop: int) -> None:
        _kernels.smooth(start, stop, given, valid, errors, *system, variance, means, variances)

    by_components(run, covariance.components, 2 * given.size * system.A.shape[-1])
    return np.moveaxis(means, 0, -1).reshape(shape), variances.T if variance else np.empty((0, 0))


def conditional_sample(
    covariance: Matern,
    times: ArrayLike,
    series: ArrayLike,
    targets: ArrayLike,
    *,
    noise: ArrayLike = 0.0,
    draws: int = 1,
    rng: np.random.Generator,
) -> Array:
    """Draws `(draws, targets, components)` at any times, given `series (times, components)` at others.

    Args:
        covariance: Of the process.
        times: Seconds of the series, in any order.
        series: `(times, components)`.
        targets: Seconds of the draws.
        noise: Variance of the series' errors, `(components,)` or `(times, components)`.
        draws: How many.
        rng: Where randomness comes from.

    >>> from marey.statistics.processes.covariances import Matern52
    >>> drawn = conditional_sample(
    ...     Matern52(1.0, 0.4), [0.0, 1.0], [[2.0], [1.0]], [0.0, 0.5], draws=3, rng=np.random.default_rng(0)
    ... )
    >>> drawn.shape, bool(np.allclose(drawn[:, 0], 2.0))
    ((3, 2, 1), True)
    """
    observed, wanted = np.asarray(times, dtype=float), np.asarray(targets, dtype=float)
    values = np.asarray(series, dtype=float).reshape(len(observed), -1)
    together = np.concatenate([observed, wanted])
    order = np.argsort(together, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    known = order < len(observed)
    errors = np.zeros((len(order), values.shape[1]))
    errors[known] = np.broadcast_to(np.asarray(noise, float), values.shape)[order[known]]
    system = system_of(covariance, together[order])
    path = prior_sample(covariance, system, draws=draws, rng=rng)
    residual = np.zeros_like(path)
    residual[:, known] = values[order[known]] - path[:, known]
    if np.any(errors):
        residual[:, known] -= np.sqrt(errors[known]) * rng.standard_normal(residual[:, known].shape)
    correction, _ = smoothed(covariance, system, residual, known[:, None], errors, variance=False)
    return (path + correction)[:, place[len(observed) :]]


def system_of(covariance: Matern, times: ArrayLike | System) -> System:
    """The linear system of a covariance between sorted times."""
    from marey.statistics.processes import _kernels

    if isinstance(times, System):
        return times
    steps, which = _distinct_steps(times)
    A = np.ascontiguousarray(covariance.transitions(steps).swapaxes(0, 1))
    P0 = covariance.stationary_covariance()
    return System(which, A, _kernels.process_noise(A, P0), P0)


def by_components(run: Callable[[int, int], None], components: int, numbers: int) -> None:
    """`run(start, stop)` of ranges of components, by threads if there are many numbers."""
    _work.spread(run, components, least=max(1, -(-WORTH_A_THREAD * components // max(numbers, 1))))


def _distinct_steps(times: ArrayLike) -> tuple[Array, Integers]:
    """The different steps between sorted times, and which leads to each time (the first has none: 0)."""
    seconds = np.asarray(times, dtype=float)
    if seconds.ndim != 1 or len(seconds) == 0 or not np.isfinite(seconds).all():
        raise InputError("times must be a list of finite seconds")
    steps = np.diff(seconds)
    if (steps < 0).any():
        raise InputError(f"times must not decrease, but do after {int(np.argmax(steps < 0))}")
    if not len(steps):
        return np.zeros(1), np.zeros(len(seconds), dtype=np.int64)
    _, first, which = np.unique(np.round(steps / SAME_STEP), return_index=True, return_inverse=True)
    return steps[first], np.concatenate([which[:1], which]).astype(np.int64)
