"""People carried by a velocity field: classical Runge–Kutta steps on the ground (Courty 2013, section 7.1).

dx/dt = v(x, t) is integrated in metres; the velocity is looked up in the picture (bilinear in space, mixed at
the true time of each stage) and brought to the ground through the camera's Jacobian (Courty & Corpetti 2007,
section 4.1). Cost: about 0.15 µs a person and step on each core.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked, checked_rate, handed_over
from marey.crowd.animation.flow import Fields, Flow
from marey.crowd.animation.place import WALKABLE
from marey.crowd.animation.sharing import shared
from marey.crowd.rows import check_size
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
    >>> from marey.crowd.homography import orthographic
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
    return Tracks(handed_over(ways), rate, name=fields.name)


class Walkers:
    """People on the move: positions, velocities `(people, 2)`, and what they stand on `(people,)`.

    Positions are NaN for those who are absent. :meth:`step` moves everybody.
    """

    def __init__(self, flow: Flow, positions: Array, *, lag: float, radius: float) -> None:
        if not (np.isfinite(lag) and lag >= 0):
            raise InputError(f"lag: seconds, not negative; got {lag:g}")
        if not (np.isfinite(radius) and radius > 0):
            raise InputError(f"radius: metres, above 0; got {radius:g}")
        self.flow, self.lag, self.radius = flow, lag, radius
        self.positions = np.ascontiguousarray(positions, dtype=np.float64)
        self.velocities = np.zeros_like(self.positions)
        self.status = np.full(len(positions), WALKABLE, dtype=np.uint8)

    def step(self, start: float, end: float) -> None:
        """From `start` to `end` seconds, in pieces no longer than a frame of the field."""
        frame = 1.0 / self.flow.fields.frame_rate
        pieces = max(1, int(np.ceil((end - start) / frame - 1e-6)))
        moments = np.linspace(start, end, pieces + 1)
        for before, after in itertools.pairwise(moments):
            self._step(float(before), float(after))

    def _step(self, start: float, end: float) -> None:
        from marey.crowd.animation import _kernels

        flow, place = self.flow, self.flow.place
        first = flow.at(start)
        fields = (first, flow.at(0.5 * (start + end)), flow.at(end))
        seconds = end - start
        pull = 1.0 if self.lag == 0 else 1.0 - float(np.exp(-seconds / self.lag))
        clearance, corner, spacing = place.clearance

        def part(begin: int, stop: int) -> None:
            _kernels.step(
                begin,
                stop,
                fields,
                seconds,
                flow.fields.frame_rate,
                pull,
                place.to_pixel,
                place.to_ground,
                place.region,
                clearance,
                corner,
                spacing,
                self.radius,
                self.positions,
                self.velocities,
                self.status,
            )

        shared(part, len(self.positions))
