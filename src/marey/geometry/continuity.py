"""Rotations over time without jumps: signs of quaternions, turns of rotation vectors.

q and -q, and rotation vectors that differ by full turns, are the same rotation; a curve takes at each
sample the representative nearest to the one before (Courty 2013, section 2.1.1). Cost: one pass; a
curve of rotation vectors that does leave the ball of radius pi is walked sample by sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey.geometry._batch import Array, dot, length, quaternions, time_axis, vectors


def continuous(q: ArrayLike, axis: int = 0) -> Array:
    """The same rotations with signs chosen so that neighbours along the time `axis` are closest.

    >>> continuous([[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]])
    array([[ 1.,  0.,  0.,  0.],
           [ 1., -0., -0., -0.]])
    """
    q = quaternions(q)
    time = time_axis(axis, q)
    series = np.moveaxis(q, time, 0)
    flips = dot(series[1:], series[:-1]) < 0.0
    signs = np.ones(series.shape[:-1])
    signs[1:] -= 2.0 * (np.cumsum(flips, axis=0) % 2)
    return q * np.moveaxis(signs[..., None], 0, time)


def like(q: ArrayLike, reference: ArrayLike) -> Array:
    """The same rotations `(..., 4)`, each with the sign that brings it nearest to its `reference`.

    >>> like([[-1.0, 0.0, 0.0, 0.0]], [1.0, 0.0, 0.0, 0.0])
    array([[ 1., -0., -0., -0.]])
    """
    q, reference = quaternions(q), quaternions(reference)
    return np.where((dot(q, reference) < 0.0)[..., None], -q, q)


def unwrap(rotation_vectors: ArrayLike, axis: int = 0) -> Array:
    """The same rotations as rotation vectors `(..., 3)` that do not jump along the time `axis`.

    Each sample takes, of all vectors that differ by full turns about its axis, the one nearest to the
    sample before; lengths may so exceed pi.

    >>> unwrap([[3.1, 0.0, 0.0], [-3.1, 0.0, 0.0]]).round(6)
    array([[3.1     , 0.      , 0.      ],
           [3.183185, 0.      , 0.      ]])
    """
    v = vectors(rotation_vectors, "rotation vectors")
    time = time_axis(axis, v)
    series = np.moveaxis(v, time, 0).copy()
    # A sample can only move if it would move relative to its untouched predecessor, or if that moved.
    jumps = _nearest_turn(series[1:], series[:-1]) != series[1:]
    moving = np.flatnonzero(jumps.any(axis=tuple(range(1, jumps.ndim))))
    for frame in range(moving[0] + 1 if moving.size else len(series), len(series)):
        series[frame] = _nearest_turn(series[frame], series[frame - 1])
    return np.moveaxis(series, 0, time)


def _nearest_turn(v: Array, before: Array) -> Array:
    """Each v plus the whole turns about its own axis that bring it nearest to `before`."""
    # No rotation may turn about any axis: it takes the one of the sample before.
    pointing = np.where(length(v)[..., None] > 0.0, v, before)
    size = length(pointing)
    axis = pointing / np.where(size > 0.0, size, 1.0)[..., None]
    turns = np.round(dot(before - v, axis) / (2.0 * np.pi))
    return v + (2.0 * np.pi * turns)[..., None] * axis
