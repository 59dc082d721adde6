"""Images over time (a video, a folder of images) that are decoded only when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Timed, as_slice, assign, checked_rate
from marey.crowd.fields import check_same_images
from marey.errors import InputError
from marey.geometry.resampling import nearest, sample_positions

Image = NDArray[np.uint8]
"""`(rows, columns, 3)`, red green blue."""

OpenFrames = Callable[[int, int, int], Iterator[Image]]
"""`open(start, stop, step)` yields those frames, all of them, decoding in bounded memory."""


@dataclass(frozen=True, eq=False)
class Footage(Timed):
    """A video or image folder.

    Attributes:
        frames: Number of images.
        rows: Their height, pixels.
        columns: Their width, pixels.
        frame_rate: Images per second.
        open: Yields the images `start, start + step, … < stop`, `(rows, columns, 3)` uint8.
        name: What to call it.

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

    def resample(self, frame_rate: float) -> Footage:
        """At another rate: each new frame is the old one nearest in time. Nothing is decoded yet.

        >>> black = np.zeros((2, 2, 3), np.uint8)
        >>> Footage(3, 2, 2, 25, lambda a, b, s: (black for _ in range(a, b, s))).resample(50).frames
        5
        """
        rate = checked_rate(frame_rate)
        chosen = nearest(self.frames, sample_positions(self.frames, self.frame_rate, rate)).tolist()
        inner = self.open

        def open_chosen(start: int, stop: int, step: int) -> Iterator[Image]:
            return _pick(inner, chosen[start:stop:step])

        return replace(self, frames=len(chosen), frame_rate=rate, open=open_chosen)

    def grey(self) -> Iterator[NDArray[np.uint8]]:
        """The images as luminance, `(rows, columns)` uint8 (ITU-R BT.601 weights)."""
        import cv2

        for image in self:
            yield cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {"kind": "video", "rows": self.rows, "columns": self.columns}


def concatenate(parts: Sequence[Footage]) -> Footage:
    """Footage of one size and rate, end to end; nothing is decoded."""
    check_same_images("footage", parts)
    frames = sum(part.frames for part in parts)

    def open_parts(start: int, stop: int, step: int) -> Iterator[Image]:
        wanted = range(start, min(stop, frames), step)
        offset = 0
        for part in parts:
            inside = [frame - offset for frame in wanted if 0 <= frame - offset < part.frames]
            if inside:
                yield from part.open(inside[0], inside[-1] + 1, step)
            offset += part.frames

    return replace(parts[0], frames=frames, open=open_parts)


def _pick(open_frames: OpenFrames, wanted: Sequence[int]) -> Iterator[Image]:
    """Images by ascending, possibly repeated, frame number, decoded in one pass."""
    if not wanted:
        return
    remaining = iter(wanted)
    frame = next(remaining)
    for number, image in enumerate(open_frames(wanted[0], wanted[-1] + 1, 1), start=wanted[0]):
        while frame == number:
            yield image
            frame = next(remaining, -1)
