"""Compiled space–time 9/7 wavelets of velocity volumes: forwards in floats, backwards in whole numbers.

Coefficients stay where their samples were: those of level l lie at odd multiples of 2^l. Going back on whole
numbers alone makes every machine decode the same field. Some nanoseconds a sample; imports numba.
"""

from __future__ import annotations

from typing import Any

from marey._arrays import Array, Integers
from marey._compiling import njit

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Bits after the point of the factors used on whole numbers.
POINT = 20
HALF = 1 << (POINT - 1)


@njit(**OPTIONS)
def forward_space(volume: Array, levels: int, factors: Array, scale: float) -> None:
    """Wavelets of every image of a volume `(frames, rows, columns, parts)`, in place."""
    for t in range(volume.shape[0]):
        for level in range(levels):
            image = volume[t, :: 1 << level, :: 1 << level]
            _lift(image.transpose(1, 0, 2), factors)
            _lift(image, factors)
            image[::2, ::2] *= scale * scale
            image[1::2, 1::2] *= 1.0 / (scale * scale)


@njit(**OPTIONS)
def backward_space(volume: Integers, levels: int, factors: Integers, grow: int, shrink: int) -> None:
    """Inverse of :func:`forward_space` on whole numbers; scales are squared."""
    for t in range(volume.shape[0]):
        for level in range(levels - 1, -1, -1):
            image = volume[t, :: 1 << level, :: 1 << level]
            _scale(image[::2, ::2], shrink)
            _scale(image[1::2, 1::2], grow)
            _lift_back(image, factors)
            _lift_back(image.transpose(1, 0, 2), factors)


@njit(**OPTIONS)
def backward_time(curves: Integers, levels: int, factors: Integers, grow: int, shrink: int) -> None:
    """Inverse of the wavelets of curves `(frames, rows, curves)` on whole numbers, in place."""
    for level in range(levels - 1, -1, -1):
        part = curves[:: 1 << level]
        _scale(part[::2], shrink)
        _scale(part[1::2], grow)
        _lift_back(part, factors)


@njit(**OPTIONS)
def _lift(values: Any, factors: Array) -> None:
    """One level along the first axis of values `(n, m, parts)`: four lifting steps."""
    count, width, parts = values.shape
    for step in range(4):
        for i in range(1 - step % 2, count, 2):
            before, after = i - 1 if i > 0 else i + 1, i + 1 if i + 1 < count else i - 1
            for k in range(width):
                for c in range(parts):
                    values[i, k, c] += factors[step] * (values[before, k, c] + values[after, k, c])


@njit(**OPTIONS)
def _lift_back(values: Any, factors: Integers) -> None:
    """Inverse of :func:`_lift` on whole numbers."""
    count, width, parts = values.shape
    for step in range(3, -1, -1):
        for i in range(1 - step % 2, count, 2):
            before, after = i - 1 if i > 0 else i + 1, i + 1 if i + 1 < count else i - 1
            for k in range(width):
                for c in range(parts):
                    total = values[before, k, c] + values[after, k, c]
                    values[i, k, c] -= (factors[step] * total + HALF) >> POINT


@njit(**OPTIONS)
def _scale(values: Any, factor: int) -> None:
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            for c in range(values.shape[2]):
                values[i, k, c] = (factor * values[i, k, c] + HALF) >> POINT
