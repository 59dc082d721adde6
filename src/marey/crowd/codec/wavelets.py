"""Velocity volumes as space–time wavelet coefficients, and back by whole numbers alone.

Biorthogonal 9/7 wavelets (Daubechies and Sweldens 1998) along time, then along columns and rows of every
image; nearly orthonormal, so one quantisation step serves all coefficients. Cost: linear, about 30 ns a
sample and direction.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array, Integers
from marey.statistics.coding.wavelet import LIFTING_SCALE, LIFTING_STEPS


def levels_of(*lengths: int) -> int:
    """How often axes of these lengths are halved together: up to 6 times, while 4 samples are left.

    >>> levels_of(128), levels_of(60, 80), levels_of(1)
    (5, 3, 0)
    """
    levels = 0
    while levels < 6 and min(lengths) >= 8 << levels:
        levels += 1
    return levels


def forward(volume: Array) -> Array:
    """Coefficients of a volume `(frames, rows, columns, parts)`, each where its sample was."""
    from marey.crowd.codec import _lifting_kernels as kernels
    from marey.statistics.coding import _wavelet_kernels as curves

    frames, rows, columns, _ = volume.shape
    work = np.array(volume, dtype=np.float64, order="C")
    factors = np.array(LIFTING_STEPS)
    curves.transform(work.reshape(frames, -1), levels_of(frames), factors, LIFTING_SCALE, False)
    kernels.forward_space(work, levels_of(rows, columns), factors, LIFTING_SCALE)
    return work


def backward(coefficients: Integers) -> Integers:
    """The volume of whole numbers that has these coefficients, up to rounding; the same on every machine."""
    from marey.crowd.codec import _lifting_kernels as kernels

    frames, rows, columns, _ = coefficients.shape
    work = np.array(coefficients, dtype=np.int64, order="C")
    one = 1 << kernels.POINT
    factors = np.array([round(step * one) for step in LIFTING_STEPS], dtype=np.int64)
    scale = LIFTING_SCALE
    levels = levels_of(rows, columns)
    kernels.backward_space(work, levels, factors, round(scale**2 * one), round(one / scale**2))
    curves = work.reshape(frames, rows, -1)
    kernels.backward_time(curves, levels_of(frames), factors, round(scale * one), round(one / scale))
    return work
