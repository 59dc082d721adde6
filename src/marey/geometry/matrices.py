"""Rotations as 3 x 3 matrices, vectors as skew matrices, and differentials of the exponential and logarithm.

Matrices act on column vectors; `hat(a) @ b` is the cross product (Tournier 2011, section 5.2).
From matrix to quaternion the largest of the four squared components is used (Shepperd's choice), so
no digit is lost at any angle. With R = exp(w), the *body* differential gives R^T dR, the angular velocity in
the rotated frame, and the *spatial* one dR R^T, in the fixed frame (sections 5.3 and 6.1); series take over
below an angle of 0.01. Cost: a few dozen multiplications a rotation, and two sines a differential.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey.geometry._batch import Array, dot, quaternions, square, vectors

_SERIES_BELOW = 1e-2


def to_matrix(q: ArrayLike) -> Array:
    """Rotation matrices `(..., 3, 3)` of unit quaternions `(..., 4)`.

    >>> to_matrix([0.0, 1.0, 0.0, 0.0])
    array([[ 1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0., -1.]])
    """
    q = quaternions(q)
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    matrix = np.empty((*q.shape[:-1], 3, 3))
    matrix[..., 0, 0] = 1.0 - (yy + zz)
    matrix[..., 0, 1] = xy - wz
    matrix[..., 0, 2] = xz + wy
    matrix[..., 1, 0] = xy + wz
    matrix[..., 1, 1] = 1.0 - (xx + zz)
    matrix[..., 1, 2] = yz - wx
    matrix[..., 2, 0] = xz - wy
    matrix[..., 2, 1] = yz + wx
    matrix[..., 2, 2] = 1.0 - (xx + yy)
    return matrix


def from_matrix(matrix: ArrayLike) -> Array:
    """Unit quaternions `(..., 4)` with w >= 0 of rotation matrices `(..., 3, 3)`.

    >>> from_matrix([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).round(6)
    array([0.707107, 0.      , 0.      , 0.707107])
    """
    R = square(matrix, 3, "rotation matrices")
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    # Row i of `outer` is 4 q_i q; the row of the largest q_i is the best conditioned.
    outer = np.empty((*R.shape[:-2], 4, 4))
    outer[..., 0, 0] = 1.0 + xx + yy + zz
    outer[..., 1, 1] = 1.0 + xx - yy - zz
    outer[..., 2, 2] = 1.0 - xx + yy - zz
    outer[..., 3, 3] = 1.0 - xx - yy + zz
    outer[..., 0, 1] = outer[..., 1, 0] = R[..., 2, 1] - R[..., 1, 2]
    outer[..., 0, 2] = outer[..., 2, 0] = R[..., 0, 2] - R[..., 2, 0]
    outer[..., 0, 3] = outer[..., 3, 0] = R[..., 1, 0] - R[..., 0, 1]
    outer[..., 1, 2] = outer[..., 2, 1] = R[..., 1, 0] + R[..., 0, 1]
    outer[..., 1, 3] = outer[..., 3, 1] = R[..., 0, 2] + R[..., 2, 0]
    outer[..., 2, 3] = outer[..., 3, 2] = R[..., 2, 1] + R[..., 1, 2]
    largest = np.einsum("...ii->...i", outer).argmax(axis=-1)
    q = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    q /= np.sqrt(np.einsum("...i,...i->...", q, q))[..., None]
    return np.where(q[..., :1] < 0.0, -q, q)


def hat(vector: ArrayLike) -> Array:
    """Skew matrices `(..., 3, 3)` with `hat(a) @ b == cross(a, b)`.

    >>> hat([1.0, 2.0, 3.0])
    array([[ 0., -3.,  2.],
           [ 3.,  0., -1.],
           [-2.,  1.,  0.]])
    """
    v = vectors(vector)
    skew = np.zeros((*v.shape[:-1], 3, 3))
    skew[..., 2, 1] = v[..., 0]
    skew[..., 0, 2] = v[..., 1]
    skew[..., 1, 0] = v[..., 2]
    skew[..., 1, 2] = -v[..., 0]
    skew[..., 2, 0] = -v[..., 1]
    skew[..., 0, 1] = -v[..., 2]
    return skew


def vee(skew: ArrayLike) -> Array:
    """Vectors `(..., 3)` of matrices `(..., 3, 3)`: the inverse of :func:`hat`, from their skew part.

    >>> vee(hat([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    S = square(skew, 3, "skew matrices")
    return 0.5 * np.stack(
        [S[..., 2, 1] - S[..., 1, 2], S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]], axis=-1
    )


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
