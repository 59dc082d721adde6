"""Pose distances between all frames of a library, with the turns that make them least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, assign, checked
from marey._report import rounded
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class DistanceMatrix:
    """How far every pose is from every other.

    values: `(frames, frames)`, float32, symmetric, zero on the diagonal; radians for the surface metric
    yaw_offsets: `(frames, frames)`, float32, radians: by how much frame j (column) turns about the vertical
        to face as frame i (row) does; antisymmetric
    starts: `(sequences + 1,)`, first frame of each sequence, then the number of frames
    names: of the sequences
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
