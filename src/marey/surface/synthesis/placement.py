"""Where the frames of transitions stand and face, found without a mesh (Boukhayma 2017, algorithm 2).

All that decides where a blend stands (section 3.4.1) are a few numbers a captured frame: its centroid, its
heading to others, its feet. Position and heading of a blend advance by the blended increments of both clips,
re-aligned at every frame; the increments are those to the next frames of the time warp, not to the next
captured ones as printed. Beyond the published rule, the body is carried so that what touches the ground stays
where it is while the weights of the blend change. Cost: a few passes over the vertices once, then a few dozen
operations a frame and patch.

A placement carries the body so that touching feet stay put on average. What is left is taken up by a smooth
shift of foot and shank (:class:`FootLock`): of two feet that stand while the poses pull them apart, of feet
that would turn with the body's heading, and of those that non-linear blending displaces a little. The shifts
of a transition are the least ones that hold what touches and vanish at both its ends, found by one linear
solve; captured frames are never changed. Cost: a small solve a transition, one pass over vertices a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array, BoolArray, FloatArray, Integers
from marey._work import Progress
from marey.errors import InputError
from marey.geometry import planar
from marey.geometry.planar import PlanarMotion
from marey.geometry.resampling import linear
from marey.statistics.graphs.root_motion import EdgeMotion, transition_times
from marey.surface.contacts import Contacts, find_contacts, patch_averages
from marey.surface.distances import SAMPLE, ReferencePose, yaw_offsets
from marey.surface.sequence import Library

if TYPE_CHECKING:
    from marey.surface.synthesis.animate import SurfaceGraph


@dataclass(frozen=True, eq=False)
class GroundFrames:
    """What placing a subject needs of each captured frame.

    Attributes:
        centroids: `(frames, 2)`, mean of the vertices on the ground, metres.
        contacts: what touches the ground, and the floor.
        patches: `(frames, patches, 3)`, centres of the patches that touch it.

    >>> import marey
    >>> ground = GroundFrames.of(Library((marey.samples.mesh_sequence()[:30],)))
    >>> ground.centroids.shape
    (30, 2)
    """

    centroids: Array
    contacts: Contacts
    patches: Array

    @classmethod
    def of(cls, library: Library) -> GroundFrames:
        """Measured on all frames of a library."""
        contacts = find_contacts(library)
        frames = list(library.all_vertices())
        centroids = np.array([planar.centroid(vertices) for vertices in frames])
        return cls(centroids, contacts, np.array([contacts.patch_positions(vertices) for vertices in frames]))


@dataclass(frozen=True, eq=False)
class Placement:
    """Frames of one or more transitions, each seen from where its source was captured.

    Attributes:
        first: `(transitions + 1,)`, first frame of each, then the number of all frames.
        times: `(frames, 2)`, frames of source and destination clips, numbers of the library with
            fractions.
        weights: `(frames,)`, weight of the destination.
        source_turns: `(frames,)`, rotation of the first clip before it is blended, radians.
        destination_turns: `(frames,)`, that of the destination.
        positions: `(frames, 2)`, centroid of the blend on the ground, metres.
        floors: `(frames,)`, height of the ground below the blend.
        touching: `(frames, patches)`, how surely each patch of the blend touches the ground.
        skate: `(frames, patches, 2)`, how far patches move from the frame before, beside what they do where
            they touch; a foot that stands in one clip and swings in the other counts as in contact.
    """

    first: Integers
    times: Array
    weights: Array
    source_turns: Array
    destination_turns: Array
    positions: Array
    floors: Array
    touching: Array
    skate: Array

    @classmethod
    def lay_out(
        cls,
        ground: GroundFrames,
        times: Array,
        weights: Array,
        turns: Array,
        *,
        first: Integers | None = None,
        anchored: bool = True,
    ) -> Placement:
        """Lay out transitions one after another.

        Args:
            ground: of the library.
            times: `(frames, 2)`.
            weights: `(frames,)`, of the destination.
            turns: `(frames,)`, by how much the destination turns to face as its source.
            first: `(transitions + 1,)`; all frames are of one transition, if None.
            anchored: keep what touches the ground in place; False is the published rule.
        """
        from marey.surface.synthesis import _placement_kernels as kernels

        count, contacts = len(times), ground.contacts
        starts = np.array([0, count]) if first is None else np.asarray(first, np.int64)
        filled = (
            np.empty(count), np.empty(count), np.empty((count, 2)), np.empty(count),
            np.zeros((count, contacts.patches)), np.zeros((count, contacts.patches, 2)),
        )  # fmt: skip
        kernels.lay_out_places(
            starts.astype(np.int64), times, weights, turns, ground.centroids, contacts.floors,
            ground.patches, contacts.touching, contacts.threshold, anchored, *filled,
        )  # fmt: skip
        return cls(starts, times, weights, *filled)

    def arrival(self, ground: GroundFrames) -> tuple[PlanarMotion, Array]:
        """How each transition moves its last frame: along the ground, and up, `(transitions,)`."""
        last = self.first[1:] - 1
        frames = self.times[last, 1]
        move = PlanarMotion.about(
            linear(ground.centroids, frames), self.destination_turns[last], self.positions[last]
        )
        return move, self.floors[last] - linear(ground.contacts.floors, frames)

    def follow(self, ground: GroundFrames, points: Array) -> Array:
        """Where a point of the body is, `(frames, 3)`, by where it is in the captured frames `(…, 3)`."""
        result = np.column_stack([self.positions[:, 0], self.floors, self.positions[:, 1]])
        for times, turns, weights in (
            (self.times[:, 0], self.source_turns, 1.0 - self.weights),
            (self.times[:, 1], self.destination_turns, self.weights),
        ):
            captured = linear(points, times)
            offsets = captured[:, 0::2] - linear(ground.centroids, times)
            result[:, 0::2] += weights[:, None] * planar.rotate(offsets, turns)
            result[:, 1] += weights * (captured[:, 1] - linear(ground.contacts.floors, times))
        return result


def place_edges(
    subject: SurfaceGraph, ground: GroundFrames, edges: Integers, *, anchored: bool = True
) -> Placement:
    """Where the frames of transitions stand; `edges` are numbers of synthetic edges of the graph.

    Their times are laid out anew from the pose distances.
    """
    graph, distances = subject.graph, subject.distances
    first, times = transition_times(graph, distances, edges)
    weights = np.concatenate([np.zeros(0), *(ease_weights(int(n)) for n in np.diff(first))])
    turns = turns_between(distances.yaw_offsets, times)
    return Placement.lay_out(ground, times, weights, turns, first=first, anchored=anchored)


def edge_motion(
    subject: SurfaceGraph,
    ground: GroundFrames | None = None,
    *,
    track: int | Sequence[int] | None = None,
    edges: Integers | None = None,
    anchored: bool = True,
    progress: Progress | None = None,
) -> EdgeMotion:
    """Motion of a followed point over the transitions of a graph, as the placed meshes move.

    Args:
        subject: the graph.
        ground: of its library, if at hand.
        track: the vertex to follow, or the centroid of several; of all, if None.
        edges: only these transitions; all, if None.
        anchored: as the animation is made.
        progress: called with transitions laid out and their number.
    """
    library = subject.library
    known = GroundFrames.of(library) if ground is None else ground
    tracks = vertex_trajectory(library, track)

    def lay_out(some: Integers) -> tuple[PlanarMotion, Array, Array]:
        placement = place_edges(subject, known, some, anchored=anchored)
        return *placement.arrival(known), placement.follow(known, tracks)

    return EdgeMotion.of(subject.graph, library, tracks, lay_out, edges=edges, progress=progress)


def vertex_trajectory(library: Library, track: int | Sequence[int] | None = None) -> Array:
    """Where a vertex, or the centroid of some or all of them, is in each captured frame, `(frames, 3)`.

    >>> import marey
    >>> vertex_trajectory(Library((marey.samples.mesh_sequence()[:20],)), 0).shape
    (20, 3)
    """
    count = library.sequences[0].vertices.shape[1]
    if track is None:
        return np.array([np.mean(v, axis=0, dtype=np.float64) for v in library.all_vertices()])
    chosen = np.atleast_1d(np.asarray(track, np.int64))
    if len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= count:
        raise InputError(f"track: give vertices 0…{count - 1} to follow")
    return np.array([np.mean(v[chosen], axis=0, dtype=np.float64) for v in library.all_vertices()])


def ease_weights(length: int) -> Array:
    """Weights of the destination over a transition, from 0 to 1, slow at both ends, `(length,)`.

    >>> ease_weights(5).tolist()
    [0.0, 0.15625, 0.5, 0.84375, 1.0]
    """
    s = np.linspace(0.0, 1.0, length) if length > 1 else np.ones(1)
    return np.asarray(s * s * (3.0 - 2.0 * s))


def turns_between(turns: FloatArray, times: Array) -> Array:
    """By how much the second frame turns to face as the first, `(n,)`, at fractional frames `(n, 2)`.

    Args:
        turns: `(frames, frames)`, between whole frames.
        times: `(n, 2)`.
    """
    before, after = np.floor(times).astype(np.int64), np.ceil(times).astype(np.int64)
    share = times - before
    found = np.asarray(turns[before[:, 0], before[:, 1]], np.float64)
    # Differences to one corner, wrapped, so that angles near half a turn do not cancel.
    other = (
        (after[:, 0], before[:, 1], share[:, 0] * (1 - share[:, 1])),
        (before[:, 0], after[:, 1], (1 - share[:, 0]) * share[:, 1]),
        (after[:, 0], after[:, 1], share[:, 0] * share[:, 1]),
    )
    return found + sum(
        weight * (np.mod(turns[row, column] - found + np.pi, 2 * np.pi) - np.pi)
        for row, column, weight in other
    )


def aligning_turns(library: Library, times: Array) -> Array:
    """:func:`turns_between` where there are no pose distances: by which the surfaces have one heading."""
    lowest, highest = np.floor(times.min(axis=0)).astype(int), np.ceil(times.max(axis=0)).astype(int)
    parts = []
    for first, last in zip(lowest, highest, strict=True):
        sequence, local = library.locate(int(first))
        parts.append(library.sequences[sequence][local : local + int(last - first) + 1])
    both = Library(tuple(parts))
    turns = yaw_offsets(both, ReferencePose.of(both.vertices(0), both.faces, triangles=SAMPLE))
    return turns_between(turns, times - lowest + [0, parts[0].frames])


@dataclass(frozen=True, eq=False)
class FootLock:
    """How vertices follow the patches that touch the ground.

    Attributes:
        contacts: the patches.
        influence: `(vertices, patches)`, what a unit shift of each patch does to the vertices.
        one_foot: `(patches, patches)`, whether two patches are of one foot.
        stiffness: of a foot against bending, beside 1 for holding what touches; half of it against moving
            what does not touch, a fifth against being shifted at all.
    """

    contacts: Contacts
    influence: FloatArray
    one_foot: BoolArray
    stiffness: float

    @classmethod
    def of(cls, library: Library, ground: GroundFrames, stiffness: float = 0.01) -> FootLock:
        """Of a library's subject; distances of points are the largest over some of its frames.

        A shifted patch moves the surface around it over an eighth of the subject's height; patches that stay
        within a fifth of it are of one foot.
        """
        contacts = ground.contacts
        shown = np.unique(np.linspace(0, library.frames - 1, 16).astype(int))
        apart = np.zeros((library.sequences[0].vertices.shape[1], contacts.patches), np.float32)
        for frame in shown:
            vertices = library.vertices(int(frame))
            for patch, centre in enumerate(ground.patches[frame].astype(vertices.dtype)):
                apart[:, patch] = np.maximum(apart[:, patch], np.linalg.norm(vertices - centre, axis=1))
        felt = np.exp(-0.5 * (apart / (0.12 * contacts.height)) ** 2)
        among = patch_averages(contacts.patch_of) @ felt[contacts.soles].astype(np.float64)
        solved = np.linalg.inv(among + stiffness * np.eye(contacts.patches))
        between = ground.patches[shown][:, :, None] - ground.patches[shown][:, None]
        one_foot = np.linalg.norm(between, axis=-1).max(axis=0) < 0.2 * contacts.height
        return cls(contacts, felt @ solved.astype(np.float32), one_foot, stiffness)

    def shifts(self, placement: Placement) -> Array:
        """By how much patches are to be shifted over one transition, `(frames, patches, 2)`."""
        count, patches = placement.touching.shape
        result = np.zeros((count, patches, 2))
        if count < 3 or not placement.touching.any():
            return result
        held = np.minimum(placement.touching[1:], placement.touching[:-1])
        bending = self.one_foot * -self.stiffness
        np.fill_diagonal(bending, 0.0)
        np.fill_diagonal(bending, -bending.sum(axis=1) + 0.2 * self.stiffness)
        inner = count - 2
        system = np.zeros((inner, patches, inner, patches))
        frames, each = np.arange(inner), np.arange(patches)
        stiff = held + 0.5 * self.stiffness
        system[frames[:, None], each, frames[:, None], each] = stiff[:-1] + stiff[1:]
        system[frames[:-1, None], each, frames[1:, None], each] = -stiff[1:-1]
        system[frames[1:, None], each, frames[:-1, None], each] = -stiff[1:-1]
        system[frames, :, frames, :] += bending
        pull = held[:, :, None] * placement.skate[1:]
        right = (pull[1:] - pull[:-1]).reshape(inner * patches, 2)
        result[1:-1] = np.linalg.solve(system.reshape(inner * patches, -1), right).reshape(inner, patches, 2)
        return result

    def lock(
        self,
        vertices: FloatArray,
        first: FloatArray,
        second: FloatArray,
        weight: float,
        touching: Array,
        shifts: Array,
    ) -> None:
        """Shift `vertices` in place so that patches are where those of both poses blend to, plus `shifts`.

        Args:
            vertices: `(vertices, 3)`, the blend; all three meshes are about their own centroids.
            first: `(vertices, 3)`, one pose.
            second: `(vertices, 3)`, the other.
            weight: of the second.
            touching: `(patches,)`; feet that do not touch stay where the blend has them.
            shifts: `(patches, 2)`.
        """
        if not self.contacts.patches:
            return
        there, here, other = (self.contacts.patch_positions(mesh) for mesh in (vertices, first, second))
        foot = (self.one_foot * touching).max(axis=1)
        wanted = foot[:, None] * ((1 - weight) * here + weight * other - there)
        wanted[:, 0::2] += shifts
        if wanted.any():
            vertices += (self.influence @ wanted.astype(np.float32)).astype(vertices.dtype)
