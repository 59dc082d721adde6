"""Differentials of the exponential and logarithm of rotations, as 3 x 3 matrices.

With R = exp(w): the *body* differential gives R^T dR, the angular velocity in the rotated frame, and
the *spatial* one gives dR R^T, in the fixed frame (Tournier 2011, sections 5.3 and 6.1). Series take
over below an angle of 0.01. Cost: two sines and a few products a vector.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey.geometry._batch import Array, dot, vectors
from marey.geometry.matrices import hat

_SERIES_BELOW = 1e-2


def dexp_body(rotation_vector: ArrayLike) -> Array:
    """Matrices D `(..., 3, 3)`: R = exp(w) changes by R hat(D dw) when w `(..., 3)` changes by dw.

    >>> dexp_body([0.0, 0.0, np.pi]).round(6)
    array([[ 0.     ,  0.63662,  0.     ],
           [-0.63662,  0.     ,  0.     ],
           [ 0.     ,  0.     ,  1.     ]])
    """
    w = vectors(rotation_vector, "rotation vectors")
    squared = dot(w, w)
    return _polynomial(w, -one_minus_cosine(squared), angle_minus_sine(squared))


def dexp_spatial(rotation_vector: ArrayLike) -> Array:
    """Matrices D `(..., 3, 3)`: R = exp(w) changes by hat(D dw) R; the transpose of the body's.

    >>> np.allclose(dexp_spatial([0.1, 0.2, 0.3]), dexp_body([0.1, 0.2, 0.3]).T)
    True
    """
    w = vectors(rotation_vector, "rotation vectors")
    squared = dot(w, w)
    return _polynomial(w, one_minus_cosine(squared), angle_minus_sine(squared))


def dexp_body_inverse(rotation_vector: ArrayLike) -> Array:
    """Inverse of :func:`dexp_body`: how w = log(R) changes when R turns by a body rotation vector.

    Defined for angles below 2 pi.

    >>> np.allclose(dexp_body_inverse([0.1, 0.2, 0.3]) @ dexp_body([0.1, 0.2, 0.3]), np.eye(3))
    True
    """
    w = vectors(rotation_vector, "rotation vectors")
    return _polynomial(w, np.full(w.shape[:-1], 0.5), inverse_second(dot(w, w)))


def dexp_spatial_inverse(rotation_vector: ArrayLike) -> Array:
    """Inverse of :func:`dexp_spatial`: how log(R) changes when R turns by a spatial rotation vector.

    >>> np.allclose(dexp_spatial_inverse([0.1, 0.2, 0.3]) @ dexp_spatial([0.1, 0.2, 0.3]), np.eye(3))
    True
    """
    w = vectors(rotation_vector, "rotation vectors")
    return _polynomial(w, np.full(w.shape[:-1], -0.5), inverse_second(dot(w, w)))


def one_minus_cosine(squared: Array) -> Array:
    """(1 - cos t) / t^2 of squared angles t^2, as half the square of sin(t/2) / (t/2)."""
    small = squared < _SERIES_BELOW**2
    half = 0.5 * np.sqrt(np.where(small, 1.0, squared))
    series = 0.5 - squared / 24.0 + squared**2 / 720.0
    return np.where(small, series, 0.5 * (np.sin(half) / half) ** 2)


def angle_minus_sine(squared: Array) -> Array:
    """(t - sin t) / t^3 of squared angles t^2."""
    small = squared < _SERIES_BELOW**2
    angle = np.sqrt(np.where(small, 1.0, squared))
    series = 1.0 / 6.0 - squared / 120.0 + squared**2 / 5040.0
    return np.where(small, series, (angle - np.sin(angle)) / angle**3)


def inverse_second(squared: Array) -> Array:
    """1 / t^2 - cot(t/2) / (2 t) of squared angles t^2: the quadratic term of the inverse differential."""
    small = squared < _SERIES_BELOW**2
    angle = np.sqrt(np.where(small, 1.0, squared))
    half = 0.5 * angle
    series = 1.0 / 12.0 + squared / 720.0 + squared**2 / 30240.0
    # cot(half) as cos / sin: exact at pi, where tan overflows.
    return np.where(small, series, (1.0 - half * np.cos(half) / np.sin(half)) / angle**2)


def _polynomial(w: Array, first: Array, second: Array) -> Array:
    """I + first W + second W^2 with W = hat(w)."""
    W = hat(w)
    return np.eye(3) + first[..., None, None] * W + second[..., None, None] * (W @ W)
