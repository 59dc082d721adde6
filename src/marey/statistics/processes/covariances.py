"""Stationary covariances in time, a set of parameters for each component (Courty 2013, section 2.3.2).

Times are seconds. The squared exponential is the source's `alpha exp(-h²/rho)` with its true length
`sqrt(rho)`; the others have exact Markov forms, so that a filter needs a few numbers of memory and time
linear in the frames. White measurement noise (the source's nugget) is no part of them: it is kept beside
them, since constraints must be met without it. Derivatives are by complex steps through the closed forms:
exact to rounding. Cost: linear in the lags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.errors import InputError

Array = NDArray[np.float64]
# Complex where derivatives are taken.
Numbers = NDArray[Any]

COMPLEX_STEP = 1e-30


@dataclass(frozen=True, eq=False)
class Covariance:
    """What the covariance functions share; parameters are positive arrays `(components,)`.

    >>> both = Matern32([1.0, 2.0], 0.5) + DampedOscillation(0.3, period=1.1, decay=2.0)
    >>> both.components, both.parameters
    (2, ('variance', 'length', 'variance', 'period', 'decay'))
    >>> both([0.0, 0.1]).shape, float(both([0.0])[0, 1])
    ((2, 2), 2.3)
    """

    def __post_init__(self) -> None:
        names = [f.name for f in fields(self) if f.name != "harmonics"]
        values = np.broadcast_arrays(*(np.atleast_1d(np.asarray(getattr(self, n), float)) for n in names))
        for name, value in zip(names, values, strict=True):
            if value.ndim != 1 or not (np.isfinite(value).all() and (value > 0).all()):
                raise InputError(f"{type(self).__name__}: {name} must be positive, one for each component")
            object.__setattr__(self, name, value.copy())

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, as in the columns of `theta`."""
        return tuple(f.name for f in fields(self) if f.name != "harmonics")

    @property
    def theta(self) -> Array:
        """Logarithms of the parameters `(components, parameters)`."""
        return np.log(np.stack([getattr(self, name) for name in self.parameters], axis=1))

    def with_theta(self, theta: ArrayLike) -> Self:
        """The same kind of covariance with other log-parameters `(components, parameters)`."""
        values = np.exp(np.atleast_2d(np.asarray(theta, dtype=float)))
        return replace(self, **dict(zip(self.parameters, values.T, strict=True)))

    @property
    def components(self) -> int:
        return len(self.theta)

    @property
    def variance_at_zero(self) -> Array:
        """`(components,)`"""
        return self([0.0])[0]

    @property
    def is_markov(self) -> bool:
        """Whether there is an exact form with a few states."""
        return True

    def component(self, index: int | Sequence[int] | NDArray[np.int64]) -> Self:
        """The covariance of some components alone."""
        return self.with_theta(self.theta[np.atleast_1d(np.asarray(index))])

    def __call__(self, lags: ArrayLike) -> Array:
        """Covariances `(lags, components)` at lags in seconds."""
        return self.of(np.abs(_seconds(lags))[:, None], np.exp(self.theta).T)

    def gradient(self, lags: ArrayLike) -> Array:
        """Derivatives `(parameters, lags, components)` by the log-parameters."""
        return self._steps(lambda values: self.of(np.abs(_seconds(lags))[:, None], values))

    def transitions(self, steps: ArrayLike) -> Array:
        """Transition matrices `(steps, components, states, states)` over steps in seconds."""
        return self.transition(_seconds(steps)[:, None], np.exp(self.theta).T)

    def stationary_covariance(self) -> Array:
        """Covariance `(components, states, states)` of the states."""
        return self.stationary(np.exp(self.theta).T)

    def range(self, level: float = 1e-4) -> Array:
        """Lags in seconds `(components,)` beyond which the correlation stays below `level`."""
        high = self.longest() * 2.0
        for _ in range(60):
            if np.all(self.envelope(high, level)):
                break
            high = np.where(self.envelope(high, level), high, 1.5 * high)
        fractions = np.linspace(0, 1, 513)
        lags = fractions[:, None] * high
        above = np.abs(self.of(lags, np.exp(self.theta).T)) > level * self.variance_at_zero
        last = len(fractions) - 1 - np.argmax(above[::-1], axis=0)
        return fractions[np.minimum(last + 1, len(fractions) - 1)] * high

    def envelope(self, lags: Array, level: float) -> NDArray[np.bool_]:
        """Whether the correlation is below `level` over a stretch of lags `(components,)` and beyond."""
        stretch = np.linspace(1.0, 1.5, 64)[:, None] * lags
        small = np.abs(self.of(stretch, np.exp(self.theta).T)) <= level * self.variance_at_zero
        return np.asarray(small.all(axis=0))

    def __add__(self, other: Covariance) -> Sum:
        own = self.parts if isinstance(self, Sum) else (self,)
        others = other.parts if isinstance(other, Sum) else (other,)
        return Sum((*own, *others))

    def of(self, lags: Array, values: Numbers) -> Numbers:
        """Covariance at `lags (n, 1)` for natural parameters `(parameters, components)`, maybe complex."""
        raise NotImplementedError

    def transition(self, steps: Array, values: Numbers) -> Numbers:
        """`(n, components, states, states)` for steps `(n, 1)`; states are without unit."""
        raise InputError(f"{type(self).__name__} has no exact Markov form")

    def stationary(self, values: Numbers) -> Numbers:
        """`(components, states, states)`"""
        raise InputError(f"{type(self).__name__} has no exact Markov form")

    def readout(self) -> Array:
        """`(states,)`: which states add up to the process."""
        raise InputError(f"{type(self).__name__} has no exact Markov form")

    def longest(self) -> Array:
        """The longest time scale, seconds, `(components,)`."""
        raise NotImplementedError

    def perturbed(self, index: int = 0) -> Numbers:
        """Natural parameters `(parameters, parameters)` of one component; in column i the i-th is shifted."""
        theta = self.theta[index].astype(complex)
        return np.exp(theta[:, None] + COMPLEX_STEP * 1j * np.eye(len(theta)))

    def _steps(self, function: Any) -> Array:
        values = np.exp(self.theta).T.astype(complex)
        found = []
        for i in range(len(values)):
            moved = values.copy()
            moved[i] *= 1 + COMPLEX_STEP * 1j
            found.append(np.imag(function(moved)) / COMPLEX_STEP)
        return np.stack(found)


