"""Compiled recursions of time warping: one row of the table at a time, one byte a cell for the backtracking.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._arrays import Array, Integers
from marey._compiling import OPTIONS, njit

_GIVEN2 = types.Array(types.float64, 2, "C", readonly=True)
_ROW = types.Array(types.float64, 1, "C")
_TABLE = types.Array(types.float64, 2, "C")
_MOVES = types.Array(types.uint8, 1, "C")
_PLACES = types.Array(types.int64, 1, "C")
_PATH = types.Array(types.int64, 2, "C")
_INDEX = types.int64


@njit(types.void(_GIVEN2, _GIVEN2, _INDEX, _INDEX, _ROW), **OPTIONS)
def distances(a: Array, columns: Array, i: int, start: int, costs: Array) -> None:
    """Lengths of a[i] - b[start + c], b given by columns `(dims, m)`: several cells at a time."""
    for c in range(costs.shape[0]):
        costs[c] = 0.0
    for k in range(a.shape[1]):
        here, there = a[i, k], columns[k, start : start + costs.shape[0]]
        for c in range(costs.shape[0]):
            step = here - there[c]
            costs[c] += step * step
    for c in range(costs.shape[0]):
        costs[c] = math.sqrt(costs[c])


@njit(types.void(_ROW, _INDEX, _INDEX, _TABLE, _TABLE, _MOVES), **OPTIONS)
def bounded_row(
    costs: Array, start: int, room: int, before: Array, here: Array, moves: NDArray[np.uint8]
) -> None:
    """One row of the table with runs of at most `runs` moves along either series after each diagonal one.

    Rows of `before` and `here` are states: 0 came diagonally; 1 … runs by so many moves along b; runs + 1 …
    2 runs by so many along a. Column j of the table is column j + 1 there. `moves` keeps which state the
    diagonal move came from. Cells beside the row, up to column `room`, are closed for the next one.
    """
    states, width = here.shape[0], costs.shape[0]
    runs = (states - 1) // 2
    # Slices, indexed by the counter alone: only such loops run several cells at a time.
    end = start + width
    best, diagonal = here[0, start + 1 : end + 1], before[0, start:end]
    for c in range(width):
        best[c] = diagonal[c]
        moves[c] = 0
    for state in range(1, states):
        diagonal = before[state, start:end]
        for c in range(width):
            better = diagonal[c] < best[c]
            best[c] = diagonal[c] if better else best[c]
            moves[c] = np.uint8(state) if better else moves[c]
    for c in range(width):
        best[c] += costs[c]
    for state in range(states):
        here[state, start] = math.inf
        here[state, end + 1 : room + 1] = math.inf
    for k in range(1, runs + 1):
        earlier = 0 if k == 1 else runs + k - 1
        along, left = here[k, start + 1 : end + 1], here[k - 1, start:end]
        for c in range(width):
            along[c] = left[c] + costs[c]
        down, above = here[runs + k, start + 1 : end + 1], before[earlier, start + 1 : end + 1]
        for c in range(width):
            down[c] = above[c] + costs[c]


@njit(types.void(_ROW, _INDEX, _INDEX, _TABLE, _TABLE, _MOVES), **OPTIONS)
def free_row(
    costs: Array, start: int, room: int, before: Array, here: Array, moves: NDArray[np.uint8]
) -> None:
    """The classical recursion, laid out like `bounded_row`. Moves: 0 diagonal, 1 along b, 2 along a."""
    width = costs.shape[0]
    end = start + width
    total, diagonal, above = (
        here[0, start + 1 : end + 1],
        before[0, start:end],
        before[0, start + 1 : end + 1],
    )
    for c in range(width):
        total[c] = min(diagonal[c], above[c])
        moves[c] = np.uint8(2) if above[c] < diagonal[c] else np.uint8(0)
    left = math.inf
    for c in range(width):
        best = total[c]
        moves[c] = np.uint8(1) if left < best else moves[c]
        left = min(left, best) + costs[c]
        total[c] = left
    here[0, start] = math.inf
    here[0, end + 1 : room + 1] = math.inf


@njit(types.void(_INDEX, _INDEX, types.boolean, _TABLE), **OPTIONS)
def open_table(start: int, stop: int, begin: bool, before: Array) -> None:
    """A row above all others, with a cell before each place where the path may begin."""
    for state in range(before.shape[0]):
        for j in range(before.shape[1]):
            before[state, j] = math.inf
    for j in range(start, stop if begin else start + 1):
        before[0, j] = 0.0


@njit(
    types.void(
        _GIVEN2,
        _GIVEN2,
        _GIVEN2,
        _PLACES,
        _PLACES,
        types.boolean,
        types.boolean,
        _ROW,
        _TABLE,
        _TABLE,
        _MOVES,
    ),
    **OPTIONS,
)
def sweep(
    a: Array,
    columns: Array,
    table: Array,
    starts: Integers,
    stops: Integers,
    bounded: bool,
    begin: bool,
    costs: Array,
    even: Array,
    odd: Array,
    moves: NDArray[np.uint8],
) -> None:
    """All rows, by turns in `odd` and `even`. Rows of `moves` follow each other.

    Costs are those of `table` `(n, m)` or, where that is empty, distances of the series.
    """
    last = starts.shape[0] - 1
    open_table(starts[0], stops[0], begin, even)
    done = 0
    for i in range(last + 1):
        before, here = (even, odd) if i % 2 == 0 else (odd, even)
        start, count = starts[i], stops[i] - starts[i]
        room = stops[min(i + 1, last)]
        if table.shape[0] > 0:
            costs[:count] = table[i, start : start + count]
        else:
            distances(a, columns, i, start, costs[:count])
        if bounded:
            bounded_row(costs[:count], start, room, before, here, moves[done : done + count])
        else:
            free_row(costs[:count], start, room, before, here, moves[done : done + count])
        if i == 0:
            # Nothing lies above the first row to have come from along the first series.
            for state in range((here.shape[0] + 1) // 2, here.shape[0]):
                for j in range(here.shape[1]):
                    here[state, j] = math.inf
        done += count


@njit(types.int64(_MOVES, _PLACES, _PLACES, _INDEX, _INDEX, _INDEX, types.boolean, _PATH), **OPTIONS)
def backtrack(
    moves: NDArray[np.uint8],
    starts: Integers,
    offsets: Integers,
    j: int,
    state: int,
    runs: int,
    begin: bool,
    path: Integers,
) -> int:
    """Cells of the path from the last to the first, and how many; `runs` is -1 without limits."""
    i = starts.shape[0] - 1
    path[0, 0], path[0, 1] = i, j
    count = 1
    while state != 0 or not (i == 0 and (begin or j == 0)):
        came = moves[offsets[i] + j - starts[i]]
        if runs < 0:
            if came != 1:
                i -= 1
            if came != 2:
                j -= 1
        elif state == 0:
            i -= 1
            j -= 1
            state = came
        elif state <= runs:
            j -= 1
            state -= 1
        else:
            i -= 1
            state = 0 if state == runs + 1 else state - 1
        path[count, 0], path[count, 1] = i, j
        count += 1
    return count
