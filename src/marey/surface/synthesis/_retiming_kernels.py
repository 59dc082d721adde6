"""Compiled: cheapest walks of every duration through a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from marey._compiling import njit


@njit(cache=True, nogil=True)
def relax_in_time(
    costs: Any, arrivals: Any, first_leaving: Any, targets: Any, steps: Any, deformation: Any
) -> None:
    """Spread costs `(times, frames)` forward in time along the edges; `arrivals` keeps the edge taken last.

    Both come with what is known already: finite costs where walks may begin, with arrivals of -1.
    """
    times, frames = costs.shape
    for now in range(times):
        for frame in range(frames):
            so_far = costs[now, frame]
            if so_far == np.inf:
                continue
            for edge in range(first_leaving[frame], first_leaving[frame + 1]):
                then = now + steps[edge]
                if then >= times:
                    continue
                cost = so_far + deformation[edge]
                target = targets[edge]
                if cost < costs[then, target]:
                    costs[then, target] = cost
                    arrivals[then, target] = edge
