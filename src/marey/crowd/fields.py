"""Velocity fields over time on a pixel grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import BoolArray, FloatArray, as_slice, assign, checked, checked_rate, frame_slice
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class FieldSeries:
    """Motion of every pixel over time.

    velocities: `(frames, rows, columns, 2)`, `(u, v)` in pixels per frame, u to the right, v down; kept
        in the precision given (float32 or float64); NaN is not allowed, use the mask
    frame_rate: frames per second
    mask: `(rows, columns)`, True where the field means something; None = everywhere
    homography: `(3, 3)` or None, maps image `(column, row, 1)` to ground `(x, y, 1)` in metres

    >>> still = FieldSeries(np.zeros((2, 4, 6, 2)), 25)
    >>> still.frames, still.rows, still.columns
    (2, 4, 6)
    """

    velocities: FloatArray
    frame_rate: float
    mask: BoolArray | None = None
    homography: FloatArray | None = None
    name: str = ""

    def __post_init__(self) -> None:
        given = np.asarray(self.velocities)
        dtype = np.float32 if given.dtype == np.float32 else np.float64
        velocities = checked("velocities", given, (None, None, None, 2), dtype=dtype)
        if velocities.size == 0:
            raise InputError("field series: there is no frame or no pixel")
        mask, homography = self.mask, self.homography
        if mask is not None:
            mask = checked("mask", mask, velocities.shape[1:3], dtype=np.bool_)
        if homography is not None:
            homography = checked("homography", homography, (3, 3))
            if abs(np.linalg.det(homography)) < 1e-12 * np.abs(homography).max() ** 3:
                raise InputError("homography: it is singular")
        assign(
            self,
            velocities=velocities,
            frame_rate=checked_rate(self.frame_rate),
            mask=mask,
            homography=homography,
        )

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.velocities)

    @property
    def rows(self) -> int:
        """Height in pixels."""
        return self.velocities.shape[1]

    @property
    def columns(self) -> int:
        """Width in pixels."""
        return self.velocities.shape[2]

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    def __len__(self) -> int:
        return self.frames

    def __getitem__(self, key: int | slice) -> FieldSeries:
        """Frames as a shorter series."""
        frames = as_slice(key, self.frames)
        step = abs(frames.step or 1)
        # Velocities are per frame: with every step-th frame kept, a frame lasts step times as long.
        velocities = self.velocities[frames] * step if step > 1 else self.velocities[frames]
        return replace(self, velocities=velocities, frame_rate=self.frame_rate / step)

    def between(self, start: float | None = None, stop: float | None = None) -> FieldSeries:
        """Frames whose time in seconds lies in `[start, stop]`."""
        return self[frame_slice(self.frames, self.frame_rate, start, stop)]
