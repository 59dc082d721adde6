"""Covariances with a Markov form as linear systems: likelihood, smoother and conditional draws.

Exact for any sorted times and any missing values (Courty 2013, section 3.2; the filter takes the place of
the source's dense matrices). Draws given data are unconditional ones corrected by the smoother (Matheron's
rule), so their law is the joint posterior. Cost: times x states² a draw, times x states³ once a component;
on even steps the covariances settle after a few frames and are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.errors import InputError
from marey.statistics.processes.covariances import COMPLEX_STEP, Covariance

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Steps that differ by less than this many seconds are the same.
SAME_STEP = 1e-10
WORTH_A_THREAD = 100_000


class System(NamedTuple):
    """How states move over each step.

    which: `(times,)`, the step that leads to each time
    A, Q, roots: `(components, steps, n, n)`: transition, covariance of what is added, and its root
    P0: `(components, n, n)`, stationary covariance; readout: `(n,)`
    """

    which: NDArray[np.int64]
    A: Array
    Q: Array
    roots: Array
    P0: Array
    readout: Array


class Sums(NamedTuple):
    """Of the innovations of one series: log variances, squares over variances, and both's slopes."""

    logs: float
    squares: float
    log_slopes: Array
    square_slopes: Array


def innovation_sums(
    covariance: Covariance, noise: float, times: ArrayLike, series: ArrayLike, known: ArrayLike | None = None
) -> Sums:
    """What the likelihood of one series `(times,)` needs, with slopes by log-parameters and log-noise."""
    from marey.statistics.processes import _likelihood_kernels

    seconds, values = _sorted(times), np.asarray(series, dtype=float)
    valid = np.ones(len(values), dtype=bool) if known is None else np.ascontiguousarray(known, dtype=bool)
    steps, which = distinct_steps(seconds)
    # Column i carries the derivative by log-parameter i; its real part is the value.
    moved = covariance.perturbed()
    A = covariance.transition(steps[:, None], moved)
    P0 = covariance.stationary(moved)
    Q = P0 - A @ P0 @ A.swapaxes(-1, -2)

    def slopes(matrices: NDArray[np.complex128]) -> Array:
        found = np.imag(matrices) / COMPLEX_STEP
        return np.ascontiguousarray(np.concatenate([found, np.zeros_like(found[..., :1, :, :])], axis=-3))

    d_noise = np.zeros(len(moved) + 1)
    d_noise[-1] = noise
    return Sums(
        *_likelihood_kernels.filter_sums(
            np.ascontiguousarray(np.where(valid, values, 0.0)),
            valid,
            which,
            np.ascontiguousarray(A.real[:, 0]),
            np.ascontiguousarray(Q.real[:, 0]),
            np.ascontiguousarray(P0.real[0]),
            covariance.readout(),
            float(noise),
            slopes(A),
            slopes(Q),
            slopes(P0),
            d_noise,
        )
    )


def log_likelihood(
    covariance: Covariance, noise: float, times: ArrayLike, series: ArrayLike, known: ArrayLike | None = None
) -> tuple[float, Array]:
    """Log-likelihood of one series, and its gradient by log-parameters and log-noise.

    >>> from marey.statistics.processes.covariances import Matern12
    >>> value, _ = log_likelihood(Matern12(1.0, 0.5), 0.1, [0.0, 1.0], [0.3, -0.2])
    >>> C = np.array([[1.1, np.exp(-2.0)], [np.exp(-2.0), 1.1]])
    >>> x = np.array([0.3, -0.2])
    >>> dense = -0.5 * (x @ np.linalg.solve(C, x) + np.log(np.linalg.det(2 * np.pi * C)))
    >>> bool(np.isclose(value, dense, rtol=1e-12))
    True
    """
    sums = innovation_sums(covariance, noise, times, series, known)
    count = len(np.asarray(series)) if known is None else int(np.sum(known))
    value = -0.5 * (sums.logs + sums.squares + count * np.log(2 * np.pi))
    return float(value), -0.5 * (sums.log_slopes + sums.square_slopes)


