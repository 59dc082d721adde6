"""How noisy a series is, from the series itself.

Third differences take away everything that a motion does slowly and leave √20 times the noise of a sample;
the median of their lengths is that of noise as long as motion is quick for less than half of the time. For
rotations they are second differences of `log(q_i⁻¹ q_{i+1})`, and only their length is used, so the figure
does not depend on the frame of reference. Cost: one logarithm a sample and a median.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.geometry import rotations as so3
from marey.geometry.filtering.boundaries import as_series

# Root of 1² + 3² + 3² + 1².
GAIN = np.sqrt(20.0)


def rotation_noise(rotations: ArrayLike) -> Array:
    """Standard deviation `(...)` of each rotation-vector component's noise, radians, of `(frames, ..., 4)`.

    Zero for fewer than four frames.

    >>> shaken = so3.exp(np.random.default_rng(0).normal(scale=0.05, size=(9000, 3)))
    >>> round(float(rotation_noise(shaken)), 3)
    0.05
    """
    series = as_series(rotations, 4, "rotations")
    steps = so3.log(so3.multiply(so3.inverse(series[:, :-1]), series[:, 1:]))
    return _spread(np.diff(steps, n=2, axis=1)).reshape(np.shape(rotations)[1:-1])


def vector_noise(vectors: ArrayLike) -> Array:
    """Standard deviation `(...)` of each component's noise, of vectors `(frames, ..., dims)`.

    >>> shaken = np.random.default_rng(0).normal(scale=0.02, size=(9000, 3))
    >>> round(float(vector_noise(shaken)), 3)
    0.02
    """
    series = as_series(vectors, None, "vectors")
    return _spread(np.diff(series, n=3, axis=1)).reshape(np.shape(vectors)[1:-1])


def _spread(differences: Array) -> Array:
    """Noise a component of each series of `(series, samples, dims)` differences."""
    if differences.shape[1] == 0:
        return np.zeros(len(differences))
    dims = differences.shape[2]
    # Median length of a standard normal vector (Wilson and Hilferty); 0.6745 in one dimension.
    usual = 0.6745 if dims == 1 else np.sqrt(dims * (1.0 - 2.0 / (9.0 * dims)) ** 3)
    return np.asarray(np.median(np.linalg.norm(differences, axis=2), axis=1) / (usual * GAIN))
