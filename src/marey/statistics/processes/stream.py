"""Endless conditional simulation, frame by frame, with constraints that arrive while it runs.

After Courty & Cuzol 2010, section 5.2, algorithm 2, with what it lacks: the unconditional path runs ahead of
the output, since constraints in the future need it there; constraints count in whole clusters; and one that
comes too late turns the last frames put out into constraints, since these cannot change any more. The
unconditional path is a recursion over a few states where the covariance has a Markov form and a weighted sum
of white noise where not: stationary from the first frame. Memory and cost a frame do not grow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._random import Rng, as_generator
from marey.errors import InputError
from marey.statistics.processes.covariances import Covariance
from marey.statistics.processes.kriging import JITTER
from marey.statistics.processes.state_space import is_long
from marey.statistics.processes.trend import Trend

Array = NDArray[np.float64]
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
    """A frame and its values `(draws, components)` around the trend, with error variances `(components,)`."""

    frame: int
    values: Array
    variance: Array


class Stream:
    """`draws` independent figures; each step gives the next frame `(draws, components)`.

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
        kind: type[Recursion] | type[MovingAverage] = Recursion if covariance.is_markov else MovingAverage
        self._source = kind(covariance, frame_rate, draws, rng)
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
        return frame

    def steps(self, frames: int) -> Array:
        """The next frames `(frames, draws, components)`."""
        return np.stack([self.step() for _ in range(frames)])

    def constrain(self, frame: int, values: ArrayLike, *, variance: ArrayLike = 0.0) -> None:
        """`frame` shall have `values` (broadcast to `(draws, components)`), up to errors of `variance`."""
        if frame < self.frame:
            raise InputError(f"frame {frame} has been put out already; the next one is {self.frame}")
        shape = (self.draws, self.covariance.components)
        given = np.broadcast_to(np.asarray(values, dtype=float), shape)
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
        others = [c for c in self.constraints if c.frame != frame]
        self.constraints = sorted([*others, Constraint(frame, around, errors)], key=lambda c: c.frame)

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
        past = [Constraint(first + i, values, none) for i, values in enumerate(rest)]
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
                self._ready[constraint.frame - self.frame] = constraint.values + trend

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

    def _correction(self, frames: NDArray[np.int64], active: list[Constraint]) -> Array:
        """What moves the unconditional `frames` onto the constraints: `(frames, draws, components)`."""
        at = np.array([c.frame for c in active])
        exact = self._between(at, at)
        own = np.stack([c.variance for c in active], axis=1)
        scale = self.covariance.variance_at_zero[:, None]
        diagonal = np.arange(len(at))
        exact[:, diagonal, diagonal] += own
        gram = exact.copy()
        gram[:, diagonal, diagonal] += np.where(own > JITTER * scale, 0.0, JITTER * scale)
        missed = np.stack([c.values - self._path(c.frame) for c in active]).transpose(2, 0, 1)
        weights = np.linalg.solve(gram, missed)
        weights += np.linalg.solve(gram, missed - (exact @ weights))
        return (self._between(frames, at) @ weights).transpose(1, 2, 0)

    def _path(self, frame: int) -> Array:
        """The unconditional frame `(draws, components)`."""
        return self._ahead[frame - self.frame].T if frame >= self.frame else self._drawn[frame]

    def _between(self, frames: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
        """Covariances `(components, frames, others)`."""
        lags = np.subtract.outer(frames, others) / self.frame_rate
        return self.covariance(lags.ravel()).T.reshape(-1, *lags.shape)


class Recursion:
    """Unconditional frames of a covariance with a Markov form: a few states a component, exact."""

    def __init__(self, covariance: Covariance, frame_rate: float, draws: int, rng: np.random.Generator):
        from marey.statistics.processes import _kernels

        self.rngs, self.readout = rng.spawn(2), covariance.readout()
        self.transition = np.ascontiguousarray(covariance.transitions([1 / frame_rate])[0])
        stationary = np.ascontiguousarray(covariance.stationary_covariance())
        moved = self.transition @ stationary @ self.transition.swapaxes(-1, -2)
        self.roots = _kernels.lower_roots((stationary - moved)[:, None])[:, 0]
        first = _kernels.lower_roots(stationary[:, None])[:, 0]
        self.states = first @ rng.standard_normal((*first.shape[:2], draws))

    def frames(self, count: int) -> Array:
        """The next frames `(count, components, draws)`."""
        from marey.statistics.processes import _kernels

        noise = white(self.rngs, (count, *self.states.shape))
        values = np.empty((count, len(self.states), self.states.shape[2]))
        run = _kernels.advance if is_long(noise.size) else _kernels.advance_alone
        run(self.states, self.transition, self.roots, self.readout, noise, values)
        return values


class MovingAverage:
    """Unconditional frames as weighted sums of white noise; the weights are the root of the spectrum."""

    def __init__(self, covariance: Covariance, frame_rate: float, draws: int, rng: np.random.Generator):
        from marey.statistics.processes.circulant import spectrum

        self.rngs = rng.spawn(2)
        reach = int(np.ceil(frame_rate * float(covariance.range(1e-12).max())))
        root = np.fft.irfft(np.sqrt(spectrum(covariance, frame_rate, 2 * reach + 2)), axis=0)
        half = min(len(root) // 2 - 1, 2 * reach)
        taps = np.concatenate([root[-half:], root[: half + 1]])
        strong = np.flatnonzero((np.abs(taps) > NEGLIGIBLE_TAP * np.abs(taps).max(axis=0)).any(axis=1))
        taps = taps[strong[0] : strong[-1] + 1]
        # What was cut off is made up for, so that the variance is exact.
        taps *= np.sqrt(covariance.variance_at_zero / np.sum(taps**2, axis=0))
        self.taps = np.ascontiguousarray(taps)
        self.noise = rng.standard_normal((len(taps) - 1, covariance.components, draws))

    def frames(self, count: int) -> Array:
        """The next frames `(count, components, draws)`."""
        from marey.statistics.processes import _kernels

        noise = np.concatenate([self.noise, white(self.rngs, (count, *self.noise.shape[1:]))])
        values = np.empty((count, *self.noise.shape[1:]))
        run = _kernels.convolve if is_long(values.size * len(self.taps)) else _kernels.convolve_alone
        run(noise, self.taps, values)
        self.noise = noise[count:]
        return values


def white(rngs: list[np.random.Generator], shape: tuple[int, ...]) -> Array:
    """White noise; each generator fills its part, in a thread of its own, if there is much."""
    noise = np.empty(shape)
    if not is_long(noise.size):
        return rngs[0].standard_normal(out=noise)
    parts = np.array_split(noise.reshape(-1), len(rngs))
    _work.map(lambda pair: pair[0].standard_normal(out=pair[1]), list(zip(rngs, parts, strict=True)))
    return noise
