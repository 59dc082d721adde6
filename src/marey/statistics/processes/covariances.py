"""Stationary covariances in time, a variance and a length for each component (Courty 2013, section 2.3.2).

Times are seconds. The squared exponential is the published `alpha exp(-h²/rho)` with its true length
`sqrt(rho)`; Matérn covariances have exact Markov forms, so that a filter needs a few numbers of memory and
time linear in the frames. White measurement noise (the nugget) is no part of them: it is kept beside them,
since constraints must be met without it. Cost: linear in the lags.

As linear systems Matérn covariances have a likelihood, a smoother and conditional draws, exact for even
frames and any missing values (section 3.2; a Kalman filter takes the place of dense matrices). Draws are
unconditional ones corrected by the smoother (Matheron's rule), so their distribution is the joint posterior.
Cost: frames x states² a draw, frames x states³ once a component, less where its covariances settle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array, assign
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class Covariance:
    """What the covariance functions share: `variance · correlation(u)` with `u = rate · h / length`.

    Args:
        variance: `(components,)`, positive.
        length: `(components,)`, seconds, positive.

    >>> both = Matern32([1.0, 2.0], 0.5)
    >>> both.components, both([0.0, 0.1]).shape, float(both([0.0])[0, 1])
    (2, (2, 2), 2.0)
    """

    variance: Array
    length: Array
    rate: ClassVar[float] = 1.0
    is_markov: ClassVar[bool] = False

    def __post_init__(self) -> None:
        values = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(v, float)) for v in (self.variance, self.length))
        )
        for name, value in zip(("variance", "length"), values, strict=True):
            if value.ndim != 1 or not (np.isfinite(value).all() and (value > 0).all()):
                raise InputError(f"{type(self).__name__}: {name} must be positive, one for each component")
            assign(self, **{name: value.copy()})

    @property
    def components(self) -> int:
        return len(self.variance)

    def component(self, index: int) -> Self:
        """The covariance of one component alone."""
        return type(self)(self.variance[[index]], self.length[[index]])

    def __call__(self, lags: ArrayLike) -> Array:
        """Covariances `(lags, components)` at lags in seconds."""
        return self.variance * self.correlation(self._scaled(lags))

    def gradient(self, lags: ArrayLike) -> Array:
        """Derivatives `(2, lags, components)` by the logarithms of variance and length."""
        u = self._scaled(lags)
        return self.variance * np.stack([self.correlation(u), self.slope(u)])

    def range(self, level: float = 1e-4) -> Array:
        """Lags in seconds `(components,)` beyond which the correlation stays below `level`."""
        low, high = 0.0, 200.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            above = float(self.correlation(np.array(middle))) > level
            low, high = (middle, high) if above else (low, middle)
        return high * self.length / self.rate

    def correlation(self, u: Array) -> Array:
        """Correlation at scaled lags, falling."""
        raise NotImplementedError

    def slope(self, u: Array) -> Array:
        """Its derivative by the logarithm of the length, `-u d correlation / du`."""
        raise NotImplementedError

    def _scaled(self, lags: ArrayLike) -> Array:
        return np.asarray(
            np.abs(np.atleast_1d(np.asarray(lags, dtype=float)))[:, None] * self.rate / self.length
        )


class SquaredExponential(Covariance):
    """`variance exp(-h² / length²)`: infinitely smooth, no memory beyond 3 lengths."""

    def correlation(self, u: Array) -> Array:
        return np.exp(-(u**2))

    def slope(self, u: Array) -> Array:
        return 2 * u**2 * np.exp(-(u**2))


class Matern(Covariance):
    """A process driven through equal first-order lags: the state holds it and its scaled derivatives.

    A step multiplies the state by `exp(drift · u)`, and its covariance is `variance · moments`.
    """

    is_markov = True
    drift: ClassVar[tuple[tuple[float, ...], ...]]
    moments: ClassVar[tuple[tuple[float, ...], ...]]

    def transitions(self, steps: ArrayLike) -> Array:
        """Matrices `(steps, components, states, states)` over steps in seconds."""
        u = self._scaled(steps)[..., None, None]
        unit = np.eye(len(self.drift))
        nilpotent = np.array(self.drift) + unit
        series = unit + nilpotent * u
        if len(unit) > 2:
            series += nilpotent @ nilpotent * (0.5 * u**2)
        return np.exp(-u) * series

    def transition_slopes(self, steps: ArrayLike) -> Array:
        """Their derivatives by the logarithm of the length."""
        return -self._scaled(steps)[..., None, None] * (np.array(self.drift) @ self.transitions(steps))

    def stationary_covariance(self) -> Array:
        """Covariance `(components, states, states)` of the states."""
        return np.asarray(self.variance[:, None, None] * np.array(self.moments))


class Matern12(Matern):
    """`variance exp(-h / length)`: rough paths."""

    drift, moments = ((-1.0,),), ((1.0,),)

    def correlation(self, u: Array) -> Array:
        return np.exp(-u)

    def slope(self, u: Array) -> Array:
        return u * np.exp(-u)


class Matern32(Matern):
    """`variance (1 + u) exp(-u)`, `u = sqrt(3) h / length`: paths with a velocity."""

    rate = 3**0.5
    drift, moments = ((0.0, 1.0), (-1.0, -2.0)), ((1.0, 0.0), (0.0, 1.0))

    def correlation(self, u: Array) -> Array:
        return (1 + u) * np.exp(-u)

    def slope(self, u: Array) -> Array:
        return u**2 * np.exp(-u)


class Matern52(Matern):
    """`variance (1 + u + u²/3) exp(-u)`, `u = sqrt(5) h / length`: paths with an acceleration."""

    rate = 5**0.5
    drift = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (-1.0, -3.0, -3.0))
    moments = ((1.0, 0.0, -1 / 3), (0.0, 1 / 3, 0.0), (-1 / 3, 0.0, 1.0))

    def correlation(self, u: Array) -> Array:
        return (1 + u + u**2 / 3) * np.exp(-u)

    def slope(self, u: Array) -> Array:
        return (u**2 + u**3) / 3 * np.exp(-u)


KERNELS: dict[str, type[Covariance]] = {
    "se": SquaredExponential,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
}

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
