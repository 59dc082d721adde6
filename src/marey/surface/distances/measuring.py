"""Distances of all poses of a library to each other, by the metric that is asked for."""

from __future__ import annotations

from typing import Literal

import numpy as np

from marey import _scratch
from marey._arrays import FloatArray, handed_over
from marey._progress import Progress
from marey.errors import InputError
from marey.surface.distances.alignment import align_all
from marey.surface.distances.matrix import DistanceMatrix
from marey.surface.distances.surface import HEADINGS, STRETCH_WEIGHT, Heading, surface_distances
from marey.surface.library import Library

Metric = Literal["surface", "euclidean", "planar"]
# Matrices of more take over 3 GB.
MOST_FRAMES = 16_000
# Metres: areas and squared distances of what is farther apart say nothing any more.
FARTHEST = 1e30
METRICS: tuple[Metric, ...] = ("surface", "euclidean", "planar")


def distances(
    library: Library,
    *,
    metric: Metric = "surface",
    heading: Heading = "surface",
    exact: bool = False,
    stretch_weight: float = STRETCH_WEIGHT,
    triangles: int | None = None,
    weights: FloatArray | None = None,
    progress: Progress | None = None,
) -> DistanceMatrix:
    """How far every frame's pose is from every other's, wherever it stands and whichever way it faces.

    metric: "surface", mean angle by which the triangles turn plus `stretch_weight` times their log-stretch,
        radians; "euclidean", root mean square distance of the vertices after alignment, metres (the source's
        sum of squares is its square times the number of vertices); "planar", the same without heights
    heading: how poses are turned to face alike in the surface metric: "surface", by all triangles' rotations;
        "footprint", by the vertices over the ground, as the source does and as the other metrics do
    exact: surface metric from the deformation of every pair instead of two deformations of a template; a
        hundred times slower; at a tenth of stretch the means agree within half a percent, pairs within one
    triangles: compare about so many triangles, spread over the surface, instead of all
    weights: `(vertices,)`, what each vertex counts in the alignment; all alike, if None

    >>> import marey
    >>> walk = marey.samples.performance()
    >>> found = distances(Library((walk[:20], walk[20:40])), triangles=500)
    >>> found.frames, found.metric, bool(found.values[0, 1] < found.values[0, 10])
    (40, 'surface', True)
    """
    if metric not in METRICS:
        raise InputError(f"metric {metric!r}: there are {', '.join(METRICS)}")
    if heading not in HEADINGS:
        raise InputError(f"heading {heading!r}: {' or '.join(HEADINGS)}")
    if triangles is not None and triangles < 1:
        raise InputError(f"triangles: at least 1, got {triangles}")
    if not (np.isfinite(stretch_weight) and stretch_weight >= 0):
        raise InputError(f"stretch weight: 0 or more, got {stretch_weight}")
    if library.frames > MOST_FRAMES:
        raise InputError(
            f"{library.frames} frames: distances of all pairs are for {MOST_FRAMES} at most; "
            "take fewer sequences, or every second frame (sequence[::2])"
        )
    _check_sizes(library)
    of_surface = metric == "surface"
    alignment = align_all(
        library,
        weights=weights,
        heights=metric != "planar",
        progress=None if of_surface else progress,
    )
    values, turns = alignment.distances, alignment.turns
    if of_surface:
        values, turns = surface_distances(
            library,
            alignment,
            heading=heading,
            exact=exact,
            stretch_weight=stretch_weight,
            triangles=triangles,
            progress=progress,
        )
    return DistanceMatrix(handed_over(values), handed_over(turns), library.starts, library.names, metric)


def _check_sizes(library: Library) -> None:
    """Coordinates whose squares or their sums leave floating point are an error."""
    for sequence in library.sequences:
        for rows in _scratch.blocks(sequence.vertices):
            if np.abs(sequence.vertices[rows]).max() > FARTHEST:
                raise InputError(
                    f"{sequence.name}: coordinates beyond {FARTHEST:g} metres; check the unit, or scale it"
                )
