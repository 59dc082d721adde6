"""What the surface panel shows: captured sequences, what is known of them, and what was made from them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey.statistics.graphs.graph import DistanceMatrix
from marey.studio.surface.in_betweens import Between
from marey.studio.surface.pictures import Picture
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation, AnimationReport

Shown = Literal["captured", "animation", "between"]


@dataclass(frozen=True, eq=False)
class Made:
    """New motion, and what is known of how it was made.

    report: how well it keeps to what was asked for; None if it was loaded from a file
    """

    animation: Animation
    report: AnimationReport | None = None


@dataclass(frozen=True, eq=False)
class State:
    """Everything that is shown; frames are numbers of the library unless said otherwise.

    library: the captured sequences; None if only distances were opened
    distances, matrix: between all poses, and their picture
    repertoire, graph: what animations are made from, and the picture of its graph
    shown: what is played
    sequence, at: which captured sequence, and its frame to go to
    pair: two frames picked in the matrix, to be compared
    path: `(points, 2)`, the way that was asked for, metres on the ground
    made: new motion
    ends: the two poses chosen to go between
    between: meshes between them
    """

    library: Library | None = None
    distances: DistanceMatrix | None = None
    matrix: Picture | None = None
    repertoire: SurfaceGraph | None = None
    graph: Picture | None = None
    shown: Shown = "captured"
    sequence: int = 0
    at: int = 0
    pair: tuple[int, int] | None = None
    path: NDArray[np.float64] | None = None
    made: Made | None = None
    ends: tuple[int | None, int | None] = (None, None)
    between: Between | None = None

    @property
    def played(self) -> MeshSequence | None:
        """The meshes of the sequence or animation that is shown; None between poses, or without meshes."""
        if self.shown == "animation" and self.made is not None:
            return self.made.animation.sequence
        if self.shown == "captured" and self.library is not None:
            return self.library.sequences[self.sequence]
        return None

    @property
    def clock(self) -> tuple[int, float]:
        """Frames and frames per second of what is shown."""
        played = self.played
        if played is not None:
            return played.frames, played.frame_rate
        if self.between is not None and self.shown == "between":
            return self.between.clock
        return (self.distances.frames, 30.0) if self.distances is not None else (1, 30.0)

    def frame_of_library(self, frame: int) -> int | None:
        """Which captured frame is shown at a frame of what is played, or blended into it first."""
        if self.shown == "animation" and self.made is not None:
            # A loaded animation speaks of a library that is not here.
            if self.made.report is None:
                return None
            return int(self.made.animation.provenance.sources[frame])
        if self.shown == "between":
            return None
        return frame if self.library is None else int(self.library.starts[self.sequence]) + frame

    def name_of(self, frame: int) -> str:
        """A frame of the library for people: `walk 12`."""
        if self.library is not None:
            sequence, local = self.library.locate(frame)
            return f"{self.library.names[sequence]} {local}"
        if self.distances is not None:
            sequence = int(np.searchsorted(self.distances.starts, frame, side="right")) - 1
            return f"{self.distances.names[sequence]} {frame - int(self.distances.starts[sequence])}"
        return str(frame)


def merged(begun: State, made: State, now: State) -> State:
    """The present state with what differs between two others: what was made of an earlier one.

    >>> begun = State(sequence=1)
    >>> both = merged(begun, replace(begun, at=5), replace(begun, sequence=2))
    >>> both.at, both.sequence
    (5, 2)
    """
    names = [field.name for field in fields(State)]
    changed = {name: getattr(made, name) for name in names if getattr(made, name) is not getattr(begun, name)}
    return replace(now, **changed)
