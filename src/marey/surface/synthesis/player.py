"""From a walk through a graph to meshes, one after another (Boukhayma 2017, section 3.4 and algorithm 3).

Captured frames are only moved along the ground; transitions are blended. Pieces are half-open, so that no
frame comes twice, and the number of frames is one more than the steps of the walk. One mesh is in memory at a
time, however long the animation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Integers
from marey._work import Progress
from marey.errors import InputError
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.graph import MotionGraph, Walk
from marey.statistics.graphs.path_search import SteeredWalk
from marey.surface.synthesis.animation import Animation, Frame, collect_frames
from marey.surface.synthesis.blend import Blender, captured_frame, placed_frames
from marey.surface.synthesis.foot_lock import FootLock
from marey.surface.synthesis.placement import GroundFrames, Placement, place_edges

if TYPE_CHECKING:
    from marey.surface.synthesis.animate import SurfaceGraph


@dataclass(frozen=True, eq=False)
class Player:
    """A surface graph with what is derived from it once, ready to play any walk.

    Attributes:
        subject: the sequences, their distances and graph.
        ground: what placement needs of each frame.
        blender: of poses.
        foot_lock: holds feet of blends in place; None leaves them where the blend has them.
    """

    subject: SurfaceGraph
    ground: GroundFrames
    blender: Blender
    foot_lock: FootLock | None

    @classmethod
    def prepare(
        cls, subject: SurfaceGraph, *, blender: Blender | None = None, anchored: bool = True
    ) -> Player:
        """Measure a subject's frames, and factor its surface for blends if there is no blender."""
        library = subject.library
        if blender is None:
            from marey.surface.interpolation import Interpolator

            blender = Interpolator.prepare(library.vertices(0), library.faces)
        ground = GroundFrames.of(library)
        return cls(subject, ground, blender, FootLock.of(library, ground) if anchored else None)

    def place(self, edges: Integers) -> Placement:
        """Where the frames of transitions stand; `edges` are numbers of the graph's synthetic edges."""
        return place_edges(self.subject, self.ground, edges, anchored=self.foot_lock is not None)


def stream(
    player: Player, walk: Walk, *, start: PlanarMotion | None = None, lift: float = 0.0
) -> Iterator[Frame]:
    """The frames of a walk, one by one: one more than its steps.

    Args:
        player: prepared once for many walks.
        walk: through its graph.
        start: how the first frame is moved along the ground; it stays where it was captured, if None.
        lift: how it is moved up, metres.
    """
    graph, library = player.subject.graph, player.subject.library
    nodes = _checked_nodes(walk, graph)
    placed = PlanarMotion.identity() if start is None else start
    for node, edge in zip(nodes[:-1], walk.edges, strict=True):
        if not graph.synthetic[edge]:
            yield captured_frame(library, int(node), placed, lift=lift)
            continue
        placement = player.place(np.array([edge]))
        frames = placed_frames(
            library, player.ground, placement, player.blender, placed, lift=lift, foot_lock=player.foot_lock
        )
        for _ in range(len(placement.times) - 1):
            yield next(frames)
        move, rise = placement.arrival(player.ground)
        placed = placed.compose(PlanarMotion(move.angle[0], move.shift[0]))
        lift += float(rise[0])
    yield captured_frame(library, int(nodes[-1]), placed, lift=lift)


def stream_steered(
    player: Player, body: SteeredWalk, direction: ArrayLike, behaviour: str | None = None
) -> Iterator[Frame]:
    """The frames of the next piece of a steered walk; the next one begins where it ends."""
    placed, lift = body.placed, body.height_offset
    piece = body.advance(direction, behaviour)
    return islice(stream(player, piece, start=placed, lift=lift), piece.steps(body.graph))


def synthesize(
    player: Player,
    walk: Walk,
    *,
    start: PlanarMotion | None = None,
    name: str = "animation",
    progress: Progress | None = None,
) -> Animation:
    """The animation of a walk: all meshes of :func:`stream`, with textures and where each comes from."""
    total = walk.steps(player.subject.graph) + 1
    frames = stream(player, walk, start=start)
    made = collect_frames(player.subject.library, frames, total, name=name, progress=progress)
    return replace(made, walk=walk)


def _checked_nodes(walk: Walk, graph: MotionGraph) -> Integers:
    """Frames a walk visits, `(edges + 1,)`, if it is one of this graph."""
    edges = np.asarray(walk.edges, np.int64)
    if not 0 <= walk.start < graph.frames or ((edges < 0) | (edges >= graph.edges)).any():
        raise InputError("walk: it is not of this graph; its frames or edges are not there")
    nodes = walk.nodes(graph)
    broken = np.flatnonzero(graph.sources[edges] != nodes[:-1])
    if len(broken):
        raise InputError(
            f"walk: edge {edges[broken[0]]} (number {broken[0]} of the walk) leaves frame "
            f"{graph.sources[edges[broken[0]]]}, but the walk is at frame {nodes[broken[0]]}"
        )
    return nodes
