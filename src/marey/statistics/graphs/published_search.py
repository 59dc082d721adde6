"""The published searches: depth-first branch and bound along a path, and two searches that meet at a time.

Boukhayma 2017, section 3.5. Along a path (3.5.1) a walk costs, at each frame of the graph it comes to, the
distance from there to the point of the path that is as far along as the walk is long; it ends once it is
longer than the path. Branches are tried in the order of that distance and given up where they cost as much as
the best walk so far. From pose to pose (3.5.2) walks go forward from the one and backward from the other, and
are joined at the frame at which they last most nearly as long as asked. Which edges there are is all that
speaks of deformation. Ours (:mod:`path_search`, :mod:`walks`) are quicker and better. Branch and bound takes
50 microseconds a frame tried and stops at a number of them; the second search takes O(edges · time).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marey._arrays import BoolArray, IntArray, Integers
from marey.errors import UnreachableError
from marey.geometry.planar import Path, PlanarMotion
from marey.statistics.graphs.graph import MotionGraph, Walk
from marey.statistics.graphs.path_search import PathWalk, behaviour_bits, behaviours_shown
from marey.statistics.graphs.root_motion import CandidateEdges, EdgeMotion
from marey.statistics.graphs.walks import TimedWalk

Line = tuple[int, Any]
"""An edge, and the line of those before it or None."""

# Frames tried, and metres a second below which a walk is given up: a halting rule for those that stand.
MOST_TRIED, SLOWEST = 50_000, 0.2


def branch_and_bound(
    graph: MotionGraph,
    motion: EdgeMotion,
    path: Path,
    *,
    start: int | None = None,
    most: int = MOST_TRIED,
) -> PathWalk:
    """The walk of least cost along a path, or the best of the first `most` frames tried.

    Args:
        motion: Of the graph's edges.
        start: Frame to begin with; the first of any sequence, if None.
    """
    edges = CandidateEdges.of(graph, motion)
    bits, allowed = behaviour_bits(motion.clips, path, 0.0)
    rate, last = motion.clips.frame_rate, len(path.points) - 1
    longest = int(rate * (path.length / SLOWEST + 1.0))
    best: tuple[float, Walk, PlanarMotion] = (np.inf, Walk(0, np.empty(0, np.int64)), PlanarMotion.identity())
    tried = 0
    first = graph.starts[:-1] if start is None else [start]
    for frame in (int(one) for one in first if allowed[0] & bits[int(one)]):
        placed = _on_path(motion, path, frame)
        # Of each branch: cost, metres, frames of time, edges back from it; those tried next are last.
        stack: list[tuple[float, float, int, int, PlanarMotion, Line | None]]
        stack = [(0.0, 0.0, 0, frame, placed, None)]
        while stack and tried < most:
            cost, metres, time, here, there, taken = stack.pop()
            if cost >= best[0]:
                continue
            if metres >= path.length:
                best = cost, Walk(frame, _line(taken)), placed
                continue
            tried += 1
            onward = edges.edges[edges.first[here] : edges.first[here + 1]].tolist()
            if edges.next_edge[here] >= 0:
                onward.append(int(edges.next_edge[here]))
            found = []
            for edge in onward:
                target, after = int(graph.targets[edge]), time + int(graph.steps[edge])
                moved = there.compose(motion.move(edge)) if graph.synthetic[edge] else there
                place = moved.apply(motion.tracks[target][None])[0]
                step = (
                    edges.lengths[edge]
                    if graph.synthetic[edge]
                    else np.hypot(*(motion.tracks[target] - motion.tracks[here])[0::2])
                )
                far = metres + float(step)
                sample = min(round(far / path.spacing), last)
                if after > longest or not (allowed[sample] & bits[target]):
                    continue
                off = place - path.points[sample]
                price = cost + float(np.linalg.norm(off if path.spatial else off[0::2]))
                found.append((price, far, after, target, moved, (edge, taken)))
            stack += sorted((one for one in found if one[0] < best[0]), key=lambda one: -one[0])
    if not np.isfinite(best[0]):
        raise UnreachableError(
            f"branch and bound found no walk along the path in {tried} frames tried; ask for a shorter one"
        )
    _, walk, placed = best
    positions = motion.trajectory(graph, walk, placed)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(positions[:, 0::2], axis=0).T))])
    samples = np.minimum(np.rint(along / path.spacing).astype(int), last)
    off = positions - path.points[samples]
    errors = np.linalg.norm(off if path.spatial else off[:, 0::2], axis=1)
    wrong = int(((allowed[samples] & behaviours_shown(graph, walk, bits)) == 0).sum())
    return PathWalk(walk, placed, positions, errors, np.minimum(along, path.length), wrong, 1)


def meet_in_time(graph: MotionGraph, keys: Sequence[int], times: Sequence[int]) -> TimedWalk:
    """A walk through captured frames, each pair by itself, as near to its time as any walk comes.

    Args:
        keys: Frames of the library.
        times: In frames of the animation, rising; each next duration counts from the time achieved.
    """
    asked = np.asarray(times, np.int64) - int(times[0])
    edges, achieved = list[int](), [0]
    for number in range(1, len(keys)):
        wanted = max(int(asked[number]) - achieved[-1], 1)
        found = _meeting(graph, int(keys[number - 1]), int(keys[number]), wanted)
        if not found:
            raise UnreachableError(f"key pose {number + 1}: no walk of about {wanted} frames leads to it")
        edges += found
        achieved.append(achieved[-1] + int(graph.steps[found].sum()))
    walk = Walk(int(keys[0]), np.array(edges, np.int64))
    return TimedWalk(walk, np.array(achieved), asked, float(graph.deformation[walk.edges].sum()))


def _meeting(graph: MotionGraph, source: int, target: int, wanted: int) -> list[int]:
    """Edges of a walk from frame to frame that lasts as near to `wanted` as any."""
    slack = int(graph.steps.max(initial=1))
    half = (wanted + 1) // 2 + slack
    forward, came = _reached(graph.sources, graph.targets, graph.steps, graph.frames, source, half)
    backward, goes = _reached(graph.targets, graph.sources, graph.steps, graph.frames, target, half)
    least: tuple[int, int, int, int] | None = None
    for ahead in range(half + 1):
        for back in range(max(1 - ahead, 0), half + 1):
            off = abs(ahead + back - wanted)
            if least is not None and off >= least[0]:
                continue
            common = np.flatnonzero(forward[:, ahead] & backward[:, back])
            if len(common):
                least = off, int(common[0]), ahead, back
    if least is None:
        return []
    _, frame, ahead, back = least
    line, at, time = list[int](), frame, ahead
    while time:
        edge = int(came[at, time])
        line.insert(0, edge)
        at, time = int(graph.sources[edge]), time - int(graph.steps[edge])
    at, time = frame, back
    while time:
        edge = int(goes[at, time])
        line.append(edge)
        at, time = int(graph.targets[edge]), time - int(graph.steps[edge])
    return line


def _reached(
    sources: IntArray, targets: IntArray, steps: IntArray, frames: int, start: int, most: int
) -> tuple[BoolArray, Integers]:
    """Whether frames can be reached in exactly so much time, `(frames, most + 1)`, and by which edge."""
    there, by = np.zeros((frames, most + 1), np.bool_), np.full((frames, most + 1), -1, np.int64)
    there[start, 0] = True
    for time in range(most):
        leaving = np.flatnonzero(there[sources, time] & (time + steps <= most))
        at, when = targets[leaving], time + steps[leaving]
        there[at, when] = True
        by[at, when] = leaving
    return there, by


def _on_path(motion: EdgeMotion, path: Path, frame: int) -> PlanarMotion:
    """The placement of a frame on the path's first point, moving along it."""
    clips, tracks = motion.clips, motion.tracks
    ahead = min(frame + max(1, round(clips.frame_rate / 2)), int(clips.starts[clips.clip_of[frame] + 1]) - 1)
    x, z = (tracks[ahead] - tracks[frame])[0::2]
    angle = np.asarray(path.heading - np.arctan2(x, z))
    return PlanarMotion.about(tracks[frame][0::2], angle, path.points[0, 0::2])


def _line(taken: Line | None) -> Integers:
    found = []
    while taken is not None:
        edge, taken = taken
        found.append(edge)
    return np.array(found[::-1], np.int64)