def prior_sample(covariance: Covariance, times: ArrayLike, *, draws: int, rng: np.random.Generator) -> Array:
    """Unconditional draws `(draws, times, components)`."""
    from marey.statistics.processes import _kernels

    system = system_of(covariance, times)
    components, _, n, _ = system.A.shape
    noise = rng.standard_normal((components, draws, len(system.which), n))
    values = np.empty(noise.shape[:3])
    first = _kernels.lower_roots(system.P0[:, None])[:, 0]
    run = _kernels.prior_paths if is_long(noise.size) else _kernels.prior_paths_alone
    run(system.which, system.A, system.roots, first, system.readout, noise, values)
    return np.moveaxis(values, 0, -1)


def smoothed(
    covariance: Covariance,
    times: ArrayLike | System,
    series: ArrayLike,
    known: ArrayLike,
    noise: ArrayLike,
    *,
    variance: bool = True,
) -> tuple[Array, Array]:
    """Posterior means, shaped as `series (..., times, components)`, and variances `(times, components)`.

    known: which values count; noise: variance of each value's error, 0 if it must be met; both broadcast to
    `(times, components)`. Variances are left empty without `variance`.
    """
    from marey.statistics.processes import _kernels

    system = system_of(covariance, times)
    frames = len(system.which)
    values = np.asarray(series, dtype=float)
    shape = values.shape
    if shape[-2:] != (frames, covariance.components):
        raise InputError(f"expected values (..., {frames}, {covariance.components}), got {shape}")
    valid = np.ascontiguousarray(np.broadcast_to(np.asarray(known, bool), shape[-2:]).T)
    errors = np.ascontiguousarray(np.broadcast_to(np.asarray(noise, float), shape[-2:]).T)
    by_component = np.ascontiguousarray(np.moveaxis(values.reshape(-1, *shape[-2:]), -1, 0))
    means = np.empty_like(by_component)
    variances = np.zeros(valid.shape)
    run = _kernels.smooth if is_long(2 * values.size * len(system.readout)) else _kernels.smooth_alone
    run(
        np.ascontiguousarray(np.where(valid[:, None], by_component, 0.0)),
        valid,
        errors,
        system.which,
        system.A,
        system.Q,
        system.P0,
        system.readout,
        variance,
        means,
        variances,
    )
    return np.moveaxis(means, 0, -1).reshape(shape), variances.T if variance else np.empty((0, 0))


def conditional_sample(
    covariance: Covariance,
    times: ArrayLike,
    series: ArrayLike,
    targets: ArrayLike,
    *,
    noise: ArrayLike = 0.0,
    draws: int = 1,
    rng: np.random.Generator,
) -> Array:
    """Draws `(draws, targets, components)` at any times, given `series (times, components)` at others.

    noise: variance of the series' errors, `(components,)` or `(times, components)`.

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


def distinct_steps(seconds: Array) -> tuple[Array, NDArray[np.int64]]:
    """The different steps between times, and which one leads to each time (the first has none: 0)."""
    if len(seconds) < 2:
        return np.zeros(1), np.zeros(len(seconds), dtype=np.int64)
    steps = np.diff(seconds)
    _, first, which = np.unique(np.round(steps / SAME_STEP), return_index=True, return_inverse=True)
    return steps[first], np.concatenate([which[:1], which]).astype(np.int64)


def system_of(covariance: Covariance, times: ArrayLike | System) -> System:
    """The linear system of a covariance between sorted times."""
    from marey.statistics.processes import _kernels

    if isinstance(times, System):
        return times
    steps, which = distinct_steps(_sorted(times))
    A = np.ascontiguousarray(covariance.transitions(steps).swapaxes(0, 1))
    P0 = np.ascontiguousarray(covariance.stationary_covariance())
    Q, roots = _kernels.process_noise(A, P0)
    return System(which, A, Q, roots, P0, covariance.readout())


def is_long(numbers: int) -> bool:
    """Whether a job over so many numbers is worth a second thread."""
    return numbers > WORTH_A_THREAD


def _sorted(times: ArrayLike) -> Array:
    seconds = np.asarray(times, dtype=float)
    if seconds.ndim != 1 or len(seconds) == 0 or not np.isfinite(seconds).all():
        raise InputError("times must be a list of finite seconds")
    if (np.diff(seconds) < 0).any():
        raise InputError(f"times must not decrease, but do after {int(np.argmax(np.diff(seconds) < 0))}")
    return seconds
