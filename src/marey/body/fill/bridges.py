"""Curves across a gap from its edges alone: linear, or cubic Hermite with the velocities at the edges.

The Hermite curve is the mean of motion with random acceleration between known positions and velocities.
Beyond a single edge the velocity decays. Cost: one pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.fill.coordinates import Edges


def linear(known: Array, edges: Edges) -> Array:
    """The line from edge to edge of windows `(n, before + frames + after, features)`, inside the gap."""
    before, after = _values(known, edges)
    if not edges.before or not edges.after:
        edge = before if edges.before else after
        return np.repeat(edge[:, None], edges.frames, axis=1)
    share = (np.arange(1, edges.frames + 1) / (edges.frames + 1))[:, None]
    return np.asarray(before[:, None] + (after - before)[:, None] * share)


def hermite(known: Array, edges: Edges, frame_rate: float) -> Array:
    """A curve through the edges with the velocities there, `(n, frames, features)`.

    Beyond a single edge the velocity decays in 0.15 s.
    """
    line = linear(known, edges)
    steps: NDArray[np.int_] = np.arange(1, edges.frames + 1)[:, None]
    leaving, arriving = _velocities(known, edges)
    if not edges.before or not edges.after:
        decay = 0.15 * frame_rate
        away = steps if edges.before else edges.frames + 1 - steps
        velocity = leaving if edges.before else -arriving
        return np.asarray(line + velocity[:, None] * decay * (1.0 - np.exp(-away / decay)))
    span = edges.frames + 1
    before, after = _values(known, edges)
    even = (after - before) / span
    felt = min(float(span), max(edges.felt * frame_rate, 2.0))

    def bump(away: NDArray[np.int_]) -> Array:
        share = np.minimum(away / felt, 1.0)
        return np.asarray(felt * share * (1.0 - share) ** 2)

    # A side with a single known frame has no velocity of its own: the line's is taken.
    curve = line.copy()
    if edges.before > 1:
        curve += (leaving - even)[:, None] * bump(steps)
    if edges.after > 1:
        curve -= (arriving - even)[:, None] * bump(np.asarray(span - steps))
    return curve


def surroundings(known: Array, edges: Edges, beyond: tuple[int, ...]) -> Array:
    """Deviation from the line `(n, places, features)` of frames `beyond` the edges, where there are any."""
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
    """The last values before and the first after; any of a side that is not there."""
    return known[:, max(edges.before - 1, 0)], known[:, min(edges.before + edges.frames, known.shape[1] - 1)]


def _velocities(known: Array, edges: Edges) -> tuple[Array, Array]:
    """Change per frame over two frames before and after; 0 where a single frame is known."""
    first, last = edges.before - 1, edges.before + edges.frames
    back, on = min(2, edges.before - 1), min(2, edges.after - 1)
    still = np.zeros_like(known[:, 0])
    leaving = (known[:, first] - known[:, first - back]) / back if back > 0 else still
    arriving = (known[:, last + on] - known[:, last]) / on if on > 0 else still
    return leaving, arriving
