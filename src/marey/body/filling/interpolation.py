"""Bridging a stretch by its edges alone: straight, or as smoothly as the speeds there say.

The smooth bridge is the cubic Hermite curve, the mean of motion with random acceleration between known
positions and speeds. Beyond an only edge the speed dies down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.body.filling.stretches import Edges

Array = NDArray[np.float64]

# Frames over which the speed at an edge is taken.
STEP = 2
# Seconds that a speed is felt at most across a hole, and seconds in which it dies down beyond an only edge.
FELT, FADE = 1.0, 0.15


def straight(known: Array, edges: Edges) -> Array:
    """The line from edge to edge of stretches `(n, before + frames + after, numbers)`, inside them."""
    before, after = _values(known, edges)
    if not edges.before or not edges.after:
        edge = before if edges.before else after
        return np.repeat(edge[:, None], edges.frames, axis=1)
    share = (np.arange(1, edges.frames + 1) / (edges.frames + 1))[:, None]
    return np.asarray(before[:, None] + (after - before)[:, None] * share)


def smooth(known: Array, edges: Edges, frame_rate: float) -> Array:
    """A curve through the edges with the speeds there, `(n, frames, numbers)`."""
    line = straight(known, edges)
    steps: NDArray[np.int_] = np.arange(1, edges.frames + 1)[:, None]
    leaving, arriving = _speeds(known, edges)
    if not edges.before or not edges.after:
        fade = FADE * frame_rate
        away = steps if edges.before else edges.frames + 1 - steps
        speed = leaving if edges.before else -arriving
        return np.asarray(line + speed[:, None] * fade * (1.0 - np.exp(-away / fade)))
    span = edges.frames + 1
    before, after = _values(known, edges)
    even = (after - before) / span
    felt = min(float(span), max(FELT * frame_rate, 2.0))

    def bump(away: NDArray[np.int_]) -> Array:
        share = np.minimum(away / felt, 1.0)
        return np.asarray(felt * share * (1.0 - share) ** 2)

    # A side with a single known frame has no speed of its own: it goes on evenly.
    curve = line.copy()
    if edges.before > 1:
        curve += (leaving - even)[:, None] * bump(steps)
    if edges.after > 1:
        curve -= (arriving - even)[:, None] * bump(np.asarray(span - steps))
    return curve


def surroundings(known: Array, edges: Edges, beyond: tuple[int, ...]) -> Array:
    """Frames beyond the edges as they deviate from the line `(n, places, numbers)`."""
    before, after = _values(known, edges)
    span, first = edges.frames + 1, edges.before - 1
    away = [-k for k in beyond if k < edges.before] + [span + k for k in beyond if k < edges.after]
    at = np.array(away, dtype=np.intp)
    if edges.before and edges.after:
        line = before[:, None] + (after - before)[:, None] * (at / span)[:, None]
    else:
        line = (before if edges.before else after)[:, None]
    return np.asarray(known[:, first + at] - line)


def _values(known: Array, edges: Edges) -> tuple[Array, Array]:
    """The last numbers before and the first after; any of a side that is not there."""
    return known[:, max(edges.before - 1, 0)], known[:, min(edges.before + edges.frames, known.shape[1] - 1)]


def _speeds(known: Array, edges: Edges) -> tuple[Array, Array]:
    """Change a frame before and after; 0 where a single frame is known."""
    first, last = edges.before - 1, edges.before + edges.frames
    back, on = min(STEP, edges.before - 1), min(STEP, edges.after - 1)
    still = np.zeros_like(known[:, 0])
    leaving = (known[:, first] - known[:, first - back]) / back if back > 0 else still
    arriving = (known[:, last + on] - known[:, last]) / on if on > 0 else still
    return leaving, arriving
