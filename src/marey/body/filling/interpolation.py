"""Bridging a stretch by its edges alone: straight, as smoothly as the speeds there say, or as is likely.

The smooth bridge is the cubic Hermite curve, the mean of motion with random acceleration between known
positions and speeds. Beyond an only edge the speed dies down. The likely one is the mean of a Gaussian
process whose speed is remembered for a third of a second, about a line (kriging with a linear drift): one
matrix for all stretches of a kind.
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
# Seconds that a speed is remembered in likely motion, and the share of its variance that is noise.
REMEMBERED, NOISE = 1 / 3, 1e-4


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


def likely(known: Array, edges: Edges, frame_rate: float) -> Array:
    """The curve that frames around the stretches make likely, through the edges, `(n, frames, numbers)`."""
    if edges.before < 2 or edges.after < 2:
        return smooth(known, edges, frame_rate)
    frames = edges.frames
    times = np.concatenate([np.arange(-edges.before, 0), np.arange(frames, frames + edges.after)])
    weights = _kriging_weights(times, np.arange(-1, frames + 1), REMEMBERED * frame_rate)
    around = np.concatenate([known[:, : edges.before], known[:, edges.before + frames :]], axis=1)
    found = np.einsum("st,ntc->nsc", weights, around)
    # Noise is looked through, but the edges are met: what is left there fades out.
    before, after = _values(known, edges)
    fade = np.exp(-np.arange(1, frames + 1) / (FADE * frame_rate))[:, None]
    return np.asarray(
        found[:, 1:-1] + (before - found[:, 0])[:, None] * fade + (after - found[:, -1])[:, None] * fade[::-1]
    )


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


def _kriging_weights(known: NDArray[np.int_], wanted: NDArray[np.int_], length: float) -> Array:
    """How values at `wanted` times follow from those at `known` ones: Matérn 3/2 about a straight line."""

    def covariance(a: NDArray[np.int_], b: NDArray[np.int_]) -> Array:
        away = np.sqrt(3.0) * np.abs(a[:, None] - b) / length
        return np.asarray((1.0 + away) * np.exp(-away))

    def drift(times: NDArray[np.int_]) -> Array:
        return np.stack([np.ones(len(times)), times / length], axis=1)

    inner = covariance(known, known) + NOISE * np.eye(len(known))
    across, line = covariance(wanted, known), drift(known)
    simple = np.linalg.solve(inner, across.T).T
    pulled = np.linalg.solve(inner, line)
    rest = drift(wanted) - simple @ line
    return np.asarray(simple + rest @ np.linalg.solve(line.T @ pulled, pulled.T))
