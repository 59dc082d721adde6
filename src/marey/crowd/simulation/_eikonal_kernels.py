"""Compiled fast marching: cells are settled in the order of their distance, from a heap."""

from __future__ import annotations

from typing import Any

import numpy as np

from marey._compiling import njit
from marey.geometry._inline_kernels import heap_pop, heap_push

FAR, TRIAL, SETTLED = 0, 1, 2
BEST = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**BEST)
def march(free: Any, start: Any, cost: Any, spacing: float) -> Any:
    """Distances `(rows, columns)` from cells whose `start` is finite, through free cells; inf elsewhere."""
    rows, columns = free.shape
    distance = np.full((rows, columns), np.inf)
    state = np.zeros((rows, columns), np.uint8)
    keys = np.empty(5 * rows * columns + 8)
    cells = np.empty((5 * rows * columns + 8, 2), np.int64)
    size = 0
    for row in range(rows):
        for column in range(columns):
            if free[row, column] and np.isfinite(start[row, column]):
                distance[row, column] = start[row, column]
                state[row, column] = TRIAL
                size = heap_push(keys, cells, size, start[row, column], 0, row * columns + column)
    while size > 0:
        cell, size = heap_pop(keys, cells, size)
        row, column = cell // columns, cell % columns
        if state[row, column] == SETTLED:
            continue
        state[row, column] = SETTLED
        for side in range(4):
            r = row + (1 if side == 0 else -1 if side == 1 else 0)
            c = column + (1 if side == 2 else -1 if side == 3 else 0)
            if not (0 <= r < rows and 0 <= c < columns) or not free[r, c] or state[r, c] == SETTLED:
                continue
            if np.isfinite(start[r, c]):
                continue
            value = _update(distance, state, r, c, cost[r, c] * spacing)
            if value < distance[r, c]:
                distance[r, c] = value
                state[r, c] = TRIAL
                size = heap_push(keys, cells, size, value, 0, r * columns + c)
    return distance


@njit(**BEST)
def _update(distance: Any, state: Any, row: int, column: int, step: float) -> Any:
    """Distance of a cell by its settled neighbours: |gradient| = cost, differences of second order if any."""
    weight_x, near_x, first_x = _upwind(distance, state, row, column, 0, 1)
    weight_y, near_y, first_y = _upwind(distance, state, row, column, 1, 0)
    value = _solve(weight_x, near_x, weight_y, near_y, step)
    # A neighbour further away than the cell itself is not where the way leads: without it then.
    if value < first_x and weight_y > 0:
        value = near_y + step / weight_y
    elif value < first_y and weight_x > 0:
        value = near_x + step / weight_x
    return value


@njit(**BEST)
def _upwind(distance: Any, state: Any, row: int, column: int, down: int, right: int) -> Any:
    """(weight, value, nearest neighbour): the difference along an axis is `weight * (T - value)`.

    Weight 1 for first order, 3/2 for second, 0 if no neighbour on this axis is settled.
    """
    rows, columns = distance.shape
    best, weight, value = np.inf, 0.0, np.inf
    for side in (-1, 1):
        r, c = row + side * down, column + side * right
        if not (0 <= r < rows and 0 <= c < columns) or state[r, c] != SETTLED or distance[r, c] >= best:
            continue
        best, weight, value = distance[r, c], 1.0, distance[r, c]
        r2, c2 = r + side * down, c + side * right
        if 0 <= r2 < rows and 0 <= c2 < columns and state[r2, c2] == SETTLED and distance[r2, c2] <= best:
            weight, value = 1.5, (4.0 * best - distance[r2, c2]) / 3.0
    return weight, value, best


@njit(**BEST)
def _solve(weight_x: float, x: float, weight_y: float, y: float, step: float) -> Any:
    """Larger root T of `(weight_x (T - x))^2 + (weight_y (T - y))^2 = step^2`; one axis if there is none."""
    alone_x = x + step / weight_x if weight_x > 0 else np.inf
    alone_y = y + step / weight_y if weight_y > 0 else np.inf
    if weight_x == 0 or weight_y == 0:
        return min(alone_x, alone_y)
    a, b = weight_x * weight_x, weight_y * weight_y
    half = (a * x + b * y) / (a + b)
    rest = (step * step - a * b * (x - y) * (x - y) / (a + b)) / (a + b)
    if rest < 0:
        return min(alone_x, alone_y)
    return half + np.sqrt(rest)
