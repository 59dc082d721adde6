"""Compiled routes: fast marching, desired directions, who has reached a goal, places apart.

Fast marching settles cells in the order of their distance, from a heap. Importing this module imports numba:
do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np

from marey._arrays import Array, BoolArray, Bytes
from marey._compiling import njit
from marey.geometry._inline_kernels import heap_pop, heap_push, in_polygon

FAR, TRIAL, SETTLED = 0, 1, 2
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_CONTRACTED = {**_OPTIONS, "fastmath": {"contract"}}


@njit(**_OPTIONS)
def march(free: BoolArray, start: Array, spacing: float) -> Array:
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
            value = _update(distance, state, r, c, spacing)
            if value < distance[r, c]:
                distance[r, c] = value
                state[r, c] = TRIAL
                size = heap_push(keys, cells, size, value, 0, r * columns + c)
    return distance


@njit(**_OPTIONS)
def _update(distance: Array, state: Bytes, row: int, column: int, step: float) -> float:
    """Distance of a cell by its settled neighbours: |gradient| = 1, differences of second order if any."""
    weight_x, near_x, first_x = _upwind(distance, state, row, column, 0, 1)
    weight_y, near_y, first_y = _upwind(distance, state, row, column, 1, 0)
    value = _solve(weight_x, near_x, weight_y, near_y, step)
    # A neighbour farther away than the cell itself is not upwind: it is left out.
    if value < first_x and weight_y > 0:
        value = near_y + step / weight_y
    elif value < first_y and weight_x > 0:
        value = near_x + step / weight_x
    return value


@njit(**_OPTIONS)
def _upwind(
    distance: Array, state: Bytes, row: int, column: int, down: int, right: int
) -> tuple[float, float, float]:
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


@njit(**_OPTIONS)
def _solve(weight_x: float, x: float, weight_y: float, y: float, step: float) -> float:
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


@njit(**_CONTRACTED)
def directions(positions, goals, vectors, heads, result):  # type: ignore[no-untyped-def]
    """Fill unit directions `(people, 2)` to everybody's goal; returns the bounds of all positions."""
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


@njit(**_CONTRACTED)
def inside(positions, goals, corners, starts, result):  # type: ignore[no-untyped-def]
    """Fill who is in the area of its goal, `(people,)`; goal g has the corners from `starts[g]` on."""
    for i in range(len(positions)):
        goal = goals[i]
        result[i] = 0 <= goal < len(starts) - 1 and in_polygon(
            positions[i, 0], positions[i, 1], corners, starts[goal], starts[goal + 1]
        )


@njit(**_OPTIONS)
def poisson_disk(points: Array, distance: float, wanted: int, width: float, chosen: BoolArray) -> int:
    """Mark in `chosen` the points `(n, 2)`, in turn, no nearer than `distance` to one chosen before.

    Stops at `wanted` chosen points, those marked already included, and returns how many there are. Points are
    kept in cells of `width`, at least the distance.
    """
    low_x, low_y = points[:, 0].min(), points[:, 1].min()
    columns = int((points[:, 0].max() - low_x) / width) + 1
    rows = int((points[:, 1].max() - low_y) / width) + 1
    heads = np.full((rows, columns), -1, dtype=np.int64)
    following = np.full(points.shape[0], -1, dtype=np.int64)
    count = 0
    # Those marked already come first.
    for marked in (True, False):
        for k in range(points.shape[0]):
            if chosen[k] != marked or (not marked and count >= wanted):
                continue
            x, y = points[k, 0], points[k, 1]
            row, column = int((y - low_y) / width), int((x - low_x) / width)
            free = True
            if not marked:
                for r in range(max(row - 1, 0), min(row + 2, rows)):
                    for c in range(max(column - 1, 0), min(column + 2, columns)):
                        other = heads[r, c]
                        while other >= 0 and free:
                            dx, dy = x - points[other, 0], y - points[other, 1]
                            free = dx * dx + dy * dy >= distance * distance
                            other = following[other]
            if free:
                chosen[k] = True
                following[k] = heads[row, column]
                heads[row, column] = k
                count += 1
    return count
