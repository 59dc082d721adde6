"""What all data types over time share: their length in seconds, and cutting by frame or by time."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from marey.errors import InputError

if TYPE_CHECKING:
    from typing import Self


class Timed:
    """Base of the data types over time; they have `frames`, `frame_rate` and slices.

    >>> import marey
    >>> tracks = marey.Tracks([[[0.0, 0.0]]] * 100, frame_rate=10)
    >>> len(tracks), tracks.duration, tracks.between(0.5, 1.0).frames
    (100, 10.0, 6)
    """

    if TYPE_CHECKING:
        # Only promised: a value here would become the default of the dataclasses' fields.
        @property
        def frames(self) -> int: ...
        @property
        def frame_rate(self) -> float: ...
        def __getitem__(self, key: int | slice) -> Self: ...

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    def __len__(self) -> int:
        return self.frames

    def between(self, start: float | None = None, stop: float | None = None) -> Self:
        """Frames whose time in seconds lies in `[start, stop]`; None is the clip's own end."""
        return self[frame_slice(self.frames, self.frame_rate, start, stop)]


def frame_slice(frames: int, frame_rate: float, start: float | None, stop: float | None) -> slice:
    """Frames whose time in seconds lies in [start, stop]; None is the clip's own end.

    >>> frame_slice(100, 10.0, 0.5, 1.0)
    slice(5, 11, None)
    """
    first = 0 if start is None else max(np.ceil(start * frame_rate - 1e-9), 0)
    last = frames if stop is None else min(np.floor(stop * frame_rate + 1e-9) + 1, frames)
    if not first < last:
        raise InputError(
            f"no frame between {start} s and {stop} s: the last one is at {(frames - 1) / frame_rate:.3f} s"
        )
    return slice(int(first), int(last))


def as_slice(key: int | slice, frames: int) -> slice:
    """An index or slice over frames as a slice that keeps at least one frame."""
    if isinstance(key, slice):
        if len(range(*key.indices(frames))) == 0:
            start, stop = ("" if end is None else end for end in (key.start, key.stop))
            raise InputError(f"frames {start}:{stop} of a clip of {frames} frames are none")
        return key
    index = operator.index(key)
    if not -frames <= index < frames:
        raise InputError(f"frame {index} of a clip of {frames} frames")
    return slice(index % frames, index % frames + 1)
