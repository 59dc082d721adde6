"""Stationary covariances in time, a variance and a length for each component (Courty 2013, section 2.3.2).

Times are seconds. The squared exponential is the published `alpha exp(-h²/rho)` with its true length
`sqrt(rho)`; Matérn covariances have exact Markov forms, so that a filter needs a few numbers of memory and
time linear in the frames. White measurement noise (the nugget) is no part of them: it is kept beside them,
since constraints must be met without it. Cost: linear in the lags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

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
