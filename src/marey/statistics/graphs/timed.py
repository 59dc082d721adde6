"""Walks that take captured poses at given times (Boukhayma 2017, section 3.5.2).

Published is a search from key pose to key pose for the walk whose duration comes nearest. Here one dynamic
programme over (time, frame) goes through all key poses and finds, among the walks that meet the times, the
one that deforms least: durations are whole numbers, so nothing is approximate. Time: frames of the result ×
edges; memory: 4 bytes a frame of the result and frame of the library, 12 for the segment at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Integers
from marey.errors import InputError, UnreachableError
from marey.statistics.graphs.graph import MotionGraph, Walk

# Cost of a frame off the time asked for, where no walk meets it: more than any deformation.
A_FRAME_OFF = 1e6


@dataclass(frozen=True, eq=False)
class TimedWalk:
    """A walk through key poses.

    Args:
        walk: The walk in the graph.
        achieved: `(keys,)`, frame of the animation at which each key pose is taken.
        asked: `(keys,)`, those asked for.
        deformation: Sum of pose distances over the walk's transitions.
    """

    walk: Walk
    achieved: Integers
    asked: Integers
    deformation: float

    @property
    def errors(self) -> Integers:
        """Frames by which each key pose is late; early ones are negative."""
        return self.achieved - self.asked


def walk_through(
    graph: MotionGraph,
    keys: Sequence[int],
    times: Sequence[int],
    *,
    tolerance: int = 0,
    slack: int | None = None,
) -> TimedWalk:
    """The least deformed walk that takes captured frames at given times.

    Times are met exactly wherever some walk does, and missed by as little as possible where none does.

    Args:
        keys: Frames of the library, in the order they are to be taken.
        times: Times of the keys, in frames of the animation from 0, rising.
        tolerance: Frames by which a key may miss its time where that deforms less.
        slack: Frames by which a key may miss its time if it cannot be met otherwise; a longest window, if
            None.

    >>> from marey.statistics.graphs.graph import Windows
    >>> alone = MotionGraph.chains([0, 10], alpha=0.1, windows=Windows(2, 4))
    >>> walk_through(alone, [2, 7], [0, 5]).walk.nodes(alone).tolist()
    [2, 3, 4, 5, 6, 7]
    """
    asked = _checked_times(graph, keys, times, tolerance)
    slack = max(tolerance, graph.windows.longest if slack is None else slack)
    # Few need the slack, and without it the search takes half the time.
    found = _search(graph, keys, asked, tolerance, tolerance) if tolerance < slack else None
    if not isinstance(found, TimedWalk):
        found = _search(graph, keys, asked, slack, tolerance)
    if not isinstance(found, TimedWalk):
        raise UnreachableError(
            f"key pose {found + 1} (frame {keys[found]}) cannot be reached from key pose {found} "
            f"(frame {keys[found - 1]}) by frame {asked[found] + slack}; give it more time, use a "
            "larger alpha, or keys further from the ends of their sequences"
        )
    return found


def _search(
    graph: MotionGraph, keys: Sequence[int], asked: Integers, slack: int, tolerance: int
) -> TimedWalk | int:
    """The best walk that misses no time by more than `slack`; else the number of the key not reached."""
    # Times at which each segment may begin, with the cost so far; then the last edges by frame and time.
    begins = {0: 0.0}
    segments: list[tuple[int, NDArray[np.int32]]] = []
    for number in range(1, len(keys)):
        first, time = min(begins), int(asked[number])
        costs, arrivals = _segment(graph, keys[number - 1], keys[number], begins, time + slack)
        begins = {
            at: float(costs[at - first]) + A_FRAME_OFF * max(abs(at - time) - tolerance, 0)
            for at in range(max(time - slack, first + 1), time + slack + 1)
            if arrivals[keys[number], at - first] >= 0
        }
        if not begins:
            return number
        segments.append((first, arrivals))
    achieved, edges = [min(begins, key=lambda time: begins[time])], list[int]()
    for (first, arrivals), key in zip(reversed(segments), reversed(keys[1:]), strict=True):
        frame, column = key, achieved[-1] - first
        while (edge := int(arrivals[frame, column])) >= 0:
            edges.append(edge)
            column -= int(graph.steps[edge])
            frame = int(graph.sources[edge])
        achieved.append(column + first)
    walk = Walk(int(keys[0]), np.array(edges[::-1], dtype=np.int64))
    return TimedWalk(walk, np.array(achieved[::-1]), asked, float(graph.deformation[walk.edges].sum()))


def _segment(
    graph: MotionGraph, source: int, target: int, begins: dict[int, float], last: int
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """All walks from one key pose: costs at the target by time, from the first beginning up to `last`, and
    the last edges `(frames, times)`."""
    from marey.statistics.graphs._graph_kernels import fewest_steps, relax_in_time

    first = min(begins)
    shape = (graph.frames, last - first + 1)
    costs, arrivals = np.full(shape, np.inf), np.full(shape, -1, np.int32)
    for time, cost in begins.items():
        costs[source, time - first] = cost
    left = fewest_steps(graph.sources, graph.targets, graph.steps, graph.frames, target)
    relax_in_time(costs, arrivals, graph.sources, graph.targets, graph.steps, graph.deformation, left)
    return costs[target].copy(), arrivals


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
