"""Maximum likelihood of a covariance and of the noise beside it, component by component (Courty 2013, 2.3.2).

The overall scale has a closed form and is left out of the search; length and noise are found by L-BFGS-B on
logarithms with exact gradients, from the best of several starts as ranked by the spectrum. Lengths lie
between one frame and a quarter of the series, noise is at least a millionth of the variance. Cost of one
evaluation: frames for Matérn covariances (filter), which gaps do not change; frames x order for the squared
exponential (Durbin's recursion), which takes the runs between gaps as independent.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array, BoolArray, runs
from marey.errors import InputError
from marey.statistics.processes import covariances
from marey.statistics.processes.covariances import KERNELS, Covariance, Matern
from marey.statistics.processes.trend import checked

# Bounds of the noise over the variance, and where searches start.
LEAST_NOISE, MOST_NOISE = 1e-6, 1e2
NOISE_STARTS = (1e-4, 1e-2)
LENGTH_STARTS = (0.25, 1.0, 4.0)
# Squared partial correlation below which the predictor of Durbin's recursion counts as unchanged.
UNCHANGED = 1e-20


def fit(
    series: ArrayLike,
    frame_rate: float,
    *,
    kernel: str = "matern52",
    mask: ArrayLike | None = None,
    searches: int = 3,
) -> tuple[Covariance, Array]:
    """Covariance and noise variance `(components,)` most likely for a series of mean 0.

    Args:
        series: `(frames, components)`.
        frame_rate: Frames a second.
        kernel: A name of `KERNELS`.
        mask: `(frames,)` or `(frames, components)`, which values count.
        searches: From how many of the best starts to search.

    >>> from marey.statistics.processes.covariances import SquaredExponential
    >>> from marey.statistics.processes.process import draw
    >>> rng = np.random.default_rng(1)
    >>> drawn = draw(SquaredExponential(2.0, 0.2), 30.0, 2000, draws=1, rng=rng)[0]
    >>> found, noise = fit(drawn + 0.1 * rng.normal(size=drawn.shape), 30.0, kernel="se")
    >>> bool(1.5 < found.variance[0] < 2.7 and 0.19 < found.length[0] < 0.21 and 0.009 < noise[0] < 0.011)
    True
    """
    values, known = checked(series, mask)
    if not frame_rate > 0:
        raise InputError(f"the frame rate must be positive, not {frame_rate}")
    if kernel not in KERNELS:
        raise InputError(f"kernel {kernel!r}: one of {', '.join(KERNELS)}")
    kind = KERNELS[kernel]

    def one(c: int) -> tuple[float, float, float]:
        return _fit_one(kind, values[:, c], known[:, c], frame_rate, searches)

    found = np.array(_work.map(one, range(values.shape[1]), jobs=2))
    return kind(found[:, 0], found[:, 1]), found[:, 2]


def _fit_one(
    kind: type[Covariance], values: Array, known: BoolArray, frame_rate: float, searches: int
) -> tuple[float, float, float]:
    """Variance, length and noise of one component."""
    from scipy.optimize import minimize

    size = float(np.sqrt(np.mean(values[known] ** 2)))
    scaled = values / size if size > 0 else values
    longest = max(int(known.sum()) / 4, 2.0) / frame_rate
    bounds = np.log([(1 / frame_rate, longest), (LEAST_NOISE, MOST_NOISE)])
    likelihood = Likelihood(kind, scaled, known, frame_rate)
    length = _decay_time(scaled, known, frame_rate)
    ranked = []
    for factor, ratio in product(LENGTH_STARTS, NOISE_STARTS):
        point = np.clip(np.log([factor * length, ratio]), *bounds.T)
        ranked.append((whittle(*likelihood.at(point), frame_rate, scaled, known), point))
    ranked.sort(key=lambda pair: pair[0])
    found = [
        minimize(likelihood, point, jac=True, method="L-BFGS-B", bounds=bounds.tolist())
        for _, point in ranked[:searches]
    ]
    best = min(found, key=lambda one: float(one.fun))
    # A component that never moves still gets a covariance, of next to no variance.
    scale = max(likelihood.scale(best.x) * size**2, 1e-250)
    return scale, float(np.exp(best.x[0])), float(np.exp(best.x[1])) * scale


class Likelihood:
    """Minus log-likelihood a frame and its gradient by log-length and log-noise, with the best variance.

    The noise is relative to the variance, which is 1 and no parameter.
    """

    def __init__(self, kind: type[Covariance], values: Array, known: BoolArray, frame_rate: float):
        self.kind, self.values, self.known, self.frame_rate = kind, values, known, frame_rate

    def at(self, point: Array) -> tuple[Covariance, float]:
        """Covariance of variance 1, and noise."""
        length, noise = np.exp(point)
        return self.kind(np.ones(1), np.array([length])), float(noise)

    def __call__(self, point: Array) -> tuple[float, Array]:
        sums = self._sums(point)
        if not (np.isfinite(sums.squares) and np.isfinite(sums.logs)):
            return 1e10, np.zeros_like(point)
        scale = max(sums.squares / sums.number, 1e-300)
        value = 0.5 * (sums.logs / sums.number + np.log(scale))
        slopes = 0.5 * (sums.log_slopes + sums.square_slopes / scale) / sums.number
        return float(value), slopes[1:]

    def scale(self, point: Array) -> float:
        """The variance that is most likely."""
        sums = self._sums(point)
        return max(float(sums.squares) / sums.number, 1e-300)

    def _sums(self, point: Array) -> covariances.Sums:
        return innovations(*self.at(point), self.frame_rate, self.values, self.known)


def innovations(
    covariance: Covariance,
    noise: float,
    frame_rate: float,
    series: ArrayLike,
    known: ArrayLike | None = None,
) -> covariances.Sums:
    """The likelihood of one series `(frames,)` where `known` `(frames,)` is true; everywhere if None."""
    values = np.asarray(series, dtype=float)
    marks = np.ones(len(values), np.bool_) if known is None else np.asarray(known, np.bool_)
    if isinstance(covariance, Matern):
        return covariances.innovation_sums(covariance, noise, frame_rate, values, marks)
    parts = [innovation_sums(covariance, noise, frame_rate, values[a:b]) for a, b in runs(marks)]
    return covariances.Sums(*(sum(each) for each in zip(*parts, strict=True)))


def innovation_sums(
    covariance: Covariance, noise: float, frame_rate: float, series: ArrayLike
) -> covariances.Sums:
    """The likelihood of one even series `(frames,)` without gaps, by Durbin's recursion.

    It predicts each frame from those before; no covariance matrix is formed. Slopes are by the logarithms of
    variance, length and noise. Cost: frames x order, beyond which the predictor no longer changes.

    >>> from marey.statistics.processes.covariances import SquaredExponential
    >>> sums = innovation_sums(SquaredExponential(1.0, 0.1), 0.01, 30.0, [0.1, 0.2, 0.1, -0.3])
    >>> round(sums.log_likelihood[0], 4)
    -1.1704
    """
    from marey.statistics.processes import _kernels

    values = np.array(series, dtype=float)
    lags = np.arange(len(values)) / frame_rate
    row, slope = covariance(lags)[:, 0], covariance.gradient(lags)[1, :, 0]

    def run(step: complex, errors: complex) -> tuple[complex, complex]:
        covariances = row + step * slope
        covariances[0] += errors
        sums = _kernels.durbin(values, covariances, UNCHANGED)
        return complex(sums[0]), complex(sums[1])

    return covariances.Sums.of(run, noise, len(values))


def whittle(
    covariance: Covariance, noise: float, frame_rate: float, series: ArrayLike, known: ArrayLike
) -> float:
    """Minus log-likelihood of the periodogram with the best overall scale.

    The periodogram is compared with its expectation over the known frames, so gaps do no harm.
    """
    values = np.where(known, np.asarray(series, dtype=float), 0.0)
    frames = len(values)
    size, pairs = _pairs(known)
    row = covariance(np.arange(frames) / frame_rate)[:, 0] * pairs
    row[0] += noise * pairs[0]
    wrapped = np.zeros(size)
    wrapped[:frames] = row
    wrapped[-frames + 1 :] += row[:0:-1]
    expected = np.maximum(np.fft.rfft(wrapped).real, 1e-12 * row[0])[2::2]
    seen = (np.abs(np.fft.rfft(values, size)) ** 2)[2::2]
    scale = float(np.mean(seen / expected))
    return float(np.sum(np.log(expected)) + len(expected) * np.log(max(scale, 1e-300)))


def _decay_time(values: Array, known: BoolArray, frame_rate: float) -> float:
    """Seconds in which the autocorrelation falls to 1/e."""
    frames = len(values)
    size, pairs = _pairs(known)
    power = np.abs(np.fft.rfft(np.where(known, values, 0.0), size)) ** 2
    correlation = np.fft.irfft(power, size)[:frames] / np.maximum(pairs, 0.5)
    below = np.flatnonzero(correlation < correlation[0] / np.e)
    return max((int(below[0]) if len(below) else frames // 4) / frame_rate, 1 / frame_rate)


def _pairs(known: ArrayLike) -> tuple[int, Array]:
    """Size of a transform without wrapping, and how many known pairs of frames there are at each lag."""
    marks = np.asarray(known, dtype=float)
    size = 1 << int(np.ceil(np.log2(2 * len(marks))))
    return size, np.fft.irfft(np.abs(np.fft.rfft(marks, size)) ** 2, size)[: len(marks)]
