"""How far people carried by a field end up from where they truly went.

A field may be right at every pixel and yet lose people, or be rough and lose none: small errors that go the
same way add up, others do not. True people are put at their true places every second and carried for up to
five seconds (Courty 2013, section 7.1, shows such replays and measures none). Cost: that of the advection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._report import Report
from marey.crowd import presence
from marey.crowd.animation.advection import BODY_RADIUS, advect
from marey.crowd.animation.place import OUTSIDE, WALKABLE, Place
from marey.crowd.fields import FieldSeries
from marey.crowd.tracks import Tracks
from marey.errors import InputError

Array = NDArray[np.float64]

HORIZONS = (1.0, 2.0, 5.0)
MOST_STARTS = 40
"""Moments at which people are set off, at most; more would not change the mean."""


@dataclass(frozen=True)
class PathError(Report):
    """Distances between carried and true people after `seconds`.

    mean, median: metres
    within: share no farther off than `diameter` metres, that of a body
    still: mean distance in metres if people had stayed where they were, to compare with
    people: how many were followed
    """

    seconds: float
    mean: float
    median: float
    within: float
    still: float
    people: int
    diameter: float


def path_errors(
    fields: FieldSeries,
    truth: Tracks,
    *,
    seconds: Sequence[float] = HORIZONS,
    every: float = 1.0,
    diameter: float = 2 * BODY_RADIUS,
) -> list[PathError]:
    """Errors after each of `seconds` that field and truth are long enough for; `[]` if for none.

    fields: with a homography; frame 0 is that of the truth
    every: seconds between moments at which people are set off from their true places

    People count who truly are in the picture at both times; whom the field carries out of it counts from the
    place where they left it.

    >>> from marey.crowd.homography import orthographic
    >>> east = FieldSeries(np.full((30, 10, 80, 2), [1.0, 0.0]), 10, homography=orthographic(0.1))
    >>> way = np.stack([0.5 + 0.08 * np.arange(30), np.full(30, -0.5)], axis=1)
    >>> [(error.seconds, round(error.mean, 3)) for error in path_errors(east, Tracks(way[:, None], 10))]
    [(1.0, 0.2), (2.0, 0.4)]
    """
    if fields.homography is None:
        raise InputError("fields: they have no homography, so there are no metres to compare ways in")
    if not every > 0 or not seconds or min(seconds) <= 0:
        raise InputError("seconds: all must be positive")
    length = min(fields.duration, (truth.frames - 1) / truth.frame_rate)
    return [
        error
        for horizon in sorted(seconds)
        if horizon <= length + 1e-9
        and (error := _after(fields, truth, horizon, length, every, diameter)) is not None
    ]


def _after(
    fields: FieldSeries, truth: Tracks, horizon: float, length: float, every: float, diameter: float
) -> PathError | None:
    begins = np.arange(0.0, length - horizon + 1e-9, every)
    begins = begins[:: max(1, -(-len(begins) // MOST_STARTS))]
    place = Place.of(fields)
    off, stood = [], []
    for begin in begins:
        first = round(begin * truth.frame_rate)
        last = first + round(horizon * truth.frame_rate)
        if last >= truth.frames:
            continue
        start, end = np.asarray(truth.positions[first]), np.asarray(truth.positions[last])
        known = (place.under(start) == WALKABLE) & (place.under(end) != OUTSIDE)
        if not known.any():
            continue
        carried = advect(
            fields,
            start[known],
            begin=first / truth.frame_rate,
            seconds=horizon,
            frame_rate=fields.frame_rate,
        )
        arrived = _last_known(np.asarray(carried.positions), start[known])
        off.append(np.linalg.norm(arrived - end[known], axis=1))
        stood.append(np.linalg.norm(start[known] - end[known], axis=1))
    if not off:
        return None
    distances = np.concatenate(off)
    return PathError(
        horizon,
        float(distances.mean()),
        float(np.median(distances)),
        float((distances <= diameter).mean()),
        float(np.concatenate(stood).mean()),
        len(distances),
        diameter,
    )


def _last_known(ways: Array, start: Array) -> Array:
    """The last place of each person `(people, 2)` before they left the picture."""
    known = presence.is_present(ways)
    last = len(ways) - 1 - known[::-1].argmax(axis=0)
    arrived = ways[last, np.arange(ways.shape[1])]
    return np.where(np.any(known, axis=0, keepdims=True).T, arrived, start)
