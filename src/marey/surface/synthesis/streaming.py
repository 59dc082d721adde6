"""From a walk through a graph to meshes, one after another (Boukhayma 2017, section 3.4 and algorithm 3).

Captured frames are only moved along the ground; transitions are blended. Pieces are half-open, so that no
frame comes twice, and the number of frames is one more than the steps of the walk. One mesh is in memory at a
time, however long the animation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._progress import Progress
from marey.errors import InputError
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.graph import Walk
from marey.surface.synthesis.animation import Animation
from marey.surface.synthesis.appearance import gathered
from marey.surface.synthesis.blending import Blender, Frame, captured_frame, course_frames
from marey.surface.synthesis.course import Course, Ease
from marey.surface.synthesis.edge_courses import edge_course
from marey.surface.synthesis.footing import Footing
from marey.surface.synthesis.surface_graph import SurfaceGraph
from marey.surface.synthesis.tracks import Tracks


@dataclass(frozen=True, eq=False)
class Performer:
    """A repertoire with what is derived from it once, ready to play any walk.

    tracks: what placement needs of each frame
    blender: of poses
    footing: keeps feet of blends in place; None leaves them where the blend has them
    ease: how the share of the destination grows over a transition
    """

    repertoire: SurfaceGraph
    tracks: Tracks
    blender: Blender
    footing: Footing | None
    ease: Ease = "smooth"

    @classmethod
    def prepare(
        cls,
        repertoire: SurfaceGraph,
        *,
        blender: Blender | None = None,
        ease: Ease = "smooth",
        anchored: bool = True,
    ) -> Performer:
        """Measure a repertoire's frames, and factor its surface for blends if there is no blender."""
        library = repertoire.library
        if blender is None:
            from marey.surface.interpolation import Interpolator

            blender = Interpolator.prepare(np.asarray(library.vertices(0), np.float64), library.faces)
        tracks = Tracks.of(library)
        return cls(repertoire, tracks, blender, Footing.of(library, tracks) if anchored else None, ease)

    def course(self, edges: NDArray[np.int64]) -> Course:
        """Where the frames of transitions stand; `edges` are numbers of the graph's synthetic edges."""
        return edge_course(
            self.repertoire, self.tracks, edges, ease=self.ease, anchored=self.footing is not None
        )


def stream(
    performer: Performer | SurfaceGraph, walk: Walk, *, start: PlanarMotion | None = None, lift: float = 0.0
) -> Iterator[Frame]:
    """The frames of a walk, one by one: one more than its steps.

    performer: prepared once for many walks, or a repertoire
    start, lift: how the first frame is moved along the ground, and up; where it was captured, if not given
    """
    if isinstance(performer, SurfaceGraph):
        performer = Performer.prepare(performer)
    graph, library = performer.repertoire.graph, performer.repertoire.library
    edges = np.asarray(walk.edges, np.int64)
    nodes = checked_nodes(walk, performer.repertoire)
    placed = PlanarMotion.identity() if start is None else start
    for node, edge in zip(nodes[:-1], edges, strict=True):
        if not graph.synthetic[edge]:
            yield captured_frame(library, int(node), placed, lift=lift)
            continue
        course = performer.course(np.array([edge]))
        frames = course_frames(
            library, performer.tracks, course, performer.blender, placed, lift=lift, footing=performer.footing
        )
        for _ in range(len(course.times) - 1):
            yield next(frames)
        move, rise = course.arrival(performer.tracks)
        placed, lift = placed.compose(PlanarMotion(move.angle[0], move.shift[0])), lift + float(rise[0])
    yield captured_frame(library, int(nodes[-1]), placed, lift=lift)


def synthesize(
    performer: Performer | SurfaceGraph,
    walk: Walk,
    *,
    start: PlanarMotion | None = None,
    name: str = "animation",
    progress: Progress | None = None,
) -> Animation:
    """The animation of a walk: all meshes of :func:`stream`, with textures and where each comes from."""
    if isinstance(performer, SurfaceGraph):
        performer = Performer.prepare(performer)
    total = walk.steps(performer.repertoire.graph) + 1
    frames = stream(performer, walk, start=start)
    return gathered(performer.repertoire.library, frames, total, name=name, progress=progress)


def checked_nodes(walk: Walk, repertoire: SurfaceGraph) -> NDArray[np.int64]:
    """Frames a walk visits, `(edges + 1,)`, if it is one of this graph."""
    graph = repertoire.graph
    edges = np.asarray(walk.edges, np.int64)
    if not 0 <= walk.start < graph.frames or (
        len(edges) and not 0 <= edges.min() <= edges.max() < graph.edges
    ):
        raise InputError("walk: it is not of this graph; its frames or edges are not there")
    nodes = walk.nodes(graph)
    broken = np.flatnonzero(graph.sources[edges] != nodes[:-1])
    if len(broken):
        raise InputError(
            f"walk: edge {edges[broken[0]]} (number {broken[0]} of the walk) leaves frame "
            f"{graph.sources[edges[broken[0]]]}, but the walk is at frame {nodes[broken[0]]}"
        )
    return nodes
