"""Captured sequences of one subject with their pose distances and motion graph, and how it is built.

Boukhayma 2017, sections 2.3, 2.5 and 3.3. Cost: the distances of all pairs of poses take most of the time;
pass them to try another `alpha`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from marey._progress import Progress
from marey.errors import InputError
from marey.statistics.graphs.build import essential_graph, motion_graph
from marey.statistics.graphs.clips import DistanceMatrix
from marey.statistics.graphs.graph import Kind, MotionGraph
from marey.statistics.graphs.transitions import Ends, Objective, Windows
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence

if TYPE_CHECKING:
    from marey.geometry.paths import Path
    from marey.surface.synthesis.animation import Animation


@dataclass(frozen=True, eq=False)
class SurfaceGraph:
    """A library, its pose distances and its graph: what animations are made from.

    library: the captured sequences
    distances: between all their frames; transitions are laid out anew from them when they are needed
    graph: which transitions are worth taking
    """

    library: Library
    distances: DistanceMatrix
    graph: MotionGraph

    def __post_init__(self) -> None:
        starts = self.library.starts
        for what, theirs in (("distances", self.distances.starts), ("graph", self.graph.starts)):
            if not np.array_equal(starts, theirs):
                raise InputError(f"the {what} were not made from these sequences: their frames differ")

    def animate(
        self,
        *,
        path: Path | ArrayLike | None = None,
        poses: Sequence[tuple[int | str, float]] | None = None,
        start: int | str | None = None,
        end: int | str | None = None,
        **options: Any,
    ) -> Animation:
        """An animation made to order; give one of `path`, `poses`, or `start` and `end`.

        path: a curve on the ground or in space, see :func:`~marey.surface.synthesis.animate.follow_path`
        poses: pairs of a frame and seconds, see :func:`~marey.surface.synthesis.animate.walk_through_poses`
        start, end: frames, see :func:`~marey.surface.synthesis.animate.walk_between`

        >>> import marey
        >>> repertoire = marey.surface.graph(marey.samples.mesh_library(vertices=800))
        >>> repertoire.animate(path=[[0, 0], [0, 4]]).report.path_error < 0.2
        True
        """
        from marey.surface.synthesis import animate as orders

        if path is not None and poses is None and end is None:
            return orders.follow_path(self, path, start=start, **options)
        if poses is not None and path is None and start is None and end is None:
            return orders.walk_through_poses(self, [p for p, _ in poses], [t for _, t in poses], **options)
        if start is not None and end is not None and path is None and poses is None:
            return orders.walk_between(self, start, end, **options)
        raise InputError("animate: give a path, or poses, or a start and an end")

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        library, graph = self.library, self.graph
        return {
            "kind": "repertoire",
            "frames": library.frames,
            "frame_rate": library.frame_rate,
            "duration": library.frames / library.frame_rate,
            "vertices": library.sequences[0].vertices.shape[1],
            "faces": len(library.faces),
            "graph": graph.kind,
            "edges": graph.edges,
            "transitions": int(graph.synthetic.sum()),
            "density": round(graph.density, 6),
            "alpha": graph.alpha,
            "windows": [graph.windows.shortest, graph.windows.longest],
            "metric": self.distances.metric,
            "sequences": [
                {"name": sequence.name, "label": label, "frames": sequence.frames}
                for sequence, label in zip(library.sequences, library.labels, strict=True)
            ],
        }


def graph(
    sequences: Library | Sequence[MeshSequence],
    *,
    alpha: float = 0.01,
    kind: Kind = "essential",
    windows: Windows | None = None,
    objective: Objective = "weight",
    ends: Ends = "strict",
    distances: DistanceMatrix | None = None,
    progress: Progress | None = None,
) -> SurfaceGraph:
    """A graph of the best transitions between sequences of one subject.

    alpha: deformation, in radians, that is accepted to save a frame of time; 0.01 keeps close to what was
        captured, 0.2 answers fast
    kind: "essential", or "motion" for the graph of local minima
    windows: lengths of transitions; 0.3 to 2 seconds if not given
    objective: what transitions make least: "weight" (deformation + alpha × time), or the "sum" or "mean" of
        the distances
    ends: "short" allows shorter transitions at the ends of sequences, down to 3 frames, so that fewer frames
        cannot be reached or left; being short they are cheap, so that many walks then take these abrupt ones
    distances: between all frames, if they are known; the surface metric's otherwise

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> repertoire = graph((walk[:40], walk[60:100]))
    >>> repertoire.graph.frames, repertoire.distances.metric
    (80, 'surface')
    """
    from marey.statistics.graphs.transitions import table
    from marey.surface.distances import distances as pose_distances

    library = sequences if isinstance(sequences, Library) else Library(tuple(sequences))
    if distances is None:
        distances = pose_distances(library, progress=progress)
    windows = windows or Windows.at(library.frame_rate)
    # Without transitions it costs nothing to see whether the distances are of these sequences.
    bare = SurfaceGraph(library, distances, MotionGraph.chains(library.starts, alpha=alpha, windows=windows))
    found = table(distances, windows=windows, objective=objective, alpha=alpha, ends=ends, progress=progress)
    if kind == "motion":
        return replace(bare, graph=motion_graph(found, alpha=alpha))
    return replace(bare, graph=essential_graph(found, alpha=alpha, progress=progress))
