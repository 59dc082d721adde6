"""What takes long in the surface room, to be run aside: distances, graph, animations, in-betweens.

Each function takes the state it begins with and gives back what changes in it; what is missing for that
(a graph needs distances, an animation a graph) is made first. Paths are ready-made, or drawn by hand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.errors import InputError
from marey.geometry.planar import Behaviour, Path, figure_eight, square
from marey.studio.surface.billboard import graph_figure, matrix_figure
from marey.studio.surface.state import InBetween, State
from marey.surface.sequence import Library
from marey.views.camera import smooth_path


def with_distances(state: State, progress: Progress) -> State:
    """Pose distances between all captured frames, and their figure."""
    from marey.surface.distances import distances

    if state.distances is None:
        state = replace(state, distances=distances(library_of(state), progress=progress))
    return with_figures(state)


def with_graph(state: State, alpha: float, progress: Progress) -> State:
    """The graph of the best transitions at this compromise, and its figure."""
    from marey.surface.synthesis.animate import graph

    if state.repertoire is None or state.repertoire.graph.alpha != alpha:
        state = with_distances(state, progress)
        found = graph(library_of(state), alpha=alpha, distances=state.distances, progress=progress)
        state = replace(state, repertoire=found, graph=None)
    return with_figures(state)


def along_path(state: State, path: Array, behaviour: str, alpha: float, progress: Progress) -> State:
    """An animation along a path on the ground `(points, 2)`, of one behaviour if it is not empty."""
    known = with_graph(state, alpha, progress)
    curve = Path.through(path)
    if behaviour:
        curve = Path.through(path, behaviours=(Behaviour((behaviour,), 0.0, curve.length),))
    assert known.repertoire is not None
    animation = known.repertoire.animate(path=curve, progress=progress)
    return replace(known, path=path, animation=animation, shown="animation", at=0)


def through_graph(state: State, alpha: float, progress: Progress) -> State:
    """The best animation from the first chosen pose to the second."""
    start, end = chosen_ends(state)
    known = with_graph(state, alpha, progress)
    assert known.repertoire is not None
    animation = known.repertoire.animate(start=start, end=end, progress=progress)
    return replace(known, path=None, animation=animation, shown="animation", at=0)


def between_poses(state: State, straight: bool, progress: Progress) -> State:
    """Meshes between the two chosen poses."""
    between = InBetween.prepare(library_of(state), chosen_ends(state), progress)
    return replace(state, between=replace(between, is_straight=straight), shown="between", at=0)


def with_figures(state: State) -> State:
    """Draw the figures that are missing."""
    if state.distances is not None and state.matrix is None:
        state = replace(state, matrix=matrix_figure(state.distances))
    if state.repertoire is not None and state.graph is None:
        repertoire = state.repertoire
        state = replace(state, graph=graph_figure(repertoire.graph, repertoire.library.names))
    return state


def chosen_ends(state: State) -> tuple[int, int]:
    """The two chosen poses, frames of the library."""
    first, second = state.ends
    if first is None or second is None:
        missing = "From here" if first is None else "To here"
        raise InputError(f"choose two poses first: go to a frame and press “{missing}”")
    return first, second


def library_of(state: State) -> Library:
    """The captured sequences, which must be open."""
    if state.library is None:
        raise InputError("these are distances without meshes: open the sequences they were made from first")
    return state.library


READY = ("Figure-eight", "Square", "Circle", "Straight")
# Metres of a path that is drawn.
SHORTEST, LONGEST = 0.8, 80.0


def ready_made(name: str, size: float) -> Array:
    """A path that need not be drawn, around the origin, `(points, 2)`, metres.

    >>> ready_made("Straight", 4.0)[[0, -1]].tolist()
    [[0.0, -2.0], [0.0, 2.0]]
    """
    if name == "Figure-eight":
        return figure_eight(size).points[:, [0, 2]]
    if name == "Square":
        return square(size).points[:, [0, 2]] - size / 2
    if name == "Circle":
        turn = np.linspace(0, 2 * np.pi, 181)
        return size / 2 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.array([[0.0, -size / 2], [0.0, size / 2]])


def stroke(points: Array) -> Array:
    """A path drawn by hand, `(points, 2)`, evenly spaced and smoothed over 25 cm, as hands tremble.

    >>> stroke(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 3.0]]))[[0, -1]].tolist()
    [[0.0, 0.0], [0.0, 3.0]]
    """
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    if length < SHORTEST:
        raise InputError(f"the path is {length:.1f} m long: draw one of {SHORTEST} m or more")
    if length > LONGEST:
        raise InputError(f"the path is {length:.0f} m long: draw one of {LONGEST:.0f} m or less")
    curve = Path.through(points)
    even = curve.points[:, [0, 2]]
    smooth = smooth_path(even, 1 / curve.spacing, seconds=0.25)
    smooth[[0, -1]] = even[[0, -1]]
    return smooth
