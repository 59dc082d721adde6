"""Transitions found the slow way: every path written out, or a plain recursion per pair of windows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from marey.statistics.graphs.graph import DistanceMatrix

Cells = tuple[tuple[int, int], ...]


def matrix(values: np.ndarray, starts: list[int]) -> DistanceMatrix:
    names = tuple(f"sequence {number}" for number in range(len(starts) - 1))
    return DistanceMatrix(values, np.zeros_like(values), np.array(starts), names, "test")


def random_matrix(rng: np.random.Generator, starts: list[int]) -> DistanceMatrix:
    """Whole numbers, so that sums are exact in any order, from a range so wide that ties are rare."""
    values = rng.integers(1, 1 << 16, size=(starts[-1], starts[-1])).astype(np.float64)
    values = np.triu(values, 1)
    return matrix(values + values.T, starts)


@cache
def paths(rows: int, columns: int, slope: int) -> tuple[Cells, ...]:
    """Every path allowed from corner to corner: moves one cell at a time, first diagonally, never more than
    `slope - 1` straight ones in a row, never a straight one right after one in the other direction."""
    return tuple(_continued(((0, 0),), "", rows, columns, slope))


def _continued(path: Cells, moves: str, rows: int, columns: int, slope: int) -> Iterator[Cells]:
    r, c = path[-1]
    if (r, c) == (rows - 1, columns - 1):
        yield path
    for move, down, right in (("d", 1, 1), ("v", 1, 0), ("h", 0, 1)):
        if r + down >= rows or c + right >= columns:
            continue
        if move != "d":
            run = len(moves) - len(moves.rstrip(move))
            before = moves[: len(moves) - run]
            if run >= slope - 1 or not before.endswith("d"):
                continue
        yield from _continued((*path, (r + down, c + right)), moves + move, rows, columns, slope)


def warp(costs: np.ndarray, slope: int) -> tuple[float, int]:
    """Least sum from corner to corner, and the cells of that path: the recursion, cell by cell."""
    rows, columns = costs.shape
    best = np.full((rows, columns), np.inf)
    cells = np.zeros((rows, columns), int)
    best[0, 0], cells[0, 0] = costs[0, 0], 1
    for r in range(1, rows):
        for c in range(1, columns):
            ways = [
                (r - q, c - 1, costs[r - q + 1 : r + 1, c].sum(), q) for q in range(1, slope + 1) if q <= r
            ]
            ways += [
                (r - 1, c - q, costs[r, c - q + 1 : c + 1].sum(), q) for q in range(2, slope + 1) if q <= c
            ]
            for a, b, step, length in ways:
                if best[a, b] + step < best[r, c]:
                    best[r, c], cells[r, c] = best[a, b] + step, cells[a, b] + length
    return float(best[-1, -1]), int(cells[-1, -1])


def best_windows(
    distances: DistanceMatrix, source: int, destination: int, shortest: int, longest: int, slope: int,
    alpha: float = 0.0,
) -> tuple[float, int]:  # fmt: skip
    """Least sum of distance + alpha over all pairs of windows, and the length of that path."""
    starts = distances.starts
    stop = starts[np.searchsorted(starts, source, side="right")]
    start = starts[np.searchsorted(starts, destination, side="right") - 1]
    found = np.inf, 0
    for rows in range(shortest, min(longest, stop - source) + 1):
        for columns in range(shortest, min(longest, destination - start + 1) + 1):
            block = distances.values[source : source + rows, destination - columns + 1 : destination + 1]
            cost, cells = warp(block.astype(np.float64) + alpha, slope)
            if cost < found[0]:
                found = cost, cells
    return found
