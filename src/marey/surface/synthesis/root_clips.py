"""What every edge of a graph does to the body's place, without a mesh (for Boukhayma 2017, section 3.5).

A placed frame is its captured one moved along the ground. Playing on keeps that motion; a transition changes
it by one that depends on the edge alone, and on its way a followed point passes places that do, too. To
search for a walk therefore needs these few numbers an edge. They are those of the streamed meshes: both come
from :class:`~marey.surface.synthesis.placement.Placement`. Cost: some ten microseconds a transition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import FloatArray
from marey._progress import Progress
from marey.errors import InputError
from marey.surface.library import Library
from marey.surface.synthesis.placement import GroundFrames, place_edges
from marey.surface.synthesis.surface_graph import SurfaceGraph

Array = NDArray[np.float64]

# Transitions that are laid out together: bounds the memory it takes.
AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class RootClips:
    """Motions of a followed point over the edges of a graph.

    If `X` is the planar motion that places the captured source of edge e, then `X.compose(m)` places its
    captured target, where `m` is `moves[e]`; the points of a transition are placed by `X` as well.

    moves: `(edges, 3)`, turn, radians, and shift along x and z, metres; zero for captured edges
    rises: `(edges,)`, by how much the ground below changes, metres, beside what was captured
    first_point: `(edges + 1,)`, the points of edge e are those from `[e]` up to `[e + 1]`: one a step for
        transitions, none for captured edges
    points: `(points, 3)`, float32, where the followed point is after each step, its source standing where it
        was captured
    tracks: `(frames, 3)`, where the followed point is in the captured frames
    """

    moves: Array
    rises: Array
    first_point: NDArray[np.int64]
    points: FloatArray
    tracks: Array

    @classmethod
    def of(
        cls,
        repertoire: SurfaceGraph,
        track: int | Sequence[int] | None = None,
        *,
        smooth: float = 0.0,
        tracks: GroundFrames | None = None,
        edges: NDArray[np.int64] | None = None,
        anchored: bool = True,
        progress: Progress | None = None,
    ) -> RootClips:
        """Of the edges of a repertoire.

        track: the vertex to follow, or the middle of several; of all, if None
        smooth: seconds over which sway and bounce of the followed point are evened out
        tracks: of the library, if at hand
        edges: only of these transitions; all, if None. The others have no points and must not be taken
        ease, anchored: as the animation is to be made
        """
        graph = repertoire.graph
        known = GroundFrames.of(repertoire.library) if tracks is None else tracks
        followed = follow(repertoire.library, track, smooth=smooth)
        transitions = np.flatnonzero(graph.synthetic) if edges is None else np.asarray(edges, np.int64)
        steps = np.zeros(graph.edges, np.int64)
        steps[transitions] = graph.steps[transitions]
        first_point = np.concatenate([[0], np.cumsum(steps)])
        points = np.empty((int(first_point[-1]), 3), np.float32)
        moves, rises = np.zeros((graph.edges, 3)), np.zeros(graph.edges)

        def fill(begin: int, end: int) -> None:
            some = transitions[begin:end]
            course = place_edges(repertoire, known, some, anchored=anchored)
            planar, rises[some] = course.arrival(known)
            moves[some, 0], moves[some, 1:] = planar.angle, planar.shift
            # Each course begins with the source itself, which is no step.
            row = np.arange(len(course.times)) - np.repeat(course.first[:-1], np.diff(course.first))
            there = np.repeat(first_point[some], np.diff(course.first)) + row - 1
            points[there[row > 0]] = course.follow(known, followed)[row > 0]

        _work.spread(fill, len(transitions), size=AT_ONCE, progress=progress)
        return cls(moves, rises, first_point, points, followed)


def follow(library: Library, track: int | Sequence[int] | None = None, *, smooth: float = 0.0) -> Array:
    """Where a vertex, or the middle of some or all of them, is in each captured frame, `(frames, 3)`.

    smooth: seconds over which it is evened out within each sequence

    >>> import marey
    >>> follow(Library((marey.samples.mesh_sequence()[:20],)), 0, smooth=0.2).shape
    (20, 3)
    """
    count = library.sequences[0].vertices.shape[1]
    chosen = np.arange(count) if track is None else np.atleast_1d(np.asarray(track, np.int64))
    if len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= count:
        raise InputError(f"track: give vertices 0…{count - 1} to follow")
    if not (np.isfinite(smooth) and smooth >= 0):
        raise InputError(f"smooth: seconds, 0 or more; got {smooth}")
    every = track is None
    found = np.array(
        [np.mean(v if every else v[chosen], axis=0, dtype=np.float64) for v in library.all_vertices()]
    )
    if smooth > 0:
        starts = library.starts
        for begin, end in pairwise(starts):
            found[begin:end] = _evened(found[begin:end], 0.5 * smooth * library.frame_rate)
    return found


def _evened(track: Array, sigma: float) -> Array:
    """Weighed with what is around by a bell of width `sigma`, frames; ends go on straight."""
    reach = max(1, int(np.ceil(3 * sigma)))
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(sigma, 1e-9)) ** 2)
    # Mirrored through the end points, so that a straight walk stays one to its very ends.
    padded = (
        np.pad(track, ((reach, reach), (0, 0)), mode="reflect", reflect_type="odd")
        if len(track) > 1
        else (np.pad(track, ((reach, reach), (0, 0)), mode="edge"))
    )
    return np.stack([np.convolve(column, bell / bell.sum(), mode="valid") for column in padded.T], axis=1)
