"""Images over time (a video, a folder of pictures) that are decoded only when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import as_slice, assign, checked_rate, frame_slice
from marey.errors import InputError

Image = NDArray[np.uint8]
"""`(rows, columns, 3)`, red green blue."""

OpenFrames = Callable[[int, int, int], Iterator[Image]]
"""`open(start, stop, step)` yields those frames, decoding in bounded memory."""


@dataclass(frozen=True, eq=False)
class Footage:
    """A video or image folder.

    frames, rows, columns, frame_rate: its size
    open: yields the images `start, start + step, … < stop`, `(rows, columns, 3)` uint8

    >>> black = Footage(3, 2, 2, 25, lambda a, b, s: (np.zeros((2, 2, 3), np.uint8) for _ in range(a, b, s)))
    >>> sum(1 for image in black), black[1:].frames
    (3, 2)
    """

    frames: int
    rows: int
    columns: int
    frame_rate: float
    open: OpenFrames
    name: str = ""

    def __post_init__(self) -> None:
        if min(self.frames, self.rows, self.columns) < 1:
            raise InputError("footage: there is no frame or no pixel")
        assign(self, frame_rate=checked_rate(self.frame_rate))

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    def __len__(self) -> int:
        return self.frames

    def __iter__(self) -> Iterator[Image]:
        return self.open(0, self.frames, 1)

    def read(self, frame: int) -> Image:
        """One image."""
        chosen = as_slice(frame, self.frames)
        return next(self.open(chosen.start, chosen.stop, 1))

    def __getitem__(self, key: int | slice) -> Footage:
        """Frames as shorter footage; nothing is decoded."""
        chosen = range(*as_slice(key, self.frames).indices(self.frames))
        if chosen.step < 1:
            raise InputError("footage plays forwards: give a positive step")
        inner = self.open

        def open_part(start: int, stop: int, step: int) -> Iterator[Image]:
            part = chosen[start:stop:step]
            return inner(part.start, part.stop, part.step)

        return replace(self, frames=len(chosen), frame_rate=self.frame_rate / chosen.step, open=open_part)

    def between(self, start: float | None = None, stop: float | None = None) -> Footage:
        """Frames whose time in seconds lies in `[start, stop]`."""
        return self[frame_slice(self.frames, self.frame_rate, start, stop)]
