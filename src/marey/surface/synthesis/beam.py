"""A beam search along a curve: states of the same time compete by what they cost and how far they have come.

What is left of the curve is charged at the price of a metre so far. Of the states at the same frame, place
and heading one is kept, and every sequence keeps some, so that a change of behaviour is prepared in time. All
that is needed of the animation are the motions and points of the graph's edges. Cost: states kept × edges
leaving a frame, for every frame of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from marey._progress import Progress
from marey.errors import InputError, UnreachableError
from marey.surface.graphs.graph import Graph
from marey.surface.graphs.repertoire import Repertoire
from marey.surface.planar import Planar
from marey.surface.synthesis.curves import Curve
from marey.surface.synthesis.root_clips import RootClips

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# States at one frame are the same within so many metres and radians.
MERGE, MERGE_ANGLE = 0.1, np.radians(10)
# Metres of the curve among which a point's nearest is sought, from where the state has come to.
AHEAD = 0.8
# Frames played on at once.
STRIDE = 3
# What a frame of a behaviour that was not asked for costs: more than any detour.
VIOLATION = 100.0
# Metres a second: whoever is slower over the whole curve is given up. Seconds that are added to that.
SLOWEST, RESERVE = 0.15, 10.0
# Seconds searched on after the first has come to the end.
PATIENCE = 1.0


class Beam:
    """The beam: what stays the same, the states kept so far, and those waiting by their time."""

    def __init__(
        self,
        repertoire: Repertoire,
        curve: Curve,
        clips: RootClips,
        bits: NDArray[np.uint64],
        allowed: NDArray[np.uint64],
        accuracy: float,
        width: int,
    ) -> None:
        self.graph, self.library, self.curve, self.clips = repertoire.graph, repertoire.library, curve, clips
        self.width = width
        self.path_weight = accuracy / self.library.frame_rate
        self.bits, self.allowed = bits, allowed
        self.ahead = max(1, round(AHEAD / curve.spacing))
        self.last = len(curve.points) - 1
        seconds = curve.length / SLOWEST + RESERVE
        self.waiting: list[list[_States]] = [[] for _ in range(round(seconds * self.library.frame_rate))]
        # Before anyone has come a metre: an even walk, a hand off, with a transition every other metre.
        self.metre = (0.15 * accuracy + self.graph.alpha * self.library.frame_rate) / 1.2 + 0.5
        self.kept: list[_States] = []
        self.count = 0
        self.arrived: list[_States] = []
        self.sequence_of = self.library.sequence_of
        self.lengths = _lengths(repertoire.graph, clips)

    def beginnings(self, start: int | None) -> tuple[Ints, Array]:
        """Frames to begin with and their placements `(n, 3)`: on the curve's first point, moving along it."""
        tracks, starts = self.clips.tracks, self.graph.starts
        half = max(1, round(self.library.frame_rate / 2))
        frames = np.arange(self.library.frames)
        ends = starts[1:][self.sequence_of] - 1
        ahead = np.minimum(frames + half, ends)
        ways = tracks[ahead] - tracks[frames]
        seconds = np.maximum(ahead - frames, 1) / self.library.frame_rate
        speeds = np.hypot(ways[:, 0], ways[:, 2]) / seconds
        if start is not None:
            if not 0 <= start < self.library.frames:
                raise InputError(f"start: there is no frame {start}; there are 0…{self.library.frames - 1}")
            chosen = np.array([start])
        else:
            free = (self.allowed[0] & self.bits) != 0
            leads_on = np.diff(self.graph.first_leaving) > 0
            chosen = np.flatnonzero(free & leads_on & (speeds > 0.2) & (ahead - frames >= half // 2))[::2]
            if not len(chosen):
                chosen = np.flatnonzero(free & leads_on)[::2]
        if not len(chosen):
            raise UnreachableError(
                "no captured frame can begin the curve with the behaviour asked for; check its labels"
            )
        angles = self.curve.heading - np.arctan2(ways[chosen, 0], ways[chosen, 2])
        placed = Planar.about(tracks[chosen][:, 0::2], angles, self.curve.points[0, 0::2][None])
        return chosen, np.column_stack([placed.angle, placed.shift])

    def run(
        self, frames: Ints, placements: Array, progress: Progress | None, *, partial: bool = False
    ) -> tuple[int, Planar, Ints]:
        """Go on in time until the end is reached; the best walk's first frame, its placement, its edges.

        partial: if none comes to the end, the best of those that came furthest will do
        """
        zeros = np.zeros(len(frames), np.int64)
        begun = _States(
            zeros - 1, zeros - 1, zeros, frames, placements, zeros,
            np.zeros(len(frames)), np.repeat(self.curve.points[:1, 0::2], len(frames), axis=0),
        )  # fmt: skip
        self.waiting[0].append(begun)
        last = len(self.waiting)
        for now in range(len(self.waiting)):
            if now >= last:
                break
            here, self.waiting[now] = self.waiting[now], []
            if here:
                states = self._best(_joined(here), self.width)
                self._step(states, now)
                if self.arrived:
                    last = min(last, now + round(PATIENCE * self.library.frame_rate))
                if progress is not None:
                    progress(int(states.samples.max()), self.last)
        return self._answer(partial)

    def _step(self, states: _States, now: int) -> None:
        """Keep states and put what becomes of them where they are to wait."""
        offset, self.count = self.count, self.count + len(states.nodes)
        self.kept.append(states)
        come = states.samples * self.curve.spacing
        if (come > 1).any():
            self.metre = float(np.median((states.costs / np.maximum(come, 1e-9))[come > 1]))
        done = states.samples >= self.last
        if done.any():
            self.arrived.append(states.taken(done, np.flatnonzero(done) + offset))
        going = np.flatnonzero(~done)
        # A transition so dear that its end would not be kept even now is not tried.
        expected = self._expected(states)
        new = self._expanded(states.taken(going, going), (expected.max() - expected)[going])
        new.parents[:] = going[new.parents] + offset
        then = now + np.where(new.played > 0, new.played, self.graph.steps[new.edges])
        for moment in np.unique(then):
            if moment < len(self.waiting):
                self.waiting[moment].append(self._best(new.taken(then == moment), self.width))

    def _expected(self, states: _States) -> Array:
        """What states cost less the price of the way they have come."""
        return np.asarray(states.costs - states.samples * (self.curve.spacing * self.metre))

    def _expanded(self, states: _States, bounds: Array) -> _States:
        from marey.surface.synthesis._following_kernels import expand

        graph, clips = self.graph, self.clips
        degrees = np.diff(graph.first_leaving)
        new = _States.empty(int(degrees[states.nodes].sum()))
        count = expand(
            states.nodes, states.placements, states.samples, states.costs,
            graph.first_leaving, graph.targets, graph.synthetic, graph.weights, self.metre * self.lengths,
            bounds,
            clips.moves, clips.first_point, clips.points, clips.tracks, self.bits,
            self.curve.points, self.curve.spatial, self.allowed,
            self.ahead, STRIDE, self.path_weight, VIOLATION,
            new.parents, new.edges, new.played, new.nodes, new.placements, new.samples, new.costs,
            new.positions,
        )  # fmt: skip
        return new.taken(slice(0, count))

    def _best(self, states: _States, width: int) -> _States:
        """The cheapest of those alike; of the rest the most promising, some of every sequence among them."""
        order = np.argsort(self._expected(states), kind="stable")
        keys = np.column_stack(
            [
                states.nodes[order],
                np.round(states.positions[order] / MERGE).astype(np.int64),
                np.round(np.mod(states.placements[order, 0], 2 * np.pi) / MERGE_ANGLE).astype(np.int64),
            ]
        )
        order = order[np.sort(np.unique(_hashed(keys), return_index=True)[1])]
        if len(order) > width:
            sequences = self.sequence_of[states.nodes[order]]
            ranks = _ranks_within(sequences)
            quota = max(1, width // (2 * len(self.library)))
            chosen = (ranks < quota) | (np.arange(len(order)) < width // 2)
            order = order[np.sort(np.argsort(~chosen, kind="stable")[:width])]
        return states.taken(order)

    def measured(self, positions: Array) -> tuple[Ints, Array]:
        """How many samples of the curve a path `(frames, 3)` has come, and how far off it is, `(frames,)`."""
        from marey.surface.synthesis._following_kernels import nearest_ahead

        samples, errors, sample = [], [], 0
        for x, y, z in positions:
            sample, off = nearest_ahead(self.curve.points, self.curve.spatial, sample, self.ahead, x, y, z)
            samples.append(sample)
            errors.append(off)
        return np.array(samples), np.array(errors)

    def _answer(self, partial: bool) -> tuple[int, Planar, Ints]:
        """The cheapest state that came to the end, walked back."""
        kept = _joined(self.kept)
        furthest = int(kept.samples.max())
        if partial and not self.arrived:
            there = np.flatnonzero(kept.samples == furthest)
            self.arrived.append(kept.taken(there, there))
        if not self.arrived:
            raise UnreachableError(
                f"no walk follows the curve further than {furthest * self.curve.spacing:.1f} of "
                f"{self.curve.length:.1f} m; use a larger alpha, gentler turns, or more sequences"
            )
        arrived = _joined(self.arrived)
        index = int(arrived.parents[arrived.costs.argmin()])
        edges: list[int] = []
        while kept.parents[index] >= 0:
            edges[:0] = self._edges(int(kept.edges[index]), int(kept.played[index]))
            index = int(kept.parents[index])
        angle, shift = kept.placements[index, 0], kept.placements[index, 1:]
        return int(kept.nodes[index]), Planar(np.asarray(angle), shift), np.array(edges, np.int64)

    def _edges(self, edge: int, played: int) -> list[int]:
        """The edge taken, and those that play on after it."""
        edges = [edge]
        while len(edges) < played:
            leaving = self.graph.leaving(int(self.graph.targets[edges[-1]]))
            edges.append(int(leaving[~self.graph.synthetic[leaving]][0]))
        return edges


@dataclass(frozen=True, eq=False)
class _States:
    """States of the search, one a row.

    parents: the state before it, counted through all that were kept; -1 at the beginning
    edges, played: the edge that led here, and how many frames were played on, 0 after a transition
    nodes, placements: the captured frame it stands at, and where that is placed: angle, x, z
    samples: of the curve, how far it has come
    costs, positions: so far; of the followed point on the ground
    """

    parents: Ints
    edges: Ints
    played: Ints
    nodes: Ints
    placements: Array
    samples: Ints
    costs: Array
    positions: Array

    @classmethod
    def empty(cls, count: int) -> _States:
        whole = np.empty((5, count), np.int64)
        return cls(
            whole[0],
            whole[1],
            whole[2],
            whole[3],
            np.empty((count, 3)),
            whole[4],
            np.empty(count),
            np.empty((count, 2)),
        )

    def taken(self, chosen: Ints | NDArray[np.bool_] | slice, parents: Ints | None = None) -> _States:
        """Some of the rows; with these parents, if given."""
        rows = [getattr(self, field.name)[chosen] for field in fields(self)]
        return _States(*([parents, *rows[1:]] if parents is not None else rows))


def _joined(states: Sequence[_States]) -> _States:
    return _States(*(np.concatenate([getattr(s, f.name) for s in states]) for f in fields(_States)))


def _lengths(graph: Graph, clips: RootClips) -> Array:
    """Metres the followed point goes over each transition, `(edges,)`; 0 for captured edges."""
    steps = np.zeros(len(clips.points))
    steps[1:] = np.linalg.norm(np.diff(clips.points, axis=0), axis=1)
    begins = clips.first_point[:-1][graph.synthetic]
    steps[begins] = np.linalg.norm(
        clips.points[begins] - clips.tracks[graph.sources[graph.synthetic]], axis=1
    )
    total = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(total[clips.first_point[1:]] - total[clips.first_point[:-1]])


def _hashed(keys: Ints) -> NDArray[np.uint64]:
    """One number a row."""
    result = np.zeros(len(keys), np.uint64)
    for column in keys.T:
        result = (result ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        result ^= result >> np.uint64(29)
    return result


def _ranks_within(groups: Ints) -> Ints:
    """The how-manieth of its group each entry is."""
    order = np.argsort(groups, kind="stable")
    counts = np.bincount(groups)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(first, counts)
    return ranks
