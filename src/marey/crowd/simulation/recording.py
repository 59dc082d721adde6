"""What a simulation leaves: where everybody was and how fast, frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from marey._arrays import FloatArray, IntArray, read_only
from marey.crowd.track_tables import check_size
from marey.crowd.tracks import Tracks
from marey.errors import InputError


class Frame(NamedTuple):
    """Everybody there at one time, in seconds; `(people,)` or `(people, 2)` each, wishes as unit vectors."""

    time: float
    ids: IntArray
    positions: FloatArray
    velocities: FloatArray
    wishes: FloatArray
    radius: FloatArray


@dataclass(frozen=True, eq=False)
class Recording:
    """A simulated crowd over time.

    positions, velocities: `(frames, people, 2)`, metres and m/s, NaN while a person is absent
    times: `(frames,)`, seconds
    ids, radius: `(people,)`
    """

    positions: FloatArray
    velocities: FloatArray
    times: FloatArray
    ids: IntArray
    radius: FloatArray
    frame_rate: float

    @classmethod
    def of(cls, frames: Sequence[Frame], frame_rate: float) -> Recording:
        """Frames of people who come and go, as arrays."""
        if not frames:
            raise InputError("frames: there is none")
        ids, first = np.unique(np.concatenate([frame.ids for frame in frames]), return_index=True)
        check_size(len(frames), len(ids), f"{len(frames)} frames")
        positions = np.full((len(frames), len(ids), 2), np.nan)
        velocities = positions.copy()
        for k, frame in enumerate(frames):
            column = np.searchsorted(ids, frame.ids)
            positions[k, column] = frame.positions
            velocities[k, column] = frame.velocities
        radius = np.concatenate([frame.radius for frame in frames])[first]
        times = np.array([frame.time for frame in frames])
        return cls(read_only(positions), read_only(velocities), times, ids, radius, float(frame_rate))

    @property
    def tracks(self) -> Tracks:
        """The positions as tracks, to be saved, looked at and measured."""
        return Tracks(self.positions, self.frame_rate, self.ids)
