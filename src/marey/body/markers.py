"""Optical markers over time, as capture systems store them before a skeleton is solved (C3D)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from marey._arrays import BoolArray, FloatArray, Timed, as_slice, assign, checked, checked_rate, derived
from marey._report import rounded
from marey.errors import InputError
from marey.geometry.convention import Convention
from marey.geometry.resampling import linear, sample_positions


@dataclass(frozen=True, eq=False)
class Markers(Timed):
    """Marker positions in metres, y up.

    Args:
        names: one per marker.
        positions: `(frames, markers, 3)`; NaN where a marker was not seen.
        frame_rate: frames per second.

    >>> seen = Markers(("head",), [[[0, 1.7, 0]], [[np.nan] * 3]], 100)
    >>> seen.present.tolist()
    [[True], [False]]
    """

    names: tuple[str, ...]
    positions: FloatArray
    frame_rate: float
    convention: Convention = field(default_factory=Convention)
    name: str = ""

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        positions = checked("positions", self.positions, (None, len(names), 3), finite=False)
        if len(positions) == 0 or not names:
            raise InputError("markers: there is no frame or no marker")
        assign(self, names=names, positions=positions, frame_rate=checked_rate(self.frame_rate))

    frames = derived(len, "positions", "Number of frames.")

    @property
    def present(self) -> BoolArray:
        """Which marker was seen when, `(frames, markers)`."""
        return np.asarray(np.isfinite(self.positions).all(axis=-1))

    def __getitem__(self, key: int | slice) -> Markers:
        frames = as_slice(key, self.frames)
        rate = self.frame_rate / abs(frames.step or 1)
        return replace(self, positions=self.positions[frames], frame_rate=rate)

    def resample(self, frame_rate: float) -> Markers:
        """At another frame rate; nothing is made up where a marker was not seen on both sides."""
        rate = checked_rate(frame_rate)
        at = sample_positions(self.frames, self.frame_rate, rate)
        return replace(self, positions=linear(self.positions, at), frame_rate=rate)

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {
            "kind": "markers",
            "markers": len(self.names),
            "seen": rounded(self.present.mean()),
            "unit": self.convention.unit_name,
            "up": self.convention.up,
            "marker_names": list(self.names),
        }
