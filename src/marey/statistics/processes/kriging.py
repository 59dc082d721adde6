"""Simple kriging: the best guess between known values, and its error (Courty 2013, section 3.2.1).

Values that must be met carry no error variance, measured ones do: the nugget on the diagonal of a key pose
would make the path jump at that frame. Beside values, a constraint may fix a weighted sum of frames: a
velocity, an average, or that a path ends where it began. Dense: values³ + values² x times; for many values
see `simulation`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.errors import InputError, ModelError
from marey.statistics.processes.covariances import Covariance

Array = NDArray[np.float64]
# Part of the variance put on the diagonal where values must be met, so that close ones can be solved.
JITTER = 1e-10


@dataclass(frozen=True, eq=False)
class Functional:
    """A weighted sum of frames that must have a value.

    frames: `(n,)`, whole frames; weights: `(n,)`
    value: one number for each component, or one for all
    variance: of the error allowed, 0 if the constraint must be met
    """

    frames: ArrayLike
    weights: ArrayLike
    value: ArrayLike
    variance: ArrayLike = 0.0

    def __post_init__(self) -> None:
        frames = np.atleast_1d(np.asarray(self.frames))
        weights = np.atleast_1d(np.asarray(self.weights, dtype=float))
        whole = frames.dtype.kind in "iu" and frames.ndim == 1 and len(frames) > 0
        if not (whole and weights.shape == frames.shape and np.isfinite(weights).all()):
            raise InputError("a functional needs whole frames and one finite weight for each")
        if not (np.isfinite(np.asarray(self.value, float)).all() and np.all(np.asarray(self.variance) >= 0)):
            raise InputError("a functional needs a finite value and a variance of 0 or more")
        object.__setattr__(self, "frames", frames.astype(np.int64))
        object.__setattr__(self, "weights", weights)

    def of(self, paths: Array) -> Array:
        """The weighted sums `(..., components)` of `paths (..., frames, components)`."""
        return np.einsum("k,...kc->...c", np.asarray(self.weights), paths[..., np.asarray(self.frames), :])


def velocity(frame: int, value: ArrayLike, frame_rate: float, *, variance: ArrayLike = 0.0) -> Functional:
    """The velocity at a frame, units a second, by its two neighbours.

    >>> velocity(5, 1.0, 30.0).weights.tolist()
    [-15.0, 15.0]
    """
    return Functional([frame - 1, frame + 1], [-frame_rate / 2, frame_rate / 2], value, variance)


def average(first: int, last: int, value: ArrayLike, *, variance: ArrayLike = 0.0) -> Functional:
    """The mean over the frames from `first` to `last`, both counted."""
    frames = np.arange(first, last + 1)
    return Functional(frames, np.full(len(frames), 1 / max(len(frames), 1)), value, variance)


def closure(first: int, last: int, *, variance: ArrayLike = 0.0) -> Functional:
    """The path is at `last` where it was at `first`."""
    return Functional([first, last], [-1.0, 1.0], 0.0, variance)


def krige(
    covariance: Covariance,
    known_times: ArrayLike,
    values: ArrayLike,
    times: ArrayLike,
    *,
    noise: ArrayLike = 0.0,
    mean: ArrayLike = 0.0,
) -> tuple[Array, Array]:
    """Best guess and error variance, both `(times, components)`, given `values (known, components)`.

    noise: error variance of the values, 0 where they must be met; broadcasts to `(known, components)`.
    Far from all values the guess falls back to `mean`.

    >>> from marey.statistics.processes.covariances import SquaredExponential
    >>> guess, error = krige(SquaredExponential(1.0, 0.3), [0.0, 1.0], [[2.0], [1.0]], [0.0, 9.0])
    >>> guess.round(6).ravel().tolist(), error.round(6).ravel().tolist()
    ([2.0, 0.0], [0.0, 1.0])
    """
    at, wanted = np.asarray(known_times, dtype=float), np.asarray(times, dtype=float)
    given = np.asarray(values, dtype=float).reshape(len(at), -1) - np.asarray(mean, dtype=float)
    errors = np.broadcast_to(np.asarray(noise, dtype=float), given.shape)
    guesses, variances = np.empty((2, len(wanted), given.shape[1]))
    for c in range(given.shape[1]):
        own = covariance.component(min(c, covariance.components - 1))
        cross = between(own, wanted, at)
        factor = Factor(between(own, at, at), errors[:, c])
        guesses[:, c] = cross @ factor.solve(given[:, c])
        reduced = factor.half(cross.T)
        variances[:, c] = np.maximum(own.variance_at_zero - np.sum(reduced**2, axis=0), 0.0)
    return guesses + np.asarray(mean, dtype=float), variances


def between(covariance: Covariance, times: Array, others: Array) -> Array:
    """Covariances `(times, others)` of the first component."""
    lags = np.subtract.outer(times, others)
    return covariance(lags.ravel())[:, 0].reshape(lags.shape)


class Factor:
    """The triangular root `L` of a covariance matrix with error variances on its diagonal."""

    def __init__(self, matrix: Array, errors: Array):
        from scipy.linalg import LinAlgError, cholesky

        scale = float(np.max(np.diagonal(matrix), initial=1e-300))
        self.matrix = matrix + np.diag(errors)
        jitter = np.where(errors > JITTER * scale, 0.0, JITTER * scale)
        for _ in range(4):
            try:
                self.root = cholesky(self.matrix + np.diag(jitter), lower=True, check_finite=False)
                return
            except LinAlgError:
                jitter = jitter * 10 + JITTER * scale
        raise ModelError("constraints contradict each other or are too close; leave some out or allow errors")

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
