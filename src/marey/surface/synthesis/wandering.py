"""Motion without end or aim: a walk at random through the part of a graph that can always be left again.

First the sequence to go to is drawn among all that can be reached from what lies ahead: the likelier the less
its best transition weighs (deformation plus a price of time, Boukhayma 2017, section 3.3.1) and the rarer
it was played. Then the transition: the likelier the less it weighs, and the nearer its time is to the one
wished for. Cost: a pass over the transitions that leave a sequence, some milliseconds for each one taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.errors import InputError
from marey.statistics.graphs.connectivity import connectivity
from marey.statistics.graphs.graph import MotionGraph, Walk
from marey.surface.synthesis.surface_graph import SurfaceGraph

MOST_SECONDS = 24 * 3600.0


def wander(
    repertoire: SurfaceGraph,
    seconds: float,
    rng: np.random.Generator | int = 0,
    *,
    start: int | str | None = None,
    stay: float = 2.0,
    variety: float = 0.1,
) -> Walk:
    """A walk at random that lasts so many seconds, and to the end of a transition that began before.

    rng: a seed, or a generator; the same seed gives the same walk
    start: the frame to begin with; if None, a random one that can be come back to
    stay: seconds wished for between transitions
    variety: by which share a transition may weigh more than the best one to its sequence and still be 0.37
        times as likely

    >>> import marey
    >>> repertoire = marey.surface.graph(marey.samples.mesh_library(vertices=800))
    >>> walk = wander(repertoire, 20, rng=3)
    >>> 600 <= walk.steps(repertoire.graph) < 700
    True
    """
    graph, library = repertoire.graph, repertoire.library
    if not (np.isfinite(seconds) and 0 < seconds <= MOST_SECONDS):
        raise InputError(f"seconds: above 0, up to {MOST_SECONDS:g}, got {seconds}")
    for name, value in (("stay", stay), ("variety", variety)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name}: must be above 0, got {value}")
    inside = _core(graph)
    generator = np.random.default_rng(rng)
    frame = begun = int(generator.choice(np.flatnonzero(inside))) if start is None else library.frame(start)
    steps, wished = int(np.ceil(seconds * library.frame_rate)), stay * library.frame_rate
    plays = np.zeros(len(library), np.int64)
    taken: list[int] = []
    passed = 0
    while passed < steps:
        plays[library.locate(frame)[0]] += 1
        edge = _drawn(graph, inside, frame, plays, wished, variety, generator)
        played = _captured(graph, frame, int(graph.sources[edge]))[: steps - passed]
        taken += played
        passed += len(played)
        if passed < steps:
            taken.append(edge)
            passed += int(graph.steps[edge])
            frame = int(graph.targets[edge])
    return Walk(begun, np.array(taken, np.int64))


def _core(graph: MotionGraph) -> BoolArray:
    """Which frames can be come back to."""
    inside = np.zeros(graph.frames, np.bool_)
    inside[connectivity(graph).core] = True
    if inside.sum() < 2:
        raise InputError(
            "wander: nothing in this graph leads back; it needs longer sequences, or more that are alike"
        )
    return inside


def _drawn(
    graph: MotionGraph,
    inside: BoolArray,
    frame: int,
    plays: NDArray[np.int64],
    wished: float,
    variety: float,
    rng: np.random.Generator,
) -> int:
    """A transition into the core from here, or from a frame still to come in this sequence."""
    end = graph.starts[np.searchsorted(graph.starts, frame, side="right")]
    ahead = np.arange(graph.first_leaving[frame], graph.first_leaving[end])
    ahead = ahead[graph.synthetic[ahead] & inside[graph.targets[ahead]]]
    if len(ahead) == 0:
        raise InputError(
            f"wander: no way leads on from frame {frame}; begin with a frame of the graph's core "
            "(`marey surface info` tells how many there are), or leave it to chance"
        )
    to = np.searchsorted(graph.starts, graph.targets[ahead], side="right") - 1
    weights = np.maximum(graph.weights[ahead], np.finfo(float).tiny)
    best = np.full(len(plays), np.inf)
    np.minimum.at(best, to, weights)
    # Twice the weight is taken a quarter as often, and each time played halves it.
    sequence = _one_of((best.min() / best) ** 2 * 0.5 ** (plays - plays[np.isfinite(best)].min()), rng)
    ahead, weights = ahead[to == sequence], weights[to == sequence]
    # Most likely at the time wished for, rising from none and fading again.
    waited = (graph.sources[ahead] - frame + 1) / wished
    return int(ahead[_one_of(waited * np.exp(-waited - (weights / weights.min() - 1) / variety), rng)])


def _one_of(likely: NDArray[np.float64], rng: np.random.Generator) -> int:
    """A number drawn as likely as it is told; the likeliest where all are next to nothing."""
    total = np.cumsum(likely)
    if not total[-1] > 0:
        return int(np.argmax(likely))
    return int(np.searchsorted(total, rng.random() * total[-1], side="right").clip(0, len(likely) - 1))


def _captured(graph: MotionGraph, first: int, last: int) -> list[int]:
    """The edges that play from one frame of a sequence to a later one."""
    leaving: NDArray[np.int64] = np.arange(graph.first_leaving[first], graph.first_leaving[last])
    return [int(edge) for edge in leaving[~graph.synthetic[leaving]]]
