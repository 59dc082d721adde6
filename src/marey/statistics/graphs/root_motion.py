"""Root motion over the edges of a graph, and which edges a search tries (for Boukhayma 2017, section 3.5).

A placed frame is its captured one moved along the ground. Playing on keeps that motion; a transition changes
it by one that depends on the edge alone, and so do the points that a followed point passes. A search
for a walk needs only these few numbers an edge. Where many transitions leave a frame for moments of a clip
that follow each other within an eighth of a second, only the cheapest is tried: on real captures two of five
remain, and the walks found are as good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from marey import _work
from marey._arrays import Array, BoolArray, FloatArray, Integers
from marey._work import Progress
from marey.errors import InputError
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.graph import Clips, DistanceMatrix, MotionGraph, Walk

LayOut = Callable[[Integers], tuple[PlanarMotion, Array, Array]]


@dataclass(frozen=True, eq=False)
class EdgeMotion:
    """Motion of a followed point, e.g. the root, over the edges of a graph.

    If `X` is the planar motion that places the captured source of edge e, then `X.compose(m)` places its
    captured target, where `m` is `moves[e]`; the points of a transition are placed by `X` as well.

    Args:
        clips: The clips the graph was made of.
        moves: `(edges, 3)`, turn, radians, and shift along x and z, metres; zero for captured edges.
        rises: `(edges,)`, change of the ground's height beside the captured one, metres.
        first_point: `(edges + 1,)`, the points of edge e are those from `[e]` up to `[e + 1]`: one a step for
            transitions, none for captured edges.
        points: `(points, 3)`, float32, where the followed point is after each step, its source placed where
            it was captured.
        tracks: `(frames, 3)`, where the followed point is in the captured frames.
    """

    clips: Clips
    moves: Array
    rises: Array
    first_point: Integers
    points: FloatArray
    tracks: Array

    @classmethod
    def of(
        cls,
        graph: MotionGraph,
        clips: Clips,
        tracks: Array,
        lay_out: LayOut,
        *,
        edges: Integers | None = None,
        progress: Progress | None = None,
    ) -> EdgeMotion:
        """Lay out the transitions of a graph.

        Args:
            tracks: `(frames, 3)`, the followed point in the captured frames.
            lay_out: Of transitions, given by their numbers: the planar motions of their targets, their rises,
                and the points of all their frames `(frames, 3)`, source and target included.
            edges: Only these transitions; all, if None. The others have no points and must not be taken.
        """
        transitions = np.flatnonzero(graph.synthetic) if edges is None else np.asarray(edges, np.int64)
        steps = np.zeros(graph.edges, np.int64)
        steps[transitions] = graph.steps[transitions]
        first_point = np.concatenate([[0], np.cumsum(steps)])
        points = np.empty((int(first_point[-1]), 3), np.float32)
        moves, rises = np.zeros((graph.edges, 3)), np.zeros(graph.edges)

        def fill(begin: int, end: int) -> None:
            some = transitions[begin:end]
            motion, rises[some], laid_out = lay_out(some)
            moves[some, 0], moves[some, 1:] = motion.angle, motion.shift
            # Each transition begins with its source frame, which is no step.
            counts = steps[some] + 1
            row = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            points[(np.repeat(first_point[some], counts) + row - 1)[row > 0]] = laid_out[row > 0]

        _work.spread(fill, len(transitions), size=512, progress=progress)
        return cls(clips, moves, rises, first_point, points, np.asarray(tracks, np.float64))

    def move(self, edge: int) -> PlanarMotion:
        """The planar motion of an edge."""
        return PlanarMotion(np.asarray(self.moves[edge, 0]), self.moves[edge, 1:])

    def trajectory(self, graph: MotionGraph, walk: Walk, start: PlanarMotion) -> Array:
        """The followed point in every frame of a walk, `(frames, 3)`, the first placed by `start`."""
        placed, found = start, [start.apply(self.tracks[walk.start][None])]
        for edge in walk.edges:
            if graph.synthetic[edge]:
                found.append(placed.apply(self.points[self.first_point[edge] : self.first_point[edge + 1]]))
                placed = placed.compose(self.move(edge))
            else:
                found.append(placed.apply(self.tracks[graph.targets[edge]][None]))
        return np.concatenate(found).astype(np.float64)


@dataclass(frozen=True, eq=False)
class CandidateEdges:
    """The edges a search tries.

    Args:
        first: `(frames + 1,)`, transitions leaving frame f are `edges[first[f] : first[f + 1]]`.
        edges: Numbers of the transitions.
        next_edge: `(frames,)`, the edge that plays on, -1 at the end of a clip.
        lengths: `(edges of the graph,)`, metres the followed point moves over each of the transitions.
        atypical: `(frames,)`, from 0 to 1, see :func:`gait_atypicality`.
    """

    graph: MotionGraph
    motion: EdgeMotion
    first: Integers
    edges: Integers
    next_edge: Integers
    lengths: Array
    atypical: Array

    @classmethod
    def of(cls, graph: MotionGraph, motion: EdgeMotion, *, inside: BoolArray | None = None) -> CandidateEdges:
        """Of the transitions that were laid out and are not pruned.

        Args:
            inside: `(frames,)`, frames that may be reached; all, if None.
        """
        edges = prune_transitions(graph, motion.clips, inside=inside)
        edges = edges[np.diff(motion.first_point)[edges] > 0]
        first = np.searchsorted(graph.sources[edges], np.arange(graph.frames + 1)).astype(np.int64)
        free = np.ones(graph.frames, bool) if inside is None else inside
        captured = np.flatnonzero(~graph.synthetic & free[graph.targets])
        next_edge = np.full(graph.frames, -1, np.int64)
        next_edge[graph.sources[captured]] = captured
        atypical = gait_atypicality(motion.clips, motion.tracks)
        return cls(graph, motion, first, edges, next_edge, _lengths(graph, motion), atypical)


def transition_times(
    graph: MotionGraph, distances: DistanceMatrix, edges: Integers
) -> tuple[Integers, Array]:
    """Times of the frames of transitions, by the best time warp of their windows, smoothed.

    Returns:
        `(transitions + 1,)`, first frame of each transition, then the number of all frames; and
        `(frames, 2)`, times in source and destination clips, in fractions of frames. Cost: some ten
        microseconds a transition.
    """
    from marey.statistics.graphs import _transition_kernels as kernels

    if not graph.synthetic[edges].all():
        raise InputError("one of the edges plays captured frames and is no transition")
    first = np.concatenate([[0], np.cumsum(graph.steps[edges].astype(np.int64) + 1)])
    times = np.empty((int(first[-1]), 2))
    windows = (graph.sources, graph.targets, graph.source_lengths, graph.target_lengths)
    kernels.lay_out_times(
        np.ascontiguousarray(distances.values), *(ends[edges].astype(np.int64) for ends in windows),
        graph.windows.slope, float(graph.alpha), first, times,
    )  # fmt: skip
    return first, times


def prune_transitions(
    graph: MotionGraph, clips: Clips, *, inside: BoolArray | None = None, within: float = 0.125,
    keep: int = 32,
) -> Integers:  # fmt: skip
    """Numbers of the transitions a search needs to try, rising: of those to one moment only the cheapest.

    Args:
        inside: `(frames,)`, frames that may be reached; all, if None.
        within: Seconds of a clip that are one moment.
        keep: Frames with no more transitions than this keep all of them.
    """
    free = np.ones(graph.frames, bool) if inside is None else inside
    transitions = np.flatnonzero(graph.synthetic & free[graph.targets])
    sources, targets = graph.sources[transitions], graph.targets[transitions]
    clip = clips.clip_of[targets]
    moments = (targets - graph.starts[clip]) // max(1, round(within * clips.frame_rate))
    # Edges are sorted by source and target, so those to one moment follow each other.
    changes = np.diff(np.stack([sources, clip, moments]), axis=1, prepend=-1).any(axis=0)
    new = changes | (np.bincount(sources, minlength=graph.frames)[sources] <= keep)
    order = np.lexsort((graph.weights[transitions], np.cumsum(new)))
    return np.asarray(np.sort(transitions[order[new]]), np.int64)


def gait_atypicality(
    clips: Clips, tracks: Array, *, window: float = 1.0, travelling: float = 0.3, tolerance: float = 1.0
) -> Array:
    """How much the gait of each captured frame differs from that of most, from 0 to 1, `(frames,)`.

    A search that counts deformation alone would as readily kick, jump or sprint round a corner as walk.
    Typical are the median speed and bounce of all frames that travel; frames much slower, faster or bouncier
    are atypical, whatever their label. All are typical if none travels.

    Args:
        tracks: `(frames, 3)`, where the body's centre is.
        window: Seconds over which speed and bounce are measured.
        travelling: Metres a second from which a body travels.
        tolerance: Powers of two by which speed and bounce may differ from the typical ones.
    """
    half = max(1, round(0.5 * window * clips.frame_rate))
    frames, clip = np.arange(clips.frames), clips.clip_of
    first = np.maximum(frames - half, clips.starts[clip])
    last = np.minimum(frames + half, clips.starts[clip + 1] - 1)
    seconds = np.maximum(last - first, 1) / clips.frame_rate
    speeds = np.hypot(*(tracks[last] - tracks[first])[:, 0::2].T) / seconds
    travels = speeds > travelling
    if not travels.any():
        return np.zeros(clips.frames)
    bounces = np.array([np.ptp(tracks[a : b + 1, 1]) for a, b in zip(first, last, strict=True)])
    speed = np.abs(np.log2(np.maximum(speeds, 1e-3) / np.median(speeds[travels])))
    bounce = np.log2(np.maximum(bounces, 1e-6) / max(float(np.median(bounces[travels])), 1e-3))
    return np.asarray(np.minimum(np.maximum(speed - tolerance, 0) + np.maximum(bounce - tolerance, 0), 1.0))


def _lengths(graph: MotionGraph, motion: EdgeMotion) -> Array:
    """Metres over each transition, `(edges,)`."""
    begins, ends = motion.first_point[:-1], motion.first_point[1:]
    there = np.flatnonzero(ends > begins)
    before = np.zeros((len(motion.points), 2))
    before[1:] = motion.points[:-1, 0::2]
    before[begins[there]] = motion.tracks[graph.sources[there], 0::2]
    lengths = np.zeros(graph.edges)
    if len(there):
        steps = np.hypot(*(motion.points[:, 0::2] - before).T)
        lengths[there] = np.add.reduceat(steps, begins[there])
    return lengths
