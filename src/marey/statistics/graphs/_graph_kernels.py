"""Compiled: shortest walks by Floyd and Warshall's recursion in tiles and by Dijkstra's search in a heap,
cheapest walks of every duration, and cheapest futures of video textures. Importing this module imports
numba: do so inside functions.
"""

from __future__ import annotations

import numpy as np

from marey._compiling import njit
from marey.geometry._inline_kernels import heap_pop, heap_push

# A tile of so many rows and columns stays in the first-level cache.
PIVOTS, COLUMNS = 32, 64


@njit(cache=True, nogil=True)
def close_pivot(costs, first, last):  # type: ignore[no-untyped-def]
    """Shortest walks among the nodes `first…last - 1`, then from them to all: rows of `costs`, in place."""
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
    """Walks from the nodes `begin…end - 1` through the nodes `first…last - 1`, whose rows are closed."""
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
def search(first, targets, weights, steps, start, goal):  # type: ignore[no-untyped-def]
    """Dijkstra's search from `start` until `goal` is reached: the last edge to each node, `(nodes,)`, or -1.

    Of walks that cost the same, those of the fewest steps are found.

    first: `(nodes + 1,)`: edges `first[n]…first[n + 1] - 1` leave node n
    """
    nodes = len(first) - 1
    costs, times = np.full(nodes, np.inf), np.zeros(nodes, np.int64)
    arriving, done = np.full(nodes, -1), np.zeros(nodes, np.bool_)
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
            break
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
    return arriving


@njit(cache=True, nogil=True)
def fewest_steps(sources, targets, steps, frames, target):  # type: ignore[no-untyped-def]
    """From every frame to the target, `(frames,)`; 2³⁰ where there is no walk."""
    left = np.full(frames, 2**30, np.int64)
    left[target] = 0
    changed = True
    while changed:
        changed = False
        # From the last edge on, so that one pass goes down a whole captured sequence.
        for edge in range(len(sources) - 1, -1, -1):
            through = left[targets[edge]] + steps[edge]
            if through < left[sources[edge]]:
                left[sources[edge]] = through
                changed = True
    return left


@njit(cache=True, nogil=True)
def relax_in_time(costs, arrivals, sources, targets, steps, deformation, left):  # type: ignore[no-untyped-def]
    """Spread costs `(frames, times)` forward in time along the edges; `arrivals` keeps the edge taken last.

    Both come with what is known already: finite costs where walks may begin, with arrivals of -1. Frames from
    which the target is `left` `(frames,)` too many steps away are passed over.

    Times are taken in blocks as long as the shortest transition, so that no transition ends in the block it
    begins in: each edge is then read once a block, and its times lie side by side.
    """
    times = costs.shape[1]
    single, longer = np.flatnonzero(steps == 1), np.flatnonzero(steps > 1)
    block = steps[longer].min() if len(longer) else times
    for start in range(0, times, block):
        stop = min(start + block, times)
        for now in range(start, stop):
            for edge in single:
                _relax(costs, arrivals, edge, sources, targets, steps, deformation, left, now, now + 1)
        for edge in longer:
            _relax(costs, arrivals, edge, sources, targets, steps, deformation, left, start, stop)


@njit(cache=True, nogil=True)
def _relax(costs, arrivals, edge, sources, targets, steps, deformation, left, start, stop):  # type: ignore[no-untyped-def]
    """Take one edge at the times from `start` up to `stop`."""
    source, target, lasts, cost = sources[edge], targets[edge], steps[edge], deformation[edge]
    for now in range(start, min(stop, costs.shape[1] - lasts - left[target])):
        through = costs[source, now] + cost
        if through < costs[target, now + lasts]:
            costs[target, now + lasts] = through
            arrivals[target, now + lasts] = edge


@njit(cache=True, nogil=True)
def cheapest_futures(costs, last, run, discount, tolerance, sweeps, values):  # type: ignore[no-untyped-def]
    """Cost of the best endless walk on from every frame, into `values`; how many sweeps it took.

    Frame i leads to i + 1 at no cost, if i < last, or by a jump to j at `costs[i, j]`, after which `run`
    frames are played. Later costs are discounted by `discount` a frame. Sweeps go from the last frame to
    the first, so that a value is known as far as the next jump after one sweep.
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
