"""Compiled choice of the whole numbers that stand for coefficients: error against bits, only for the encoder.

About 20 ns a coefficient. Importing this module imports numba.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey._compiling import njit

Whole = NDArray[np.int64]

# Sums in any order: what comes out is measured before it is written.
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": True}
# A curve with nothing larger than this in a band is left out of it.
_NOTHING = 0.75


@njit(**OPTIONS)
def decide_bands(
    wanted: Array, steps: Array, feedback: Array, sizes: Whole, thrift: float, numbers: Whole
) -> None:
    """Round `wanted` `(frames, curves)`, in multiples of `steps`, to `numbers`, bands coarse to fine.

    Between two whole numbers the smaller is taken if the error it costs is worth less than the bits, which
    depend on what the coder expects: here simply the averages of the curve, and its neighbours. The error
    made of a curve is passed on to those after it, as much as they can make up for (`feedback`).
    """
    curves = wanted.shape[1]
    averages = np.full(curves, 24.0)
    seen = np.zeros(curves)
    used = np.ones(curves, np.bool_)
    errors = np.zeros(curves)
    start = 0
    for band in range(sizes.shape[0]):
        size = sizes[band]
        for k in range(curves):
            seen[k] = 3.0
            if band > 0:
                averages[k] = max(averages[k] * (0.25 if band == 1 else 0.375), 0.1)
                used[k] = False
                for t in range(start, start + size):
                    if abs(wanted[t, k]) > _NOTHING * steps[t, k]:
                        used[k] = True
                        break
        for t in range(start, start + size):
            numbers_before = averages_before = 0.0
            for k in range(curves):
                step = steps[t, k]
                errors[k] = -wanted[t, k]
                if not used[k]:
                    continue
                target = wanted[t, k]
                for j in range(k if k < feedback.shape[0] else 0):
                    target -= feedback[k, j] * errors[j]
                target /= step
                number = 0
                if abs(target) > 0.5:
                    ballast = 2.0 * averages[k] + 1.0
                    active = averages[k] * (numbers_before + ballast) / (averages_before + ballast)
                    last = abs(numbers[t - 1, k]) if t > start else averages[k]
                    beside = abs(numbers[t, k - 1]) if k > 0 else averages[k]
                    expected = 0.6 * active + 0.15 * last + 0.1 * beside + 0.15 * averages[k]
                    number = _thrifty(target, max(expected, 0.004), thrift)
                    errors[k] += number * step
                numbers[t, k] = number
                numbers_before += abs(number)
                averages_before += averages[k]
                averages[k] += (abs(number) - averages[k]) / min(seen[k], 23.0)
                seen[k] += 1.0
        start += size


@njit(**OPTIONS)
def _thrifty(value: float, expected: float, thrift: float) -> int:
    """`value` rounded to the whole number with the least error and bits together.

    Fine quantisation exchanges a bit for 2 ln 2 / 12 of the squared step, of which a threshold takes half.
    """
    size = abs(value)
    whole = math.floor(size)
    dear = thrift * 0.058 * math.log2((1.0 + expected) / expected)
    threshold = 0.5 + dear + (thrift * 0.058 if whole == 0 else 0.0)
    rounded = whole + (1 if size - whole > min(threshold, 0.98) else 0)
    return rounded if value >= 0 else -rounded
