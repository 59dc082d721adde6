"""Compiled loops over pairs of people: who touches whom, moving apart, starts that keep their distance.

People are sorted into square cells as wide as the largest distance that matters, so a person meets nine cells
only: about 0.3 µs a person and pass at two people a square metre. Importing this module imports numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.crowd.animation._kernels import region_at

Array = NDArray[np.float64]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

MOST_CELLS = 1 << 22


@njit(**_OPTIONS)
def sort_into_cells(positions: Array, width: float) -> tuple[Any, Any, Array, Any]:
    """People by cell: `order` `(present,)`, `first` `(cells + 1,)`, corner and width, (rows, columns)."""
    count = positions.shape[0]
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for i in range(count):
        for axis in range(2):
            value = positions[i, axis]
            if value == value:
                low[axis] = min(low[axis], value)
                high[axis] = max(high[axis], value)
    grid = np.ones(2, dtype=np.int64)
    frame = np.array([0.0, 0.0, width])
    if low[0] <= high[0]:
        # A cell may be wider than asked for, never narrower: few people far apart need no more cells.
        while ((high[0] - low[0]) / width + 1) * ((high[1] - low[1]) / width + 1) > MOST_CELLS:
            width *= 2
        frame[0], frame[1], frame[2] = low[0], low[1], width
        grid[0] = int((high[1] - low[1]) / width) + 1
        grid[1] = int((high[0] - low[0]) / width) + 1
    first = np.zeros(grid[0] * grid[1] + 1, dtype=np.int64)
    cell = np.full(count, -1, dtype=np.int64)
    for i in range(count):
        if positions[i, 0] == positions[i, 0]:
            row = min(int((positions[i, 1] - frame[1]) / frame[2]), grid[0] - 1)
            column = min(int((positions[i, 0] - frame[0]) / frame[2]), grid[1] - 1)
            cell[i] = row * grid[1] + column
            first[cell[i] + 1] += 1
    for c in range(grid[0] * grid[1]):
        first[c + 1] += first[c]
    order = np.empty(first[-1], dtype=np.int64)
    next_free = first[:-1].copy()
    for i in range(count):
        if cell[i] >= 0:
            order[next_free[cell[i]]] = i
            next_free[cell[i]] += 1
    return order, first, frame, grid


@njit(**_OPTIONS)
def move_apart(
    start: int,
    stop: int,
    order: Any,
    first: Any,
    frame: Array,
    grid: Any,
    diameter: float,
    share: float,
    to_pixel: Array,
    region: Any,
    positions: Array,
    moved: Array,
) -> None:
    """One pass for the sorted people `start` to `stop`: `moved` = positions, away from those too near.

    share: of half the overlap with each neighbour that a pass takes away. Solid ground is not entered.
    """
    for k in range(start, stop):
        i = order[k]
        x, y = positions[i, 0], positions[i, 1]
        row = min(int((y - frame[1]) / frame[2]), grid[0] - 1)
        column = min(int((x - frame[0]) / frame[2]), grid[1] - 1)
        shift_x, shift_y = 0.0, 0.0
        for r in range(max(row - 1, 0), min(row + 2, grid[0])):
            for c in range(max(column - 1, 0), min(column + 2, grid[1])):
                for m in range(first[r * grid[1] + c], first[r * grid[1] + c + 1]):
                    j = order[m]
                    dx, dy = x - positions[j, 0], y - positions[j, 1]
                    squared = dx * dx + dy * dy
                    if j == i or squared >= diameter * diameter:
                        continue
                    distance = math.sqrt(squared)
                    if distance < 1e-9:
                        # On one spot: the two part in opposite directions that depend on who they are.
                        angle = 2.399963 * (min(i, j) + 1)
                        sign = 1.0 if i < j else -1.0
                        dx, dy, distance = sign * math.cos(angle), sign * math.sin(angle), 1.0
                        push = 0.5 * diameter
                    else:
                        push = 0.5 * (diameter - distance)
                    shift_x += push * dx / distance
                    shift_y += push * dy / distance
        size = math.sqrt(shift_x * shift_x + shift_y * shift_y)
        factor = share if size * share <= 0.25 * diameter else 0.25 * diameter / size
        nx, ny = x + factor * shift_x, y + factor * shift_y
        if size > 0 and region_at(nx, ny, to_pixel, region) == 2:
            nx, ny = x, y
        moved[i, 0], moved[i, 1] = nx, ny


@njit(**_OPTIONS)
def touching_pairs(positions: Array, distance: float, pairs: Any) -> int:
    """How many pairs of people `(people, 2)` are nearer than `distance`; the first of them go to `pairs`."""
    order, first, frame, grid = sort_into_cells(positions, distance)
    found = 0
    for k in range(order.shape[0]):
        i = order[k]
        row = min(int((positions[i, 1] - frame[1]) / frame[2]), grid[0] - 1)
        column = min(int((positions[i, 0] - frame[0]) / frame[2]), grid[1] - 1)
        for r in range(max(row - 1, 0), min(row + 2, grid[0])):
            for c in range(max(column - 1, 0), min(column + 2, grid[1])):
                for m in range(first[r * grid[1] + c], first[r * grid[1] + c + 1]):
                    j = order[m]
                    dx, dy = positions[i, 0] - positions[j, 0], positions[i, 1] - positions[j, 1]
                    if i < j and dx * dx + dy * dy < distance * distance:
                        if found < pairs.shape[0]:
                            pairs[found, 0], pairs[found, 1] = i, j
                        found += 1
    return found


@njit(**_OPTIONS)
def keep_apart(
    candidates: Array, distance: float, wanted: int, chosen: Any, heads: Any, following: Any
) -> int:
    """Mark in `chosen` the candidates `(n, 2)`, in turn, that are no nearer than `distance` to one before.

    heads: `(rows, columns)` of -1, cells of width `distance` from the lowest candidate; following: `(n,)`
    """
    low_x, low_y = candidates[:, 0].min(), candidates[:, 1].min()
    rows, columns = heads.shape
    count = 0
    for k in range(candidates.shape[0]):
        if chosen[k]:
            row = min(int((candidates[k, 1] - low_y) / distance), rows - 1)
            column = min(int((candidates[k, 0] - low_x) / distance), columns - 1)
            following[k] = heads[row, column]
            heads[row, column] = k
            count += 1
    for k in range(candidates.shape[0]):
        if count >= wanted:
            break
        if chosen[k]:
            continue
        x, y = candidates[k, 0], candidates[k, 1]
        row = min(int((y - low_y) / distance), rows - 1)
        column = min(int((x - low_x) / distance), columns - 1)
        free = True
        for r in range(max(row - 1, 0), min(row + 2, rows)):
            for c in range(max(column - 1, 0), min(column + 2, columns)):
                other = heads[r, c]
                while other >= 0 and free:
                    dx, dy = x - candidates[other, 0], y - candidates[other, 1]
                    free = dx * dx + dy * dy >= distance * distance
                    other = following[other]
        if free:
            chosen[k] = True
            following[k] = heads[row, column]
            heads[row, column] = k
            count += 1
    return count


@njit(**_OPTIONS)
def is_free(positions: Array, x: float, y: float, distance: float) -> bool:
    """Whether nobody of `positions` `(people, 2)` is nearer than `distance`."""
    for i in range(positions.shape[0]):
        dx, dy = positions[i, 0] - x, positions[i, 1] - y
        if dx * dx + dy * dy < distance * distance:
            return False
    return True
