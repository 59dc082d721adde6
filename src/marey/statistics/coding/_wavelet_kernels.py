"""Compiled lifting in place. Importing this imports numba.

Some nanoseconds a sample; sums are in a fixed order, so that every machine decodes the same curves.
"""

from __future__ import annotations

from marey._arrays import Array
from marey._compiling import njit


@njit(cache=True, nogil=True, error_model="numpy")
def transform(curves: Array, levels: int, factors: Array, scale: float, inverse: bool) -> None:
    """Wavelets of curves `(frames, curves)`, or back; samples of a level stay at multiples of its stride."""
    frames = curves.shape[0]
    for i in range(levels):
        stride = 1 << (levels - 1 - i if inverse else i)
        if stride >= frames:
            continue
        if inverse:
            _scale(curves, stride, scale)
            for step in range(factors.shape[0] - 1, -1, -1):
                _lift(curves, stride, -factors[step], 1 - step % 2)
        else:
            for step in range(factors.shape[0]):
                _lift(curves, stride, factors[step], 1 - step % 2)
            _scale(curves, stride, 1.0 / scale)


@njit(cache=True, nogil=True, error_model="numpy")
def _lift(curves: Array, stride: int, factor: float, first: int) -> None:
    """Add `factor` times both neighbours to every other sample from `first` on; the ends are mirrored."""
    frames, count = curves.shape
    for t in range(first * stride, frames, 2 * stride):
        left = t - stride if t >= stride else t + stride
        right = t + stride if t + stride < frames else t - stride
        for k in range(count):
            curves[t, k] += factor * (curves[left, k] + curves[right, k])


@njit(cache=True, nogil=True, error_model="numpy")
def _scale(curves: Array, stride: int, odd: float) -> None:
    """Multiply odd samples by `odd` and divide even ones by it."""
    frames, count = curves.shape
    even = 1.0 / odd
    for t in range(0, frames, stride):
        factor = odd if (t // stride) & 1 else even
        for k in range(count):
            curves[t, k] *= factor
