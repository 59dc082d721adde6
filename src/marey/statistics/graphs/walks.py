"""Walks in a motion graph: of least cost, through key poses at given times, and at random.

*Least cost* (Boukhayma 2017, section 3.3.4): between two frames Dijkstra's search takes milliseconds; of
walks that cost the same it finds one that takes the least time. Between all frames, Floyd and Warshall's
recursion in tiles takes seconds for some thousand; graphs with few edges take SciPy's search from every
frame.

*At given times* (section 3.5.2): published is a search from key pose to key pose for the walk whose duration
comes nearest. Here one dynamic programme over (time, frame) goes through all key poses and finds, among the
walks that meet the times, the one that deforms least: durations are whole numbers, so nothing is approximate.
Time: frames of the result × edges; memory: 4 bytes a frame of the result and frame of the library, 12 for the
segment at hand.

*At random*: walks that never end stay in the part of a graph that can always be left again. First the clip to
go to is drawn among all that can be reached from the frames ahead: the likelier the less its best transition
weighs (deformation plus a cost of time, section 3.3.1) and the rarer it was played. Then the transition: the
likelier the less it weighs, and the nearer its time is to the one asked for. Cost: a pass over the
transitions that leave a clip, some milliseconds for each one taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import Array, BoolArray, Integers
from marey._random import Rng, as_generator
from marey._work import Progress
from marey.errors import InputError, UnreachableError
from marey.statistics.graphs.graph import Clips, MotionGraph, Walk, core_frames

# Cost of a frame off the time asked for, where no walk meets it: more than any deformation.
A_FRAME_OFF = 1e6


@dataclass(frozen=True)
class CostComparison:
    """Least costs in two graphs over the same frames, over all pairs of different frames connected in both.

    Args:
        mean: Mean of our costs.
        deviation: Standard deviation of our costs.
        baseline_mean: Mean of the other's costs.
        baseline_deviation: Standard deviation of the other's costs.
        share: Share of all ordered pairs that were compared.
        excess: The most one of our walks costs above the other's; 0 or rounding where ours are never worse.
    """

    mean: float
    deviation: float
    baseline_mean: float
    baseline_deviation: float
    share: float
    excess: float

    @property
    def gain(self) -> float:
        """By which share our mean is lower."""
        return 1 - self.mean / self.baseline_mean if self.baseline_mean else 0.0


def shortest_walk(graph: MotionGraph, start: int, end: int) -> Walk:
    """The walk of least cost from one frame to another.

    >>> from marey.statistics.graphs.graph import Windows
    >>> alone = MotionGraph.chains([0, 5], alpha=0.1, windows=Windows(2, 4))
    >>> shortest_walk(alone, 1, 4).nodes(alone).tolist()
    [1, 2, 3, 4]
    """
    from marey.statistics.graphs._graph_kernels import search

    for frame in (start, end):
        graph.check_frame(frame)
    arriving = search(graph.first_leaving, graph.targets, graph.weights, graph.steps, start, end)
    if end != start and arriving[end] < 0:
        raise InputError(
            f"there is no walk from frame {start} to frame {end}: transitions cannot enter the first or "
            "leave the last frames of a sequence; choose frames of the graph's core"
        )
    edges = []
    while end != start:
        edges.append(arriving[end])
        end = int(graph.sources[edges[-1]])
    return Walk(start, np.array(edges[::-1], np.int64))


def shortest_costs(graph: MotionGraph, *, progress: Progress | None = None) -> Array:
    """Least cost of a walk from each frame (row) to each (column); infinite where there is none.

    >>> from marey.statistics.graphs.graph import Windows
    >>> shortest_costs(MotionGraph.chains([0, 3], alpha=0.5, windows=Windows(2, 4))).tolist()
    [[0.0, 0.5, 1.0], [inf, 0.0, 0.5], [inf, inf, 0.0]]
    """
    shape = graph.frames, graph.frames
    if graph.density < 0.03:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        return np.asarray(dijkstra(csr_array((graph.weights, graph.targets, graph.first_leaving), shape)))
    weights = np.full(shape, np.inf)
    weights[graph.sources, graph.targets] = graph.weights
    return least_costs(weights, progress=progress)


def least_costs(weights: Array, *, progress: Progress | None = None) -> Array:
    """Least cost of a walk between every two nodes, `(nodes, nodes)`; infinite where there is none.

    >>> least_costs(np.array([[0, 1, 3], [np.inf, 0, 1], [1, np.inf, 0]])).tolist()
    [[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]]
    """
    from marey.statistics.graphs import _graph_kernels as kernels

    costs = np.array(weights, np.float64, order="C")
    np.fill_diagonal(costs, 0.0)
    nodes = len(costs)
    for first in range(0, nodes, kernels.PIVOTS):
        last = min(nodes, first + kernels.PIVOTS)
        kernels.close_pivot(costs, first, last)
        _work.spread(partial(kernels.pass_pivot, costs, first, last), nodes, size=128)
        if progress is not None:
            progress(last, nodes)
    return costs


def compare(ours: Array, baseline: Array) -> CostComparison:
    """How much less walks cost in one graph than in another, from the `shortest_costs` of both.

    >>> from marey.statistics.graphs.graph import Windows
    >>> one, other = (
    ...     shortest_costs(MotionGraph.chains([0, 9], alpha=a, windows=Windows(2, 4))) for a in (0.1, 0.2)
    ... )
    >>> round(compare(one, other).gain, 6), compare(one, other).share
    (0.5, 0.5)
    """
    if ours.shape != baseline.shape:
        raise InputError("the two graphs have different frames; compare graphs of one library")
    both = np.isfinite(ours) & np.isfinite(baseline)
    np.fill_diagonal(both, False)
    if not both.any():
        return CostComparison(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    mine, theirs = ours[both], baseline[both]
    return CostComparison(
        float(mine.mean()),
        float(mine.std()),
        float(theirs.mean()),
        float(theirs.std()),
        float(len(mine) / (both.size - len(both))),
        float((mine - theirs).max()),
    )


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
    """All walks from one key pose: costs at the target by time, from the first start up to `last`, and
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
    return np.asarray(asked - asked[0])