@dataclass(frozen=True, eq=False)
class SquaredExponential(Covariance):
    """`variance exp(-h² / length²)`, the source's: infinitely smooth, no memory beyond 3 lengths."""

    variance: ArrayLike
    length: ArrayLike

    @property
    def is_markov(self) -> bool:
        return False

    def of(self, lags: Array, values: Numbers) -> Numbers:
        variance, length = values
        return variance * np.exp(-((lags / length) ** 2))

    def longest(self) -> Array:
        return np.asarray(self.length, dtype=float)


class _Matern(Covariance):
    """A process driven through equal first-order lags; its states are scaled by powers of the rate."""

    order = 1
    moments: tuple[tuple[float, ...], ...] = ((1.0,),)

    def of(self, lags: Array, values: Numbers) -> Numbers:
        variance, length = values
        u = np.sqrt(2 * self.order - 1) * lags / length
        polynomial = (1.0, 1.0 + u, 1.0 + u + u**2 / 3)[self.order - 1]
        return variance * polynomial * np.exp(-u)

    def transition(self, steps: Array, values: Numbers) -> Numbers:
        u = (np.sqrt(2 * self.order - 1) * steps / values[1])[..., None, None]
        shift = np.eye(self.order, k=1)
        shift[-1] = [-1.0] if self.order == 1 else [-1.0, -2.0] if self.order == 2 else [-1.0, -3.0, -3.0]
        nilpotent = shift + np.eye(self.order)
        series = np.eye(self.order) + nilpotent * u
        if self.order == 3:
            series = series + nilpotent @ nilpotent * (u**2 / 2)
        return np.exp(-u) * series

    def stationary(self, values: Numbers) -> Numbers:
        return values[0][:, None, None] * np.array(self.moments)

    def readout(self) -> Array:
        return np.eye(self.order)[0]

    def longest(self) -> Array:
        return np.asarray(getattr(self, "length"), dtype=float)  # noqa: B009 - a field of the subclasses


@dataclass(frozen=True, eq=False)
class Matern12(_Matern):
    """`variance exp(-h / length)`: rough paths."""

    variance: ArrayLike
    length: ArrayLike


