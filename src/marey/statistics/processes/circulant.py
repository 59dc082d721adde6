"""Unconditional draws on even frames by circulant embedding (Courty 2013, section 3.2.2.1, without its root).

The covariance row is wrapped onto a circle, where the discrete Fourier transform is its eigenbasis. Exact
wherever the wrapped row is positive, which a long enough circle gives. Cost: frames x log(frames) a draw.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.errors import ModelError
from marey.statistics.processes.covariances import Covariance

Array = NDArray[np.float64]
# Negative eigenvalues up to this part of the largest are rounding.
ROUNDING = 1e-9
DOUBLINGS = 4


def spectrum(covariance: Covariance, frame_rate: float, frames: int) -> Array:
    """Eigenvalues `(circle / 2 + 1, components)` of a circle that keeps the covariance of `frames` frames."""
    circle = 1 << int(np.ceil(np.log2(max(2 * frames, 8))))
    for _ in range(DOUBLINGS + 1):
        lags = np.arange(circle // 2 + 1) / frame_rate
        row = covariance(lags)
        values = np.fft.rfft(np.vstack([row, row[-2:0:-1]]), axis=0).real
        if (values.min(axis=0) >= -ROUNDING * values.max(axis=0)).all():
            return np.maximum(values, 0.0)
        circle *= 2
    raise ModelError(
        f"the covariance reaches too far to draw {frames} frames; use one that decays, or draw more frames"
    )


def sample(
    covariance: Covariance, frame_rate: float, frames: int, *, draws: int, rng: np.random.Generator
) -> Array:
    """Unconditional draws `(draws, frames, components)` of mean 0.

    >>> from marey.statistics.processes.covariances import SquaredExponential
    >>> drawn = sample(SquaredExponential(4.0, 0.1), 30.0, 500, draws=40, rng=np.random.default_rng(0))
    >>> drawn.shape, bool(3.5 < drawn.var() < 4.5)
    ((40, 500, 1), True)
    """
    values = spectrum(covariance, frame_rate, frames)
    circle = 2 * (len(values) - 1)
    white = rng.standard_normal((draws, circle, covariance.components))
    coloured = np.fft.rfft(white, axis=1) * np.sqrt(values)
    return np.fft.irfft(coloured, circle, axis=1)[:, :frames]
