"""From captured sequences to a repertoire: distances, transitions and graph in one call.

Boukhayma 2017, sections 2.3, 2.5 and 3.3. Cost: the distances of all pairs of poses take most of the time;
give them to try another `alpha`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from marey._progress import Progress
from marey.surface.distances.matrix import DistanceMatrix
from marey.surface.graphs.essential import essential_graph
from marey.surface.graphs.graph import Graph, Kind
from marey.surface.graphs.motion import motion_graph
from marey.surface.graphs.repertoire import Repertoire
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence
from marey.surface.transitions.table import Ends
from marey.surface.transitions.transition import Objective, Windows

# The source's compromise between realism and responsiveness (section 3.3.2).
ALPHA = 0.01


def graph(
    sequences: Library | Sequence[MeshSequence],
    *,
    alpha: float = ALPHA,
    kind: Kind = "essential",
    windows: Windows | None = None,
    objective: Objective = "weight",
    ends: Ends = "strict",
    distances: DistanceMatrix | None = None,
    progress: Progress | None = None,
) -> Repertoire:
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
    from marey.surface.distances import distances as pose_distances
    from marey.surface.transitions import table

    library = sequences if isinstance(sequences, Library) else Library(tuple(sequences))
    if distances is None:
        distances = pose_distances(library, progress=progress)
    windows = windows or Windows.at(library.frame_rate)
    # Without transitions it costs nothing to see whether the distances are of these sequences.
    bare = Repertoire(library, distances, Graph.chains(library.starts, alpha=alpha, windows=windows))
    found = table(distances, windows=windows, objective=objective, alpha=alpha, ends=ends, progress=progress)
    if kind == "motion":
        return replace(bare, graph=motion_graph(found, alpha=alpha))
    return replace(bare, graph=essential_graph(found, alpha=alpha, progress=progress))
