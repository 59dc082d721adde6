"""Endless conditional simulation, frame by frame, with constraints that arrive while it runs.

After Courty & Cuzol 2010, section 5.2, algorithm 2, with additions: the unconditional path runs ahead of the
output, since constraints in the future need it there; constraints count in whole clusters; and a late one
turns the last frames put out into constraints, since these cannot change any more. The unconditional path is
a recursion over a few states for Matérn covariances and a weighted sum of white noise for the squared
exponential: stationary from the first frame. Memory and cost a frame do not grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, Integers
from marey._random import Rng, as_generator
from marey.errors import InputError, ModelError
from marey.statistics.processes import covariances
from marey.statistics.processes.covariances import Covariance, Matern
from marey.statistics.processes.trend import Trend

# Share of the variance put on the diagonal where values must be met, so that close ones can be solved.
JITTER = 1e-10
# Correlation below which a constraint does not reach a frame: three lengths of a squared exponential.
REACH = 1e-4
# Constraints farther than so many reaches do not count, however they are chained.
CHAIN = 4
# Frames put out that a late constraint is joined to.
REMEMBERED = 32
# Frames prepared at once, and numbers.
BLOCK, NUMBERS_AT_ONCE = 64, 1 << 19
# Weights of the noise below this part of the largest are left out.
NEGLIGIBLE_TAP = 1e-9


@dataclass(frozen=True, eq=False)
class Constraint:
    """A frame and its values around the trend.

    Args:
        frame: Its number.
        values: `(draws, components)`.
        variance: `(components,)`, of the error allowed.
        of: `(draws,)`, whose values must be these.
    """

    frame: int
    values: Array
    variance: Array
    of: BoolArray


class Stream:
    """Independent figures; each step gives their next frame `(draws, components)`.

    Args:
        covariance: Of the processes.
        trend: Of the processes.
        frame_rate: Frames a second.
        rng: Seed or generator.
        draws: How many figures.

    >>> from marey.statistics.processes.covariances import SquaredExponential
    >>> still = Trend(np.zeros((1, 1)), 1.0, 0, 0, None)
    >>> stream = Stream(SquaredExponential(1.0, 0.2), still, 30.0, rng=np.random.default_rng(0))
    >>> stream.constrain(40, 1.5)
    >>> frames = [stream.step() for _ in range(60)]
    >>> round(float(frames[40][0, 0]), 9), stream.frame
    (1.5, 60)
    """

    def __init__(
        self,
        covariance: Covariance,
        trend: Trend,
        frame_rate: float,
        *,
        rng: Rng,
        draws: int = 1,
    ):
        rng = as_generator(rng)
        self.covariance, self.trend, self.frame_rate = covariance, trend, frame_rate
        self.rng, self.draws = rng, draws
        self.reach = max(1, int(np.ceil(frame_rate * float(covariance.range(REACH).max()))))
        self.frame = 0
        self.constraints: list[Constraint] = []
        # Noise for soft constraints comes from its own generator, so that they leave the path as it is.
        self._own_rng = np.random.default_rng(int(rng.integers(2**63)))
        self._source = (
            Recursion(covariance, frame_rate, draws, rng)
            if isinstance(covariance, Matern)
            else MovingAverage(covariance, frame_rate, draws, rng)
        )
        each = draws * covariance.components
        self._block = int(np.clip(NUMBERS_AT_ONCE // each, 1, BLOCK))
        # Unconditional frames from `frame` on; finished ones; those put out last.
        self._ahead = np.empty((0, covariance.components, draws))
        self._ready = np.empty((0, draws, covariance.components))
        self._next = 0
        self._put_out: list[Array] = []
        # The unconditional path at frames put out: the last ones, and those with constraints.
        self._drawn: dict[int, Array] = {}

    def step(self) -> Array:
        """The next frame `(draws, components)`."""
        if self._next == len(self._ready):
            self._prepare()
        frame = self._ready[self._next]
        self._next += 1
        self.frame += 1
        return np.asarray(frame)

    def steps(self, frames: int) -> Array:
        """The next frames `(frames, draws, components)`."""
        return np.stack([self.step() for _ in range(frames)])

    @property
    def time(self) -> int:
        """The number of the next frame."""
        return self.frame

    def constrain(
        self,
        frame: int,
        values: ArrayLike,
        *,
        variance: ArrayLike = 0.0,
        characters: Sequence[int] | None = None,
    ) -> None:
        """Constrain `frame` to `values` (broadcast to `(draws, components)`), up to errors of `variance`.

        Args:
            characters: Whose; then `values` are broadcast to `(characters, components)`. All if None.
        """
        if frame < self.frame:
            raise InputError(f"frame {frame} has been put out already; the next one is {self.frame}")
        shape = (self.draws, self.covariance.components)
        who = np.ones(self.draws, np.bool_)
        if characters is not None:
            who[:] = False
            who[list(characters)] = True
        given = np.zeros(shape)
        given[who] = np.asarray(values, dtype=float)
        errors = np.broadcast_to(np.asarray(variance, dtype=float), shape[1:]).copy()
        if not (np.isfinite(given).all() and (errors >= 0).all()):
            raise InputError(
                f"the constraint at frame {frame} needs finite values and variances of 0 or more"
            )
        around = given - self.trend.at([frame / self.frame_rate])[0]
        if errors.any():
            around = around + np.sqrt(errors) * self._own_rng.standard_normal(shape)
        self._rewind()
        if self._is_late(frame):
            self._freeze()
        others = [replace(c, of=c.of & ~who) if c.frame == frame else c for c in self.constraints]
        kept = [c for c in others if c.of.any()]
        self.constraints = sorted([*kept, Constraint(frame, around, errors, who)], key=lambda c: c.frame)

    def _rewind(self) -> None:
        """Forget frames that are prepared but not put out."""
        gone = self._ready[: self._next][-REMEMBERED:]
        self._put_out = [*self._put_out, *gone][-REMEMBERED:]
        first = self.frame - self._next
        kept = {c.frame for c in self.constraints}
        for index in range(self._next):
            if first + index in kept or index >= self._next - REMEMBERED:
                self._drawn[first + index] = self._ahead[index].T.copy()
        oldest = self.frame - REMEMBERED
        self._drawn = {f: path for f, path in self._drawn.items() if f >= oldest or f in kept}
        self._ahead = self._ahead[self._next :]
        self._ready, self._next = self._ready[:0], 0

    def _is_late(self, frame: int) -> bool:
        """Whether frames put out lie within reach of the constraint or of those chained to it."""
        if not self._put_out:
            return False
        first = frame
        for constraint in reversed(self.constraints):
            if constraint.frame <= first and first - constraint.frame <= self.reach:
                first = constraint.frame
        return first - self.reach < self.frame

    def _freeze(self) -> None:
        """The last frames put out become constraints and take the place of all before."""
        first = self.frame - len(self._put_out)
        none = np.zeros(self.covariance.components)
        times = (first + np.arange(len(self._put_out))) / self.frame_rate
        rest = np.stack(self._put_out) - self.trend.at(times)[:, None]
        everyone = np.ones(self.draws, np.bool_)
        past = [Constraint(first + i, values, none, everyone) for i, values in enumerate(rest)]
        self.constraints = past + [c for c in self.constraints if c.frame >= self.frame]

    def _prepare(self) -> None:
        self._rewind()
        last = self.frame + self._block - 1
        self._forget()
        active = self._active(last)
        until = max([last, *(c.frame for c in active)])
        missing = until + 1 - self.frame - len(self._ahead)
        if missing > 0:
            whole = -(-missing // self._block) * self._block
            self._ahead = np.concatenate([self._ahead, self._source.frames(whole)])
        frames = self.frame + np.arange(self._block)
        ready = self._ahead[: self._block].swapaxes(1, 2) + self.trend.at(frames / self.frame_rate)[:, None]
        self._ready = ready + self._correction(frames, active) if active else ready
        for constraint in active:
            if self.frame <= constraint.frame <= last and not constraint.variance.any():
                trend = self.trend.at([constraint.frame / self.frame_rate])
                met = constraint.frame - self.frame, constraint.of
                self._ready[met] = constraint.values[constraint.of] + trend

    def _forget(self) -> None:
        """Drop constraints of the past that reach nothing any more."""
        oldest = self.frame - CHAIN * self.reach
        self.constraints = [c for c in self.constraints if c.frame >= oldest]

    def _active(self, last: int) -> list[Constraint]:
        """Constraints that reach the frames up to `last`, and those chained to them."""
        chosen: list[Constraint] = []
        until = last + self.reach
        for constraint in self.constraints:
            if constraint.frame > min(until, last + CHAIN * self.reach):
                break
            chosen.append(constraint)
            until = max(until, constraint.frame + self.reach)
        start = self.frame - self.reach
        for index in range(len(chosen) - 1, -1, -1):
            if chosen[index].frame < start:
                return chosen[index + 1 :]
            start = min(start, chosen[index].frame - self.reach)
        return chosen

    def _correction(self, frames: Integers, active: list[Constraint]) -> Array:
        """What moves the unconditional `frames` onto the constraints: `(frames, draws, components)`."""
        found = np.zeros((len(frames), self.draws, self.covariance.components))
        patterns, which = np.unique([c.of for c in active], axis=1, return_inverse=True)
        for i, pattern in enumerate(patterns.T):
            if pattern.any():
                own = [c for c, holds in zip(active, pattern, strict=True) if holds]
                found[:, which.ravel() == i] = self._corrected(frames, own, which.ravel() == i)
        return found

    def _corrected(self, frames: Integers, active: list[Constraint], who: BoolArray) -> Array:
        """The same for draws `who` that have the same constraints."""
        at = np.array([c.frame for c in active])
        exact = self._between(at, at)
        own = np.stack([c.variance for c in active], axis=1)
        scale = self.covariance.variance[:, None]
        diagonal = np.arange(len(at))
        exact[:, diagonal, diagonal] += own
        gram = exact.copy()
        gram[:, diagonal, diagonal] += np.where(own > JITTER * scale, 0.0, JITTER * scale)
        missed = np.stack([(c.values - self._path(c.frame))[who] for c in active]).transpose(2, 0, 1)
        weights = np.linalg.solve(gram, missed)
        weights += np.linalg.solve(gram, missed - (exact @ weights))
        return (self._between(frames, at) @ weights).transpose(1, 2, 0)

    def _path(self, frame: int) -> Array:
        """The unconditional frame `(draws, components)`."""
        return self._ahead[frame - self.frame].T if frame >= self.frame else self._drawn[frame]

    def _between(self, frames: Integers, others: Integers) -> Array:
        """Covariances `(components, frames, others)`."""
        lags = np.subtract.outer(frames, others) / self.frame_rate
        return self.covariance(lags.ravel()).T.reshape(-1, *lags.shape)


class Recursion:
    """Unconditional frames of a Matérn covariance: a few states a component, exact."""

    def __init__(self, covariance: Matern, frame_rate: float, draws: int, rng: np.random.Generator):
        from marey.statistics.processes import _kernels

        self.rng = rng.spawn(1)[0]
        self.transition, added, stationary = covariances.system_of(covariance, frame_rate)
        self.roots, first = _kernels.lower_roots(added), _kernels.lower_roots(stationary)
        self.states = first @ rng.standard_normal((*first.shape[:2], draws))

    def frames(self, count: int) -> Array:
        """The next frames `(count, components, draws)`."""
        from marey.statistics.processes import _kernels

        components, _, draws = self.states.shape
        noise = self.rng.standard_normal((count, *self.states.shape))
        values = np.empty((count, components, draws))

        def run(start: int, stop: int) -> None:
            _kernels.advance(start, stop, self.states, self.transition, self.roots, noise, values)

        covariances.by_components(run, components, noise.size)
        return values


class MovingAverage:
    """Unconditional frames of any covariance: white noise through the root of its spectrum."""

    def __init__(self, covariance: Covariance, frame_rate: float, draws: int, rng: np.random.Generator):
        self.rng = rng.spawn(1)[0]
        reach = int(np.ceil(frame_rate * float(covariance.range(1e-12).max())))
        root = np.fft.irfft(np.sqrt(spectrum(covariance, frame_rate, 2 * reach + 2)), axis=0)
        half = min(len(root) // 2 - 1, 2 * reach)
        taps = np.concatenate([root[-half:], root[: half + 1]])
        strong = np.flatnonzero((np.abs(taps) > NEGLIGIBLE_TAP * np.abs(taps).max(axis=0)).any(axis=1))
        taps = taps[strong[0] : strong[-1] + 1]
        # What was cut off is made up for, so that the variance is exact.
        taps *= np.sqrt(covariance.variance / np.sum(taps**2, axis=0))
        self.taps = np.ascontiguousarray(taps)
        self.noise = rng.standard_normal((len(taps) - 1, covariance.components, draws))

    def frames(self, count: int) -> Array:
        """The next frames `(count, components, draws)`."""
        from marey.statistics.processes import _kernels

        shape = (count, *self.noise.shape[1:])
        noise, values = np.concatenate([self.noise, self.rng.standard_normal(shape)]), np.empty(shape)

        def run(start: int, stop: int) -> None:
            _kernels.convolve(start, stop, noise, self.taps, values)

        covariances.by_components(run, shape[1], values.size * len(self.taps))
        self.noise = noise[count:]
        return values


def spectrum(covariance: Covariance, frame_rate: float, frames: int) -> Array:
    """Eigenvalues `(circle / 2 + 1, components)` of a circle that keeps the covariance of `frames` frames.

    The covariance row is wrapped onto a circle, where the discrete Fourier transform is its eigenbasis. Exact
    wherever the wrapped row is positive, which a long enough circle gives (Courty 2013, section 3.2.2.1).
    """
    circle = 1 << int(np.ceil(np.log2(max(2 * frames, 8))))
    for _ in range(5):
        row = covariance(np.arange(circle // 2 + 1) / frame_rate)
        values = np.fft.rfft(np.vstack([row, row[-2:0:-1]]), axis=0).real
        if (values.min(axis=0) >= -1e-9 * values.max(axis=0)).all():
            return np.maximum(values, 0.0)
        circle *= 2
    raise ModelError(f"the covariance decays too slowly to draw {frames} frames")
