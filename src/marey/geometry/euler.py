"""Euler angles in all twelve orders, straight from and to quaternions.

An order names intrinsic rotations from left to right, as the channels of a BVH file do: 'ZYX' is
Rz(a) Ry(b) Rx(c). Half sums and half differences of the outer angles are read off the quaternion with
atan2, so no digit is lost near gimbal lock (Tournier 2011, section 2.1.3 uses the orders; the formulas
follow from multiplying out the three factors). Cost: three sines and cosines, or three atan2, a rotation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey.errors import InputError
from marey.geometry._batch import Array, quaternions, time_axis, vectors

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
