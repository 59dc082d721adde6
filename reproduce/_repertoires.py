"""Graphs of the surface scripts for several prices of time, over pose distances that are measured only once.

Distances take most of the time. They are kept in the folder of the pictures under a name that changes with
the meshes, so that a second run begins at once.
"""

from __future__ import annotations

import sys
import time
import zlib
from pathlib import Path

import numpy as np

import marey
from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.distances import distances as pose_distances
from marey.surface.sequence import Library
from marey.surface.synthesis.animate import SurfaceGraph, graph

TRIANGLES = 1000


def measured(library: Library, name: str, folder: Path) -> DistanceMatrix:
    """Pose distances of a library, from `folder` if they are there."""
    mark = 0
    for sequence in library.sequences:
        mark = zlib.crc32(np.ascontiguousarray(sequence.vertices).data, mark)
    path = folder / f"distances-{name}-{mark:08x}.npz"
    if path.is_file():
        found: DistanceMatrix = marey.load(path)
        return found
    began = time.process_time()
    found = pose_distances(library, triangles=TRIANGLES)
    print(f"({library.frames} frames compared in {time.process_time() - began:.1f} s)", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    marey.save(found, path)
    return found


def repertoire(library: Library, distances: DistanceMatrix, alpha: float) -> SurfaceGraph:
    """The essential graph at a price of time, printed on the standard error."""
    began = time.process_time()
    found = graph(library, alpha=alpha, distances=distances)
    print(
        f"(alpha {alpha:g}: {found.graph.edges} edges in {time.process_time() - began:.1f} s)",
        file=sys.stderr,
    )
    return found
