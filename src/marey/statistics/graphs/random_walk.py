"""Random walks that never end: they stay in the part of a graph that can always be left again.

First the clip to go to is drawn among all that can be reached from the frames ahead: the likelier the less
its best transition weighs (deformation plus a cost of time, Boukhayma 2017, section 3.3.1) and the rarer it
was played. Then the transition: the likelier the less it weighs, and the nearer its time is to the one asked
for. Cost: a pass over the transitions that leave a clip, some milliseconds for each one taken.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array, BoolArray, Integers
from marey._random import Rng, as_generator
from marey.errors import InputError
from marey.statistics.graphs.graph import ClipIndex, MotionGraph, Walk, core_frames


def random_walk(
    graph: MotionGraph,
    clips: ClipIndex,
    seconds: float,
    rng: Rng = None,
    *,
    start: int | None = None,
    stay: float = 2.0,
    variety: float = 0.1,
) -> Walk:
    """A random walk of so many seconds, and to the end of a transition that began before.

    Args:
        rng: The same seed gives the same walk.
        start: The frame to begin with; if None, a random one of the graph's core.
        stay: Seconds asked for between transitions.
        variety: By which share a transition may weigh more than the best one to its clip and still be 0.37
            times as likely.
    """
    for name, value in (("seconds", seconds), ("stay", stay), ("variety", variety)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name}: must be above 0, got {value}")
    inside, rng = core_frames(graph), as_generator(rng)
    if inside.sum() < 2:
        raise InputError(
            "random walk: the graph has no cycle; add longer sequences, or more that are similar"
        )
    frame = begun = int(rng.choice(np.flatnonzero(inside))) if start is None else start
    steps, plays = int(np.ceil(seconds * clips.frame_rate)), np.zeros(len(clips.names), np.int64)
    taken: list[int] = []
    passed = 0
    while passed < steps:
        plays[clips.locate(frame)[0]] += 1
        edge = _next_transition(graph, inside, frame, plays, stay * clips.frame_rate, variety, rng)
        leaving = np.arange(graph.first_leaving[frame], graph.first_leaving[graph.sources[edge]])
        played = leaving[~graph.synthetic[leaving]][: steps - passed].tolist()
        taken += played
        passed += len(played)
        if passed < steps:
            taken.append(edge)
            passed += int(graph.steps[edge])
            frame = int(graph.targets[edge])
    return Walk(begun, np.array(taken, np.int64))


def draw(weights: Array, rng: np.random.Generator) -> int:
    """An index drawn with probabilities in proportion to weights; that of the largest where all vanish."""
    total = np.cumsum(weights)
    if not total[-1] > 0:
        return int(np.argmax(weights))
    return int(np.searchsorted(total, rng.random() * total[-1], side="right").clip(0, len(weights) - 1))


def _next_transition(
    graph: MotionGraph, inside: BoolArray, frame: int, plays: Integers, stay: float, variety: float,
    rng: np.random.Generator,
) -> int:  # fmt: skip
    """A transition into the core from this frame, or from a later one of its clip."""
    end = graph.starts[np.searchsorted(graph.starts, frame, side="right")]
    ahead = np.arange(graph.first_leaving[frame], graph.first_leaving[end])
    ahead = ahead[graph.synthetic[ahead] & inside[graph.targets[ahead]]]
    if len(ahead) == 0:
        raise InputError(
            f"random walk: no transition leaves frame {frame} or the ones after it; begin with a frame of "
            "the graph's core (`marey surface info` prints how many there are), or with a random one"
        )
    to = np.searchsorted(graph.starts, graph.targets[ahead], side="right") - 1
    weights = np.maximum(graph.weights[ahead], np.finfo(float).tiny)
    best = np.full(len(plays), np.inf)
    np.minimum.at(best, to, weights)
    # Twice the weight is taken a quarter as often, and each time played halves it.
    clip = draw((best.min() / best) ** 2 * 0.5 ** (plays - plays[np.isfinite(best)].min()), rng)
    ahead, weights = ahead[to == clip], weights[to == clip]
    # Most likely at the time asked for, rising from none and fading again.
    waited = (graph.sources[ahead] - frame + 1) / stay
    return int(ahead[draw(waited * np.exp(-waited - (weights / weights.min() - 1) / variety), rng)])
