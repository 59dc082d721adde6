"""Velocity fields at any moment: linear between the captured ones, or a sum of waves at its exact time.

Field n is how far pixels move from frame n to frame n + 1: a mean over that time, so it holds in its middle,
half a frame after frame n. Taken at frame n, everybody would be half a frame early. The stages of a Runge–
Kutta step need the field between frames too (Courty 2013, section 7.1): a field held over a whole frame would
make the method one of first order. Cost: one pass over the pixels a moment; with waves one for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.crowd.animation.place import WALKABLE, Place, nearest_walkable
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum.fourier import FourierFields

Fields = FieldSeries | FourierFields


@dataclass(eq=False)
class Flow:
    """A field series as a function of time; its first frame is at 0 seconds, field n at (n + ½) frames.

    fields: the series
    place: its ground
    repeat: begin again after the last field; otherwise it stays
    waves: the same series as temporal coefficients, which give it at any time without mixing

    >>> speeding = FieldSeries(np.arange(2.0)[:, None, None, None] * np.ones((2, 2, 2, 2)), 10)
    >>> Flow.of(speeding).at(0.1)[0, 0].tolist()
    [0.5, 0.5]
    """

    fields: FieldSeries
    place: Place
    repeat: bool = False
    waves: FourierFields | None = None
    _sources: tuple[NDArray[np.int64], NDArray[np.int64]] = field(init=False, repr=False)
    _latest: tuple[float, FloatArray] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, fields: Fields, *, repeat: bool = False) -> Flow:
        """That of a series, or of its temporal coefficients."""
        if isinstance(fields, FourierFields):
            series = fields.decode()
            return cls(series, Place.of(series), repeat, fields)
        return cls(fields, Place.of(fields), repeat)

    def __post_init__(self) -> None:
        self._sources = nearest_walkable(self.place.region == WALKABLE)

    def at(self, seconds: float) -> FloatArray:
        """Velocities `(rows, columns, 2)`, pixels per frame; unwalkable pixels move as their neighbours."""
        if self._latest is not None and self._latest[0] == seconds:
            return self._latest[1]
        from marey.crowd.animation import _kernels

        if self.waves is not None:
            before = after = self.waves.velocities_at([self._position(seconds)])[0]
            share = 0.0
        else:
            first, second, share = self.fields_around(seconds)
            before, after = self.fields.velocities[first], self.fields.velocities[second]
        mixed = np.empty(before.shape, dtype=before.dtype)
        _kernels.mix(before, after, share, *self._sources, mixed)
        self._latest = seconds, mixed
        return mixed

    def fields_around(self, seconds: float) -> tuple[int, int, float]:
        """The fields before and after a moment, and the share of the second."""
        frames, position = self.fields.frames, self._position(seconds)
        first = int(np.floor(position))
        share = position - first
        if self.repeat:
            return first % frames, (first + 1) % frames, share
        return max(first, 0), min(first + 1, frames - 1), share

    def presence(self, seconds: float) -> FloatArray | None:
        """Who is seen where at a moment `(rows, columns)`, 0 to 1, or None if the series does not tell."""
        if self.fields.presence is None:
            return None
        frame = int(np.rint(self._position(seconds)))
        seen = self.fields.presence[min(max(frame, 0), self.fields.frames - 1)]
        return np.asarray(seen / np.float32(255), dtype=np.float32)

    def _position(self, seconds: float) -> float:
        """Fields from the middle of the first, -½ at the series' beginning to frames - ½ at its end."""
        frames = self.fields.frames
        passed = seconds * self.fields.frame_rate
        whole = np.rint(2 * passed)
        passed = float(0.5 * whole) if abs(2 * passed - whole) < 1e-9 * max(1.0, whole) else passed
        if self.repeat:
            passed %= frames
        return min(max(passed, 0.0), float(frames)) - 0.5
