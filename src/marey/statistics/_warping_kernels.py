"""Compiled recursions of time warping: one row of the table at a time, one byte a cell kept for the way back.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]

_GIVEN2 = types.Array(types.float64, 2, "C", readonly=True)
_ROW = types.Array(types.float64, 1, "C")
_TABLE = types.Array(types.float64, 2, "C")
_MOVES = types.Array(types.uint8, 1, "C")
_INDEX = types.int64
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(types.void(_GIVEN2, _GIVEN2, _INDEX, _INDEX, _ROW), **_OPTIONS)
def distances(a: Array, b: Array, i: int, start: int, costs: Array) -> None:
    """Lengths of a[i] - b[start + c]."""
    for c in range(costs.shape[0]):
        total = 0.0
        for k in range(a.shape[1]):
            step = a[i, k] - b[start + c, k]
            total += step * step
        costs[c] = math.sqrt(total)


@njit(types.void(_ROW, _INDEX, _TABLE, _TABLE, _MOVES), **_OPTIONS)
def bounded_row(costs: Array, shift: int, before: Array, here: Array, moves: NDArray[np.uint8]) -> None:
    """One row of the table with runs of at most `runs` moves along either series after each diagonal one.

    Columns of `before` and `here` are states: 0 came diagonally; 1 … runs by so many moves along b; runs + 1
    … 2 runs by so many along a. Cell c of this row lies below cell c + shift of the one before. `moves`
    keeps which state the diagonal move came from.
    """
    runs = (here.shape[1] - 1) // 2
    width, last = here.shape[0], before.shape[0]
    for c in range(width):
        above = c + shift
        best, came = math.inf, 0
        if 0 < above <= last:
            for state in range(2 * runs + 1):
                if before[above - 1, state] < best:
                    best, came = before[above - 1, state], state
        here[c, 0] = best + costs[c]
        moves[c] = came
        for k in range(1, runs + 1):
            here[c, k] = math.inf
            here[c, runs + k] = math.inf
            if c > 0:
                here[c, k] = here[c - 1, k - 1] + costs[c]
            if 0 <= above < last:
                earlier = before[above, 0] if k == 1 else before[above, runs + k - 1]
                here[c, runs + k] = earlier + costs[c]


@njit(types.void(_ROW, _INDEX, _TABLE, _TABLE, _MOVES), **_OPTIONS)
def free_row(costs: Array, shift: int, before: Array, here: Array, moves: NDArray[np.uint8]) -> None:
    """The classical recursion. Moves: 0 diagonal, 1 along b, 2 along a."""
    width, last = here.shape[0], before.shape[0]
    for c in range(width):
        above = c + shift
        best, came = math.inf, 0
        if 0 < above <= last:
            best = before[above - 1, 0]
        if c > 0 and here[c - 1, 0] < best:
            best, came = here[c - 1, 0], 1
        if 0 <= above < last and before[above, 0] < best:
            best, came = before[above, 0], 2
        here[c, 0] = best + costs[c]
        moves[c] = came
