"""A graph whose nodes are captured frames: its edges play on, or lead over a transition (Boukhayma 2017,
section 3.3).

Edges are kept as arrays sorted by source, so that those leaving a node are a slice. An edge weighs its
deformation plus `alpha` for every step of time it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray, FloatArray, IntArray, assign, checked
from marey.errors import InputError
from marey.statistics.graphs.transitions import Windows

Kind = Literal["essential", "motion"]
Duration = Literal["steps", "frames"]


@dataclass(frozen=True, eq=False)
class MotionGraph:
    """Frames and how to go from one to another.

    starts: `(sequences + 1,)`, first frame of each sequence, then the number of frames
    sources, targets: `(edges,)`, frames; sorted by source, then target
    synthetic: `(edges,)`, whether the edge is a transition; the others play the next captured frame
    deformation: `(edges,)`, sum of pose distances over a transition; 0 for captured edges
    steps: `(edges,)`, frames of time from source to target; 1 for captured edges
    source_lengths, target_lengths: `(edges,)`, frames of a transition's windows; 0 for captured edges
    alpha: cost of a step of time
    windows: of the transitions
    kind: "essential", or "motion" for the graph of local minima
    duration: "frames" has a transition weigh a step more than it takes, as in the source

    >>> alone = MotionGraph.chains([0, 3], alpha=0.1, windows=Windows(2, 4))
    >>> alone.edges, alone.leaving(0).tolist(), alone.weights.tolist()
    (2, [0], [0.1, 0.1])
    """

    starts: NDArray[np.int64]
    sources: IntArray
    targets: IntArray
    synthetic: BoolArray
    deformation: FloatArray
    steps: IntArray
    source_lengths: IntArray
    target_lengths: IntArray
    alpha: float
    windows: Windows
    kind: Kind = "essential"
    duration: Duration = "steps"

    def __post_init__(self) -> None:
        starts = checked("starts", self.starts, (None,), dtype=np.int64)
        if len(starts) < 2 or starts[0] != 0 or (np.diff(starts) < 1).any():
            raise InputError("graph: starts must rise from 0")
        count = len(self.sources)
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha: must not be negative, got {self.alpha}")
        whole = {
            name: checked(name, getattr(self, name), (count,), dtype=np.int32)
            for name in ("sources", "targets", "steps", "source_lengths", "target_lengths")
        }
        for name in ("sources", "targets"):
            if count and not (whole[name].min() >= 0 and whole[name].max() < starts[-1]):
                raise InputError(f"graph: {name} must be frames 0…{starts[-1] - 1}")
        if count and whole["steps"].min() < 1:
            raise InputError("graph: an edge takes at least one step of time")
        if (np.diff(whole["sources"] * starts[-1] + whole["targets"]) < 0).any():
            raise InputError(
                "graph: edges must be sorted by source, then target; np.lexsort((targets, sources)) does it"
            )
        assign(
            self,
            starts=starts,
            synthetic=checked("synthetic", self.synthetic, (count,), dtype=np.bool_),
            deformation=checked("deformation", self.deformation, (count,)),
            **whole,
        )

    @classmethod
    def chains(cls, starts: IntArray | list[int], *, alpha: float, windows: Windows) -> MotionGraph:
        """Only the captured sequences, each frame leading to the next."""
        frames = np.arange(starts[-1])
        inside = np.setdiff1d(frames, np.asarray(starts[1:]) - 1)
        zeros = np.zeros(len(inside), np.int32)
        return cls(
            np.asarray(starts, np.int64), inside, inside + 1, zeros.astype(bool), zeros.astype(float),
            zeros + 1, zeros, zeros, alpha, windows,
        )  # fmt: skip

    @property
    def frames(self) -> int:
        """Number of nodes."""
        return int(self.starts[-1])

    @property
    def edges(self) -> int:
        """Number of edges."""
        return len(self.sources)

    @property
    def density(self) -> float:
        """Share of the possible edges that there are."""
        return self.edges / (self.frames * (self.frames - 1)) if self.frames > 1 else 0.0

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """`(edges,)`, deformation plus `alpha` a step."""
        return self.deformation + self.alpha * (self.steps + self.synthetic * (self.duration == "frames"))

    @cached_property
    def first_leaving(self) -> NDArray[np.int64]:
        """`(frames + 1,)`: the edges leaving frame f are those from `[f]` up to `[f + 1]`."""
        return np.searchsorted(self.sources, np.arange(self.frames + 1))

    def leaving(self, frame: int) -> NDArray[np.int64]:
        """Edges that leave a frame."""
        return np.arange(self.first_leaving[frame], self.first_leaving[frame + 1])


@dataclass(frozen=True, eq=False)
class Walk:
    """A way through a graph.

    start: the frame it begins at
    edges: `(edges walked,)`, numbers of the graph's edges, each beginning where the one before ends
    """

    start: int
    edges: NDArray[np.int64]

    def steps(self, graph: MotionGraph) -> int:
        """Frames of time it takes; the animation has one frame more."""
        return int(graph.steps[self.edges].sum())

    def cost(self, graph: MotionGraph) -> float:
        """Sum of the weights of its edges."""
        return float(graph.weights[self.edges].sum())

    def nodes(self, graph: MotionGraph) -> NDArray[np.int64]:
        """Frames it visits, `(edges walked + 1,)`."""
        return np.concatenate([[self.start], graph.targets[self.edges]]).astype(np.int64)
