"""Coarse curves of vectors and of rotations (Tournier 2011, section 9.2.2), and how many numbers they take.

Every second sample of a curve is kept, those between are predicted from four kept neighbours by a
Catmull-Rom midpoint; then the same with the kept samples. Of the interpolating pyramid the codec keeps the
coarsest level alone: a smooth curve through every `2^dropped`-th sample. Beyond its ends a curve goes on as
its point reflection. Cost: linear in the samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked
from marey.errors import InputError
from marey.geometry import rotations as so3


def decimate(curve: ArrayLike, dropped: int, *, rotations: bool = False) -> Array:
    """Every `2^dropped`-th sample: what a pyramid without its `dropped` finest levels keeps.

    Args:
        curve: `(frames, size)` vectors, or `(frames, 4)` rotations.
        dropped: finest levels left out.
        rotations: whether these are rotations.

    >>> decimate(np.arange(10.0)[:, None], 2).ravel().tolist()
    [0.0, 4.0, 8.0]
    """
    coarse_length(1, dropped)
    return _checked_curve(curve, rotations)[:: 1 << dropped].copy()


def expand(samples: ArrayLike, frames: int, dropped: int, *, rotations: bool = False) -> Array:
    """The smooth curve of `frames` samples through coarse `samples`, `dropped` levels up.

    >>> expand([[0.0], [4.0], [8.0]], 10, 2).ravel().tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    """
    curve = _checked_curve(samples, rotations)
    wanted = coarse_length(frames, dropped)
    if len(curve) != wanted:
        raise InputError(
            f"a curve of {frames} samples without its {dropped} finest levels has {wanted} samples, "
            f"got {len(curve)}"
        )
    for level in range(dropped - 1, -1, -1):
        finer = np.empty((coarse_length(frames, level), curve.shape[1]))
        finer[::2], finer[1::2] = curve, _midpoints(curve, len(finer) - len(curve), rotations)
        curve = finer
    return so3.continuous(curve) if rotations else curve


def coarse_length(frames: int, dropped: int) -> int:
    """Samples left of a curve without its finest levels: `ceil(frames / 2^dropped)`.

    >>> coarse_length(141, 5)
    5
    """
    if frames < 1:
        raise InputError(f"frames: a curve has at least one sample, got {frames}")
    if dropped < 0:
        raise InputError(f"dropped levels: must not be negative, got {dropped}")
    return -(-frames >> dropped)


def published_ratio(frames: int, joints: int, *, modes: int, dropped_levels: Sequence[int]) -> float:
    """The published compression ratio: numbers of the clip over numbers kept (Tournier 2011, section 9.2.3).

    `3 (n + 1) m` numbers become `3 n (k + 1)` of the pose model and three for each coarse sample. The
    published table needs n = 31, the joints of a CMU figure with the root: 96 numbers a frame.

    Args:
        frames: m.
        joints: n.
        modes: k.
        dropped_levels: finest levels left out of the root's position, its orientation, and each end effector.

    >>> round(published_ratio(4499, 31, modes=15, dropped_levels=[5] * 7), 1)
    97.1
    """
    kept = 3 * joints * (modes + 1) + sum(3 * coarse_length(frames, p) for p in dropped_levels)
    return 3 * (joints + 1) * frames / kept


def _checked_curve(curve: ArrayLike, rotations: bool) -> Array:
    samples = checked("curve", curve, (None, 4 if rotations else None))
    if len(samples) == 0:
        raise InputError("curve: it has no sample")
    return samples


def _midpoints(samples: Array, count: int, rotations: bool) -> Array:
    """Predictions half-way after each of the first `count` samples.

    For rotations the product form q1 · exp(1/16 log q0⁻¹q1) · exp(1/2 log q1⁻¹q2) · exp(-1/16 log q2⁻¹q3),
    which needs no base point.
    """
    # One sample more before the first and two after the last, by point reflection.
    around = np.repeat(samples, 4, axis=0)
    if len(samples) > 1:
        before = np.concatenate([_reflected(samples[1:2], samples[:1], rotations), samples])
        around = np.concatenate([before, _reflected(before[[-2, -3]], samples[-1:], rotations)])
    if not rotations:
        q0, q1, q2, q3 = (around[i : i + count] for i in range(4))
        return (9.0 * (q1 + q2) - (q0 + q3)) / 16.0
    steps = so3.log(so3.multiply(so3.inverse(around[:-1]), around[1:]))
    before, here, after = (steps[i : i + count] for i in range(3))
    middle = so3.multiply(so3.exp(before / 16.0), so3.exp(here / 2.0))
    return so3.multiply(samples[:count], so3.multiply(middle, so3.exp(after / -16.0)))


def _reflected(point: Array, centre: Array, rotations: bool) -> Array:
    if rotations:
        return so3.multiply(centre, so3.multiply(so3.inverse(point), centre))
    return 2.0 * centre - point
