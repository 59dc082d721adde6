"""People against the field that carries them: where they end up, and how closely they follow it.

A field may be right at every pixel and yet lose people, or be rough and lose none: small errors that go the
same way add up, others do not. True people are put at their true places every second and carried for up to
five seconds (Courty 2013, section 7.1, shows such replays and measures none). People who avoid each other
leave the field's velocity; a crowd that leaves it far no longer shows what was captured (Courty & Corpetti
2007, section 5.3). Cost: that of the advection; one bilinear look-up a person and frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey._report import Report
from marey.crowd import cameras
from marey.crowd.animation.agents import BODY_RADIUS, advect
from marey.crowd.animation.ground import OUTSIDE, WALKABLE, Flow, WalkableGround
from marey.crowd.fields import FieldSeries
from marey.crowd.tracks import Tracks, is_present
from marey.errors import InputError


@dataclass(frozen=True)
class TrajectoryError(Report):
    """Distances between carried and true people after `seconds`.

    Attributes:
        mean: Mean distance, metres.
        median: Median distance, metres.
        within: Share no farther off than `diameter` metres, that of a body.
        still: Mean distance in metres if people had stayed where they were, to compare with.
        people: How many were followed.
    """

    seconds: float
    mean: float
    median: float
    within: float
    still: float
    people: int
    diameter: float


def trajectory_errors(
    fields: FieldSeries,
    truth: Tracks,
    *,
    seconds: Sequence[float] = (1.0, 2.0, 5.0),
    every: float = 1.0,
    diameter: float = 2 * BODY_RADIUS,
) -> list[TrajectoryError]:
    """Errors after each of `seconds` that field and truth are long enough for; `[]` if for none.

    People count who truly are in the image at both times; those whom the field carries out of it count from
    the place where they left it.

    Args:
        fields: With a homography; frame 0 is that of the truth.
        truth: Where people truly went.
        seconds: After which people are compared.
        every: Seconds between the times at which people start from their true places.
        diameter: Of a body, metres.

    >>> from marey.crowd.cameras import orthographic
    >>> east = FieldSeries(np.full((30, 10, 80, 2), [1.0, 0.0]), 10, homography=orthographic(0.1))
    >>> path = np.stack([0.5 + 0.08 * np.arange(30), np.full(30, -0.5)], axis=1)
    >>> errors = trajectory_errors(east, Tracks(path[:, None], 10))
    >>> [(error.seconds, round(error.mean, 3)) for error in errors]
    [(1.0, 0.2), (2.0, 0.4)]
    """
    if fields.homography is None:
        raise InputError("fields: they have no homography, so there are no metres to compare in")
    if not every > 0 or not seconds or min(seconds) <= 0:
        raise InputError("seconds: all must be positive")
    length = min(fields.duration, (truth.frames - 1) / truth.frame_rate)
    return [
        error
        for horizon in sorted(seconds)
        if horizon <= length + 1e-9
        and (error := _after(fields, truth, horizon, length, every, diameter)) is not None
    ]


def flow_deviation(tracks: Tracks, fields: FieldSeries, *, repeat: bool = True) -> float:
    """Mean difference of people's velocities from the field's where they are, over the field's mean speed.

    Tracks and series begin together. 0 = exactly the field; NaN if it is at rest or no agent is there twice.

    >>> east = FieldSeries(np.full((3, 10, 40, 2), [2.0, 0.0]), 10, homography=cameras.orthographic(0.1))
    >>> path = np.stack([0.5 + 0.1 * np.arange(10), np.full(10, -0.5)], axis=1)
    >>> round(flow_deviation(Tracks(path[:, None], 10), east), 6)
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
        wanted = _field_velocities(flow, (frame + 0.5) / tracks.frame_rate, middle)
        off += float(np.linalg.norm(step[known] * tracks.frame_rate - wanted, axis=1).sum())
        speed += float(np.linalg.norm(wanted, axis=1).sum())
    return off / speed if speed > 0 else float("nan")


def _after(
    fields: FieldSeries, truth: Tracks, horizon: float, length: float, every: float, diameter: float
) -> TrajectoryError | None:
    begins = np.arange(0.0, length - horizon + 1e-9, every)
    # More than forty starts would not change the mean.
    begins = begins[:: max(1, -(-len(begins) // 40))]
    place = WalkableGround.of(fields)
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
    return TrajectoryError(
        horizon,
        float(distances.mean()),
        float(np.median(distances)),
        float((distances <= diameter).mean()),
        float(np.concatenate(stood).mean()),
        len(distances),
        diameter,
    )


def _last_known(positions: Array, start: Array) -> Array:
    """The last place of each person `(people, 2)` before they left the image."""
    known = is_present(positions)
    last = len(positions) - 1 - known[::-1].argmax(axis=0)
    arrived = positions[last, np.arange(positions.shape[1])]
    return np.where(np.any(known, axis=0, keepdims=True).T, arrived, start)


def _field_velocities(flow: Flow, seconds: float, points: Array) -> Array:
    """Metres per second `(people, 2)` of the field at points `(people, 2)` metres."""
    from scipy.ndimage import map_coordinates

    pixels = cameras.apply(flow.ground.to_pixel, points)
    at, motion = pixels.T[::-1], np.moveaxis(flow.at(seconds), -1, 0)
    u, v = (map_coordinates(part, at, order=1, mode="nearest") for part in motion)
    return cameras.ground_velocities(
        flow.ground.to_ground, pixels, np.stack([u, v], axis=-1), frame_rate=flow.fields.frame_rate
    )
