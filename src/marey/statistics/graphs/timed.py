"""Captured poses at the times one asks for (Boukhayma 2017, section 3.5.2).

The source goes from key pose to key pose and takes the walk whose duration comes nearest. Here one dynamic
programme over (time, frame) goes through all key poses at once and finds, among the walks that meet the
times, the one that deforms least: durations are whole numbers, so nothing is approximate. Time O(frames of
the result × edges); memory 12 bytes a frame of the result and frame of the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError, UnreachableError
from marey.statistics.graphs.graph import MotionGraph, Walk

# A frame off the time asked for, where no walk meets it, outweighs any deformation.
A_FRAME_OFF = 1e6


@dataclass(frozen=True, eq=False)
class TimedWalk:
    """A walk through key poses.

    walk: through the graph
    achieved: `(keys,)`, frame of the animation at which each key pose is taken
    asked: `(keys,)`, those asked for
    deformation: sum of pose distances over the walk's transitions
    """

    walk: Walk
    achieved: NDArray[np.int64]
    asked: NDArray[np.int64]
    deformation: float

    @property
    def errors(self) -> NDArray[np.int64]:
        """Frames by which each key pose is late; early ones are negative."""
        return self.achieved - self.asked


def retime(
    graph: MotionGraph,
    keys: Sequence[int],
    times: Sequence[int],
    *,
    tolerance: int = 0,
    slack: int | None = None,
) -> TimedWalk:
    """The least deformed walk that takes captured frames at given times.

    keys: frames of the library, in the order they are to be taken
    times: of the keys, in frames of the animation from 0, rising
    tolerance: frames by which a key may miss its time where that deforms less
    slack: frames by which a key may miss its time if it cannot be met otherwise; a longest window, if None

    Times are met exactly wherever some walk does, and missed by as little as can be where none does.

    >>> from marey.statistics.graphs.transitions import Windows
    >>> played = retime(MotionGraph.chains([0, 10], alpha=0.1, windows=Windows(2, 4)), [2, 7], [0, 5])
    >>> played.walk.nodes(MotionGraph.chains([0, 10], alpha=0.1, windows=Windows(2, 4))).tolist()
    [2, 3, 4, 5, 6, 7]
    """
    asked = _checked_times(graph, keys, times, tolerance)
    slack = max(tolerance, graph.windows.longest if slack is None else slack)
    # Few need the slack, and without it the search takes half the time.
    found = _chained(graph, keys, asked, tolerance, tolerance) if tolerance < slack else None
    if not isinstance(found, TimedWalk):
        found = _chained(graph, keys, asked, slack, tolerance)
    if not isinstance(found, TimedWalk):
        raise UnreachableError(
            f"key pose {found + 1} (frame {keys[found]}) cannot be reached from key pose {found} "
            f"(frame {keys[found - 1]}) by frame {asked[found] + slack}; give it more time, use a "
            "larger alpha, or keys further from the ends of their sequences"
        )
    return found


def _chained(
    graph: MotionGraph, keys: Sequence[int], asked: NDArray[np.int64], slack: int, tolerance: int
) -> TimedWalk | int:
    """The best walk that misses no time by more than `slack`; else the number of the key not reached."""
    # What each segment may begin with: time in the animation -> cost so far.
    begins = {0: 0.0}
    segments: list[_Segment] = []
    for number in range(1, len(keys)):
        segment = _Segment.between(graph, keys[number - 1], keys[number], begins, int(asked[number]) + slack)
        begins = segment.ends(int(asked[number]), slack, tolerance)
        if not begins:
            return number
        segments.append(segment)
    achieved, edges = [min(begins, key=lambda time: begins[time])], list[int]()
    for segment in reversed(segments):
        begun, taken = segment.walked_back(graph, achieved[0])
        edges = taken + edges
        achieved.insert(0, begun)
    walk = Walk(int(keys[0]), np.array(edges, dtype=np.int64))
    return TimedWalk(walk, np.array(achieved), asked, float(graph.deformation[walk.edges].sum()))


@dataclass(frozen=True, eq=False)
class _Segment:
    """All walks from one key pose: costs and last edges by frame and time, from time `first` on."""

    first: int
    source: int
    target: int
    costs: NDArray[np.float64]
    arrivals: NDArray[np.int32]

    @classmethod
    def between(
        cls, graph: MotionGraph, source: int, target: int, begins: dict[int, float], last: int
    ) -> _Segment:
        from marey.statistics.graphs._timed_kernels import fewest_steps, relax_in_time

        first = min(begins)
        shape = (graph.frames, last - first + 1)
        costs, arrivals = np.full(shape, np.inf), np.full(shape, -1, np.int32)
        for time, cost in begins.items():
            costs[source, time - first] = cost
        left = fewest_steps(graph.sources, graph.targets, graph.steps, graph.frames, target)
        relax_in_time(costs, arrivals, graph.sources, graph.targets, graph.steps, graph.deformation, left)
        return cls(first, source, target, costs, arrivals)

    def ends(self, asked: int, slack: int, tolerance: int) -> dict[int, float]:
        """What it costs to be at the target, by time, the miss of the time asked for included."""
        found = {}
        for time in range(max(asked - slack, self.first + 1), asked + slack + 1):
            column = time - self.first
            if self.arrivals[self.target, column] >= 0:
                missed = max(abs(time - asked) - tolerance, 0)
                found[time] = float(self.costs[self.target, column]) + A_FRAME_OFF * missed
        return found

    def walked_back(self, graph: MotionGraph, time: int) -> tuple[int, list[int]]:
        """When the segment began, and the edges from there to the target at `time`."""
        frame, column, edges = self.target, time - self.first, list[int]()
        while self.arrivals[frame, column] >= 0:
            edge = int(self.arrivals[frame, column])
            edges.insert(0, edge)
            column -= int(graph.steps[edge])
            frame = int(graph.sources[edge])
        return column + self.first, edges


def _checked_times(
    graph: MotionGraph, keys: Sequence[int], times: Sequence[int], tolerance: int
) -> NDArray[np.int64]:
    if len(keys) != len(times) or len(keys) < 2:
        raise InputError(
            f"key poses: give two or more, each with its time ({len(keys)} and {len(times)} given)"
        )
    for number, key in enumerate(keys, start=1):
        if not 0 <= key < graph.frames:
            raise InputError(f"key pose {number}: there is no frame {key}; there are 0…{graph.frames - 1}")
    asked = np.asarray(times, dtype=np.int64)
    if (np.diff(asked) < 1).any():
        late = int(np.argmax(np.diff(asked) < 1)) + 2
        raise InputError(f"key pose {late}: its time is not after that of the one before; sort them by time")
    if tolerance < 0:
        raise InputError(f"tolerance: must not be negative, got {tolerance}")
    return asked - asked[0]
