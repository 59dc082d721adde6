"""Frames of several clips numbered in one row, and the pose distances between all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, Integers, assign, checked
from marey._report import rounded
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class ClipIndex:
    """Names of clips and the numbers of their frames: what graphs need to know of a set of clips.

    Args:
        names: Names of the clips, all different.
        starts: `(clips + 1,)`, first frame of each clip, then the number of all frames.
        labels: The behaviour each clip shows, e.g. "walk".
        frame_rate: Frames per second of all clips.

    >>> clips = ClipIndex(("walk", "run"), np.array([0, 20, 50]), ("walk", "run"), 30.0)
    >>> clips.locate(25), clips.frame("run:5"), clips.frame("walk:-1")
    ((1, 5), 25, 19)
    """

    names: tuple[str, ...]
    starts: Integers
    labels: tuple[str, ...]
    frame_rate: float

    @property
    def frames(self) -> int:
        """Number of frames of all clips."""
        return int(self.starts[-1])

    @property
    def clip_of(self) -> Integers:
        """Which clip each frame belongs to, `(frames,)`."""
        return np.repeat(np.arange(len(self.names)), np.diff(self.starts))

    def locate(self, frame: int) -> tuple[int, int]:
        """Which clip a frame belongs to, and its number there."""
        if not 0 <= frame < self.frames:
            raise InputError(f"frame {frame}: there are frames 0…{self.frames - 1}")
        clip = int(np.searchsorted(self.starts, frame, side="right")) - 1
        return clip, int(frame - self.starts[clip])

    def number(self, name: str, frame: int = 0) -> int:
        """Number of a frame of the clip called `name`; below 0, counted from its end."""
        if name not in self.names:
            raise InputError(f"there is no sequence {name!r}; there are {', '.join(self.names)}")
        clip = self.names.index(name)
        start, length = int(self.starts[clip]), int(self.starts[clip + 1] - self.starts[clip])
        if not -length <= frame < length:
            raise InputError(f"{name}: there is no frame {frame}; it has {length}")
        return start + frame % length

    def frame(self, reference: int | str) -> int:
        """Number of a frame given as its number, or written as `SEQUENCE:FRAME`."""
        name, colon, number = str(reference).strip().rpartition(":")
        try:
            frame = int(number)
        except ValueError:
            raise InputError(
                f"{reference!r}: write a pose as SEQUENCE:FRAME, e.g. {self.names[0]}:10"
            ) from None
        if colon:
            return self.number(name, frame)
        self.locate(frame)
        return frame


@dataclass(frozen=True, eq=False)
class DistanceMatrix:
    """Pose distances between all frames, each pair turned about the vertical to face the same way.

    Args:
        values: `(frames, frames)`, float32, symmetric, zero on the diagonal; radians for the surface metric.
        yaw_offsets: `(frames, frames)`, float32, radians: by how much frame j (column) turns about the
            vertical to face as frame i (row) does; antisymmetric.
        starts: `(sequences + 1,)`, first frame of each sequence, then the number of frames.
        names: Names of the sequences.
        metric: "surface", "euclidean", "skeleton" …

    >>> apart = DistanceMatrix([[0, 1], [1, 0]], np.zeros((2, 2)), [0, 2], ("walk",), "surface")
    >>> apart.frames, apart.between(0, 0).tolist()
    (2, [[0.0, 1.0], [1.0, 0.0]])
    """

    values: FloatArray
    yaw_offsets: FloatArray
    starts: NDArray[np.int64]
    names: tuple[str, ...]
    metric: str

    def __post_init__(self) -> None:
        values = checked("distances", self.values, (None, None), dtype=np.float32)
        frames = len(values)
        if values.shape != (frames, frames):
            raise InputError(f"distances: expected a square matrix, got {values.shape}")
        if (values < 0).any():
            raise InputError("distances: they may not be negative")
        starts = checked("starts", self.starts, (len(self.names) + 1,), dtype=np.int64)
        if starts[0] != 0 or starts[-1] != frames or (np.diff(starts) < 1).any():
            raise InputError(f"starts: must rise from 0 to {frames}, the number of frames")
        yaw_offsets = checked("yaw offsets", self.yaw_offsets, values.shape, dtype=np.float32)
        assign(self, values=values, yaw_offsets=yaw_offsets, starts=starts, names=tuple(self.names))

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.values)

    def between(self, first: int, second: int) -> FloatArray:
        """Distances of the frames of one sequence (rows) to those of another (columns)."""
        rows = slice(self.starts[first], self.starts[first + 1])
        return self.values[rows, self.starts[second] : self.starts[second + 1]]

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        apart = self.values[np.triu_indices(self.frames, 1)]
        return {
            "kind": "pose distances",
            "metric": self.metric,
            "mean_distance": rounded(apart.mean()) if len(apart) else None,
            "largest_distance": rounded(apart.max()) if len(apart) else None,
            "sequences": [
                {"name": name, "frames": int(length)}
                for name, length in zip(self.names, np.diff(self.starts), strict=True)
            ],
        }
