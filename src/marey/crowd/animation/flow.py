"""Velocity fields at any moment: linear between the captured ones, or a sum of waves at its exact time.

Field n is how far pixels move from frame n to frame n + 1: a mean over that time, so it holds in its middle,
half a frame after frame n. The stages of a Runge–Kutta step need the field between frames too (Courty 2013,
section 7.1): a field held over a whole frame would make the method one of first order. Cost: one pass over
the pixels a moment; with waves one for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from marey._arrays import BoolArray, FloatArray, Integers
from marey.crowd.animation.ground import WALKABLE, WalkableGround
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum.fourier import FourierFields

Fields = FieldSeries | FourierFields


@dataclass(eq=False)
class Flow:
    """A field series as a function of time; its first frame is at 0 seconds, field n at (n + ½) frames.

    Attributes:
        fields: The series.
        ground: Its ground.
        repeat: Begin again after the last field; otherwise it stays.
        waves: The same series as temporal coefficients, which give it at any time without mixing.

    >>> speeding = FieldSeries(np.arange(2.0)[:, None, None, None] * np.ones((2, 2, 2, 2)), 10)
    >>> Flow.of(speeding).at(0.1)[0, 0].tolist()
    [0.5, 0.5]
    """

    fields: FieldSeries
    ground: WalkableGround
    repeat: bool = False
    waves: FourierFields | None = None
    _sources: tuple[Integers, Integers] = field(init=False, repr=False)
    _latest: tuple[float, FloatArray] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, fields: Fields, *, repeat: bool = False) -> Flow:
        """That of a series, or of its temporal coefficients."""
        waves = fields if isinstance(fields, FourierFields) else None
        series = fields.decode() if isinstance(fields, FourierFields) else fields
        return cls(series, WalkableGround.of(series), repeat, waves)

    def __post_init__(self) -> None:
        self._sources = _nearest_walkable(self.ground.region == WALKABLE)

    def at(self, seconds: float) -> FloatArray:
        """Velocities `(rows, columns, 2)`, pixels per frame; unwalkable pixels move as their neighbours."""
        if self._latest is not None and self._latest[0] == seconds:
            return self._latest[1]
        from marey.crowd.animation import _kernels

        position, share = self._position(seconds), 0.0
        if self.waves is not None:
            before = after = self.waves.velocities_at([position])[0]
        else:
            frames, first = self.fields.frames, int(np.floor(position))
            share = position - first
            around = np.array([first, first + 1])
            around = around % frames if self.repeat else np.clip(around, 0, frames - 1)
            before, after = (self.fields.velocities[n] for n in around)
        mixed = np.empty(before.shape, dtype=before.dtype)
        _kernels.mix(before, after, share, *self._sources, mixed)
        self._latest = seconds, mixed
        return mixed

    def presence(self, seconds: float) -> FloatArray | None:
        """How surely people are seen at a moment `(rows, columns)`, 0 to 1; None if the series has none."""
        if self.fields.presence is None:
            return None
        frame = int(np.rint(self._position(seconds)))
        seen = self.fields.presence[min(max(frame, 0), self.fields.frames - 1)]
        return np.asarray(seen / np.float32(255), dtype=np.float32)

    def _position(self, seconds: float) -> float:
        """Fields from the middle of the first, -½ at the series' start to frames - ½ at its end."""
        frames = self.fields.frames
        passed = seconds * self.fields.frame_rate
        whole = np.rint(2 * passed)
        passed = float(0.5 * whole) if abs(2 * passed - whole) < 1e-9 * max(1.0, whole) else passed
        if self.repeat:
            passed %= frames
        return min(max(passed, 0.0), float(frames)) - 0.5


def _nearest_walkable(region: BoolArray) -> tuple[Integers, Integers]:
    """For pixels that are not `region` `(rows, columns)`: the nearest that is, and they, numbered `(n,)`."""
    from scipy.ndimage import distance_transform_edt

    if region.all():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    nearest = distance_transform_edt(~region, return_distances=False, return_indices=True)
    targets = np.flatnonzero(~region)
    sources = np.ravel_multi_index(tuple(nearest.reshape(2, -1)[:, targets]), region.shape)
    return np.asarray(sources, dtype=np.int64), targets
