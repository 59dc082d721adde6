"""Velocity fields at any moment: linear between the captured frames, or whatever a formula gives.

The stages of a Runge–Kutta step need the field at half steps too (Courty 2013, section 7.1): a field held
over a whole frame would make the method one of first order. Cost: one pass over the pixels a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.crowd.animation.place import WALKABLE, Place, nearest_walkable
from marey.crowd.fields import FieldSeries

Formula = Callable[[float], FloatArray]
"""Seconds to velocities `(rows, columns, 2)`, pixels per frame."""


@dataclass(eq=False)
class Flow:
    """A field series as a function of time.

    fields: the series
    place: its ground
    repeat: begin again after the last frame; otherwise the last frame stays
    formula: the velocities, if they are known at all times and not at frames only (a compressed series that
        is a sum of waves); the series then says rate, mask and camera

    >>> speeding = FieldSeries(np.arange(2.0)[:, None, None, None] * np.ones((2, 2, 2, 2)), 10)
    >>> Flow(speeding, Place.of(speeding)).at(0.05)[0, 0].tolist()
    [0.5, 0.5]
    """

    fields: FieldSeries
    place: Place
    repeat: bool = False
    formula: Formula | None = None
    _sources: tuple[NDArray[np.int64], NDArray[np.int64]] = field(init=False, repr=False)
    _latest: tuple[float, FloatArray] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._sources = nearest_walkable(self.place.region == WALKABLE)

    def at(self, seconds: float) -> FloatArray:
        """Velocities `(rows, columns, 2)`, pixels per frame; unwalkable pixels move as their neighbours."""
        if self._latest is not None and self._latest[0] == seconds:
            return self._latest[1]
        from marey.crowd.animation import _kernels

        if self.formula is not None:
            before = after = np.ascontiguousarray(self.formula(seconds))
            share = 0.0
        else:
            first, second, share = self.frames_around(seconds)
            before, after = self.fields.velocities[first], self.fields.velocities[second]
        mixed = np.empty(before.shape, dtype=before.dtype)
        _kernels.mix(before, after, share, *self._sources, mixed)
        self._latest = seconds, mixed
        return mixed

    def frames_around(self, seconds: float) -> tuple[int, int, float]:
        """The frames before and after a moment, and the share of the second."""
        frames = self.fields.frames
        position = seconds * self.fields.frame_rate
        whole = np.rint(position)
        position = float(whole) if abs(position - whole) < 1e-9 * max(1.0, abs(position)) else position
        if self.repeat:
            position %= frames
        position = min(max(position, 0.0), float(frames if self.repeat else frames - 1))
        first = int(position)
        share = position - first
        if self.repeat:
            return first % frames, (first + 1) % frames, share
        return first, min(first + 1, frames - 1), share

    def presence(self, seconds: float) -> FloatArray | None:
        """Who is seen where at a moment `(rows, columns)`, 0 to 1, or None if the series does not tell."""
        if self.fields.presence is None:
            return None
        first, second, share = self.frames_around(seconds)
        seen = self.fields.presence[second if share >= 0.5 else first]
        return np.asarray(seen / np.float32(255), dtype=np.float32)
