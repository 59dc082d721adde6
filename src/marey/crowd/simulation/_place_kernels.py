"""Compiled loops over people and areas: directions, goals reached, places far enough apart.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np

from marey._compiling import njit

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(**_OPTIONS)
def directions(positions, goals, vectors, heads, result):  # type: ignore[no-untyped-def]
    """Unit direction of each person's goal at its place, `(people, 2)`; returns the bounds of all places."""
    left = bottom = np.inf
    right_end = top = -np.inf
    for i in range(len(positions)):
        left, right_end = min(left, positions[i, 0]), max(right_end, positions[i, 0])
        bottom, top = min(bottom, positions[i, 1]), max(top, positions[i, 1])
        goal = goals[i]
        if goal < 0 or goal >= len(heads):
            result[i, 0] = 0.0
            result[i, 1] = 0.0
            continue
        start, rows, columns = int(heads[goal, 0]), int(heads[goal, 1]), int(heads[goal, 2])
        x = (positions[i, 0] - heads[goal, 3]) / heads[goal, 5]
        y = (positions[i, 1] - heads[goal, 4]) / heads[goal, 5]
        x = min(max(x, 0.0), columns - 1.0)
        y = min(max(y, 0.0), rows - 1.0)
        column, row = min(int(x), max(columns - 2, 0)), min(int(y), max(rows - 2, 0))
        right, above = min(column + 1, columns - 1), min(row + 1, rows - 1)
        u, v = x - column, y - row
        a, b = start + row * columns + column, start + row * columns + right
        c, d = start + above * columns + column, start + above * columns + right
        wx = (1.0 - v) * ((1.0 - u) * vectors[a, 0] + u * vectors[b, 0]) + v * (
            (1.0 - u) * vectors[c, 0] + u * vectors[d, 0]
        )
        wy = (1.0 - v) * ((1.0 - u) * vectors[a, 1] + u * vectors[b, 1]) + v * (
            (1.0 - u) * vectors[c, 1] + u * vectors[d, 1]
        )
        length = math.sqrt(wx * wx + wy * wy)
        if length < 1e-9:
            result[i, 0] = 0.0
            result[i, 1] = 0.0
        else:
            result[i, 0] = wx / length
            result[i, 1] = wy / length
    return left, bottom, right_end, top


@njit(**_OPTIONS)
def inside(positions, goals, corners, starts, result):  # type: ignore[no-untyped-def]
    """Who stands in the area of its goal, `(people,)`; goal g has the corners from `starts[g]` on."""
    for i in range(len(positions)):
        result[i] = False
        goal = goals[i]
        if goal < 0 or goal >= len(starts) - 1:
            continue
        x, y, odd = positions[i, 0], positions[i, 1], False
        k = starts[goal + 1] - 1
        for j in range(starts[goal], starts[goal + 1]):
            if (corners[j, 1] > y) != (corners[k, 1] > y):
                crossing = (corners[k, 0] - corners[j, 0]) * (y - corners[j, 1])
                if x < crossing / (corners[k, 1] - corners[j, 1]) + corners[j, 0]:
                    odd = not odd
            k = j
        result[i] = odd


@njit(**_OPTIONS)
def scattered(candidates, spacing, cell_size, columns, rows, x0, y0, count, chosen):  # type: ignore[no-untyped-def]
    """Take candidates `(candidates, 2)` in turn unless nearer than `spacing` to one taken; how many are."""
    heads = np.full(columns * rows, -1, dtype=np.int64)
    taken = 0
    for c in range(len(candidates)):
        x, y = candidates[c, 0], candidates[c, 1]
        column, row = int((x - x0) / cell_size), int((y - y0) / cell_size)
        free = True
        for r in range(max(row - 2, 0), min(row + 3, rows)):
            for k in range(max(column - 2, 0), min(column + 3, columns)):
                other = heads[r * columns + k]
                if other >= 0:
                    a, b = candidates[other, 0] - x, candidates[other, 1] - y
                    if a * a + b * b < spacing * spacing:
                        free = False
        if free:
            heads[row * columns + column] = c
            chosen[taken] = c
            taken += 1
            if taken == count:
                break
    return taken
