"""Roots of covariance and precision matrices, shared by autoregressions and Gaussian processes."""

from __future__ import annotations

import numpy as np

from marey._arrays import Array
from marey.errors import InputError

# Floor on the diagonal, relative to its largest entry, for matrices that rounding makes indefinite.
FLOOR = 1e-15


def psd_root(covariance: Array) -> Array:
    """A matrix `F` with `F Fᵀ` the covariance; lower triangular unless that is singular.

    >>> psd_root(np.array([[4.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def lower_root(matrix: Array, floor: Array | float = 0.0) -> Array:
    """Lower triangular root of a matrix with `floor` on its diagonal, raised tenfold until there is one."""
    from scipy.linalg import LinAlgError, cholesky

    least = FLOOR * float(np.max(np.diagonal(matrix), initial=1e-300))
    for _ in range(8):
        raised = matrix + np.diag(np.broadcast_to(floor, len(matrix)))
        try:
            return np.asarray(cholesky(raised, lower=True, check_finite=False))
        except LinAlgError:
            floor = 10.0 * floor + least
    raise InputError("the covariance cannot be factored: constraints contradict each other or are too close")
