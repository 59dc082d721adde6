"""People on the move in a field: where they are, how fast, what they stand on; one step of all of them.

Classical Runge–Kutta steps no longer than a frame of the field (Courty 2013, section 7.1). Cost: about
0.15 µs a person and step on each core.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey.crowd.animation.flow import Flow
from marey.crowd.animation.place import WALKABLE
from marey.errors import InputError

Array = NDArray[np.float64]

FEWEST = 2048
"""People below whom another thread costs more than it helps."""


class Walkers:
    """Everybody's `positions` and `velocities` `(people, 2)`, and the `status` of the ground `(people,)`.

    Positions are NaN for those who are absent. `aside` `(people, 2)` is the velocity that avoiding others
    adds to that by the field. :meth:`step` moves everybody.
    """

    def __init__(self, flow: Flow, positions: Array, *, lag: float, radius: float) -> None:
        if not (np.isfinite(lag) and lag >= 0):
            raise InputError(f"lag: seconds, not negative; got {lag:g}")
        if not (np.isfinite(radius) and radius > 0):
            raise InputError(f"radius: metres, above 0; got {radius:g}")
        self.flow, self.lag, self.radius = flow, lag, radius
        self.positions = np.ascontiguousarray(positions, dtype=np.float64)
        self.velocities = np.zeros_like(self.positions)
        self.aside = np.zeros_like(self.positions)
        self.status = np.full(len(positions), WALKABLE, dtype=np.uint8)

    def step(self, start: float, end: float) -> None:
        """From `start` to `end` seconds, in pieces no longer than a frame of the field."""
        frame = 1.0 / self.flow.fields.frame_rate
        pieces = max(1, int(np.ceil((end - start) / frame - 1e-6)))
        moments = np.linspace(start, end, pieces + 1)
        for before, after in itertools.pairwise(moments):
            self._step(float(before), float(after))

    def look_under(self) -> None:
        """Find out what everybody stands on."""
        from marey.crowd.animation import _kernels

        place = self.flow.place

        def part(start: int, stop: int) -> None:
            _kernels.look_under(start, stop, self.positions, place.to_pixel, place.region, self.status)

        _work.spread(part, len(self.positions), least=FEWEST)

    def put_in(self, order: NDArray[np.int64]) -> None:
        """Everybody in another order."""
        self.positions, self.velocities = self.positions[order], self.velocities[order]
        self.status, self.aside = self.status[order], self.aside[order]

    def add_room(self, people: int) -> None:
        """For so many more, absent so far."""
        self.positions = np.concatenate([self.positions, np.full((people, 2), np.nan)])
        self.velocities = np.concatenate([self.velocities, np.zeros((people, 2))])
        self.aside = np.concatenate([self.aside, np.zeros((people, 2))])
        self.status = np.concatenate([self.status, np.zeros(people, dtype=np.uint8)])

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

        _work.spread(part, len(self.positions), least=FEWEST)
