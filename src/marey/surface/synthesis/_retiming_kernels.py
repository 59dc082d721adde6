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
    costs: Any, arrivals: Any, first_leaving: Any, targets: Any, steps: Any, deformation: Any, left: Any
) -> None:
    """Spread costs `(times, frames)` forward in time along the edges; `arrivals` keeps the edge taken last.

    Both come with what is known already: finite costs where walks may begin, with arrivals of -1. Frames from
    which the target is `left` `(frames,)` too many steps away are passed over.
    """
    times, frames = costs.shape
    for now in range(times):
        for frame in range(frames):
            so_far = costs[now, frame]
            if so_far == np.inf:
                continue
            for edge in range(first_leaving[frame], first_leaving[frame + 1]):
                then, target = now + steps[edge], targets[edge]
                if then + left[target] >= times:
                    continue
                cost = so_far + deformation[edge]
                if cost < costs[then, target]:
                    costs[then, target] = cost
                    arrivals[then, target] = edge
