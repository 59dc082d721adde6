"""Small bodies for tests of synthesis: a solid that glides along arcs, and two short walks with a graph."""

from __future__ import annotations

from functools import cache

import numpy as np

from marey import samples
from marey.geometry.planar import rotate
from marey.statistics.graphs.graph import MotionGraph, Windows
from marey.statistics.graphs.transitions import optimal
from marey.surface.distances import distances
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animate import SurfaceGraph

TETRAHEDRON = np.array([[-0.2, 1.0, -0.3], [0.2, 1.0, -0.3], [0.0, 1.0, 0.6], [0.0, 1.6, 0.0]])
FACES = np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]])


def gliding(radius: float, length: float, frames: int, name: str) -> MeshSequence:
    """A solid on an arc, to the left for a positive radius; it faces ahead and never touches the ground."""
    angle = np.linspace(0.0, length, frames) / radius
    body = TETRAHEDRON.copy()
    body[:, 0::2] -= body[:, 0::2].mean(axis=0)
    vertices = np.repeat(body[None], frames, axis=0)
    vertices[..., 0::2] = rotate(body[None, :, 0::2], angle[:, None])
    vertices[..., 0] += radius * (1 - np.cos(angle))[:, None]
    vertices[..., 2] += radius * np.sin(angle)[:, None]
    return MeshSequence(vertices, FACES, 30.0, name=name)


@cache
def walks() -> Library:
    """A slow and a brisk walk of the samples' human, 800 vertices, 30 frames a second."""
    whole = samples.mesh_library(vertices=800)
    chosen = [whole.sequences[whole.names.index(name)][:60] for name in ("walk-slow", "walk-brisk")]
    return Library(tuple(sequence.renamed(name) for sequence, name in zip(chosen, "sb", strict=True)))


@cache
def repertoire() -> SurfaceGraph:
    """The walks, with a graph of a few transitions between them and within each."""
    library = walks()
    apart = distances(library)
    windows = Windows.at(30.0)
    chains = MotionGraph.chains(library.starts, alpha=0.01, windows=windows)
    half = library.sequences[0].frames
    pairs = [(10, half + 30), (half + 35, 25), (half + 5, half + 40), (30, 20)]
    rows = [(a, b, 0.0, 1, 0, 0, False) for a, b in zip(chains.sources, chains.targets, strict=True)]
    for source, target in pairs:
        best = optimal(apart, source, target, windows=windows, alpha=0.01)
        sizes = np.ptp(best.path, axis=0) + 1
        rows.append((source, target, best.cost, best.length - 1, *sizes, True))
    rows.sort(key=lambda row: row[:2])
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    graph = MotionGraph(
        library.starts, columns[0], columns[1], columns[6], columns[2], columns[3], columns[4], columns[5],
        0.01, windows,
    )  # fmt: skip
    return SurfaceGraph(library, apart, graph)
