"""Where many people are over time, on the ground plane."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    as_slice,
    assign,
    checked,
    checked_rate,
    frame_slice,
)
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class Tracks:
    """Positions of agents in metres on the ground plane `(x, y)`.

    positions: `(frames, agents, 2)`; NaN where an agent is absent
    frame_rate: frames per second
    ids: `(agents,)`, the agents' own numbers
    first_frame: the file's number of frame 0

    >>> two = Tracks([[[0, 0], [1, 0]], [[0.1, 0], [np.nan, np.nan]]], 25)
    >>> two.agents, two.present.tolist()
    (2, [[True, True], [True, False]])
    """

    positions: FloatArray
    frame_rate: float
    ids: IntArray | None = None
    first_frame: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        positions = checked("positions", self.positions, (None, None, 2), finite=False)
        frames, agents = positions.shape[:2]
        if frames == 0 or agents == 0:
            raise InputError("tracks: there is no frame or no agent")
        if np.isinf(positions).any():
            raise InputError("positions: some are infinite; use NaN where an agent is absent")
        ids = np.arange(agents) if self.ids is None else self.ids
        ids = checked("ids", ids, (agents,), dtype=np.int64)
        if len(np.unique(ids)) != agents:
            raise InputError("ids: two agents have the same number")
        assign(self, positions=positions, ids=ids, frame_rate=checked_rate(self.frame_rate))

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.positions)

    @property
    def agents(self) -> int:
        """Number of different people."""
        return self.positions.shape[1]

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    @property
    def present(self) -> BoolArray:
        """Who is there when, `(frames, agents)`."""
        return np.asarray(np.isfinite(self.positions).all(axis=-1))

    def __len__(self) -> int:
        return self.frames

    def __getitem__(self, key: int | slice) -> Tracks:
        """Frames as a shorter series; agents that are never there any more are dropped."""
        frames = as_slice(key, self.frames)
        positions = self.positions[frames]
        kept = np.isfinite(positions).all(axis=-1).any(axis=0)
        if not kept.any():
            raise InputError("nobody is present in these frames")
        start = range(*frames.indices(self.frames))[0]
        assert self.ids is not None
        return replace(
            self,
            positions=positions[:, kept],
            ids=self.ids[kept],
            first_frame=self.first_frame + start,
            frame_rate=self.frame_rate / abs(frames.step or 1),
        )

    def between(self, start: float | None = None, stop: float | None = None) -> Tracks:
        """Frames whose time in seconds lies in `[start, stop]`."""
        return self[frame_slice(self.frames, self.frame_rate, start, stop)]
