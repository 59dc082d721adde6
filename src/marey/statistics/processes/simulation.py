"""Paths through given values, by Matheron's rule (Courty 2013, section 3.2.2; Courty & Cuzol 2010, 5.2).

An unconditional draw is corrected by kriging what it misses. Its law is the joint posterior, which the
source's double kriging has too (the covariance is the posterior one, not the prior's as the source says).
Covariances with a Markov form go through the smoother, linear in the frames; others through windows: each
stretch is kriged from the values within thirteen lengths, so that the cost is frames x window². Weighted sums
of frames (velocities, averages, closure) are imposed afterwards on whatever came out, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError
from marey.statistics.processes import circulant, state_space
from marey.statistics.processes.covariances import Covariance
from marey.statistics.processes.kriging import Factor, Functional, between

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Up to so many frames all known values count for all frames.
DENSE = 500
# Values count within so many ranges of this correlation: farther ones change the guess by 1e-6 deviations.
NEGLIGIBLE, RANGES = 1e-12, 2.5
MOST_ON_A_SIDE = 600


def draw(
    covariance: Covariance, frame_rate: float, frames: int, *, draws: int, rng: np.random.Generator
) -> Array:
    """Unconditional paths `(draws, frames, components)` of mean 0."""
    if covariance.is_markov:
        return state_space.prior_sample(covariance, np.arange(frames) / frame_rate, draws=draws, rng=rng)
    return circulant.sample(covariance, frame_rate, frames, draws=draws, rng=rng)


@dataclass(frozen=True, eq=False)
class Conditioning:
    """A process of mean 0 on even frames, given some of its values and weighted sums.

    covariance: of the smooth part
    frame_rate: frames a second
    values: `(frames, components)`, anything where not known
    known: `(frames, components)`
    noise: `(frames, components)`, error variance of each known value; 0 where it must be met
    functionals: weighted sums that must have given values
    """

    covariance: Covariance
    frame_rate: float
    values: Array
    known: Mask
    noise: Array
    functionals: tuple[Functional, ...] = ()

    def __post_init__(self) -> None:
        for functional in self.functionals:
            frames = np.asarray(functional.frames)
            if frames.min() < 0 or frames.max() >= len(self.values):
                raise InputError(
                    f"a constraint on frames {frames.min()} to {frames.max()} lies outside "
                    f"the {len(self.values)} frames"
                )

    def mean(self) -> Array:
        """Posterior mean `(frames, components)`: the kriging estimate."""
        return self.constrained(self.guess(self.values[None]))[0]

    def variance(self) -> Array:
        """Posterior variance `(frames, components)`."""
        if self.covariance.is_markov:
            _, found = self._smoothed(self.values[None], variance=True)
        else:
            found = self._window_variance()
        if self.functionals:
            reach, gram = self._reach()
            for c in range(self.values.shape[1]):
                reduced = Factor(gram[c], self._errors()[:, c]).half(reach[:, :, c])
                found[:, c] -= np.sum(reduced**2, axis=0)
        return np.where(self.known & (self.noise == 0), 0.0, np.maximum(found, 0.0))

    def sample(self, draws: int, rng: np.random.Generator) -> Array:
        """Paths `(draws, frames, components)` from the joint posterior."""
        frames, _ = self.values.shape
        paths = draw(self.covariance, self.frame_rate, frames, draws=draws, rng=rng)
        seen = paths
        if np.any(self.noise[self.known] > 0):
            spread = np.where(self.known, np.sqrt(self.noise), 0.0)
            seen = paths + spread * rng.standard_normal(paths.shape)
        paths = paths + self.guess(np.where(self.known, self.values - seen, 0.0))
        errors = self._errors()
        wobble = None
        if np.any(errors > 0):
            wobble = np.sqrt(errors) * rng.standard_normal((draws, *errors.shape))
        return self.constrained(paths, wobble)

    def guess(self, values: Array) -> Array:
        """Best guess `(n, frames, components)` of paths from their known values; linear in them."""
        if not self.known.any():
            return np.zeros_like(values)
        if self.covariance.is_markov:
            found, _ = self._smoothed(values, variance=False)
        else:
            found = self._windowed(values)
        exact = self.known & (self.noise == 0)
        return np.where(exact, values, found)

    def constrained(self, paths: Array, wobble: Array | None = None) -> Array:
        """The paths moved the least likely way so that all functionals have their values."""
        if not self.functionals:
            return paths
        reach, gram = self._reach()
        wanted = np.stack([np.broadcast_to(f.value, paths.shape[-1:]) for f in self.functionals])
        missed = wanted - np.stack([f.of(paths) for f in self.functionals], axis=1)
        if wobble is not None:
            missed = missed + wobble
        moved = paths.copy()
        for c in range(paths.shape[-1]):
            weights = Factor(gram[c], self._errors()[:, c]).solve(missed[..., c].T)
            moved[..., c] += weights.T @ reach[:, :, c]
        return moved

    def _errors(self) -> Array:
        """Error variances `(functionals, components)`."""
        shape = self.values.shape[1:]
        rows = [np.broadcast_to(np.asarray(f.variance, float), shape) for f in self.functionals]
        return np.stack(rows) if rows else np.empty((0, *shape))

    def _reach(self) -> tuple[Array, Array]:
        """Posterior covariance of each frame with each functional, and of these among each other."""
        frames = np.arange(len(self.values))
        prior = np.zeros((len(self.functionals), *self.values.shape))
        for row, functional in zip(prior, self.functionals, strict=True):
            for frame, weight in zip(
                np.asarray(functional.frames), np.asarray(functional.weights), strict=True
            ):
                row += weight * self.covariance((frames - frame) / self.frame_rate)
        reach = prior - self.guess(prior)
        gram = np.stack([f.of(reach) for f in self.functionals], axis=1)
        gram = np.moveaxis(gram, -1, 0)
        return reach, 0.5 * (gram + gram.swapaxes(-1, -2))

    def _smoothed(self, values: Array, *, variance: bool) -> tuple[Array, Array]:
        times = np.arange(len(self.values)) / self.frame_rate
        return state_space.smoothed(self.covariance, times, values, self.known, self.noise, variance=variance)

    def _windowed(self, values: Array) -> Array:
        found = np.zeros_like(values)
        for c in range(values.shape[-1]):
            own = self.covariance.component(c)
            for inside, around in self._windows(c):
                at = around / self.frame_rate
                factor = Factor(between(own, at, at), self.noise[around, c])
                cross = between(own, inside / self.frame_rate, at)
                found[:, inside, c] = (cross @ factor.solve(values[:, around, c].T)).T
        return found

    def _window_variance(self) -> Array:
        found = np.broadcast_to(self.covariance.variance_at_zero, self.values.shape).copy()
        found[self.known & (self.noise == 0)] = 0.0
        for c in range(self.values.shape[-1]):
            own = self.covariance.component(c)
            for inside, around in self._windows(c):
                at = around / self.frame_rate
                factor = Factor(between(own, at, at), self.noise[around, c])
                cross = between(own, inside / self.frame_rate, at)
                found[inside, c] -= np.sum(factor.half(cross.T) ** 2, axis=0)
        return found

    def _windows(self, component: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Stretches of frames to be guessed, and the known frames around each."""
        known = np.flatnonzero(self.known[:, component])
        exact = self.known[:, component] & (self.noise[:, component] == 0)
        wanted = np.flatnonzero(~exact)
        frames = len(self.values)
        reach = frames
        if frames > DENSE:
            seconds = RANGES * float(self.covariance.component(component).range(NEGLIGIBLE)[0])
            reach = int(np.ceil(seconds * self.frame_rate))
        windows = []
        for stretch in _stretches(wanted, min(max(reach, 32), MOST_ON_A_SIDE)):
            low, high = np.searchsorted(known, [stretch[0] - reach, stretch[-1] + reach + 1])
            first, last = np.searchsorted(known, [stretch[0], stretch[-1]])
            around = known[max(low, first - MOST_ON_A_SIDE) : min(high, last + MOST_ON_A_SIDE)]
            if len(around):
                windows.append((stretch, around))
        return windows


def _stretches(frames: NDArray[np.int64], length: int) -> Sequence[NDArray[np.int64]]:
    """Sorted frames in pieces that span fewer than `length` frames each."""
    pieces = []
    start = 0
    while start < len(frames):
        end = int(np.searchsorted(frames, frames[start] + length))
        pieces.append(frames[start:end])
        start = end
    return pieces
