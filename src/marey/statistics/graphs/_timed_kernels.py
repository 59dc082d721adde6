"""Compiled: cheapest walks of every duration through a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from marey._compiling import njit

# More steps than any walk is asked for.
NEVER = 2**30


@njit(cache=True, nogil=True)
def fewest_steps(sources: Any, targets: Any, steps: Any, frames: int, target: int) -> Any:
    """From every frame to the target, `(frames,)`; `NEVER` where there is no way."""
    left = np.full(frames, NEVER, np.int64)
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
def relax_in_time(
    costs: Any, arrivals: Any, sources: Any, targets: Any, steps: Any, deformation: Any, left: Any
) -> None:
    """Spread costs `(frames, times)` forward in time along the edges; `arrivals` keeps the edge taken last.

    Both come with what is known already: finite costs where walks may begin, with arrivals of -1. Frames from
    which the target is `left` `(frames,)` too many steps away are passed over.

    Times are taken in blocks as long as the shortest transition, so that no transition ends in the block it
    begins in: each edge is then looked at once a block, and its times lie side by side.
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
def _relax(
    costs: Any, arrivals: Any, edge: int, sources: Any, targets: Any, steps: Any, deformation: Any, left: Any,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Take one edge at the times from `start` up to `stop`."""
    source, target, lasts, cost = sources[edge], targets[edge], steps[edge], deformation[edge]
    for now in range(start, min(stop, costs.shape[1] - lasts - left[target])):
        through = costs[source, now] + cost
        if through < costs[target, now + lasts]:
            costs[target, now + lasts] = through
            arrivals[target, now + lasts] = edge
