"""A clip's components as independent Gaussian processes: learn from one example, draw, repair, run on.

After Courty 2013, sections 2.3.2 and 3.2, and Courty & Cuzol 2010. What the series does on average (mean,
drift, cycle) is its trend; what is left is a stationary process for each component, with measurement noise
beside it that is never drawn unless asked for. Cost: see `fitting` and `simulation`; all near-linear in the
frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._random import Rng
from marey.errors import InputError
from marey.statistics.processes import fitting, simulation
from marey.statistics.processes.covariances import Covariance
from marey.statistics.processes.kriging import Functional
from marey.statistics.processes.stream import Stream
from marey.statistics.processes.trend import Trend, checked

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Processes:
    """Independent Gaussian processes, one a component, on even frames.

    covariance: of the smooth parts, times in seconds
    noise: `(components,)`, variance of the measurement noise (the source's nugget)
    trend: mean, drift and cycle
    frame_rate: frames a second

    >>> rng = np.random.default_rng(0)
    >>> clip = np.cumsum(np.cumsum(rng.normal(size=(300, 2)), axis=0), axis=0) / 500
    >>> model = Processes.fit(clip, 30.0)
    >>> model.sample(90, draws=4, rng=rng).shape
    (4, 90, 2)
    """

    covariance: Covariance
    noise: ArrayLike
    trend: Trend
    frame_rate: float

    def __post_init__(self) -> None:
        components = self.trend.coefficients.shape[1]
        noise = np.broadcast_to(np.asarray(self.noise, dtype=float), (components,)).copy()
        if self.covariance.components != components:
            raise InputError(
                f"a covariance of {self.covariance.components} components and a trend of {components}"
            )
        if not ((noise >= 0).all() and self.frame_rate > 0):
            raise InputError("processes need noise of 0 or more and a positive frame rate")
        object.__setattr__(self, "noise", noise)

    @classmethod
    def fit(
        cls,
        series: ArrayLike,
        frame_rate: float,
        *,
        kernel: str | Covariance = "matern52",
        trend: Trend | None = None,
        mask: ArrayLike | None = None,
    ) -> Processes:
        """The processes most likely for `(frames, components)`, from the values where `mask` is true.

        kernel: "squared-exponential" (the source's), "matern12", "matern32", "matern52", "oscillation",
            "quasi-periodic", a sum such as "matern52+oscillation", or a covariance to start from
        trend: taken away first and kept; the mean if left out
        """
        values, known = checked(series, mask)
        if trend is None:
            trend = Trend.fit(values, frame_rate, degree=0, period=None, mask=known)
        rest = values - trend.at(np.arange(len(values)) / frame_rate)
        covariance, noise = fitting.fit(rest, frame_rate, kernel=kernel, mask=known)
        return cls(covariance, noise, trend, frame_rate)

    @property
    def components(self) -> int:
        return self.covariance.components

    def autocovariance(self, frames: int) -> Array:
        """Covariances `(frames, components)` at lags of 0, 1, ... frames, noise included."""
        found = self.covariance(np.arange(frames) / self.frame_rate)
        found[0] += np.asarray(self.noise)
        return found

    def sample(
        self,
        frames: int,
        *,
        draws: int = 1,
        rng: Rng,
        noise: bool = False,
        start: int = 0,
    ) -> Array:
        """New series `(draws, frames, components)` around the trend from `start` on; with noise if asked."""
        rng = np.random.default_rng(rng)
        paths = simulation.draw(self.covariance, self.frame_rate, frames, draws=draws, rng=rng)
        if noise:
            paths += np.sqrt(np.asarray(self.noise)) * rng.standard_normal(paths.shape)
        return paths + self._trend(start, frames)

    def condition(
        self,
        series: ArrayLike,
        known: ArrayLike,
        *,
        noise: ArrayLike | None = None,
        functionals: Sequence[Functional] = (),
        start: int = 0,
    ) -> Posterior:
        """What the frames may be, given values of some.

        series: `(frames, components)`, read where `known` (`(frames,)` or `(frames, components)`) is true
        noise: error variance of the values, broadcast to `(frames, components)`; 0 where a value must be met
            (a key pose), more where it is wished for. Left out: all must be met.
        functionals: velocities, averages, closure; see `kriging`
        start: the frame of the trend where the series begins

        >>> from marey.statistics.processes.covariances import Matern32
        >>> from marey.statistics.processes.kriging import closure
        >>> still = Trend(np.zeros((1, 1)), 1.0, 0, 0, None)
        >>> model = Processes(Matern32(1.0, 0.3), 0.0, still, 30.0)
        >>> known = np.arange(60) == 20
        >>> given = model.condition(np.full((60, 1), 0.7), known, functionals=[closure(0, 59)])
        >>> drawn = given.sample(5, rng=np.random.default_rng(0))
        >>> bool(np.allclose(drawn[:, 20], 0.7)), bool(np.allclose(drawn[:, 0], drawn[:, 59], atol=1e-9))
        (True, True)
        """
        values = np.asarray(series, dtype=float)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[1] != self.components:
            raise InputError(f"expected (frames, {self.components}) values, got {values.shape}")
        marks = np.asarray(known, dtype=bool)
        marks = marks[:, None] if marks.ndim == 1 else marks
        if marks.ndim != 2 or len(marks) != len(values) or marks.shape[1] not in (1, self.components):
            raise InputError(f"known values {marks.shape} do not fit the series {values.shape}")
        marks = np.broadcast_to(marks, values.shape).copy()
        if not np.isfinite(values[marks]).all():
            frame, component = np.argwhere(marks & ~np.isfinite(values))[0]
            raise InputError(f"component {component} is not finite at frame {frame}, but said to be known")
        errors = np.broadcast_to(np.asarray(0.0 if noise is None else noise, dtype=float), values.shape)
        if not (errors >= 0).all():
            raise InputError("error variances must be 0 or more")
        trend = self._trend(start, len(values))
        centred = tuple(
            Functional(f.frames, f.weights, np.asarray(f.value, float) - f.of(trend), f.variance)
            for f in functionals
            if _inside(f, len(values))
        )
        conditioning = simulation.Conditioning(
            self.covariance,
            self.frame_rate,
            np.where(marks, values - trend, 0.0),
            marks,
            errors.copy(),
            centred,
        )
        return Posterior(conditioning, trend, values)

    def stream(self, *, rng: Rng, draws: int = 1) -> Stream:
        """An endless run of `draws` independent figures, which takes constraints on its way."""
        return Stream(self.covariance, self.trend, self.frame_rate, rng=rng, draws=draws)

    def _trend(self, start: int, frames: int) -> Array:
        return self.trend.at((start + np.arange(frames)) / self.frame_rate)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Series given some of their values, which they keep to the bit where these must be met."""

    conditioning: simulation.Conditioning
    trend: Array
    values: Array

    def mean(self) -> Array:
        """The kriging estimate `(frames, components)`: smoother than any real series."""
        return self._met(self.trend + self.conditioning.mean())

    def deviation(self) -> Array:
        """Standard deviation `(frames, components)` of the smooth series."""
        return np.sqrt(self.conditioning.variance())

    def sample(self, draws: int, *, rng: Rng) -> Array:
        """Series `(draws, frames, components)` from the joint posterior."""
        return self._met(self.trend + self.conditioning.sample(draws, np.random.default_rng(rng)))

    def _met(self, paths: Array) -> Array:
        exact = self.conditioning.known & (self.conditioning.noise == 0)
        return np.where(exact, self.values, paths)


def _inside(functional: Functional, frames: int) -> bool:
    at = np.asarray(functional.frames)
    if at.min() < 0 or at.max() >= frames:
        raise InputError(
            f"a constraint on frames {at.min()} to {at.max()} lies outside the {frames} frames given"
        )
    return True
