"""Every number by itself as a Gaussian process with squared exponential covariance, most likely on its own.

The model of Courty & Cuzol 2010, section 5, as a bridge over one hole; kept to compare with. Lengths and
noise come from a grid, so that all numbers share the factorisations: O(grid · known frames³), the known
frames being those near the hole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Frames on either side that are looked at.
NEAR = 150
LENGTHS = (2.0, 3.0, 5.0, 7.0, 10.0, 14.0, 20.0, 28.0, 40.0, 56.0)
NOISES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)


def krige(times: Array, values: Array, wanted: Array) -> tuple[Array, Array]:
    """Mean and covariance root of each number: `(wanted, numbers)` and `(numbers, wanted, wanted)`.

    times: `(known,)`, frames; values: `(known, numbers)`; wanted: `(wanted,)`, frames

    >>> wave = np.sin(np.arange(80) / 10.0)[:, None]
    >>> known = np.r_[0:40, 45:80].astype(float)
    >>> mean, _ = krige(known, wave[known.astype(int)], np.arange(40.0, 45.0))
    >>> bool(np.abs(mean - wave[40:45]).max() < 1e-3)
    True
    """
    centre = values.mean(axis=0)
    centred = values - centre
    count, numbers = values.shape
    likeliest = np.full(numbers, -np.inf)
    mean, roots = np.zeros((len(wanted), numbers)), np.zeros((numbers, len(wanted), len(wanted)))
    for length in LENGTHS:
        inner, across, own = (
            np.exp(-np.square(a[:, None] - b) / (2.0 * length**2))
            for a, b in ((times, times), (wanted, times), (wanted, wanted))
        )
        for noise in NOISES:
            try:
                factor = np.linalg.cholesky(inner + noise * np.eye(count))
            except np.linalg.LinAlgError:
                continue
            white = np.linalg.solve(factor, centred)
            size = np.maximum(np.square(white).mean(axis=0), 1e-300)
            likelihood = -0.5 * count * np.log(size) - np.log(np.diag(factor)).sum()
            better = likelihood > likeliest
            if better.any():
                gain = np.linalg.solve(factor, across.T)
                values_, vectors = np.linalg.eigh(own - gain.T @ gain)
                root = vectors * np.sqrt(np.maximum(values_, 0.0))
                mean[:, better] = gain.T @ white[:, better]
                roots[better] = np.sqrt(size[better])[:, None, None] * root
                likeliest[better] = likelihood[better]
    return mean + centre, roots
