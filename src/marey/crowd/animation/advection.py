"""People carried by a velocity field: classical Runge–Kutta steps on the ground (Courty 2013, section 7.1).

dx/dt = v(x, t) is integrated in metres; the velocity is looked up in the picture (bilinear in space, mixed at
the true time of each stage) and brought to the ground through the camera's Jacobian (Courty & Corpetti 2007,
section 4.1). Cost: about 0.15 µs a person and step on each core.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked, checked_rate, read_only
from marey.crowd.animation.flow import Fields, Flow
from marey.crowd.animation.place import WALKABLE
from marey.crowd.animation.walkers import Walkers
from marey.crowd.track_tables import check_size
from marey.crowd.tracks import Tracks
from marey.errors import InputError

Array = NDArray[np.float64]

BODY_RADIUS = 0.25
"""Metres, the middle of the range of Courty 2013, section 6.3.2."""


def advect(
    fields: Fields,
    starts: ArrayLike,
    *,
    seconds: float | None = None,
    frame_rate: float = 60.0,
    begin: float = 0.0,
    lag: float = 0.0,
    radius: float = BODY_RADIUS,
    repeat: bool = False,
) -> Tracks:
    """The ways of people from `starts` `(people, 2)` metres through the field; NaN once they have left it.

    fields: a series, each field the motion from one frame to the next; or its temporal coefficients
    seconds: how long; as long as the series if None
    frame_rate: of the tracks; a step is one of their frames, or shorter, never longer than a field's frame
    begin: seconds into the series at which they start
    lag: seconds by which people follow the field late (first-order pursuit); 0 = they are the field
    radius: metres from obstacles within which nobody walks towards them
    repeat: begin the series again where it ends; otherwise its last field stays

    >>> from marey.crowd import FieldSeries
    >>> from marey.crowd.cameras import orthographic
    >>> east = FieldSeries(np.full((3, 10, 40, 2), [2.0, 0.0]), 10, homography=orthographic(0.1))
    >>> advect(east, [[1.0, -0.5]], seconds=1.0, frame_rate=10).positions[-1, 0].round(9).tolist()
    [3.0, -0.5]
    """
    places = checked("starts", starts, (None, 2)).copy()
    if len(places) == 0:
        raise InputError("starts: there is nobody")
    rate = checked_rate(frame_rate)
    length = max(fields.frames / fields.frame_rate - begin, 0.0) if seconds is None else float(seconds)
    if not (np.isfinite(length) and length >= 0 and np.isfinite(begin) and begin >= 0):
        raise InputError(f"seconds: {length:g} from {begin:g} on makes no sense")
    frames = int(np.floor(length * rate + 1e-9)) + 1
    check_size(frames, len(places), f"{frames} frames")
    flow = Flow.of(fields, repeat=repeat)
    places[flow.place.under(places) != WALKABLE] = np.nan
    order = flow.place.order(places)
    walkers = Walkers(flow, places[order], lag=lag, radius=radius)
    ways = np.empty((frames, len(places), 2))
    ways[0] = places
    for frame in range(1, frames):
        walkers.step(begin + (frame - 1) / rate, begin + frame / rate)
        walkers.positions[walkers.status != WALKABLE] = np.nan
        ways[frame, order] = walkers.positions
    return Tracks(read_only(ways), rate, name=fields.name)
