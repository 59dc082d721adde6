"""The textbook formulas with full matrices, to compare with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.statistics.processes.covariances import (
    Covariance,
    Matern12,
    Matern32,
    Matern52,
    SquaredExponential,
)
from marey.statistics.processes.trend import Trend

Array = NDArray[np.float64]

SMOOTH = SquaredExponential(1.3, 0.2)
MARKOV: dict[str, Covariance] = {
    "matern12": Matern12(1.3, 0.2),
    "matern32": Matern32(1.3, 0.2),
    "matern52": Matern52(0.7, 0.3),
}
ALL: dict[str, Covariance] = {"squared-exponential": SMOOTH, **MARKOV}


def matrix(covariance: Covariance, times: Array, others: Array | None = None) -> Array:
    lags = np.subtract.outer(times, times if others is None else others)
    return covariance(lags.ravel())[:, 0].reshape(lags.shape)


def log_likelihood(covariance: Covariance, noise: float, times: Array, values: Array) -> float:
    C = matrix(covariance, times) + noise * np.eye(len(times))
    return float(-0.5 * (values @ np.linalg.solve(C, values) + np.linalg.slogdet(2 * np.pi * C)[1]))


def posterior(
    covariance: Covariance, times: Array, values: Array, noise: Array, targets: Array
) -> tuple[Array, Array]:
    """Mean and covariance at the targets."""
    cross = matrix(covariance, targets, times)
    solved = np.linalg.solve(matrix(covariance, times) + np.diag(noise), np.c_[values, cross.T])
    return cross @ solved[:, 0], matrix(covariance, targets) - cross @ solved[:, 1:]


def posterior_of_sums(C: Array, rows: Array, values: Array, noise: Array) -> tuple[Array, Array]:
    """Mean and covariance of a vector with covariance `C` given weighted sums `rows` of it."""
    gain = C @ rows.T @ np.linalg.inv(rows @ C @ rows.T + np.diag(noise))
    return gain @ values, C - gain @ rows @ C


def level(components: int = 1, value: float = 0.0) -> Trend:
    return Trend(np.full((1, components), value), 1.0, 0, 0, None)


def worst_in_errors(found: Array, expected_mean: Array, expected_covariance: Array) -> tuple[float, float]:
    """Largest deviation of mean and covariance of draws `(draws, n)`, in standard errors."""
    draws = len(found)
    spread = np.maximum(np.diagonal(expected_covariance), 0.0)
    floor = 1e-9
    mean = np.abs(found.mean(0) - expected_mean) / (np.sqrt(spread / draws) + floor)
    centred = found - expected_mean
    errors = np.sqrt((np.outer(spread, spread) + expected_covariance**2) / draws) + floor
    covariance = np.abs(centred.T @ centred / draws - expected_covariance) / errors
    return float(mean.max()), float(covariance.max())
