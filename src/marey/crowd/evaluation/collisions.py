"""Bodies that overlap: what a crowd carried by a field without looking does (Courty & Corpetti 2007, 5.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._report import Report
from marey.crowd.animation.advection import BODY_RADIUS
from marey.crowd.tracks import Tracks
from marey.errors import InputError

CONTACT = 0.9
"""Share of the sum of two radii: clothes give way, and disks are not bodies."""
MOST_PAIRS = 1 << 22


@dataclass(frozen=True)
class Collisions(Report):
    """Overlapping bodies of tracks.

    pairs: mean number of overlapping pairs at a time
    people: share of people, at a time, who overlap with someone
    events: how often a pair that was apart came to overlap
    deepest: metres by which the worst pair overlapped
    """

    pairs: float
    people: float
    events: int
    deepest: float


def collisions(tracks: Tracks, *, radius: ArrayLike = BODY_RADIUS) -> Collisions:
    """How often two people are nearer than 90 % of the sum of their radii. Cost: 1 µs a person and frame.

    radius: metres, of everybody or `(agents,)`

    >>> together = Tracks([[[0, 0], [1, 0]], [[0, 0], [0.2, 0]], [[0, 0], [0.2, 0]]], 10)
    >>> found = collisions(together)
    >>> found.events, round(found.pairs, 3), round(found.deepest, 3)
    (1, 0.667, 0.3)
    """
    from marey.crowd.animation import _contact_kernels

    given = np.asarray(radius, dtype=np.float64)
    if given.shape not in ((), (tracks.agents,)) or not (np.isfinite(given) & (given > 0)).all():
        raise InputError(
            f"radius: metres, above 0, one or {tracks.agents} of them; got {given.tolist()!s:.40}"
        )
    radii = np.broadcast_to(given, (tracks.agents,))
    distance = CONTACT * 2 * float(radii.max())
    pairs = np.empty((4 * tracks.agents + 64, 2), dtype=np.int64)
    total = events = 0
    involved = present = 0
    deepest = 0.0
    before: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    for positions in np.asarray(tracks.positions, dtype=np.float64):
        count = _contact_kernels.touching_pairs(positions, distance, pairs)
        if count > len(pairs):
            pairs = np.empty((min(2 * count, MOST_PAIRS), 2), dtype=np.int64)
            _contact_kernels.touching_pairs(positions, distance, pairs)
        near = pairs[: min(count, len(pairs))]
        gaps = np.linalg.norm(positions[near[:, 0]] - positions[near[:, 1]], axis=1)
        sums = radii[near].sum(axis=1)
        touching = near if given.ndim == 0 else near[gaps < CONTACT * sums]
        total += count - len(near) + len(touching)
        present += int(np.isfinite(positions[:, 0]).sum())
        involved += len(np.unique(touching))
        now = np.sort(touching[:, 0] * tracks.agents + touching[:, 1])
        events += len(np.setdiff1d(now, before, assume_unique=True))
        before = now
        if len(touching):
            deepest = max(deepest, float((sums - gaps).max()))
    return Collisions(total / tracks.frames, involved / max(present, 1), events, deepest)
