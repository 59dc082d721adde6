"""How faithfully people follow the field they are meant to follow, step by step.

People who avoid each other leave the field's velocity; a crowd that leaves it far no longer shows what was
captured (Courty & Corpetti 2007, section 5.3). Cost: one bilinear look-up a person and frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.crowd import homography
from marey.crowd.animation.flow import Flow
from marey.crowd.fields import FieldSeries
from marey.crowd.tracks import Tracks

Array = NDArray[np.float64]


def deviation(tracks: Tracks, fields: FieldSeries, *, repeat: bool = True) -> float:
    """Mean difference of people's velocities from the field's where they are, over the field's mean speed.

    Tracks and series begin together. 0 = exactly the field; NaN if it stands still, or nobody is there twice.

    >>> east = FieldSeries(np.full((3, 10, 40, 2), [2.0, 0.0]), 10, homography=homography.orthographic(0.1))
    >>> way = np.stack([0.5 + 0.1 * np.arange(10), np.full(10, -0.5)], axis=1)
    >>> round(deviation(Tracks(way[:, None], 10), east), 6)
    0.5
    """
    flow = Flow.of(fields, repeat=repeat)
    positions = np.asarray(tracks.positions, dtype=np.float64)
    off = speed = 0.0
    for frame in range(tracks.frames - 1):
        step = positions[frame + 1] - positions[frame]
        known = np.isfinite(step).all(axis=1)
        if not known.any():
            continue
        middle = positions[frame, known] + 0.5 * step[known]
        wanted = _velocities(flow, (frame + 0.5) / tracks.frame_rate, middle)
        off += float(np.linalg.norm(step[known] * tracks.frame_rate - wanted, axis=1).sum())
        speed += float(np.linalg.norm(wanted, axis=1).sum())
    return off / speed if speed > 0 else float("nan")


def _velocities(flow: Flow, seconds: float, points: Array) -> Array:
    """Metres per second `(people, 2)` of the field at points `(people, 2)` metres."""
    field = flow.at(seconds)
    rows, columns = field.shape[:2]
    pixels = homography.apply(flow.place.to_pixel, points)
    column, row = np.clip(pixels[:, 0], 0, columns - 1), np.clip(pixels[:, 1], 0, rows - 1)
    left, top = column.astype(np.int64), row.astype(np.int64)
    right, below = np.minimum(left + 1, columns - 1), np.minimum(top + 1, rows - 1)
    a, b = (column - left)[:, None], (row - top)[:, None]
    motion = (1 - b) * ((1 - a) * field[top, left] + a * field[top, right])
    motion = motion + b * ((1 - a) * field[below, left] + a * field[below, right])
    slopes = homography.jacobian(flow.place.to_ground, pixels)
    return np.asarray(flow.fields.frame_rate * np.einsum("nij,nj->ni", slopes, motion))
