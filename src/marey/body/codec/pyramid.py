"""Curves at many resolutions, of vectors and of rotations (Tournier 2011, section 9.2.2).

An interpolating pyramid: every second sample is kept, those between are predicted from four kept neighbours
by a Catmull-Rom midpoint, and what the prediction misses is a detail; then the same with the kept samples.
Without the finest details a smooth curve through the kept samples is left. Beyond its ends a curve goes on
as its point reflection. Cost: linear in the samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked
from marey.body.codec.sizes import coarse_length, level_count
from marey.errors import InputError
from marey.geometry import rotations as so3


@dataclass(frozen=True, eq=False)
class Pyramid:
    """A curve as its coarsest samples and details, from coarse to fine.

    coarse: `(samples, size)` vectors or `(samples, 4)` rotations
    details: one array a level, `(odd samples, size)`, or `(odd samples, 3)` rotation vectors
    level: how often the curve was halved to get `coarse`; finer levels than the details reach are predicted
    frames: samples of the whole curve
    rotations: whether these are rotations

    >>> t = np.arange(20.0)[:, None]
    >>> pyramid = analyse(np.concatenate([np.sin(t / 4), t], axis=1))
    >>> pyramid.level, len(pyramid.details), pyramid.without_finest(2).details[-1].shape
    (5, 5, (2, 2))
    >>> bool(np.allclose(pyramid.curve(), np.concatenate([np.sin(t / 4), t], axis=1)))
    True
    """

    coarse: Array
    details: tuple[Array, ...]
    level: int
    frames: int
    rotations: bool = False

    def without_finest(self, levels: int) -> Pyramid:
        """The pyramid without details of the `levels` finest levels (those it has among them)."""
        kept = max(self.level - levels, 0)
        if levels < 0 or levels > self.level:
            raise InputError(f"levels: 0…{self.level} of this curve can be dropped, got {levels}")
        return replace(self, details=self.details[:kept])

    def curve(self) -> Array:
        """All samples, `(frames, size)` or `(frames, 4)`; exact if no details are missing."""
        samples = self.coarse
        for step, level in enumerate(range(self.level - 1, -1, -1)):
            detail = self.details[step] if step < len(self.details) else None
            samples = _refined(samples, coarse_length(self.frames, level), self.rotations, detail)
        return so3.continuous(samples) if self.rotations else samples


def analyse(curve: ArrayLike, *, rotations: bool = False, levels: int | None = None) -> Pyramid:
    """The pyramid of a curve `(frames, size)` of vectors, or `(frames, 4)` of rotations.

    levels: how often to halve; until one sample is left if None
    """
    samples = _checked_curve(curve, rotations)
    frames = len(samples)
    most = level_count(frames) - 1
    level = most if levels is None else levels
    if not 0 <= level <= most:
        raise InputError(f"levels: a curve of {frames} samples can be halved 0…{most} times, got {level}")
    details = []
    for _ in range(level):
        even, odd = samples[::2], samples[1::2]
        predicted = _midpoints(even, len(odd), rotations)
        details.append(so3.log(so3.multiply(so3.inverse(predicted), odd)) if rotations else odd - predicted)
        samples = even
    return Pyramid(samples, tuple(reversed(details)), level, frames, rotations)


def decimate(curve: ArrayLike, dropped: int, *, rotations: bool = False) -> Array:
    """Every `2^dropped`-th sample: what a pyramid without its `dropped` finest levels keeps.

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
    coarse = _checked_curve(samples, rotations)
    wanted = coarse_length(frames, dropped)
    if len(coarse) != wanted:
        raise InputError(
            f"a curve of {frames} samples without its {dropped} finest levels has {wanted} samples, "
            f"got {len(coarse)}"
        )
    return Pyramid(coarse, (), dropped, frames, rotations).curve()


def _checked_curve(curve: ArrayLike, rotations: bool) -> Array:
    samples = checked("curve", curve, (None, 4 if rotations else None))
    if len(samples) == 0:
        raise InputError("curve: it has no sample")
    return samples


def _refined(coarse: Array, length: int, rotations: bool, detail: Array | None) -> Array:
    """Twice the samples: the coarse ones and predicted, corrected ones between them."""
    odd = _midpoints(coarse, length - len(coarse), rotations)
    if detail is not None:
        odd = so3.multiply(odd, so3.exp(detail)) if rotations else odd + detail
    fine = np.empty((length, coarse.shape[1]))
    fine[::2], fine[1::2] = coarse, odd
    return fine


def _midpoints(samples: Array, count: int, rotations: bool) -> Array:
    """Predictions half-way after each of the first `count` samples.

    For rotations the product form q1 · exp(1/16 log q0⁻¹q1) · exp(1/2 log q1⁻¹q2) · exp(-1/16 log q2⁻¹q3),
    which needs no base point.
    """
    around = _extended(samples, rotations)
    if not rotations:
        q0, q1, q2, q3 = (around[i : i + count] for i in range(4))
        return (9.0 * (q1 + q2) - (q0 + q3)) / 16.0
    steps = so3.log(so3.multiply(so3.inverse(around[:-1]), around[1:]))
    before, here, after = (steps[i : i + count] for i in range(3))
    middle = so3.multiply(so3.exp(before / 16.0), so3.exp(here / 2.0))
    return so3.multiply(samples[:count], so3.multiply(middle, so3.exp(after / -16.0)))


def _extended(samples: Array, rotations: bool) -> Array:
    """One sample more before the first and two after the last, by point reflection."""
    if len(samples) == 1:
        return np.repeat(samples, 4, axis=0)
    first, last = samples[:1], samples[-1:]
    before = np.concatenate([_reflected(samples[1:2], first, rotations), samples])
    return np.concatenate([before, _reflected(before[[-2, -3]], last, rotations)])


def _reflected(point: Array, centre: Array, rotations: bool) -> Array:
    if rotations:
        return so3.multiply(centre, so3.multiply(so3.inverse(point), centre))
    return 2.0 * centre - point
