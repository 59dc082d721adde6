"""What takes long on the surface panel, to be run aside: distances, graph, animations, in-betweens.

Each function takes the state it begins with and gives back what changes in it; what is missing on the way
(a graph needs distances, an animation a graph) is made first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._work import Progress
from marey.errors import InputError
from marey.geometry.planar import Behaviour, Path
from marey.studio.surface.in_betweens import Between
from marey.studio.surface.pictures import graph_picture, matrix_picture
from marey.studio.surface.state import Made, State
from marey.surface.sequence import Library
from marey.surface.synthesis.animate import SurfaceGraph


def with_distances(state: State, progress: Progress) -> State:
    """Pose distances between all captured frames, and their picture."""
    from marey.surface.distances import distances

    if state.distances is not None:
        return with_pictures(state)
    return with_pictures(replace(state, distances=distances(_library(state), progress=progress)))


def with_graph(state: State, alpha: float, progress: Progress) -> State:
    """The graph of the best transitions at this compromise, and its picture."""
    from marey.surface.synthesis.animate import graph

    if state.repertoire is not None and state.repertoire.graph.alpha == alpha:
        return with_pictures(state)
    known = with_distances(state, progress)
    repertoire = graph(_library(state), alpha=alpha, distances=known.distances, progress=progress)
    return with_pictures(replace(known, repertoire=repertoire, graph=None))


def along_path(
    state: State, path: NDArray[np.float64], behaviour: str, alpha: float, progress: Progress
) -> State:
    """An animation along a way over the ground `(points, 2)`, of one behaviour if it is not empty."""
    known = with_graph(state, alpha, progress)
    curve = Path.through(path)
    if behaviour:
        asked = (Behaviour((behaviour,), 0.0, curve.length),)
        curve = Path.through(path, behaviours=asked)
    made = _repertoire(known).animate(path=curve, progress=progress)
    return replace(known, path=path, made=Made(made, made.report), shown="animation", at=0)


def through_graph(state: State, alpha: float, progress: Progress) -> State:
    """The best animation from the first chosen pose to the second."""
    start, end = chosen_ends(state)
    known = with_graph(state, alpha, progress)
    made = _repertoire(known).animate(start=start, end=end, progress=progress)
    return replace(known, path=None, made=Made(made, made.report), shown="animation", at=0)


def between_poses(state: State, straight: bool, progress: Progress) -> State:
    """Meshes between the two chosen poses."""
    between = Between.prepare(_library(state), chosen_ends(state), progress)
    return replace(state, between=between.by(straight=straight), shown="between", at=0)


def with_pictures(state: State) -> State:
    """Draw the pictures that are missing."""
    if state.distances is not None and state.matrix is None:
        state = replace(state, matrix=matrix_picture(state.distances))
    if state.repertoire is not None and state.graph is None:
        repertoire = state.repertoire
        state = replace(state, graph=graph_picture(repertoire.graph, repertoire.library.names))
    return state


def chosen_ends(state: State) -> tuple[int, int]:
    """The two chosen poses, frames of the library."""
    first, second = state.ends
    if first is None or second is None:
        missing = "From here" if first is None else "To here"
        raise InputError(f"choose two poses first: go to a frame and press “{missing}”")
    return first, second


def _library(state: State) -> Library:
    if state.library is None:
        raise InputError("these are distances without meshes: open the sequences they were made from")
    return state.library


def _repertoire(state: State) -> SurfaceGraph:
    assert state.repertoire is not None
    return state.repertoire
