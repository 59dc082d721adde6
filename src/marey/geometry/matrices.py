"""Rotations as matrices and Euler angles, vectors as skew matrices, differentials of the exponential.

Matrices act on column vectors; `hat(a) @ b` is the cross product (Tournier 2011, section 5.2).
From matrix to quaternion the largest of the four squared components is used (Shepperd's choice), so
no digit is lost at any angle. With R = exp(w), the *body* differential gives R^T dR, the angular velocity in
the rotated frame, and the *spatial* one dR R^T, in the fixed frame (sections 5.3 and 6.1); series take over
below an angle of 0.01. Cost: a few dozen multiplications a rotation, and two sines a differential.

An order of Euler angles names intrinsic rotations from left to right, as the channels of a BVH file do: 'ZYX'
is Rz(a) Ry(b) Rx(c). Half sums and half differences of the outer angles are read off the quaternion with
atan2, so no digit is lost near gimbal lock (Tournier 2011, section 2.1.3 uses the orders; the formulas follow
from multiplying out the three factors).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry._batch import dot, quaternions, square, time_axis, vectors

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


def dexp_body_inverse(rotation_vector: ArrayLike) -> Array:
    """Inverse of :func:`dexp_body`: how w = log(R) changes when R turns by a body rotation vector.

    Defined for angles below 2 pi.

    >>> np.allclose(dexp_body_inverse([0.1, 0.2, 0.3]) @ dexp_body([0.1, 0.2, 0.3]), np.eye(3))
    True
    """
    w = vectors(rotation_vector, "rotation vectors")
    return _polynomial(w, np.full(w.shape[:-1], 0.5), inverse_second(dot(w, w)))


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


ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ")

# Closer to gimbal lock than this (radians), only the sum or difference of the outer angles is known.
_LOCK = 1e-12


def from_euler(angles: ArrayLike, order: str) -> Array:
    """Quaternions `(..., 4)` of intrinsic Euler angles `(..., 3)` in radians, in the letters' order.

    >>> from_euler([np.pi / 2, 0.0, 0.0], "ZYX").round(6)
    array([0.707107, 0.      , 0.      , 0.707107])
    """
    angles = vectors(angles, "Euler angles")
    i, j, k, sign = _axes(order)
    half = 0.5 * angles
    cosines, sines = np.cos(half), np.sin(half)
    ca, cb, cc = cosines[..., 0], cosines[..., 1], cosines[..., 2]
    sa, sb, sc = sines[..., 0], sines[..., 1], sines[..., 2]
    q = np.empty((*angles.shape[:-1], 4))
    if i == k:
        q[..., 0] = cb * (ca * cc - sa * sc)
        q[..., 1 + i] = cb * (sa * cc + ca * sc)
        q[..., 1 + j] = sb * (ca * cc + sa * sc)
        q[..., 4 - i - j] = sign * sb * (sa * cc - ca * sc)
    else:
        sb = sign * sb
        q[..., 0] = ca * cb * cc - sa * sb * sc
        q[..., 1 + i] = sa * cb * cc + ca * sb * sc
        q[..., 1 + j] = sign * (ca * sb * cc - sa * cb * sc)
        q[..., 1 + k] = ca * cb * sc + sa * sb * cc
    return q


def to_euler(q: ArrayLike, order: str) -> Array:
    """Intrinsic Euler angles `(..., 3)` in radians of quaternions `(..., 4)`.

    The outer angles lie in (-pi, pi], the middle one in [-pi/2, pi/2] for three different letters and in
    [0, pi] for orders such as 'ZXZ'. In gimbal lock the last angle is 0; the rotation is always
    reproduced. For curves over time pass the result to :func:`unwrap_euler`.

    >>> to_euler([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)], "ZYX").round(6) + 0.0
    array([1.570796, 0.      , 0.      ])
    """
    q = quaternions(q)
    i, j, k, sign = _axes(order)
    # (p, r) carries the half sum of the outer angles, (s, t) the half difference.
    if i == k:
        p, r = q[..., 0], q[..., 1 + i]
        s, t = q[..., 1 + j], sign * q[..., 4 - i - j]
    else:
        u = sign * q[..., 1 + j]
        p, r = q[..., 0] + u, q[..., 1 + i] + q[..., 1 + k]
        s, t = q[..., 0] - u, q[..., 1 + i] - q[..., 1 + k]
    from_sum, from_difference = np.hypot(p, r), np.hypot(s, t)
    half_sum, half_difference = np.arctan2(r, p), np.arctan2(t, s)

    scale = _LOCK * (from_sum + from_difference)
    half_difference = np.where(from_difference <= scale, half_sum, half_difference)
    half_sum = np.where(from_sum <= scale, half_difference, half_sum)

    angles = np.empty((*q.shape[:-1], 3))
    angles[..., 0] = _principal(half_sum + half_difference)
    if i == k:
        angles[..., 1] = 2.0 * np.arctan2(from_difference, from_sum)
    else:
        angles[..., 1] = sign * (2.0 * np.arctan2(from_sum, from_difference) - 0.5 * np.pi)
    angles[..., 2] = _principal(half_sum - half_difference)
    return angles


def unwrap_euler(angles: ArrayLike, order: str, axis: int = 0) -> Array:
    """The same rotations with angles `(..., 3)` that run without jumps along the time `axis`.

    Each frame takes, of the two angle triples that give its rotation and their full turns, the nearest
    to the previous frame's; in gimbal lock, where the outer angles are free, the first angle is held.

    >>> unwrap_euler([[3.1, 0.0, 0.0], [-3.1, 0.0, 0.0]], "ZYX").round(6)
    array([[3.1     , 0.      , 0.      ],
           [3.183185, 0.      , 0.      ]])
    """
    angles = vectors(angles, "Euler angles")
    i, _, k, sign = _axes(order)
    time = time_axis(axis, angles)
    time_first = np.moveaxis(angles, time, 0)
    held = _hold_first_angle_in_lock(time_first, sign, proper=i == k)

    # The other triple is an isometry of the torus of angles, so whether a frame must change triples
    # relative to its predecessor does not depend on the predecessor's own choice.
    other = held + np.pi
    other[..., 1] = -held[..., 1] if i == k else np.pi - held[..., 1]
    stay = (_principal(held[1:] - held[:-1]) ** 2).sum(axis=-1)
    change = (_principal(other[1:] - held[:-1]) ** 2).sum(axis=-1)
    changed = np.cumsum(change < stay, axis=0) % 2 == 1
    held[1:] = np.where(changed[..., None], other[1:], held[1:])
    return np.moveaxis(np.unwrap(held, axis=0), 0, time)


def _hold_first_angle_in_lock(angles: Array, sign: int, *, proper: bool) -> Array:
    """A copy in which locked frames keep the first angle of the last frame that was not locked."""
    a, b, c = angles[..., 0], angles[..., 1], angles[..., 2]
    # At `plus` the rotation depends on a + c alone, at `minus` on a - c alone.
    if proper:
        plus, minus = np.abs(np.sin(0.5 * b)) < _LOCK, np.abs(np.cos(0.5 * b)) < _LOCK
    else:
        at = _principal(sign * b)
        plus, minus = np.abs(at - 0.5 * np.pi) < _LOCK, np.abs(at + 0.5 * np.pi) < _LOCK
    held = angles.copy()
    locked = plus | minus
    if not locked.any():
        return held
    frames = np.arange(len(angles)).reshape(-1, *[1] * (a.ndim - 1))
    source = np.maximum.accumulate(np.where(locked, -1, frames), axis=0)
    first = np.where(source < 0, a, np.take_along_axis(a, np.maximum(source, 0), axis=0))
    held[..., 0] = first
    held[..., 2] = np.where(plus, a + c - first, np.where(minus, c - a + first, c))
    return held


def _axes(order: str) -> tuple[int, int, int, int]:
    """Axis numbers of the three letters, and the sign of their cyclic sense."""
    if order not in ORDERS:
        raise InputError(f"unknown Euler order {order!r}: choose one of {', '.join(ORDERS)}")
    i, j, k = ("XYZ".index(letter) for letter in order)
    return i, j, k, 1 if (j - i) % 3 == 1 else -1


def _principal(angle: Array) -> Array:
    """The same angle in (-pi, pi]."""
    return np.minimum(angle - 2.0 * np.pi * np.ceil(angle / (2.0 * np.pi) - 0.5), np.pi)
