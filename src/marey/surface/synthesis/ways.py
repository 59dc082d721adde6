"""The ways a search may take: the edges of a graph that are worth trying, and what each does to the body.

Where many transitions leave a frame for moments of a sequence that follow each other within an eighth of a
second, the cheapest stands for them: on real captures two of five remain, and the walks found are as good.
Cost: some twenty microseconds a transition, once for any number of searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.statistics.graphs.graph import MotionGraph
from marey.surface.synthesis.gaits import unusual
from marey.surface.synthesis.placement import GroundFrames
from marey.surface.synthesis.root_clips import RootClips
from marey.surface.synthesis.surface_graph import SurfaceGraph

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# Seconds of a sequence that are one destination, and transitions leaving a frame that are always kept.
ONE_MOMENT, FEW = 0.125, 32


@dataclass(frozen=True, eq=False)
class Ways:
    """What a search needs of a repertoire.

    clips: motions of the followed point over the edges
    first, edges: transitions leaving frame f are `edges[first[f] : first[f + 1]]`
    onward: `(frames,)`, the edge that plays on, -1 at the end of a sequence
    lengths: `(edges of the graph,)`, metres the followed point goes over each of the transitions
    unusual: `(frames,)`, from 0 to 1, how unlike the usual gait a frame is
    """

    repertoire: SurfaceGraph
    clips: RootClips
    first: Ints
    edges: Ints
    onward: Ints
    lengths: Array
    unusual: Array

    @classmethod
    def of(
        cls,
        repertoire: SurfaceGraph,
        track: int | Sequence[int] | None = None,
        *,
        tracks: GroundFrames | None = None,
        clips: RootClips | None = None,
        inside: BoolArray | None = None,
    ) -> Ways:
        """Of a repertoire, following a vertex, the middle of some, or that of the body.

        tracks, clips: of the library and of all edges worth trying, if at hand
        inside: `(frames,)`, frames that may be gone to; all, if None
        """
        graph = repertoire.graph
        edges = worth_trying(repertoire, inside=inside)
        if clips is None:
            clips = RootClips.of(repertoire, track, tracks=tracks, edges=edges)
        edges = edges[np.diff(clips.first_point)[edges] > 0]
        first = np.searchsorted(graph.sources[edges], np.arange(graph.frames + 1))
        onward = np.full(graph.frames, -1, np.int64)
        free = np.ones(graph.frames, bool) if inside is None else inside
        captured = np.flatnonzero(~graph.synthetic & free[graph.targets])
        onward[graph.sources[captured]] = captured
        odd = unusual(repertoire.library, clips.tracks)
        return cls(repertoire, clips, first.astype(np.int64), edges, onward, _lengths(graph, clips), odd)


def worth_trying(repertoire: SurfaceGraph, *, inside: BoolArray | None = None) -> Ints:
    """Numbers of the transitions that stand for all, rising; only those to frames `inside`, if given."""
    graph, library = repertoire.graph, repertoire.library
    free = np.ones(graph.frames, bool) if inside is None else inside
    transitions = np.flatnonzero(graph.synthetic & free[graph.targets])
    sources = graph.sources[transitions].astype(np.int64)
    moment = max(1, round(ONE_MOMENT * library.frame_rate))
    targets = graph.targets[transitions].astype(np.int64)
    sequences = library.sequence_of[targets]
    # Transitions are sorted by source and target, so those to one moment follow each other.
    groups = np.stack([sources, sequences, (targets - graph.starts[sequences]) // moment])
    crowded = np.bincount(sources, minlength=graph.frames)[sources] > FEW
    new = np.concatenate([[True], (np.diff(groups, axis=1) != 0).any(axis=0)])[: len(transitions)] | ~crowded
    order = np.lexsort((graph.weights[transitions], np.cumsum(new)))
    return np.asarray(np.sort(transitions[order[new]]), np.int64)


def _lengths(graph: MotionGraph, clips: RootClips) -> Array:
    """Metres over each transition."""
    begins, ends = clips.first_point[:-1], clips.first_point[1:]
    there = np.flatnonzero(ends > begins)
    before = np.zeros((len(clips.points), 2))
    before[1:] = clips.points[:-1, 0::2]
    before[begins[there]] = clips.tracks[graph.sources[there], 0::2]
    steps = np.hypot(*(clips.points[:, 0::2] - before).T)
    lengths = np.zeros(graph.edges)
    if len(there):
        lengths[there] = np.add.reduceat(steps, begins[there])
    return lengths
