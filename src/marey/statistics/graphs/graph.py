"""Motion graphs: nodes are captured frames; edges play on, or lead over a transition (Boukhayma 2017, section
3.3). Beside them, what they are built from: clips whose frames are numbered in one row, and pose distances.

Edges are arrays sorted by source, so that those leaving a node are a slice. An edge weighs its deformation
plus `alpha` for every step of time it takes. Windows of transitions stay within their sequences, so the last
frames of a sequence can only be played on and the first only be started from; the claim of section 3.3.1 that
any two frames are connected holds in the core, the largest strongly connected set of frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray, FloatArray, IntArray, Integers, assign, checked, derived
from marey._report import Displayed, rounded
from marey.errors import InputError

Kind = Literal["essential", "motion"]
Duration = Literal["steps", "frames"]


@dataclass(frozen=True)
class Windows:
    """How long both windows of a transition may be, and how unevenly time may pass in them.

    Args:
        shortest: Fewest frames of either window.
        longest: Most frames of either window.
        slope: At most `slope - 1` frames of one window in a row may be passed while the other is held.

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
        """Windows of 0.3 to 2 seconds, as published (section 2.5.3: 15 to 100 frames at 50 a second)."""
        shortest = max(2, ceil(0.3 * frame_rate - 1e-9))
        return cls(shortest, max(shortest, round(2.0 * frame_rate)), slope)

    def within(self, starts: NDArray[np.int64]) -> Windows:
        """The same windows, no longer than the longest sequence."""
        longest = min(self.longest, max(int(np.diff(starts).max()), self.shortest))
        return Windows(self.shortest, longest, min(self.slope, longest))


