"""Courses of a graph's transitions: their time laid out anew from the pose distances, then their places.

Cost: a time warp of two windows a transition, some ten microseconds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError
from marey.surface.synthesis.course import Course, Ease, eased
from marey.surface.synthesis.surface_graph import SurfaceGraph
from marey.surface.synthesis.tracks import Tracks, turns_between


def edge_course(
    repertoire: SurfaceGraph,
    tracks: Tracks,
    edges: NDArray[np.int64],
    *,
    ease: Ease = "smooth",
    anchored: bool = True,
) -> Course:
    """Where the frames of transitions stand; `edges` are numbers of synthetic edges of the graph."""
    graph, distances = repertoire.graph, repertoire.distances
    if not graph.synthetic[edges].all():
        raise InputError("course: one of the edges plays captured frames and needs none")
    counts = graph.steps[edges].astype(np.int64) + 1
    first = np.concatenate([[0], np.cumsum(counts)])
    times = np.empty((int(first[-1]), 2))
    if len(edges):
        from marey.statistics.graphs import _transition_kernels as kernels

        kernels.lay_out_times(
            np.ascontiguousarray(distances.values),
            *(
                getattr(graph, name)[edges].astype(np.int64)
                for name in ("sources", "targets", "source_lengths", "target_lengths")
            ),
            graph.windows.slope, float(graph.alpha), first, times,
        )  # fmt: skip
    shapes = {int(count): eased(int(count), ease) for count in np.unique(counts)}
    weights = np.concatenate([shapes[int(count)] for count in counts]) if len(edges) else np.zeros(0)
    return Course.lay_out(
        tracks, times, weights, turns_between(distances.yaw_offsets, times), first=first, anchored=anchored
    )
