"""Find and repair joints that turn faster than any joint can (Tournier 2011, outlier test of chapter 12).

Two kinds of repair. A joint that toggles by half turns is turned back, which keeps what was captured in
between. A short excursion, out by a wild step and back again, is bridged by a great arc. What does not come
back is left alone: from the rotations alone nobody can tell which side of a lasting jump is right.
Arrays are changed in place. Cost: one pass, and a little for each joint that has a wild step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3

Array = NDArray[Any]
# Frames start…stop-1.
Span = tuple[int, int]

# Radians: a step beyond this is a half turn, give or take a frame of motion.
HALF_TURN = 2.5
# Radians that a joint may really turn in the moment around a flip.
FITS = 2.0


class Geometry(NamedTuple):
    """How far apart values are, and what lies at share t of the way from one to the other."""

    distance: Callable[[Array, Array], Array]
    between: Callable[[Array, Array, Array], Array]


def steps_of(rotations: Array) -> Array:
    """Angles `(frames - 1, joints)` between neighbouring frames."""
    return so3.distance(rotations[:-1], rotations[1:])


def turn_back_flips(
    skeleton: Skeleton, rotations: Array, limit: float, around: int
) -> Iterator[tuple[int, Span]]:
    """Undo half turns of joints, and give joint and frames of each.

    Only joints all of whose wild steps (beyond `limit` radians) are half turns, so that there are two
    sides, of which the rarer is turned onto the other. A joint is left out when one above or below it
    jumps along: there the half turn is made good further down the limb, and undoing it alone would break
    what is right now. The curve must fit together over `around` frames on both sides of each turn.
    """
    steps = steps_of(rotations)
    for joint in (int(j) for j in np.flatnonzero((steps > HALF_TURN).any(axis=0))):
        turns = np.flatnonzero(steps[:, joint] > limit)
        limb = sorted({*skeleton.ancestors(joint), *skeleton.descendants(joint)} - {joint})
        near = (turns[:, None] + [-1, 0, 1]).clip(0, len(steps) - 1)
        together = bool((steps[:, limb][near] > 0.5 * limit).any())
        if together or steps[turns, joint].min() < HALF_TURN or np.median(steps[:, joint]) > 0.1 * limit:
            continue
        segments = [(int(a), int(b)) for a, b in pairwise([0, *(turns + 1), len(rotations)])]
        spans = min(segments[::2], segments[1::2], key=_frames_in)
        q = np.array(rotations[:, joint])
        for span in spans:
            _turn_back(q, *span)
        # A full turn smeared over some frames has one step like a flip; turned back it would not fit.
        before, after = (turns - around).clip(0), (turns + 1 + around).clip(None, len(q) - 1)
        if so3.distance(q[before], q[after]).max() < FITS:
            rotations[:, joint] = q
            yield from ((joint, span) for span in spans)


def bridge_limbs(
    skeleton: Skeleton, rotations: Array, limit: float, longest: int
) -> Iterator[tuple[int, Span]]:
    """Bridge the excursions of all joints, from the root outwards, and give joint and frames of each.

    Joints below a glitch often make it good in part, at the same frames but without coming back to where
    they were; they are bridged along with it.
    """
    repaired: dict[int, list[Span]] = {}
    wild = steps_of(rotations) > limit
    for joint in (int(j) for j in np.flatnonzero(wild.any(axis=0))):
        above = {span for a in skeleton.ancestors(joint)[1:] for span in repaired.get(a, [])}
        shared = [(start, stop) for start, stop in sorted(above) if wild[[start - 1, stop - 1], joint].any()]
        for span in shared:
            _bridge(rotations[:, joint], *span, TURNS)
        repaired[joint] = sorted(shared + bridge_excursions(rotations[:, joint], limit, longest, TURNS))
        for span in repaired[joint]:
            yield joint, span


def bridge_excursions(values: Array, limit: float, longest: int, geometry: Geometry) -> list[Span]:
    """Bridge runs of at most `longest` frames that leave by a step beyond `limit` and come back.

    Glitches are often smeared over some frames by the tools a clip went through, so their edges are taken
    as runs of brisk steps, first strictly, then more loosely where that does not explain the wild step.
    Loose edges must both be wild, or ordinary quick motion would pass for one.
    """
    spans: list[Span] = []
    for share in (0.5, 0.25, 0.15):
        steps = geometry.distance(values[:-1], values[1:])
        usual = float(np.median(steps)) if len(steps) else 0.0
        wild = steps > max(limit, 10 * usual)
        if not wild.any():
            break
        edges = [
            Edge(before, after, bool(wild[before:after].any()))
            for before, after in _runs(steps > max(share * limit, 3 * usual))
        ]

        def returns(first: Edge, last: Edge, loose: bool = share < 0.5) -> bool:
            wild_enough = first.wild and last.wild if loose else True
            return wild_enough and _returns(values, first.before, last.after, 0.5 * limit, geometry)

        found = _fewest_frames(edges, longest, returns)
        for span in found:
            _bridge(values, *span, geometry)
        spans += found
    return sorted(spans)


class Edge(NamedTuple):
    """A run of brisk steps: the frames before and after it, and whether it holds a wild step."""

    before: int
    after: int
    wild: bool


def _fewest_frames(edges: Sequence[Edge], longest: int, returns: Callable[[Edge, Edge], bool]) -> list[Span]:
    """The excursions that explain most wild edges, and of those ways the one that changes fewest frames.

    By dynamic programming from the last edge to the first: each edge is left alone or opens an excursion
    that a later one, or itself, closes.
    """
    alone = 1 + edges[-1].after if edges else 0
    cost = [0] * (len(edges) + 1)
    closing = [-1] * len(edges)
    for i in reversed(range(len(edges))):
        cost[i] = cost[i + 1] + alone * edges[i].wild
        wild = False
        for j in range(i, len(edges)):
            frames = edges[j].after - edges[i].before
            if frames > longest or edges[j].after - edges[j].before > longest // 4:
                break
            wild = wild or edges[j].wild
            if wild and frames + cost[j + 1] < cost[i] and returns(edges[i], edges[j]):
                cost[i], closing[i] = frames + cost[j + 1], j
    spans, i = [], 0
    while i < len(edges):
        if closing[i] >= 0:
            spans.append((edges[i].before + 1, edges[closing[i]].after))
        i = max(closing[i], i) + 1
    return spans


def _returns(values: Array, first: int, last: int, least: float, geometry: Geometry) -> bool:
    """Whether the frames between wander farther from the direct way than its ends lie apart."""
    if last - first < 2:
        return False
    direct = geometry.between(values[first], values[last], _shares(first + 1, last))
    out = geometry.distance(values[first + 1 : last], direct).max()
    return bool(out > max(least, 2 * geometry.distance(values[first], values[last])))


def _bridge(values: Array, start: int, stop: int, geometry: Geometry) -> None:
    values[start:stop] = geometry.between(values[start - 1], values[stop], _shares(start, stop))


def _frames_in(spans: Sequence[Span]) -> int:
    return sum(stop - start for start, stop in spans)


def _turn_back(q: Array, start: int, stop: int) -> None:
    """Turn the frames so that they meet their neighbours, at both ends where both are in the clip."""
    onto = [
        so3.multiply(so3.inverse(q[inside]), q[outside])
        for inside, outside in ((start, start - 1), (stop - 1, stop))
        if 0 <= outside < len(q)
    ]
    share = (np.arange(start, stop) - start + 0.5) / (stop - start)
    q[start:stop] = so3.multiply(q[start:stop], so3.slerp(onto[0], onto[-1], share))


def _runs(flags: BoolArray) -> list[Span]:
    """Runs of True among the steps, as the frames before and after them."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in ends.reshape(-1, 2)]


def _shares(start: int, stop: int) -> Array:
    """How far frames start…stop-1 are on the way from the frame before to the frame after."""
    return np.arange(1, stop - start + 1) / (stop - start + 1)


def _gap(a: Array, b: Array) -> Array:
    return np.asarray(np.linalg.norm(b - a, axis=-1))


def _line(a: Array, b: Array, t: Array) -> Array:
    return a + t[:, None] * (b - a)


TURNS = Geometry(so3.distance, so3.slerp)
PLACES = Geometry(_gap, _line)
