"""Walks that follow a curve and show the behaviours asked for on its parts (Boukhayma 2017, section 3.5.1).

The source searches depth first, comparing travelled lengths; here a beam goes along the curve, and distances
are to its nearest point ahead. A walk costs that distance, summed over all its frames, those of transitions
included, the deformation of its transitions, and time; where no behaviour is asked for, an unusual gait costs
a little, too. No mesh is touched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._progress import Progress
from marey.errors import InputError, UnreachableError
from marey.geometry.paths import Path
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.graph import MotionGraph, Walk
from marey.surface.synthesis.beam import Beam
from marey.surface.synthesis.root_clips import RootClips
from marey.surface.synthesis.surface_graph import SurfaceGraph
from marey.surface.synthesis.ways import Ways

Array = NDArray[np.float64]

# Metres on either side of a border within which both behaviours are right: one transition's worth.
BORDER = 0.75
# How much wider a search is repeated that found no way.
WIDER = 4


@dataclass(frozen=True, eq=False)
class Followed:
    """A walk along a curve.

    walk: through the graph
    start: where its first frame is placed
    positions: `(frames, 3)`, of the followed point
    errors: `(frames,)`, its distance from the curve, metres
    come: `(frames,)`, metres of the curve
    label_violations: frames of a behaviour that was not asked for, borders' tolerance left out
    """

    walk: Walk
    start: PlanarMotion
    positions: Array
    errors: Array
    come: Array
    label_violations: int

    @property
    def path_error(self) -> float:
        """Mean distance from the curve, metres."""
        return float(self.errors.mean())


def follow(
    repertoire: SurfaceGraph,
    curve: Path,
    *,
    clips: RootClips | None = None,
    accuracy: float = 5.0,
    width: int = 500,
    start: int | None = None,
    progress: Progress | None = None,
) -> Followed:
    """A walk whose followed point stays near a curve from its beginning to its end.

    clips: what the edges do to the followed point; of the middle of the body, if None
    accuracy: what being off the curve costs a second, in the units of the edges' weights (radians) a metre;
        beyond a hand's width more and more
    width: states that are kept; more find better walks, slower
    start: frame of the library to begin with; any that moves, if None
    """
    if not (np.isfinite(accuracy) and accuracy > 0):
        raise InputError(f"accuracy: must be above 0, got {accuracy}")
    if width < 1:
        raise InputError(f"width: must be at least 1, got {width}")
    bits, allowed = behaviour_bits(repertoire, curve)
    ways = Ways.of(repertoire, clips=clips)
    beam = Beam(ways, curve, bits, allowed, accuracy, width)
    try:
        start_frame, placed, edges = beam.run(*beam.beginnings(start), progress)
    except UnreachableError:
        beam = Beam(ways, curve, bits, allowed, accuracy, WIDER * width)
        start_frame, placed, edges = beam.run(*beam.beginnings(start), progress)
    walk = Walk(start_frame, edges)
    positions = path_of(repertoire.graph, ways.clips, walk, placed)
    come, errors = beam.measured(positions)
    shown = shown_bits(repertoire.graph, walk, bits)
    wrong = int(((allowed[come] & shown) == 0).sum())
    return Followed(walk, placed, positions, errors, np.asarray(come * curve.spacing, np.float64), wrong)


def path_of(graph: MotionGraph, clips: RootClips, walk: Walk, start: PlanarMotion) -> Array:
    """Where the followed point is in every frame of a walk, `(frames, 3)`, the first placed by `start`."""
    placed, found = start, [start.apply(clips.tracks[walk.start][None])]
    for edge in walk.edges:
        if graph.synthetic[edge]:
            found.append(placed.apply(clips.points[clips.first_point[edge] : clips.first_point[edge + 1]]))
            turn, x, z = clips.moves[edge]
            placed = placed.compose(PlanarMotion(np.asarray(turn), np.array([x, z])))
        else:
            found.append(placed.apply(clips.tracks[graph.targets[edge]][None]))
    return np.concatenate(found).astype(np.float64)


def shown_bits(graph: MotionGraph, walk: Walk, bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Which behaviours every frame of a walk shows, `(frames,)`; those of both ends during a transition."""
    sources, targets = graph.sources[walk.edges], graph.targets[walk.edges]
    both = np.where(graph.synthetic[walk.edges], bits[sources] | bits[targets], bits[targets])
    return np.concatenate([bits[[walk.start]], np.repeat(both, graph.steps[walk.edges])])


def behaviour_bits(repertoire: SurfaceGraph, curve: Path) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The behaviour of every frame, and those allowed at every sample of the curve, as bits."""
    labels = list(dict.fromkeys(repertoire.library.labels))
    if len(labels) > 63:
        raise InputError(f"behaviours: {len(labels)} different labels; 63 can be told apart")
    bit = {label: np.uint64(1 << number) for number, label in enumerate(labels)}
    frames = np.array([bit[label] for label in repertoire.library.labels], np.uint64)
    allowed = np.full(len(curve.points), np.uint64(2**64 - 1))
    along = np.arange(len(curve.points)) * curve.spacing
    for asked in curve.behaviours:
        unknown = [label for label in asked.labels if label not in bit]
        if unknown:
            raise InputError(f"there is no behaviour {unknown[0]!r}; there are {', '.join(labels)}")
        if not 0 <= asked.start < asked.stop:
            raise InputError(
                f"behaviour {asked.labels[0]}: from {asked.start:g} to {asked.stop:g} m is no part"
            )
        border = min(BORDER, (asked.stop - asked.start) / 4)
        first = asked.start + (border if asked.start > 0 else 0.0)
        last = asked.stop - (border if asked.stop < curve.length else 0.0)
        inside = (along >= first) & (along <= last)
        allowed[inside] &= np.bitwise_or.reduce([bit[label] for label in asked.labels])
    return frames[repertoire.library.sequence_of], allowed
