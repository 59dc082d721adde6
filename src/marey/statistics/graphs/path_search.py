"""Walks that follow a path, and steering while they play (Boukhayma 2017, section 3.5.1).

Published is a depth-first search that compares travelled lengths; here a beam search goes along the path, and
distances are to its nearest point ahead. A walk costs that distance, summed over all its frames, those of
transitions included, the deformation of its transitions, and time; where no behaviour is asked for, an
atypical gait costs a little, too. States compete only at equal arc length, so a state before an expensive
corner cannot displace one past it. Of states at the same frame, place and heading one is kept, and of every
moment of the library the best, so that turns and changes of behaviour are prepared in time. Cost: twice the
states kept × edges leaving a frame for every quarter of a metre, each edge half a microsecond.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, Integers
from marey._work import Progress
from marey.errors import InputError, UnreachableError
from marey.geometry.planar import Behaviour, Path, PlanarMotion
from marey.statistics.graphs.graph import Clips, MotionGraph, Walk, core_frames
from marey.statistics.graphs.root_motion import CandidateEdges, EdgeMotion

Bits = NDArray[np.uint64]


@dataclass(frozen=True)
class PathSearchSettings:
    """How a path is followed.

    Args:
        accuracy: Cost of a second a metre off the path, radians; beyond a hand's width more and more.
        width: States that are kept; more find better walks, slower.
        merge: Metres within which states at one frame are the same.
        merge_angle: Radians within which they are.
        slot: Metres of the path whose states compete; a point's nearest is searched within three times it.
        stride: Frames played on at once.
        time: Cost of a second, radians: the published 0.01 a frame at 30 frames a second, whatever the
            graph's alpha, which else would make dense graphs cut corners.
        gait: Cost of a second of the most atypical gait where no behaviour is asked for, radians.
        border: Metres on either side of a border within which both behaviours are right.
    """

    accuracy: float = 5.0
    width: int = 500
    merge: float = 0.1
    merge_angle: float = np.pi / 18
    slot: float = 0.25
    stride: int = 3
    time: float = 0.3
    gait: float = 1.0
    border: float = 0.75

    def __post_init__(self) -> None:
        if not (np.isfinite(self.accuracy) and self.accuracy > 0):
            raise InputError(f"accuracy: must be above 0, got {self.accuracy}")
        if self.width < 1:
            raise InputError(f"width: must be at least 1, got {self.width}")


@dataclass(frozen=True)
class SteerSettings:
    """How a steered walk decides.

    Args:
        horizon: Metres planned ahead.
        piece: Seconds played before the next decision.
        radius: Metres, of the bend into the direction asked for.
        straight: Metres planned after the bend at least.
        spacing: Metres between samples of the planned path.
        search: How the planned path is followed.
    """

    horizon: float = 2.5
    piece: float = 0.4
    radius: float = 0.6
    straight: float = 1.0
    spacing: float = 0.05
    search: PathSearchSettings = PathSearchSettings(width=60)


@dataclass(frozen=True, eq=False)
class PathWalk:
    """A walk along a path.

    Args:
        walk: The walk in the graph.
        start: Placement of its first frame.
        positions: `(frames, 3)`, of the followed point.
        errors: `(frames,)`, its distance from the path, metres.
        arc_length: `(frames,)`, metres along the path.
        label_violations: Frames of a behaviour that was not asked for, those near borders left out.
        width: States that were kept: four times those asked for where these found no walk.
    """

    walk: Walk
    start: PlanarMotion
    positions: Array
    errors: Array
    arc_length: Array
    label_violations: int
    width: int

    @property
    def path_error(self) -> float:
        """Mean distance from the path, metres."""
        return float(self.errors.mean())


def follow(
    graph: MotionGraph,
    motion: EdgeMotion,
    path: Path,
    settings: PathSearchSettings | None = None,
    *,
    start: int | None = None,
    progress: Progress | None = None,
) -> PathWalk:
    """A walk whose followed point stays near a path from its first point to its last.

    Where none is found, the search is repeated once with four times the width.

    Args:
        motion: Of the graph's edges.
        settings: The defaults, if None.
        start: Frame to begin with; any that moves, if None.
    """
    settings, candidates = settings or PathSearchSettings(), CandidateEdges.of(graph, motion)
    beam = BeamSearch(candidates, path, settings)
    frames, placements = beam.starts(start)
    try:
        walk, placed = beam.run(frames, placements, progress)
    except UnreachableError:
        beam = BeamSearch(candidates, path, settings, width=4 * settings.width)
        walk, placed = beam.run(frames, placements, progress)
    positions = motion.trajectory(graph, walk, placed)
    samples, errors = beam.measure(positions)
    shown = behaviours_shown(graph, walk, beam.bits)
    wrong = int(((beam.allowed[samples] & shown) == 0).sum())
    return PathWalk(
        walk, placed, positions, errors, np.asarray(samples * path.spacing, np.float64), wrong, beam.width
    )


class BeamSearch:
    """A beam search along a path.

    Attributes:
        bits: Behaviours of the frames.
        allowed: Those allowed at the samples of the path.
        cost_per_metre: Median cost of the states that have come further than a metre.
        tried: Edges tried so far.
    """

    def __init__(
        self,
        candidates: CandidateEdges,
        path: Path,
        settings: PathSearchSettings,
        *,
        width: int | None = None,
    ) -> None:
        from marey.statistics.graphs import _path_search_kernels as kernels

        graph, motion = candidates.graph, candidates.motion
        rate, frames = motion.clips.frame_rate, graph.frames
        self.candidates, self.path, self.settings = candidates, path, settings
        self.width = settings.width if width is None else width
        self.bits, self.allowed = behaviour_bits(motion.clips, path, settings.border)
        # Before any state has come a metre: an even walk, a hand off, with a transition every other metre.
        self.cost_per_metre, self.tried = (0.15 * settings.accuracy + settings.time) / 1.2 + 0.5, 0
        self._kept: list[tuple[Integers, Array]] = []
        self._count, self._last = 0, len(path.points) - 1
        # Half of the states are the best at their moment of the library, so that turns are prepared in time.
        groups = np.arange(frames) // max(1, -(-2 * frames // self.width))
        self._edges = kernels.Edges(
            candidates.next_edge, candidates.first, candidates.edges, graph.targets,
            graph.deformation + settings.time / rate * graph.steps, candidates.lengths / path.spacing,
            motion.moves, motion.first_point, motion.points, motion.tracks, self.bits,
            candidates.atypical * (settings.gait / rate), groups,
        )  # fmt: skip
        slot = max(1, round(settings.slot / path.spacing))
        ahead = 3 * slot
        self._along = kernels.Along(
            path.points, path.spatial, path.spacing, self.allowed, ahead, settings.stride, slot, self.width,
            settings.accuracy / rate, settings.merge, settings.merge_angle,
        )  # fmt: skip
        ring = int(max(graph.steps.max(initial=1), settings.stride)) * ahead // slot + 2
        capacity = 4 * self.width
        self._slots = kernels.Slots(
            np.empty((ring, capacity, 5), np.int64),
            np.empty((ring, capacity, 6)),
            np.zeros(ring, np.int64),
            np.full((ring, 2 * capacity + 1), -1, np.int32),
            np.tile([np.inf, 0.0], (ring, int(groups[-1]) + 2, 1)),
        )

    def starts(self, start: int | None) -> tuple[Integers, Array]:
        """Frames to start with and their placements `(n, 3)`: on the path's first point, moving along it."""
        graph, motion = self.candidates.graph, self.candidates.motion
        tracks, clips = motion.tracks, motion.clips
        frames, half = np.arange(graph.frames), max(1, round(clips.frame_rate / 2))
        ahead = np.minimum(frames + half, clips.starts[clips.clip_of + 1] - 1)
        directions = (tracks[ahead] - tracks[frames])[:, 0::2]
        if start is not None:
            graph.check_frame(start)
            chosen = np.array([start])
        else:
            free = ((self.allowed[0] & self.bits) != 0) & (np.diff(graph.first_leaving) > 0)
            moving = np.hypot(*directions.T) > 0.2 * np.maximum(ahead - frames, 1) / clips.frame_rate
            chosen = np.flatnonzero(free & moving & (ahead - frames >= half // 2))[::2]
            if not len(chosen):
                chosen = np.flatnonzero(free)[::2]
        if not len(chosen):
            raise UnreachableError(
                "no captured frame can begin the path with the behaviour asked for; check its labels"
            )
        angles = self.path.heading - np.arctan2(*directions[chosen].T)
        placed = PlanarMotion.about(tracks[chosen][:, 0::2], angles, self.path.points[:1, 0::2])
        return chosen, np.column_stack([placed.angle, placed.shift])

    def run(
        self, frames: Integers, placements: Array, progress: Progress | None = None, *, partial: bool = False
    ) -> tuple[Walk, PlanarMotion]:
        """Search to the end of the path; the best walk and the placement of its first frame.

        Args:
            frames: To start with.
            placements: `(n, 3)`, theirs: angle, x and z.
            partial: If no state reaches the end, the best of those that came furthest is taken.
        """
        whole, real = np.zeros((len(frames), 5), np.int64), np.zeros((len(frames), 6))
        whole[:, :2], whole[:, 3] = -1, frames
        real[:, :3], real[:, 4:] = placements, self.path.points[0, 0::2]
        self._expand(whole, real)
        for number in range(self._last // self._along.slot + 1):
            # Twice as many states as are kept: slow ones come back to the same slot.
            left = 2 * self.width
            while left > 0 and (states := self._take(number, left)) is not None:
                self._expand(*states)
                left -= len(states[0])
            slot = number % len(self._slots.counts)
            self._empty(slot)
            self._slots.worst[slot] = np.inf, 0.0
            if progress is not None:
                progress(min((number + 1) * self._along.slot, self._last), self._last)
        return self._best(partial)

    def measure(self, positions: Array) -> tuple[Integers, Array]:
        """Samples of the path that positions `(frames, 3)` reach, and their distances from it, in metres."""
        from marey.statistics.graphs._path_search_kernels import nearest_ahead

        samples, errors, sample = [], [], 0
        for x, y, z in positions:
            sample, off = nearest_ahead(self._along, sample, x, y, z)
            samples.append(sample)
            errors.append(off)
        return np.array(samples), np.array(errors)

    def _take(self, number: int, most: int) -> tuple[Integers, Array] | None:
        """The best of the states that wait at a stretch of the path."""
        from marey.statistics.graphs._path_search_kernels import compact

        slots, slot = self._slots, number % len(self._slots.counts)
        if slots.counts[slot] == 0:
            return None
        compact(slot, self._edges.groups, self._along, self.cost_per_metre * self.path.spacing, slots)
        count = min(slots.counts[slot], most)
        states = slots.whole[slot, :count].copy(), slots.real[slot, :count].copy()
        self._empty(slot)
        return states

    def _empty(self, slot: int) -> None:
        self._slots.counts[slot], self._slots.table[slot] = 0, -1

    def _expand(self, whole: Integers, real: Array) -> None:
        """Keep states and queue their successors."""
        from marey.statistics.graphs._path_search_kernels import advance

        offset, self._count = self._count, self._count + len(whole)
        self._kept.append((whole, real))
        arc_length = whole[:, 4] * self.path.spacing
        far = arc_length > 1
        if far.any():
            self.cost_per_metre = float(np.median(real[far, 3] / arc_length[far]))
        price = self.cost_per_metre * self.path.spacing
        self.tried += advance(whole, real, offset, self._edges, self._along, price, self._slots)

    def _best(self, partial: bool) -> tuple[Walk, PlanarMotion]:
        """The walk to the cheapest state at the end of the path, and the placement of its first frame."""
        whole = np.concatenate([kept for kept, _ in self._kept])
        real = np.concatenate([kept for _, kept in self._kept])
        furthest = int(whole[:, 4].max())
        # A walk without an edge is no answer, even where no state came nearer.
        reached = np.where((whole[:, 0] >= 0) | (furthest >= self._last), whole[:, 4], -1)
        if furthest < self._last and not partial:
            raise UnreachableError(
                f"no walk follows the path further than {furthest * self.path.spacing:.1f} of "
                f"{self.path.length:.1f} m; use a larger alpha, gentler turns, or more sequences"
            )
        there = np.flatnonzero(reached == reached.max())
        index = int(there[real[there, 3].argmin()])
        targets, edges = self.candidates.graph.targets, list[int]()
        while whole[index, 0] >= 0:
            taken = [int(whole[index, 1])]
            while len(taken) < whole[index, 2]:
                taken.append(int(self.candidates.next_edge[targets[taken[-1]]]))
            edges[:0] = taken
            index = int(whole[index, 0])
        placed = PlanarMotion(np.asarray(real[index, 0]), real[index, 1:3])
        return Walk(int(whole[index, 3]), np.array(edges, np.int64)), placed


def behaviours_shown(graph: MotionGraph, walk: Walk, bits: Bits) -> Bits:
    """Behaviours of every frame of a walk, `(frames,)`; those of both ends during a transition."""
    sources, targets = graph.sources[walk.edges], graph.targets[walk.edges]
    both = np.where(graph.synthetic[walk.edges], bits[sources] | bits[targets], bits[targets])
    return np.concatenate([bits[[walk.start]], np.repeat(both, graph.steps[walk.edges])])


def behaviour_bits(clips: Clips, path: Path, border: float) -> tuple[Bits, Bits]:
    """The behaviour of every frame, and those allowed at every sample of a path, as bits."""
    labels = list(dict.fromkeys(clips.labels))
    if len(labels) > 63:
        raise InputError(f"behaviours: {len(labels)} different labels; at most 63 are possible")
    bit = {label: np.uint64(1 << number) for number, label in enumerate(labels)}
    allowed = np.full(len(path.points), np.uint64(2**64 - 1))
    along = np.arange(len(path.points)) * path.spacing
    for asked in path.behaviours:
        unknown = [label for label in asked.labels if label not in bit]
        if unknown:
            raise InputError(f"there is no behaviour {unknown[0]!r}; there are {', '.join(labels)}")
        if not 0 <= asked.start < asked.stop:
            raise InputError(
                f"behaviour {asked.labels[0]}: from {asked.start:g} to {asked.stop:g} m is no part"
            )
        margin = min(border, (asked.stop - asked.start) / 4)
        first = asked.start + (margin if asked.start > 0 else 0.0)
        last = asked.stop - (margin if asked.stop < path.length else 0.0)
        inside = (along >= first) & (along <= last)
        allowed[inside] &= np.bitwise_or.reduce([bit[label] for label in asked.labels])
    return np.array([bit[label] for label in clips.labels], np.uint64)[clips.clip_of], allowed


@dataclass
class SteeredWalk:
    """A walk that is steered while it plays.

    The user gives a direction and, optionally, a behaviour. A short path that bends from where the body is
    moving into that direction is searched; the first part of the walk found is played before the next
    decision. Only frames of the graph's core are used, so that it never gets stuck.

    Args:
        frame: The captured frame it stands at.
        placed: Placement of that frame.
        edges: All edges taken so far.
        height_offset: How high that frame is placed, metres.
    """

    graph: MotionGraph
    motion: EdgeMotion
    frame: int
    placed: PlanarMotion = field(default_factory=PlanarMotion.identity)
    settings: SteerSettings = SteerSettings()
    edges: list[int] = field(default_factory=list)
    height_offset: float = 0.0
    start: int = field(init=False)
    candidates: CandidateEdges = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.graph.check_frame(self.frame)
        self.start = self.frame
        self.candidates = CandidateEdges.of(self.graph, self.motion, inside=core_frames(self.graph))

    @property
    def position(self) -> Array:
        """Where the followed point is now, `(3,)`."""
        return np.asarray(self.placed.apply(self.motion.tracks[self.frame][None])[0], np.float64)

    @property
    def walk(self) -> Walk:
        """All that was played so far."""
        return Walk(self.start, np.array(self.edges, np.int64))

    def decide(self, direction: ArrayLike, behaviour: str | None = None) -> Walk:
        """The next piece: the walk that goes best in a direction (x, z), showing a behaviour if possible."""
        towards, settings = np.asarray(direction, np.float64), self.settings
        if towards.shape != (2,) or not np.isfinite(towards).all() or not np.hypot(*towards) > 0:
            raise InputError(f"direction: two numbers (x, z) that are not both 0, got {towards.tolist()}")
        corners = self._bend(towards)
        length = settings.spacing * (len(corners) - 1)
        asked = () if behaviour is None else (Behaviour((behaviour,), 0.0, length),)
        path = Path.through(corners, behaviours=asked, spacing=settings.spacing)
        placement = np.array([[float(self.placed.angle), *self.placed.shift]])
        beam = BeamSearch(self.candidates, path, settings.search)
        edges = beam.run(np.array([self.frame]), placement, partial=True)[0].edges
        if not len(edges):
            raise UnreachableError(
                f"frame {self.frame}: no edge leads on from here; begin inside the graph's connected core"
            )
        steps = np.cumsum(self.graph.steps[edges])
        count = int(np.searchsorted(steps, settings.piece * self.motion.clips.frame_rate)) + 1
        return Walk(self.frame, edges[:count])

    def advance(self, direction: ArrayLike, behaviour: str | None = None) -> Walk:
        """Decide, and stand at the end of that piece."""
        piece = self.decide(direction, behaviour)
        for edge in piece.edges:
            self.placed = self.placed.compose(self.motion.move(edge))
            self.height_offset += float(self.motion.rises[edge])
        self.frame = int(self.graph.targets[piece.edges[-1]])
        self.edges += piece.edges.tolist()
        return piece

    def _bend(self, towards: Array) -> Array:
        """Ground points `(n, 2)` of a path from here that bends into a direction.

        A straight path leads nowhere where the body has to turn round first: it would come no nearer at all.
        """
        wanted, moving, spacing = float(np.arctan2(*towards)), self._heading(), self.settings.spacing
        turn = 0.0 if moving is None else float((wanted - moving + np.pi) % (2 * np.pi) - np.pi)
        bend = self.settings.radius * abs(turn)
        length = max(self.settings.horizon, bend + self.settings.straight)
        along = np.arange(0.5 * spacing, length, spacing)
        angles = wanted - turn * (1 - np.minimum(along / max(bend, spacing), 1.0))
        steps = spacing * np.stack([np.sin(angles), np.cos(angles)], axis=1)
        return np.asarray(self.position[0::2] + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)]))

    def _heading(self) -> float | None:
        """Mean direction of the edges from here, radians about the vertical from +z; None if they stand."""
        edges, motion, node = self.candidates, self.motion, self.frame
        leaving = edges.edges[edges.first[node] : edges.first[node + 1]]
        ends = motion.points[motion.first_point[leaving + 1] - 1]
        for _ in range(round(self.settings.piece * motion.clips.frame_rate)):
            if edges.next_edge[node] >= 0:
                node = int(self.graph.targets[edges.next_edge[node]])
        moved = np.concatenate([ends, motion.tracks[[node]]]).mean(axis=0) - motion.tracks[self.frame]
        if np.hypot(moved[0], moved[2]) < self.settings.spacing:
            return None
        return float(np.arctan2(moved[0], moved[2]) + self.placed.angle)
