"""A beam search along a curve: states that have come equally far compete by what they cost.

Pieces of the curve are taken in turn, and the cheapest states that have come to one go on, so that nobody who
stands before a dear corner outlives those who go round it. Of states at the same frame, place and heading one
is kept, and of every moment of the library the best, so that turns and changes of behaviour are prepared in
time. All that is needed of the animation are the motions and points of the graph's edges. Cost: twice the
states kept × ways leaving a frame for every quarter of a metre, each way half a microsecond.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._progress import Progress
from marey.errors import InputError, UnreachableError
from marey.geometry.paths import Path
from marey.geometry.planar import PlanarMotion
from marey.surface.synthesis.ways import Ways

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
# Metres of the curve whose states compete, and how often as many as are kept go on from there: those that are
# slow come back to the same piece.
PIECE, ROUNDS = 0.25, 2
# What a second of the most unusual gait costs where no behaviour is asked for.
UNEASE = 1.0
# Radians a second of time costs: what the source animates with at 30 frames a second, whatever the graph's
# own price, which else would make denser graphs cut corners.
TIME = 0.3
# States that wait at one piece, as a multiple of those that are kept of them.
CROWD = 4


class Beam:
    """The beam: what stays the same, the states kept so far, and those waiting by how far they have come.

    bits, allowed: behaviours of the frames, and those allowed at the samples of the curve
    accuracy, width: as of :func:`~marey.surface.synthesis.following.follow`
    tried: ways tried so far
    """

    def __init__(
        self,
        ways: Ways,
        curve: Path,
        bits: NDArray[np.uint64],
        allowed: NDArray[np.uint64],
        accuracy: float,
        width: int,
    ) -> None:
        self.ways, self.curve, self.width = ways, curve, width
        self.graph, self.library = ways.repertoire.graph, ways.repertoire.library
        self.bits, self.allowed = bits, allowed
        self.path_weight = accuracy / self.library.frame_rate
        self.ahead = max(1, round(AHEAD / curve.spacing))
        self.last = len(curve.points) - 1
        # Before anyone has come a metre: an even walk, a hand off, with a transition every other metre.
        self.metre = (0.15 * accuracy + TIME) / 1.2 + 0.5
        self.tried = 0
        self._kept: list[tuple[Ints, Array]] = []
        self._count = 0
        self._arrived: list[tuple[float, int]] = []
        self.piece = max(1, round(PIECE / curve.spacing))
        slots = int(max(self.graph.steps.max(initial=1), STRIDE)) * self.ahead // self.piece + 2
        size = CROWD * width
        # Half of the states are the best at their moment of the library, so that turns are prepared in time.
        moment = max(1, -(-2 * self.library.frames // width))
        self.groups = np.arange(self.library.frames) // moment
        groups = int(self.groups[-1]) + 1
        self._waiting = (
            np.empty((slots, size, 5), np.int64),
            np.empty((slots, size, 6)),
            np.zeros(slots, np.int64),
            np.full((slots, 2 * size + 1), -1, np.int32),
            np.empty((slots, groups + 1, 2)),
        )
        self._waiting[-1][:] = np.inf, 0.0
        # The same for every step, as the kernels take it.
        clips, graph = ways.clips, self.graph
        costs = graph.deformation + TIME / self.library.frame_rate * graph.steps
        self._keeping = (width, 1, *self._waiting)
        self._fixed = (
            ways.onward, ways.first, ways.edges, graph.targets, costs,
            ways.lengths / curve.spacing, clips.moves,
            clips.first_point, clips.points, clips.tracks, bits,
            ways.unusual * (UNEASE / self.library.frame_rate), self.groups,
            curve.points, curve.spatial, curve.spacing, allowed, self.ahead, STRIDE, self.piece,
        )  # fmt: skip

    def beginnings(self, start: int | None) -> tuple[Ints, Array]:
        """Frames to begin with and their placements `(n, 3)`: on the curve's first point, moving along it."""
        tracks, starts = self.ways.clips.tracks, self.graph.starts
        half = max(1, round(self.library.frame_rate / 2))
        frames = np.arange(self.library.frames)
        ends = starts[1:][self.library.sequence_of] - 1
        ahead = np.minimum(frames + half, ends)
        directions = tracks[ahead] - tracks[frames]
        seconds = np.maximum(ahead - frames, 1) / self.library.frame_rate
        speeds = np.hypot(directions[:, 0], directions[:, 2]) / seconds
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
        angles = self.curve.heading - np.arctan2(directions[chosen, 0], directions[chosen, 2])
        placed = PlanarMotion.about(tracks[chosen][:, 0::2], angles, self.curve.points[0, 0::2][None])
        return chosen, np.column_stack([placed.angle, placed.shift])

    def run(
        self, frames: Ints, placements: Array, progress: Progress | None, *, partial: bool = False
    ) -> tuple[int, PlanarMotion, Ints]:
        """Go on piece by piece to the end; the best walk's first frame, its placement and edges.

        partial: if none comes to the end, the best of those that came furthest will do
        """
        whole, real = np.zeros((len(frames), 5), np.int64), np.zeros((len(frames), 6))
        whole[:, :2], whole[:, 3] = -1, frames
        real[:, :3], real[:, 4:] = placements, self.curve.points[0, 0::2]
        self._step(whole, real)
        for piece in range(self.last // self.piece + 1):
            left = ROUNDS * self.width
            while left > 0 and (states := self._due(piece, left)) is not None:
                self._step(*states)
                left -= len(states[0])
            self._clear(piece)
            if progress is not None:
                progress(min((piece + 1) * self.piece, self.last), self.last)
        return self._answer(partial)

    def _due(self, piece: int, most: int) -> tuple[Ints, Array] | None:
        """States whose turn it is: the best of those that wait at a piece of the curve."""
        from marey.surface.synthesis._following_kernels import compact

        slots_whole, slots_real, counts, table, _ = self._waiting
        slot = piece % len(counts)
        if counts[slot] == 0:
            return None
        price = self.metre * self.curve.spacing
        compact(slot, self.groups, price, MERGE, MERGE_ANGLE, *self._keeping)
        count = min(counts[slot], most)
        whole, real = slots_whole[slot, :count].copy(), slots_real[slot, :count].copy()
        counts[slot], table[slot] = 0, -1
        return whole, real

    def _clear(self, piece: int) -> None:
        """Nobody waits there any more."""
        _, _, counts, table, worst = self._waiting
        slot = piece % len(counts)
        counts[slot], table[slot], worst[slot] = 0, -1, (np.inf, 0.0)

    def _step(self, whole: Ints, real: Array) -> None:
        """Keep states and put what becomes of them where they are to wait."""
        from marey.surface.synthesis._following_kernels import advance

        offset, self._count = self._count, self._count + len(whole)
        self._kept.append((whole, real))
        samples, costs = whole[:, 4], real[:, 3]
        come = samples * self.curve.spacing
        if (come > 1).any():
            self.metre = float(np.median(costs[come > 1] / come[come > 1]))
        for state in np.flatnonzero(samples >= self.last):
            self._arrived.append((float(costs[state]), offset + int(state)))
        self.tried += advance(
            whole, real, offset, *self._fixed, self.metre * self.curve.spacing, self.path_weight, VIOLATION,
            MERGE, MERGE_ANGLE, *self._keeping,
        )  # fmt: skip

    def measured(self, positions: Array) -> tuple[Ints, Array]:
        """How many samples of the curve a path `(frames, 3)` has come, and how far off it is, `(frames,)`."""
        from marey.surface.synthesis._following_kernels import nearest_ahead

        curve, samples, errors, sample = self.curve, [], [], 0
        for x, y, z in positions:
            sample, off = nearest_ahead(
                curve.points, curve.spatial, curve.spacing, sample, self.ahead, x, y, z
            )
            samples.append(sample)
            errors.append(off)
        return np.array(samples), np.array(errors)

    def _answer(self, partial: bool) -> tuple[int, PlanarMotion, Ints]:
        """The cheapest state that came to the end, walked back."""
        whole = np.concatenate([kept for kept, _ in self._kept])
        real = np.concatenate([kept for _, kept in self._kept])
        furthest = int(whole[:, 4].max())
        if self._arrived:
            index = min(self._arrived)[1]
        elif partial:
            # Standing still is no answer, even where nobody came any nearer.
            come = np.where(whole[:, 0] >= 0, whole[:, 4], -1)
            there = np.flatnonzero(come == come.max())
            index = int(there[real[there, 3].argmin()])
        else:
            raise UnreachableError(
                f"no walk follows the curve further than {furthest * self.curve.spacing:.1f} of "
                f"{self.curve.length:.1f} m; use a larger alpha, gentler turns, or more sequences"
            )
        edges: list[int] = []
        while whole[index, 0] >= 0:
            edges[:0] = self._edges(int(whole[index, 1]), int(whole[index, 2]))
            index = int(whole[index, 0])
        angle, shift = real[index, 0], real[index, 1:3]
        return int(whole[index, 3]), PlanarMotion(np.asarray(angle), shift), np.array(edges, np.int64)

    def _edges(self, edge: int, played: int) -> list[int]:
        """The edge taken, and those that play on after it."""
        edges = [edge]
        while len(edges) < played:
            edges.append(int(self.ways.onward[self.graph.targets[edges[-1]]]))
        return edges
