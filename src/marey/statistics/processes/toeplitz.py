"""Exact likelihood of a gap-free series by Durbin's recursion, and a quick approximate one by its spectrum.

The recursion predicts each frame from those before it (Courty 2013, section 2.3.2, without its matrices): no
covariance matrix is formed. Cost: frames x order, beyond which the predictor no longer changes (frames² at
worst); the spectral one costs frames x log(frames) and bears gaps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.statistics.processes.covariances import Covariance
from marey.statistics.processes.state_space import Sums

Array = NDArray[np.float64]
# Squared partial correlation below which the predictor counts as unchanged.
UNCHANGED = 1e-20


def innovation_sums(covariance: Covariance, noise: float, frame_rate: float, series: ArrayLike) -> Sums:
    """What the likelihood of one even series `(frames,)` needs; slopes by log-parameters and log-noise."""
    from marey.statistics.processes import _likelihood_kernels

    values = np.array(series, dtype=float)
    lags = np.arange(len(values)) / frame_rate
    row = covariance(lags)[:, 0]
    slopes = np.vstack([covariance.gradient(lags)[:, :, 0], np.zeros(len(values))])
    row[0] += noise
    slopes[-1, 0] = noise
    return Sums(*_likelihood_kernels.durbin(values, row, slopes, UNCHANGED))


def log_likelihood(
    covariance: Covariance, noise: float, frame_rate: float, series: ArrayLike
) -> tuple[float, Array]:
    """Log-likelihood of one even series without gaps, and its gradient by log-parameters and log-noise.

    >>> from marey.statistics.processes.covariances import SquaredExponential
    >>> value, slope = log_likelihood(SquaredExponential(1.0, 0.1), 0.01, 30.0, [0.1, 0.2, 0.1, -0.3])
    >>> round(value, 4), slope.shape
    (-1.1704, (3,))
    """
    sums = innovation_sums(covariance, noise, frame_rate, series)
    count = len(np.asarray(series))
    value = -0.5 * (sums.logs + sums.squares + count * np.log(2 * np.pi))
    return float(value), -0.5 * (sums.log_slopes + sums.square_slopes)


def whittle(
    covariance: Covariance, noise: float, frame_rate: float, series: ArrayLike, known: ArrayLike
) -> tuple[float, float]:
    """Minus log-likelihood of the periodogram with the best overall scale, and that scale.

    The periodogram is compared with its expectation over the known frames, so gaps do no harm.
    """
    values = np.where(known, np.asarray(series, dtype=float), 0.0)
    marks = np.asarray(known, dtype=float)
    frames = len(values)
    size = 1 << int(np.ceil(np.log2(2 * frames)))
    pairs = np.fft.irfft(np.abs(np.fft.rfft(marks, size)) ** 2, size)[:frames]
    row = covariance(np.arange(frames) / frame_rate)[:, 0] * pairs
    row[0] += noise * pairs[0]
    wrapped = np.zeros(size)
    wrapped[:frames] = row
    wrapped[-frames + 1 :] += row[:0:-1]
    expected = np.maximum(np.fft.rfft(wrapped).real, 1e-12 * row[0])[2::2]
    seen = (np.abs(np.fft.rfft(values, size)) ** 2)[2::2]
    scale = float(np.mean(seen / expected))
    return float(np.sum(np.log(expected)) + len(expected) * np.log(max(scale, 1e-300))), scale
