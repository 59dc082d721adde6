"""Shortest ways between all nodes: Floyd and Warshall's recursion in tiles, and Dijkstra's search in a heap.

Both let go of Python's lock, so that threads can share the rows.
"""

from __future__ import annotations

import numpy as np

from marey._compiling import njit
from marey.geometry._inline_kernels import heap_pop, heap_push

# A tile of 32 rows of this width stays in the first-level cache.
COLUMNS = 64


@njit(cache=True, nogil=True)
def close_pivot(costs, first, last):  # type: ignore[no-untyped-def]
    """Shortest ways among the nodes `first…last - 1`, then from them to all: rows of `costs`, in place."""
    nodes = costs.shape[0]
    for k in range(first, last):
        for i in range(first, last):
            step = costs[i, k]
            for j in range(first, last):
                through = step + costs[k, j]
                costs[i, j] = through if through < costs[i, j] else costs[i, j]
    panel = costs[first:last].copy()
    for i in range(first, last):
        for k in range(last - first):
            step = costs[i, first + k]
            if step == np.inf or first + k == i:
                continue
            for j in range(nodes):
                through = step + panel[k, j]
                costs[i, j] = through if through < costs[i, j] else costs[i, j]


@njit(cache=True, nogil=True)
def pass_pivot(costs, first, last, begin, end):  # type: ignore[no-untyped-def]
    """Ways from the nodes `begin…end - 1` through the nodes `first…last - 1`, whose rows are closed."""
    nodes = costs.shape[0]
    size = last - first
    steps = np.full((end - begin, size + 3), np.inf)
    for i in range(begin, end):
        if not first <= i < last:
            for k in range(size):
                best = costs[i, first + k]
                for middle in range(size):
                    through = costs[i, first + middle] + costs[first + middle, first + k]
                    best = through if through < best else best
                steps[i - begin, k] = best
    for left in range(0, nodes, COLUMNS):
        right = min(nodes, left + COLUMNS)
        for i in range(begin, end):
            if first <= i < last:
                continue
            row = costs[i, left:right]
            step = steps[i - begin]
            for k in range(0, size, 4):
                a, b, c, d = step[k], step[k + 1], step[k + 2], step[k + 3]
                if a == np.inf and b == np.inf and c == np.inf and d == np.inf:
                    continue
                # Past the last pivot the step is infinite, so that any row will do.
                p = costs[first + k, left:right]
                q = costs[min(first + k + 1, last - 1), left:right]
                r = costs[min(first + k + 2, last - 1), left:right]
                s = costs[min(first + k + 3, last - 1), left:right]
                for j in range(len(row)):
                    one, two, three, four = a + p[j], b + q[j], c + r[j], d + s[j]
                    one = one if one < two else two
                    three = three if three < four else four
                    one = one if one < three else three
                    row[j] = one if one < row[j] else row[j]


@njit(cache=True, nogil=True)
def search(first, targets, weights, steps, start, goal, costs, times, arriving):  # type: ignore[no-untyped-def]
    """Dijkstra's search from `start`, until `goal` is reached or, if that is negative, everything.

    first: `(nodes + 1,)`: edges `first[n]…first[n + 1] - 1` leave node n
    costs, times, arriving: `(nodes,)`, filled: least cost, fewest steps at that cost, last edge
    """
    costs[:] = np.inf
    times[:] = 0
    arriving[:] = -1
    done = np.zeros(len(costs), np.bool_)
    room = 64
    keys, items = np.empty(room), np.empty((room, 2), np.int64)
    costs[start] = 0.0
    size = heap_push(keys, items, 0, 0.0, 0, start)
    while size:
        node, size = heap_pop(keys, items, size)
        if done[node]:
            continue
        done[node] = True
        if node == goal:
            return
        for edge in range(first[node], first[node + 1]):
            target = targets[edge]
            cost = costs[node] + weights[edge]
            if cost > costs[target] or done[target]:
                continue
            time = times[node] + steps[edge]
            if cost < costs[target] or time < times[target]:
                costs[target], times[target], arriving[target] = cost, time, edge
                if size == room:
                    keys = np.concatenate((keys, np.empty(room)))
                    items = np.concatenate((items, np.empty((room, 2), np.int64)))
                    room *= 2
                size = heap_push(keys, items, size, cost, time, target)


@njit(cache=True, nogil=True)
def search_rows(first, targets, weights, steps, costs, times, begin, end):  # type: ignore[no-untyped-def]
    """`search` from the nodes `begin…end - 1`, each into its row of `costs` and `times`."""
    arriving = np.empty(costs.shape[1], np.int64)
    for node in range(begin, end):
        search(first, targets, weights, steps, node, -1, costs[node], times[node], arriving)


@njit(cache=True, nogil=True)
def tight_rows(first, targets, weights, steps, slack, tight, begin, end):  # type: ignore[no-untyped-def]
    """Mark the edges leaving the nodes `begin…end - 1` that are themselves a shortest way."""
    nodes = len(first) - 1
    costs, times = np.empty(nodes), np.empty(nodes, np.int64)
    arriving = np.empty(nodes, np.int64)
    for node in range(begin, end):
        search(first, targets, weights, steps, node, -1, costs, times, arriving)
        for edge in range(first[node], first[node + 1]):
            tight[edge] = weights[edge] <= costs[targets[edge]] * (1.0 + slack)


@njit(cache=True, nogil=True)
def cheapest_futures(costs, last, run, discount, tolerance, sweeps, values):  # type: ignore[no-untyped-def]
    """Cost of the best endless way on from every frame, into `values`; how often all were gone through.

    From frame i one goes on to i + 1 for nothing, if i < last, or jumps to j for `costs[i, j]` and then
    plays `run` frames. Later costs count less by `discount` a frame. Going through the frames from the last
    upwards, a value is known as far as the next jump after one pass.
    """
    frames = len(costs)
    after_run = discount**run
    for sweep in range(sweeps):
        change = 0.0
        for i in range(last, -1, -1):
            best = discount * values[i + 1] if i < last else np.inf
            for j in range(frames - run):
                cost = costs[i, j]
                if cost < best:
                    cost += after_run * values[j + run - 1]
                    best = min(best, cost)
            change = max(change, abs(best - values[i]))
            values[i] = best
        if change <= tolerance:
            return sweep + 1
    return sweeps