@dataclass(frozen=True, eq=False)
class MotionGraph:
    """Frames and the edges between them.

    Args:
        starts: `(sequences + 1,)`, first frame of each sequence, then the number of frames.
        sources: `(edges,)`, frames; edges are sorted by source, then target.
        targets: `(edges,)`, frames.
        synthetic: `(edges,)`, whether the edge is a transition; the others play the next captured frame.
        deformation: `(edges,)`, sum of pose distances over a transition; 0 for captured edges.
        steps: `(edges,)`, frames of time from source to target; 1 for captured edges.
        source_lengths: `(edges,)`, frames of a transition's source window; 0 for captured edges.
        target_lengths: `(edges,)`, frames of a transition's destination window; 0 for captured edges.
        alpha: Cost of a step of time.
        windows: Windows of the transitions.
        kind: "essential", or "motion" for the graph of local minima.
        duration: With "frames" a transition weighs one step more than it takes, as published.

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
        synthetic = checked("synthetic", self.synthetic, (count,), dtype=np.bool_)
        deformation = checked("deformation", self.deformation, (count,))
        assign(self, starts=starts, synthetic=synthetic, deformation=deformation, **whole)

    @classmethod
    def chains(cls, starts: IntArray | list[int], *, alpha: float, windows: Windows) -> MotionGraph:
        """Only the captured sequences, each frame leading to the next."""
        inside = frames_with_next(np.asarray(starts))
        zeros = np.zeros(len(inside), np.int32)
        return cls(
            np.asarray(starts, np.int64), inside, inside + 1, zeros.astype(bool), zeros.astype(float),
            zeros + 1, zeros, zeros, alpha, windows,
        )  # fmt: skip

    @property
    def frames(self) -> int:
        """Number of nodes."""
        return int(self.starts[-1])

    edges = derived(len, "sources", "Number of edges.")

    @property
    def density(self) -> float:
        """Share of the possible edges that there are."""
        return self.edges / (self.frames * (self.frames - 1)) if self.frames > 1 else 0.0

    @cached_property
    def weights(self) -> Array:
        """`(edges,)`, deformation plus `alpha` a step."""
        return self.deformation + self.alpha * (self.steps + self.synthetic * (self.duration == "frames"))

    @cached_property
    def first_leaving(self) -> Integers:
        """`(frames + 1,)`: the edges leaving frame f are those from `[f]` up to `[f + 1]`."""
        return np.searchsorted(self.sources, np.arange(self.frames + 1))

    def leaving(self, frame: int) -> Integers:
        """Edges that leave a frame."""
        return np.arange(self.first_leaving[frame], self.first_leaving[frame + 1])

    def check_frame(self, frame: int) -> None:
        """Raise an :class:`InputError` if there is no such frame."""
        if not 0 <= frame < self.frames:
            raise InputError(f"frame {frame}: the graph has frames 0…{self.frames - 1}")


@dataclass(frozen=True, eq=False)
class Walk:
    """A walk in a graph.

    Args:
        start: The frame it begins at.
        edges: `(edges walked,)`, numbers of the graph's edges, each starts where the one before ends.
    """

    start: int
    edges: Integers

    def steps(self, graph: MotionGraph) -> int:
        """Frames of time it takes; the animation has one frame more."""
        return int(graph.steps[self.edges].sum())

    def cost(self, graph: MotionGraph) -> float:
        """Sum of the weights of its edges."""
        return float(graph.weights[self.edges].sum())

    def nodes(self, graph: MotionGraph) -> Integers:
        """Frames it visits, `(edges walked + 1,)`."""
        return np.concatenate([[self.start], graph.targets[self.edges]]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Connectivity:
    """Frames by what can be reached from them.

    Args:
        core: The most frames that can all be reached from each other.
        entrances: Frames that lead into the core, but cannot be reached from it.
        dead_ends: Frames reached from the core that do not lead back.
        apart: All other frames.
        reachable: Share of the ordered pairs of different frames that some walk connects.
    """

    core: Integers
    entrances: Integers
    dead_ends: Integers
    apart: Integers
    reachable: float


def connectivity(graph: MotionGraph) -> Connectivity:
    """Core, entrances and dead ends of a graph. Cost: edges × components / 64.

    >>> alone = connectivity(MotionGraph.chains([0, 3], alpha=0.1, windows=Windows(2, 4)))
    >>> alone.core.tolist(), alone.dead_ends.tolist(), alone.reachable
    ([0], [1, 2], 0.5)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(graph.edges, bool), (graph.sources, graph.targets)), shape=(graph.frames,) * 2)
    count, component = connected_components(edges, connection="strong")
    sizes = np.bincount(component, minlength=count)
    between = np.unique(np.stack([component[graph.sources], component[graph.targets]]), axis=1)
    sources, targets = between[:, between[0] != between[1]]
    first = np.searchsorted(sources, np.arange(count + 1))
    # The components each leads to, one bit each; Tarjan's order numbers those a component leads to before it.
    reach, pairs = np.zeros((count, -(-count // 8)), np.uint8), 0
    for one in range(count):
        reach[one] = np.bitwise_or.reduce(reach[targets[first[one] : first[one + 1]]], axis=0)
        reach[one, one // 8] |= 1 << one % 8
        pairs += int(sizes[one]) * (int(_bits(reach[one], count) @ sizes) - 1)
    # The first of the largest components, in order of frames.
    largest = int(component[np.argmax(sizes[component])])
    from_core = _bits(reach[largest], count)[component] > 0
    to_core = (reach[component, largest // 8] >> largest % 8) & 1 > 0
    possible = graph.frames * (graph.frames - 1)
    return Connectivity(
        core=np.flatnonzero(from_core & to_core),
        entrances=np.flatnonzero(to_core & ~from_core),
        dead_ends=np.flatnonzero(from_core & ~to_core),
        apart=np.flatnonzero(~(from_core | to_core)),
        reachable=pairs / possible if possible else 1.0,
    )


def core_frames(graph: MotionGraph) -> BoolArray:
    """Which frames are in the core, `(frames,)`: a walk that stays there never gets stuck."""
    inside = np.zeros(graph.frames, np.bool_)
    inside[connectivity(graph).core] = True
    return inside


def _bits(packed: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    return np.unpackbits(packed, count=count, bitorder="little")


def frames_with_next(starts: IntArray) -> Integers:
    """Frames that have a next one in their sequence."""
    return np.setdiff1d(np.arange(starts[-1]), starts[1:] - 1)


class Clips:
    """Clips whose frames are numbered in one row: what graphs need to know of them.

    Attributes:
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
class ClipIndex(Clips):
    """The names and numbers alone."""

    names: tuple[str, ...]
    starts: Integers
    labels: tuple[str, ...]
    frame_rate: float


@dataclass(frozen=True, eq=False)
class DistanceMatrix(Displayed):
    """Pose distances between all frames, each pair turned about the vertical to one heading.

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

    frames = derived(len, "values", "Number of frames.")

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
