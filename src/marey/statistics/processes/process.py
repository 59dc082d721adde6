"""A clip's components as independent Gaussian processes: learn from one example, draw, repair, run on.

After Courty 2013, sections 2.3.2 and 3.2, and Courty & Cuzol 2010. What the series does on average (mean,
drift, cycle) is its trend; what is left is a stationary process for each component, with measurement noise
beside it that is never drawn unless asked for.

Paths through given values follow Matheron's rule (3.2.2): an unconditional draw is corrected by kriging what
it misses. Their distribution is the joint posterior, which double kriging has too (its covariance is the
posterior one, not the prior's). Matérn covariances go through the smoother, linear in the frames; the squared
exponential through windows: each run of frames is kriged from the values within thirteen lengths, so that the
cost is frames x window². Weighted sums of frames are imposed afterwards, exactly. Free draws of the squared
exponential are by circulant embedding, frames x log(frames).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, Integers, assign
from marey._random import Rng
from marey.errors import InputError
from marey.statistics._linear import lower_root
from marey.statistics.processes import covariances
from marey.statistics.processes.covariances import Covariance, Matern
from marey.statistics.processes.fit import fit, innovations
from marey.statistics.processes.stream import JITTER, Stream, spectrum
from marey.statistics.processes.trend import Trend, checked

# Up to so many frames all known values count for all frames.
DENSE = 500
# Values count within so many ranges of this correlation: farther ones change the guess by 1e-6 deviations.
NEGLIGIBLE, RANGES = 1e-12, 2.5
MOST_ON_A_SIDE = 600


@dataclass(frozen=True, eq=False)
class LinearConstraint:
    """A weighted sum of frames that must have a value.

    Args:
        frames: `(n,)`, whole frames.
        weights: `(n,)`.
        value: One number for each component, or one for all.
        variance: Of the error allowed, 0 if the constraint must be met.
    """

    frames: Integers
    weights: Array
    value: ArrayLike
    variance: ArrayLike = 0.0

    def __post_init__(self) -> None:
        frames = np.atleast_1d(np.asarray(self.frames))
        weights = np.atleast_1d(np.asarray(self.weights, dtype=float))
        whole = frames.dtype.kind in "iu" and frames.ndim == 1 and len(frames) > 0
        if not (whole and weights.shape == frames.shape and np.isfinite(weights).all()):
            raise InputError("a constraint needs whole frames and one finite weight for each")
        if not (np.isfinite(np.asarray(self.value, float)).all() and np.all(np.asarray(self.variance) >= 0)):
            raise InputError("a constraint needs a finite value and a variance of 0 or more")
        assign(self, frames=frames.astype(np.int64), weights=weights)

    def of(self, paths: Array) -> Array:
        """The weighted sums `(..., components)` of `paths (..., frames, components)`."""
        return np.asarray(np.einsum("k,...kc->...c", self.weights, paths[..., self.frames, :]))


def velocity(
    frame: int, value: ArrayLike, frame_rate: float, *, variance: ArrayLike = 0.0
) -> LinearConstraint:
    """The velocity at a frame, units a second, by its two neighbours.

    >>> velocity(5, 1.0, 30.0).weights.tolist()
    [-15.0, 15.0]
    """
    weights = np.array([-frame_rate / 2, frame_rate / 2])
    return LinearConstraint(np.array([frame - 1, frame + 1]), weights, value, variance)


def average(first: int, last: int, value: ArrayLike, *, variance: ArrayLike = 0.0) -> LinearConstraint:
    """The mean over the frames from `first` to `last`, both counted."""
    frames = np.arange(first, last + 1)
    return LinearConstraint(frames, np.full(len(frames), 1 / max(len(frames), 1)), value, variance)


def closure(first: int, last: int, *, variance: ArrayLike = 0.0) -> LinearConstraint:
    """The path is at `last` where it was at `first`."""
    return LinearConstraint(np.array([first, last]), np.array([-1.0, 1.0]), 0.0, variance)


@dataclass(frozen=True, eq=False)
class GaussianProcesses:
    """Independent Gaussian processes, one a component, on even frames.

    Args:
        covariance: Of the smooth parts, times in seconds.
        noise: `(components,)`, variance of the measurement noise (the nugget).
        trend: Mean, drift and cycle.
        frame_rate: Frames a second.

    >>> rng = np.random.default_rng(0)
    >>> clip = np.cumsum(np.cumsum(rng.normal(size=(300, 2)), axis=0), axis=0) / 500
    >>> model = GaussianProcesses.fit(clip, 30.0)
    >>> model.sample(90, draws=4, rng=rng).shape
    (4, 90, 2)
    """

    covariance: Covariance
    noise: Array
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
        assign(self, noise=noise)

    @classmethod
    def fit(
        cls,
        series: ArrayLike,
        frame_rate: float,
        *,
        kernel: str = "matern52",
        trend: Trend | None = None,
        mask: ArrayLike | None = None,
    ) -> GaussianProcesses:
        """The processes most likely for `(frames, components)`, from the values where `mask` is true.

        Args:
            series: `(frames, components)`.
            frame_rate: Frames a second.
            kernel: "se" (squared exponential, as published), "matern12", "matern32" or "matern52".
            trend: Taken away first and kept; the mean if None.
            mask: `(frames,)` or `(frames, components)`, which values count.
        """
        values, known = checked(series, mask)
        if trend is None:
            trend = Trend.fit(values, frame_rate, degree=0, period=None, mask=known)
        rest = values - trend.at(np.arange(len(values)) / frame_rate)
        covariance, noise = fit(rest, frame_rate, kernel=kernel, mask=known)
        return cls(covariance, noise, trend, frame_rate)

    @property
    def components(self) -> int:
        return self.covariance.components

    def autocovariance(self, frames: int) -> Array:
        """Covariances `(frames, components)` at lags of 0, 1, ... frames, noise included."""
        found = self.covariance(np.arange(frames) / self.frame_rate)
        found[0] += self.noise
        return found

    def log_likelihood(self, series: ArrayLike) -> float:
        """Of `(frames, components)` without gaps, noise counted."""
        rest = np.asarray(series, dtype=float) - self._trend(0, len(np.asarray(series)))
        return sum(
            float(
                innovations(
                    self.covariance.component(c), float(self.noise[c]), self.frame_rate, rest[:, c]
                ).log_likelihood[0]
            )
            for c in range(self.components)
        )

    def sample(self, frames: int, *, draws: int = 1, rng: Rng, noise: bool = False, start: int = 0) -> Array:
        """New series `(draws, frames, components)` around the trend from `start` on; with noise if asked."""
        rng = np.random.default_rng(rng)
        paths = draw(self.covariance, self.frame_rate, frames, draws=draws, rng=rng)
        if noise:
            paths += np.sqrt(self.noise) * rng.standard_normal(paths.shape)
        return paths + self._trend(start, frames)

    def condition(
        self,
        series: ArrayLike,
        known: ArrayLike,
        *,
        noise: ArrayLike | None = None,
        constraints: Sequence[LinearConstraint] = (),
        start: int = 0,
    ) -> ConditionalProcesses:
        """The distribution of the frames, given values of some.

        Args:
            series: `(frames, components)`, read where `known` is true.
            known: `(frames,)` or `(frames, components)`.
            noise: Error variance of the values, broadcast to `(frames, components)`; 0 where a value must be
                met (a key pose), which is all of them if None.
            constraints: Velocities, averages, closure, or other weighted sums.
            start: The frame of the trend where the series begins.

        >>> from marey.statistics.processes.covariances import Matern32
        >>> still = Trend(np.zeros((1, 1)), 1.0, 0, 0, None)
        >>> model = GaussianProcesses(Matern32(1.0, 0.3), 0.0, still, 30.0)
        >>> known = np.arange(60) == 20
        >>> given = model.condition(np.full((60, 1), 0.7), known, constraints=[closure(0, 59)])
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
        for at in (one.frames for one in constraints):
            if at.min() < 0 or at.max() >= len(values):
                raise InputError(
                    f"a constraint on frames {at.min()} to {at.max()} lies outside the {len(values)} frames"
                )
        trend = self._trend(start, len(values))
        return ConditionalProcesses(self, values, marks, errors.copy(), tuple(constraints), trend)

    def stream(self, *, rng: Rng, draws: int = 1) -> Stream:
        """An endless run of `draws` independent figures, which takes constraints while it runs."""
        return Stream(self.covariance, self.trend, self.frame_rate, rng=rng, draws=draws)

    def _trend(self, start: int, frames: int) -> Array:
        return self.trend.at((start + np.arange(frames)) / self.frame_rate)