def random_walk(
    graph: MotionGraph,
    clips: Clips,
    seconds: float,
    rng: Rng = None,
    *,
    start: int | None = None,
    stay: float = 2.0,
    variety: float = 0.1,
) -> Walk:
    """A random walk of so many seconds, and to the end of a transition that began before.

    Args:
        rng: The same seed gives the same walk.
        start: The frame to begin with; if None, a random one of the graph's core.
        stay: Seconds asked for between transitions.
        variety: By which share a transition may weigh more than the best one to its clip and still be 0.37
            times as likely.
    """
    for name, value in (("seconds", seconds), ("stay", stay), ("variety", variety)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name}: must be above 0, got {value}")
    inside, rng = core_frames(graph), as_generator(rng)
    if inside.sum() < 2:
        raise InputError(
            "random walk: the graph has no cycle; add longer sequences, or more that are similar"
        )
    frame = begun = int(rng.choice(np.flatnonzero(inside))) if start is None else start
    steps, plays = int(np.ceil(seconds * clips.frame_rate)), np.zeros(len(clips.names), np.int64)
    taken: list[int] = []
    passed = 0
    while passed < steps:
        plays[clips.locate(frame)[0]] += 1
        edge = _next_transition(graph, inside, frame, plays, stay * clips.frame_rate, variety, rng)
        leaving = np.arange(graph.first_leaving[frame], graph.first_leaving[graph.sources[edge]])
        played = leaving[~graph.synthetic[leaving]][: steps - passed].tolist()
        taken += played
        passed += len(played)
        if passed < steps:
            taken.append(edge)
            passed += int(graph.steps[edge])
            frame = int(graph.targets[edge])
    return Walk(begun, np.array(taken, np.int64))


def draw(weights: Array, rng: np.random.Generator) -> int:
    """An index drawn with probabilities in proportion to weights; that of the largest where all vanish."""
    total = np.cumsum(weights)
    if not total[-1] > 0:
        return int(np.argmax(weights))
    return int(np.searchsorted(total, rng.random() * total[-1], side="right").clip(0, len(weights) - 1))


def _next_transition(
    graph: MotionGraph, inside: BoolArray, frame: int, plays: Integers, stay: float, variety: float,
    rng: np.random.Generator,
) -> int:  # fmt: skip
    """A transition into the core from this frame, or from a later one of its clip."""
    end = graph.starts[np.searchsorted(graph.starts, frame, side="right")]
    ahead = np.arange(graph.first_leaving[frame], graph.first_leaving[end])
    ahead = ahead[graph.synthetic[ahead] & inside[graph.targets[ahead]]]
    if len(ahead) == 0:
        raise InputError(
            f"random walk: no transition leaves frame {frame} or the ones after it; begin with a frame of "
            "the graph's core (`marey surface info` prints how many there are), or with a random one"
        )
    to = np.searchsorted(graph.starts, graph.targets[ahead], side="right") - 1
    weights = np.maximum(graph.weights[ahead], np.finfo(float).tiny)
    best = np.full(len(plays), np.inf)
    np.minimum.at(best, to, weights)
    # Twice the weight is taken a quarter as often, and each time played halves it.
    clip = draw((best.min() / best) ** 2 * 0.5 ** (plays - plays[np.isfinite(best)].min()), rng)
    ahead, weights = ahead[to == clip], weights[to == clip]
    # Most likely at the time asked for, rising from none and fading again.
    waited = (graph.sources[ahead] - frame + 1) / stay
    return int(ahead[draw(waited * np.exp(-waited - (weights / weights.min() - 1) / variety), rng)])
