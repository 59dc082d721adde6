"""Maximum likelihood of a covariance and of the noise beside it, component by component (Courty 2013, 2.3.2).

The overall scale has a closed form and is left out of the search; the rest is found by L-BFGS-B on
logarithms with exact gradients, from the best of several starts as ranked by the spectrum. Lengths lie
between one frame and a quarter of the series, noise is at least a millionth of the variance. Cost of one
evaluation: frames for covariances with a Markov form (filter), frames x order for others (Durbin); gaps cost
nothing with the former, while the latter take the stretches between gaps as independent, or a dense matrix
below 500 frames.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import runs
from marey.errors import InputError
from marey.statistics.processes import state_space, toeplitz
from marey.statistics.processes.covariances import (
    Covariance,
    DampedOscillation,
    Matern12,
    Matern32,
    Matern52,
    QuasiPeriodic,
    SquaredExponential,
    Sum,
)
from marey.statistics.processes.trend import checked

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

KINDS: dict[str, type[Covariance]] = {
    "squared-exponential": SquaredExponential,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "oscillation": DampedOscillation,
    "quasi-periodic": QuasiPeriodic,
}
LEAST_NOISE, MOST_NOISE = 1e-6, 1e2
NOISE_STARTS = (1e-4, 1e-2)
LENGTH_STARTS = (0.25, 1.0, 4.0)
DECAY_STARTS = (1.0, 5.0)
# Starts that are searched from, after all have been ranked.
SEARCHES = 3
DENSE = 500


def fit(
    series: ArrayLike,
    frame_rate: float,
    *,
    kernel: str | Covariance = "matern52",
    mask: ArrayLike | None = None,
    searches: int = SEARCHES,
) -> tuple[Covariance, Array]:
    """Covariance and noise variance `(components,)` most likely for `(frames, components)` of mean 0.

    kernel: a name of `KINDS`, several joined by "+", or a covariance whose parameters are the only start

    >>> from marey.statistics.processes import circulant
    >>> rng = np.random.default_rng(1)
    >>> drawn = circulant.sample(SquaredExponential(2.0, 0.2), 30.0, 2000, draws=1, rng=rng)[0]
    >>> found, noise = fit(drawn + 0.1 * rng.normal(size=drawn.shape), 30.0, kernel="squared-exponential")
    >>> bool(1.5 < found.variance[0] < 2.7 and 0.19 < found.length[0] < 0.21 and 0.009 < noise[0] < 0.011)
    True
    """
    values, known = checked(series, mask)
    if not frame_rate > 0:
        raise InputError(f"the frame rate must be positive, not {frame_rate}")
    columns = range(values.shape[1])

    def one(c: int) -> tuple[Array, float]:
        template = (
            kernel.component(min(c, kernel.components - 1)) if isinstance(kernel, Covariance) else kernel
        )
        return _fit_one(values[:, c], known[:, c], frame_rate, template, searches)

    found = _work.map(one, columns, jobs=2)
    shape = _starts(kernel, values[:, 0], known[:, 0], frame_rate)[0]
    return shape.with_theta(np.stack([theta for theta, _ in found])), np.array([n for _, n in found])


def _fit_one(
    values: Array, known: Mask, frame_rate: float, kernel: str | Covariance, searches: int
) -> tuple[Array, float]:
    from scipy.optimize import minimize

    size = float(np.sqrt(np.mean(values[known] ** 2)))
    scaled = values / size if size > 0 else values
    starts = _starts(kernel, scaled, known, frame_rate)
    bounds = _bounds(starts[0], int(known.sum()), frame_rate)
    likelihood = Likelihood(starts[0], scaled, known, frame_rate)
    ranked = []
    for start, ratio in product(starts, NOISE_STARTS):
        point = np.append(start.theta[0] - start.theta[0, 0], np.log(ratio))[1:]
        point = np.clip(point, *np.array(bounds).T)
        ranked.append((toeplitz.whittle(*likelihood.at(point), frame_rate, scaled, known)[0], point))
    ranked.sort(key=lambda pair: pair[0])
    best = None
    for _, point in ranked[:searches]:
        found = minimize(likelihood, point, jac=True, method="L-BFGS-B", bounds=bounds)
        if best is None or found.fun < best.fun:
            best = found
    assert best is not None
    # A component that never moves still gets a covariance, of next to no variance.
    scale = max(likelihood.scale(best.x) * size**2, 1e-250)
    covariance, noise = likelihood.at(best.x)
    theta = covariance.theta[0] + np.log(scale) * likelihood.is_variance
    return theta, noise * scale


class Likelihood:
    """Minus log-likelihood a frame and its gradient by log-parameters, with the best overall scale.

    Variances and noise are relative to the first variance, which is 1 and no parameter.
    """

    def __init__(self, kind: Covariance, values: Array, known: Mask, frame_rate: float):
        self.kind, self.values, self.known, self.frame_rate = kind, values, known, frame_rate
        self.count = int(known.sum())
        self.is_variance = np.array([name == "variance" for name in kind.parameters])
        self.times = np.arange(len(values)) / frame_rate
        self.stretches = runs(known)

    def at(self, point: Array) -> tuple[Covariance, float]:
        """Covariance with first variance 1, and noise."""
        return self.kind.with_theta(np.append(0.0, point[:-1])), float(np.exp(point[-1]))

    def __call__(self, point: Array) -> tuple[float, Array]:
        sums = self._sums(point)
        if not (np.isfinite(sums.squares) and np.isfinite(sums.logs)):
            return 1e10, np.zeros_like(point)
        scale = max(sums.squares / self.count, 1e-300)
        value = 0.5 * (sums.logs / self.count + np.log(scale))
        slopes = 0.5 * (sums.log_slopes + sums.square_slopes / scale) / self.count
        return float(value), slopes[1:]

    def scale(self, point: Array) -> float:
        """The overall variance that is most likely."""
        return max(float(self._sums(point).squares) / self.count, 1e-300)

    def _sums(self, point: Array) -> state_space.Sums:
        covariance, noise = self.at(point)
        if covariance.is_markov:
            return state_space.innovation_sums(covariance, noise, self.times, self.values, self.known)
        if len(self.stretches) > 1 and self.count < DENSE:
            return self._dense(covariance, noise)
        parts = [
            toeplitz.innovation_sums(covariance, noise, self.frame_rate, self.values[first:last])
            for first, last in self.stretches
        ]
        logs, squares, log_slopes, square_slopes = (sum(each) for each in zip(*parts, strict=True))
        return state_space.Sums(logs, squares, log_slopes, square_slopes)

    def _dense(self, covariance: Covariance, noise: float) -> state_space.Sums:
        from scipy.linalg import cho_factor, cho_solve

        times, values = self.times[self.known], self.values[self.known]
        lags = np.subtract.outer(times, times)
        unit = np.eye(len(times))
        factor = cho_factor(covariance(lags.ravel())[:, 0].reshape(lags.shape) + noise * unit, lower=True)
        slopes = covariance.gradient(lags.ravel())[:, :, 0].reshape(-1, *lags.shape)
        slopes = np.concatenate([slopes, noise * unit[None]])
        weights = cho_solve(factor, values)
        inverse = cho_solve(factor, unit)
        return state_space.Sums(
            2 * float(np.sum(np.log(np.diagonal(factor[0])))),
            float(values @ weights),
            np.einsum("pij,ij->p", slopes, inverse),
            -np.einsum("pij,i,j->p", slopes, weights, weights),
        )


def _starts(kernel: str | Covariance, values: Array, known: Mask, frame_rate: float) -> list[Covariance]:
    """Covariances of variance 1 to begin with."""
    if isinstance(kernel, Covariance):
        return [kernel]
    unknown = [name for name in kernel.split("+") if name.strip() not in KINDS]
    if unknown:
        raise InputError(f"no covariance {unknown[0]!r}; there are {', '.join(KINDS)}, and sums with +")
    length, period = _scales(values, known, frame_rate)
    choices: list[list[Covariance]] = []
    for name in kernel.split("+"):
        kind = KINDS[name.strip()]
        if kind in (DampedOscillation, QuasiPeriodic):
            choices.append([kind(1.0, period, decay * period) for decay in DECAY_STARTS])
        else:
            choices.append([kind(1.0, factor * length) for factor in LENGTH_STARTS])  # type: ignore[call-arg]
    return [each[0] if len(each) == 1 else Sum(each) for each in product(*choices)]


def _scales(values: Array, known: Mask, frame_rate: float) -> tuple[float, float]:
    """Seconds in which the autocorrelation falls to 1/e, and the period of the strongest oscillation."""
    frames = len(values)
    size = 1 << int(np.ceil(np.log2(2 * frames)))
    marks = np.where(known, 1.0, 0.0)
    power = np.abs(np.fft.rfft(np.where(known, values, 0.0), size)) ** 2
    pairs = np.fft.irfft(np.abs(np.fft.rfft(marks, size)) ** 2, size)[:frames]
    likeness = np.fft.irfft(power, size)[:frames] / np.maximum(pairs, 0.5)
    below = np.flatnonzero(likeness < likeness[0] / np.e)
    length = (int(below[0]) if len(below) else frames // 4) / frame_rate
    lowest = max(2, int(np.ceil(2 * size / frames)))
    strongest = lowest + int(np.argmax(power[lowest:])) if len(power) > lowest else lowest
    return max(length, 1 / frame_rate), size / strongest / frame_rate


def _bounds(kind: Covariance, frames: int, frame_rate: float) -> list[tuple[float, float]]:
    """Of the log-parameters but the first variance, and of the noise over it."""
    longest = max(frames / 4, 2.0) / frame_rate
    limits = {
        "variance": (1e-4, 1e4),
        "length": (1 / frame_rate, longest),
        "period": (2 / frame_rate, 2 * longest),
        "decay": (1 / frame_rate, 8 * longest),
        "falloff": (1e-4, 1.0),
    }
    return [tuple(np.log(limits[name])) for name in kind.parameters[1:]] + [
        (float(np.log(LEAST_NOISE)), float(np.log(MOST_NOISE)))
    ]