@dataclass(frozen=True, eq=False)
class ConditionalProcesses:
    """Processes given some of their values, which they keep to the bit where these must be met.

    Args:
        model: The processes.
        values: `(frames, components)`, anything where not known.
        known: `(frames, components)`.
        noise: `(frames, components)`, error variance of each known value; 0 where it must be met.
        constraints: Weighted sums that must have given values.
        trend: `(frames, components)`.
    """

    model: GaussianProcesses
    values: Array
    known: BoolArray
    noise: Array
    constraints: tuple[LinearConstraint, ...]
    trend: Array

    @cached_property
    def mean(self) -> Array:
        """The kriging estimate `(frames, components)`: smoother than any real series."""
        rest = np.where(self.known, self.values - self.trend, 0.0)
        return self._met(self._constrained(self._estimate(rest[None]))[0])

    @cached_property
    def variance(self) -> Array:
        """Variance `(frames, components)` of the smooth series."""
        covariance = self.model.covariance
        if isinstance(covariance, Matern):
            found = self._smoothed(covariance, self.values[None], variance=True)[1]
        else:
            found = np.broadcast_to(covariance.variance, self.values.shape).copy()
            for c, inside, cross, gram in self._windows():
                found[inside, c] -= np.sum(gram.half(cross.T) ** 2, axis=0)
        if self.constraints:
            reach, grams, _ = self._reach
            for c, gram in enumerate(grams):
                found[:, c] -= np.sum(gram.half(reach[:, :, c]) ** 2, axis=0)
        return np.where(self._exact, 0.0, np.maximum(found, 0.0))

    def sample(self, draws: int = 1, *, rng: Rng) -> Array:
        """Series `(draws, frames, components)` from the joint posterior."""
        rng, model = np.random.default_rng(rng), self.model
        paths = draw(model.covariance, model.frame_rate, len(self.values), draws=draws, rng=rng)
        seen = paths
        if np.any(self.noise[self.known] > 0):
            spread = np.where(self.known, np.sqrt(self.noise), 0.0)
            seen = paths + spread * rng.standard_normal(paths.shape)
        paths = paths + self._estimate(np.where(self.known, self.values - self.trend - seen, 0.0))
        errors: Array | float = 0.0
        if self.constraints and np.any(self._reach[2] > 0):
            spread = np.sqrt(self._reach[2])
            errors = spread * rng.standard_normal((draws, *spread.shape))
        return self._met(self._constrained(paths, errors))

    @property
    def _exact(self) -> BoolArray:
        return np.asarray(self.known & (self.noise == 0))

    def _met(self, paths: Array) -> Array:
        return np.where(self._exact, self.values, self.trend + paths)

    def _estimate(self, values: Array) -> Array:
        """Best estimate `(n, frames, components)` of paths about 0 from known values; linear in these."""
        covariance, found = self.model.covariance, np.zeros_like(values)
        if isinstance(covariance, Matern):
            found = self._smoothed(covariance, values, variance=False)[0]
        else:
            for c, inside, cross, gram in self._windows():
                found[:, inside, c] = (cross @ gram.solve(values[:, gram.frames, c].T)).T
        return np.where(self._exact, values, found)

    def _constrained(self, paths: Array, errors: Array | float = 0.0) -> Array:
        """The paths about 0, corrected so that all constraints are met."""
        if not self.constraints:
            return paths
        reach, grams, _ = self._reach
        around = [np.asarray(f.value, float) - f.of(self.trend) - f.of(paths) for f in self.constraints]
        missed, moved = np.stack(around, axis=1) + errors, paths.copy()
        for c, gram in enumerate(grams):
            moved[..., c] += gram.solve(missed[..., c].T).T @ reach[:, :, c]
        return moved

    @cached_property
    def _reach(self) -> tuple[Array, list[_Gram], Array]:
        """Posterior covariance of each frame with each constraint `(constraints, frames, components)`, of
        the constraints among each other, and their error variances `(constraints, components)`."""
        frames, model = np.arange(len(self.values)), self.model
        prior = np.zeros((len(self.constraints), *self.values.shape))
        for row, one in zip(prior, self.constraints, strict=True):
            for frame, weight in zip(one.frames, one.weights, strict=True):
                row += weight * model.covariance((frames - frame) / model.frame_rate)
        reach = prior - self._estimate(prior)
        among = np.stack([f.of(reach) for f in self.constraints], axis=1)
        among = 0.5 * (among + among.swapaxes(0, 1))
        errors = np.stack(
            [np.broadcast_to(np.asarray(f.variance, float), model.components) for f in self.constraints]
        )
        grams = [_Gram(frames[:0], among[:, :, c], errors[:, c]) for c in range(model.components)]
        return reach, grams, errors

    def _smoothed(self, covariance: Matern, values: Array, *, variance: bool) -> tuple[Array, Array]:
        rate = self.model.frame_rate
        return covariances.smoothed(covariance, rate, values, self.known, self.noise, variance=variance)

    def _windows(self) -> Iterator[tuple[int, Integers, Array, _Gram]]:
        """Frames to be estimated of each component, their covariance with the known frames around them, and
        that of these."""
        rate, frames = self.model.frame_rate, len(self.values)
        for c in range(self.model.components):
            own = self.model.covariance.component(c)
            known, wanted = np.flatnonzero(self.known[:, c]), np.flatnonzero(~self._exact[:, c])
            reach = frames
            if frames > DENSE:
                reach = int(np.ceil(RANGES * float(own.range(NEGLIGIBLE)[0]) * rate))
            length = min(max(reach, 32), MOST_ON_A_SIDE)
            while len(wanted):
                count = int(np.searchsorted(wanted, wanted[0] + length))
                inside, wanted = wanted[:count], wanted[count:]
                low, high = np.searchsorted(known, [inside[0] - reach, inside[-1] + reach + 1])
                first, last = np.searchsorted(known, [inside[0], inside[-1]])
                around = known[max(low, first - MOST_ON_A_SIDE) : min(high, last + MOST_ON_A_SIDE)]
                if len(around):
                    gram = _Gram(around, _between(own, around, around, rate), self.noise[around, c])
                    yield c, inside, _between(own, inside, around, rate), gram


