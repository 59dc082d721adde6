"""Compiled space–time 9/7 wavelets of velocity volumes: forwards in floats, backwards in whole numbers.

Coefficients stay where their samples were: those of level l lie at odd multiples of 2^l. Going back on whole
numbers alone makes every machine decode the same field. Some nanoseconds a sample; imports numba.
"""

from __future__ import annotations

from marey._arrays import Array, Integers
from marey._compiling import njit

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Bits after the point of the factors used on whole numbers.
POINT = 20
HALF = 1 << (POINT - 1)


@njit(**OPTIONS)
def forward_space(volume: Array, levels: int, factors: Array, scale: float) -> None:
    """Wavelets of every image of a volume `(frames, rows, columns, parts)`, in place."""
    frames, rows, columns, parts = volume.shape
    for t in range(frames):
        image = volume[t]
        for level in range(levels):
            stride = 1 << level
            for step in range(4):
                first = (1 - step % 2) * stride
                for y in range(0, rows, stride):
                    for x in range(first, columns, 2 * stride):
                        left = x - stride if x >= stride else x + stride
                        right = x + stride if x + stride < columns else x - stride
                        for c in range(parts):
                            image[y, x, c] += factors[step] * (image[y, left, c] + image[y, right, c])
            for step in range(4):
                first = (1 - step % 2) * stride
                for y in range(first, rows, 2 * stride):
                    up = y - stride if y >= stride else y + stride
                    down = y + stride if y + stride < rows else y - stride
                    for x in range(0, columns, stride):
                        for c in range(parts):
                            image[y, x, c] += factors[step] * (image[up, x, c] + image[down, x, c])
            for y in range(0, rows, stride):
                for x in range(0, columns, stride):
                    odd = ((y // stride) & 1) + ((x // stride) & 1)
                    if odd != 1:
                        factor = scale * scale if odd == 0 else 1.0 / (scale * scale)
                        for c in range(parts):
                            image[y, x, c] *= factor


@njit(**OPTIONS)
def backward_space(volume: Integers, levels: int, factors: Integers, grow: int, shrink: int) -> None:
    """Inverse of :func:`forward_space` on whole numbers; scales are squared."""
    frames, rows, columns, parts = volume.shape
    for t in range(frames):
        image = volume[t]
        for level in range(levels - 1, -1, -1):
            stride = 1 << level
            for y in range(0, rows, stride):
                for x in range(0, columns, stride):
                    odd = ((y // stride) & 1) + ((x // stride) & 1)
                    if odd != 1:
                        factor = shrink if odd == 0 else grow
                        for c in range(parts):
                            image[y, x, c] = (factor * image[y, x, c] + HALF) >> POINT
            for step in range(3, -1, -1):
                first = (1 - step % 2) * stride
                for y in range(first, rows, 2 * stride):
                    up = y - stride if y >= stride else y + stride
                    down = y + stride if y + stride < rows else y - stride
                    for x in range(0, columns, stride):
                        for c in range(parts):
                            total = image[up, x, c] + image[down, x, c]
                            image[y, x, c] -= (factors[step] * total + HALF) >> POINT
            for step in range(3, -1, -1):
                first = (1 - step % 2) * stride
                for y in range(0, rows, stride):
                    for x in range(first, columns, 2 * stride):
                        left = x - stride if x >= stride else x + stride
                        right = x + stride if x + stride < columns else x - stride
                        for c in range(parts):
                            total = image[y, left, c] + image[y, right, c]
                            image[y, x, c] -= (factors[step] * total + HALF) >> POINT


@njit(**OPTIONS)
def backward_time(curves: Integers, levels: int, factors: Integers, grow: int, shrink: int) -> None:
    """Inverse of the wavelets of curves `(frames, curves)` on whole numbers, in place."""
    frames, count = curves.shape
    for level in range(levels - 1, -1, -1):
        stride = 1 << level
        for t in range(0, frames, stride):
            factor = grow if (t // stride) & 1 else shrink
            for k in range(count):
                curves[t, k] = (factor * curves[t, k] + HALF) >> POINT
        for step in range(3, -1, -1):
            for t in range((1 - step % 2) * stride, frames, 2 * stride):
                before = t - stride if t >= stride else t + stride
                after = t + stride if t + stride < frames else t - stride
                for k in range(count):
                    curves[t, k] -= (factors[step] * (curves[before, k] + curves[after, k]) + HALF) >> POINT
