"""Compiled choice of places for people who come, at a distance from each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from marey._compiling import njit

# Bodies give way, so that a few more than four may be in a square as wide as people start apart.
MOST = 16


@njit(cache=True, nogil=True)
def scatter(points: Any, clear: Any, apart: float, taken: Any, count: int) -> Any:
    """Which of candidate `points` `(n, 2)` stand at least `apart` from each other and from `taken`.

    The first `count` that do, in their order; `clear` says which candidates may be used at all.
    """
    n = len(points)
    low_x, low_y, high_x, high_y = np.inf, np.inf, -np.inf, -np.inf
    for i in range(n):
        low_x, high_x = min(low_x, points[i, 0]), max(high_x, points[i, 0])
        low_y, high_y = min(low_y, points[i, 1]), max(high_y, points[i, 1])
    columns, rows = int((high_x - low_x) / apart) + 3, int((high_y - low_y) / apart) + 3
    held = np.zeros((rows, columns), np.int64)
    places = np.empty((rows, columns, MOST, 2))
    for i in range(len(taken)):
        column = int(np.floor((taken[i, 0] - low_x) / apart)) + 1
        row = int(np.floor((taken[i, 1] - low_y) / apart)) + 1
        if 0 <= row < rows and 0 <= column < columns and held[row, column] < MOST:
            places[row, column, held[row, column]] = taken[i]
            held[row, column] += 1
    chosen = np.empty(min(count, n), np.int64)
    found = 0
    for i in range(n):
        if found == count:
            break
        if not clear[i]:
            continue
        column, row = int((points[i, 0] - low_x) / apart) + 1, int((points[i, 1] - low_y) / apart) + 1
        alone = True
        for r in range(row - 1, min(row + 2, rows)):
            for c in range(column - 1, min(column + 2, columns)):
                for k in range(held[r, c]):
                    dx, dy = points[i, 0] - places[r, c, k, 0], points[i, 1] - places[r, c, k, 1]
                    if dx * dx + dy * dy < apart * apart:
                        alone = False
        if alone and held[row, column] < MOST:
            places[row, column, held[row, column]] = points[i]
            held[row, column] += 1
            chosen[found] = i
            found += 1
    return chosen[:found]