class _Gram:
    """A covariance matrix of known frames, or of constraints, with error variances, and its root `L`."""

    def __init__(self, frames: Integers, matrix: Array, errors: Array):
        jitter = JITTER * float(np.max(np.diagonal(matrix), initial=1e-300))
        self.frames, self.matrix = frames, matrix + np.diag(errors)
        self.root = lower_root(self.matrix, np.where(errors > jitter, 0.0, jitter))

    def half(self, right: Array) -> Array:
        """`L⁻¹ right`"""
        from scipy.linalg import solve_triangular

        return solve_triangular(self.root, right, lower=True, check_finite=False)

    def solve(self, right: Array) -> Array:
        """The solution, refined once, so that well-posed constraints are met to rounding."""
        from scipy.linalg import cho_solve

        first = cho_solve((self.root, True), right, check_finite=False)
        again = first + cho_solve((self.root, True), right - self.matrix @ first, check_finite=False)
        better = np.abs(right - self.matrix @ again).max(initial=0.0)
        return again if better <= np.abs(right - self.matrix @ first).max(initial=0.0) else first


def _between(covariance: Covariance, frames: Integers, others: Integers, frame_rate: float) -> Array:
    """Covariances `(frames, others)` of the first component."""
    lags = np.subtract.outer(frames, others) / frame_rate
    return covariance(lags.ravel())[:, 0].reshape(lags.shape)


def draw(
    covariance: Covariance, frame_rate: float, frames: int, *, draws: int, rng: np.random.Generator
) -> Array:
    """Unconditional paths `(draws, frames, components)` of mean 0.

    >>> from marey.statistics.processes.covariances import SquaredExponential
    >>> drawn = draw(SquaredExponential(4.0, 0.1), 30.0, 500, draws=40, rng=np.random.default_rng(0))
    >>> drawn.shape, bool(3.5 < drawn.var() < 4.5)
    ((40, 500, 1), True)
    """
    if isinstance(covariance, Matern):
        return covariances.prior_sample(covariance, frame_rate, frames, draws=draws, rng=rng)
    values = spectrum(covariance, frame_rate, frames)
    circle = 2 * (len(values) - 1)
    white = rng.standard_normal((draws, circle, covariance.components))
    coloured = np.fft.rfft(white, axis=1) * np.sqrt(values)
    return np.fft.irfft(coloured, circle, axis=1)[:, :frames]
