"""What a transition is: two windows of captured frames, and how they are laid over each other in time."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, assign, checked
from marey.errors import InputError

Objective = Literal["weight", "sum", "mean"]

# Boukhayma 2017, section 2.5.3: between a third of a second and two seconds, 15 to 100 frames at 50 a second.
SHORTEST_SECONDS, LONGEST_SECONDS = 0.3, 2.0


@dataclass(frozen=True)
class Windows:
    """How long both windows of a transition may be, and how unevenly time may pass in them.

    shortest, longest: frames of either window
    slope: at most `slope - 1` frames of one window in a row may be passed while the other is held

    >>> Windows.at(50.0)
    Windows(shortest=15, longest=100, slope=3)
    """

    shortest: int
    longest: int
    slope: int = 3

    def __post_init__(self) -> None:
        if not 2 <= self.shortest <= self.longest:
            raise InputError(
                f"windows: need 2 ≤ shortest ≤ longest frames, got {self.shortest} and {self.longest}"
            )
        if self.slope < 1:
            raise InputError(f"slope: 1 or more, got {self.slope}")

    @classmethod
    def at(cls, frame_rate: float, *, slope: int = 3) -> Windows:
        """Those of the source at a frame rate: 0.3 to 2 seconds."""
        shortest = max(2, ceil(SHORTEST_SECONDS * frame_rate - 1e-9))
        return cls(shortest, max(shortest, round(LONGEST_SECONDS * frame_rate)), slope)


@dataclass(frozen=True, eq=False)
class Transition:
    """From a frame of the library to another: the pairs of frames that are blended on the way.

    path: `(length, 2)`, frame of the source window and of the destination window, both never going back; the
        first source frame is where the transition leaves, the last destination frame where it arrives
    cost: sum of the pose distances of the pairs

    >>> leap = Transition([[3, 10], [4, 11], [4, 12]], 0.6)
    >>> leap.source, leap.destination, leap.length
    (3, 12, 3)
    """

    path: NDArray[np.int64]
    cost: float

    def __post_init__(self) -> None:
        path = checked("path", self.path, (None, 2), dtype=np.int64)
        if len(path) == 0 or (np.diff(path, axis=0) < 0).any():
            raise InputError("transition: its path is empty or goes back in time")
        assign(self, path=path)

    @property
    def source(self) -> int:
        """The frame it leaves."""
        return int(self.path[0, 0])

    @property
    def destination(self) -> int:
        """The frame it arrives at."""
        return int(self.path[-1, 1])

    @property
    def length(self) -> int:
        """Frames from the one to the other, both counted."""
        return len(self.path)


@dataclass(frozen=True, eq=False)
class TransitionTable:
    """The best transition between every two frames, by what it costs and how long it takes.

    costs: `(frames, frames)`, float32, sum of pose distances from row to column; infinite where there is none
    lengths: `(frames, frames)`, int16, frames of the transition; 0 where there is none
    source_lengths, destination_lengths: `(frames, frames)`, int16, frames of both windows
    starts: `(sequences + 1,)`
    objective: what was least: "weight" (sum of distance + alpha), "sum" or "mean" of distances
    alpha: cost of a frame of duration in the objective "weight"
    """

    costs: FloatArray
    lengths: NDArray[np.int16]
    source_lengths: NDArray[np.int16]
    destination_lengths: NDArray[np.int16]
    starts: NDArray[np.int64]
    windows: Windows
    objective: Objective
    alpha: float = 0.0

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.costs)