@dataclass(frozen=True, eq=False)
class Matern32(_Matern):
    """`variance (1 + u) exp(-u)`, `u = sqrt(3) h / length`: paths with a velocity."""

    variance: ArrayLike
    length: ArrayLike
    order = 2
    moments = ((1.0, 0.0), (0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Matern52(_Matern):
    """`variance (1 + u + u²/3) exp(-u)`, `u = sqrt(5) h / length`: paths with an acceleration."""

    variance: ArrayLike
    length: ArrayLike
    order = 3
    moments = ((1.0, 0.0, -1 / 3), (0.0, 1 / 3, 0.0), (-1 / 3, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class DampedOscillation(Covariance):
    """A harmonic oscillator pushed by noise: `variance exp(-h/decay) (cos wh + sin(wh) / (w decay))`.

    `w = 2 pi / period`; paths have a velocity. It is the underdamped stochastic harmonic oscillator.
    """

    variance: ArrayLike
    period: ArrayLike
    decay: ArrayLike

    def of(self, lags: Array, values: Numbers) -> Numbers:
        return _oscillation(lags, *values)

    def transition(self, steps: Array, values: Numbers) -> Numbers:
        return _oscillation_transition(steps, *values[1:])

    def stationary(self, values: Numbers) -> Numbers:
        return values[0][:, None, None] * np.eye(2)

    def readout(self) -> Array:
        return np.array([1.0, 0.0])

    def longest(self) -> Array:
        return np.maximum(np.asarray(self.decay, dtype=float), np.asarray(self.period, dtype=float))


@dataclass(frozen=True, eq=False)
class QuasiPeriodic(Covariance):
    """A cycle that slowly changes: damped oscillations at the harmonics of a period.

    Each harmonic has `falloff` times the variance of the one below; they share the `decay`, after which the
    cycle has forgotten its shape and phase.
    """

    variance: ArrayLike
    period: ArrayLike
    decay: ArrayLike
    falloff: ArrayLike = 0.2
    harmonics: int = 3

    def _each(self, values: Numbers) -> list[tuple[Numbers, Numbers, Numbers]]:
        variance, period, decay, falloff = values
        weights = [falloff**k for k in range(self.harmonics)]
        total = sum(weights[1:], start=weights[0])
        return [(variance * w / total, period / (k + 1), decay) for k, w in enumerate(weights)]

    def of(self, lags: Array, values: Numbers) -> Numbers:
        first, *others = (_oscillation(lags, *each) for each in self._each(values))
        return sum(others, start=first)

    def transition(self, steps: Array, values: Numbers) -> Numbers:
        return _block_diagonal([_oscillation_transition(steps, *each[1:]) for each in self._each(values)])

    def stationary(self, values: Numbers) -> Numbers:
        return _block_diagonal([each[0][:, None, None] * np.eye(2) for each in self._each(values)])

    def readout(self) -> Array:
        return np.tile([1.0, 0.0], self.harmonics)

    def longest(self) -> Array:
        return np.maximum(np.asarray(self.decay, dtype=float), np.asarray(self.period, dtype=float))


@dataclass(frozen=True, eq=False)
class Sum(Covariance):
    """The covariance of independent processes added up."""

    parts: tuple[Covariance, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InputError("a sum of covariances needs a part")
        components = max(part.components for part in self.parts)
        widened = []
        for part in self.parts:
            if part.components not in (1, components):
                raise InputError(f"parts with {part.components} and {components} components do not add up")
            widened.append(part.with_theta(np.broadcast_to(part.theta, (components, part.theta.shape[1]))))
        object.__setattr__(self, "parts", tuple(widened))

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.parameters)

    @property
    def theta(self) -> Array:
        return np.hstack([part.theta for part in self.parts])

    def with_theta(self, theta: ArrayLike) -> Sum:
        columns = np.split(np.atleast_2d(np.asarray(theta, dtype=float)), self._borders, axis=1)
        return Sum(tuple(part.with_theta(own) for part, own in zip(self.parts, columns, strict=True)))

    @property
    def is_markov(self) -> bool:
        return all(part.is_markov for part in self.parts)

    @property
    def _borders(self) -> NDArray[np.int64]:
        return np.cumsum([len(part.parameters) for part in self.parts])[:-1]

    def _each(self, values: Numbers) -> list[tuple[Covariance, Numbers]]:
        return list(zip(self.parts, np.split(values, self._borders), strict=True))

    def of(self, lags: Array, values: Numbers) -> Numbers:
        first, *others = (part.of(lags, own) for part, own in self._each(values))
        return sum(others, start=first)

    def transition(self, steps: Array, values: Numbers) -> Numbers:
        return _block_diagonal([part.transition(steps, own) for part, own in self._each(values)])

    def stationary(self, values: Numbers) -> Numbers:
        return _block_diagonal([part.stationary(own) for part, own in self._each(values)])

    def readout(self) -> Array:
        return np.concatenate([part.readout() for part in self.parts])

    def longest(self) -> Array:
        return np.max([part.longest() for part in self.parts], axis=0)


def _seconds(lags: ArrayLike) -> Array:
    return np.atleast_1d(np.asarray(lags, dtype=float))


def _oscillation(lags: Array, variance: Numbers, period: Numbers, decay: Numbers) -> Numbers:
    angle = 2 * np.pi / period
    wave = np.cos(angle * lags) + np.sin(angle * lags) / (angle * decay)
    return variance * np.exp(-lags / decay) * wave


def _oscillation_transition(steps: Array, period: Numbers, decay: Numbers) -> Numbers:
    """Of position and velocity over the undamped frequency, so that both have the same variance."""
    angle = 2 * np.pi / period
    undamped = np.sqrt(angle**2 + decay**-2.0)
    cosine, sine = np.cos(angle * steps), np.sin(angle * steps)
    ratio = sine / (angle * decay)
    cross = undamped / angle * sine
    entries = np.stack([cosine + ratio, cross, -cross, cosine - ratio], axis=-1)
    return (np.exp(-steps / decay)[..., None] * entries).reshape(*entries.shape[:-1], 2, 2)


def _block_diagonal(blocks: Sequence[Numbers]) -> Numbers:
    lead = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    size = sum(block.shape[-1] for block in blocks)
    whole = np.zeros((*lead, size, size), dtype=np.result_type(*blocks))
    start = 0
    for block in blocks:
        end = start + block.shape[-1]
        whole[..., start:end, start:end] = block
        start = end
    return whole
