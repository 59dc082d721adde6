"""Where the frames of transitions stand and face, found without a mesh (Boukhayma 2017, algorithm 2).

Position and heading of a blend advance by the blended increments of both clips, re-aligned at every frame;
the increments are those to the next frames of the time warp, not to the next captured ones as printed. On top
of the source's rule, the body is carried so that what touches the ground stays where it is while the weights
of the blend change. All is sums along the frames, so many transitions are laid out in one go. Cost: a few
dozen operations a frame and patch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.errors import InputError
from marey.surface.planar import Planar, turned
from marey.surface.synthesis.tracks import Tracks, at_times, wrapped

Array = NDArray[np.float64]
Ease = Literal["smooth", "linear"]


@dataclass(frozen=True, eq=False)
class Course:
    """Frames of one or more transitions, each seen from where its source was captured.

    first: `(transitions + 1,)`, first frame of each, then the number of all frames
    times: `(frames, 2)`, frames of the source and destination clips, numbers of the library with fractions
    weights: `(frames,)`, share of the destination
    source_turns, destination_turns: `(frames,)`, by how much both are turned before they are blended, radians
    positions: `(frames, 2)`, where the middle of the blend stands, metres
    floors: `(frames,)`, height of the ground below the blend
    touching: `(frames, patches)`, how surely each patch of the blend touches the ground
    """

    first: NDArray[np.int64]
    times: Array
    weights: Array
    source_turns: Array
    destination_turns: Array
    positions: Array
    floors: Array
    touching: Array

    @classmethod
    def lay_out(
        cls,
        tracks: Tracks,
        times: Array,
        weights: Array,
        turns: Array,
        *,
        first: NDArray[np.int64] | None = None,
        anchored: bool = True,
    ) -> Course:
        """Lay out transitions one after another.

        times: `(frames, 2)`
        weights, turns: `(frames,)`, share of the destination, and by how much it turns to face as the source
        anchored: keep what touches the ground in place; False is the source's rule
        """
        starts = np.array([0, len(times)]) if first is None else np.asarray(first, np.int64)
        begin = starts[:-1]
        change = np.empty(len(turns))
        change[1:] = wrapped(np.diff(turns))
        change[begin] = turns[begin]
        source_turns = -_summed(weights * change, starts)
        # Beside the source, the destination stands turned by what separates their captured headings.
        facing = _summed(change, starts)
        destination_turns = source_turns + facing
        source, destination = times[:, 0], times[:, 1]
        sides = (
            _Side.at(tracks, source, source_turns, 1.0 - weights),
            _Side.at(tracks, destination, destination_turns, weights),
        )
        steps = sum(side.steps() for side in sides)
        height = sum(side.share[:, None] * side.heights for side in sides)
        known = sum(side.share[:, None] * side.touching for side in sides)
        touching = tracks.contacts.low(np.asarray(height)) * known
        if anchored and tracks.contacts.patches:
            steps = steps - _drift(sides, np.asarray(touching))
        rises = sum(_between(side.share) * np.diff(side.floors, append=side.floors[-1:]) for side in sides)
        return cls(
            starts,
            times,
            weights,
            source_turns,
            destination_turns,
            _advanced(at_times(tracks.centroids, source[begin]), np.asarray(steps), starts),
            _advanced(at_times(tracks.contacts.floors, source[begin]), np.asarray(rises), starts),
            np.asarray(touching),
        )

    def arrival(self, tracks: Tracks) -> tuple[Planar, Array]:
        """How each transition moves its last frame: along the ground, and up, `(transitions,)`."""
        last = self.first[1:] - 1
        frames = self.times[last, 1]
        planar = Planar.about(
            at_times(tracks.centroids, frames), self.destination_turns[last], self.positions[last]
        )
        return planar, self.floors[last] - at_times(tracks.contacts.floors, frames)

    def follow(self, tracks: Tracks, points: Array) -> Array:
        """Where a point of the body is, `(frames, 3)`, by where it is in the captured frames `(…, 3)`."""
        result = np.zeros((len(self.times), 3))
        for i, turns, share in (
            (0, self.source_turns, 1.0 - self.weights),
            (1, self.destination_turns, self.weights),
        ):
            captured = at_times(points, self.times[:, i])
            offset = captured[:, 0::2] - at_times(tracks.centroids, self.times[:, i])
            result[:, 0::2] += share[:, None] * turned(offset, turns)
            result[:, 1] += share * (captured[:, 1] - at_times(tracks.contacts.floors, self.times[:, i]))
        result[:, 0::2] += self.positions
        result[:, 1] += self.floors
        return result


def eased(length: int, ease: Ease = "smooth") -> Array:
    """Shares of the destination over a transition, from 0 to 1, `(length,)`.

    >>> eased(5).tolist()
    [0.0, 0.15625, 0.5, 0.84375, 1.0]
    """
    if ease not in ("smooth", "linear"):
        raise InputError(f"ease {ease!r}: smooth or linear")
    if length == 1:
        return np.ones(1)
    s = np.linspace(0.0, 1.0, length)
    return s if ease == "linear" else s * s * (3.0 - 2.0 * s)


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two clips along the frames of a course, turned but about its own middle."""

    share: Array
    turns: Array
    centroids: Array
    offsets: Array
    heights: Array
    touching: Array
    floors: Array

    @classmethod
    def at(cls, tracks: Tracks, frames: Array, turns: Array, share: Array) -> _Side:
        centroids = at_times(tracks.centroids, frames)
        patches = at_times(tracks.patches, frames)
        floors = at_times(tracks.contacts.floors, frames)
        return cls(
            share,
            turns,
            centroids,
            patches[..., 0::2] - centroids[:, None],
            patches[..., 1] - floors[:, None],
            at_times(tracks.contacts.touching, frames),
            floors,
        )

    def steps(self) -> Array:
        """Its part of the way to the next frame, `(frames, 2)`; the last row means nothing."""
        ahead = np.diff(self.centroids, axis=0, append=self.centroids[-1:])
        return _between(self.share)[:, None] * turned(ahead, _between(self.turns))

    def unfounded(self) -> Array:
        """How far patches move on without the captured ones doing so, `(frames, patches, 2)`."""
        share = self.share[:, None, None]
        now = share * turned(self.offsets, self.turns[:, None])
        whole = np.diff(now, axis=0, append=now[-1:])
        ahead = np.diff(self.offsets, axis=0, append=self.offsets[-1:])
        return whole - _between(share) * turned(ahead, _between(self.turns)[:, None])


def _drift(sides: tuple[_Side, _Side], touching: Array) -> Array:
    """How far what touches the ground would slide to the next frame, `(frames, 2)`."""
    both = np.minimum(touching, np.concatenate([touching[1:], touching[-1:]]))
    # A quarter of a patch must touch for the body to be carried by it alone.
    weight = both / np.maximum(both.sum(axis=1, keepdims=True), 0.25)
    slide = sum(side.unfounded() for side in sides)
    return np.asarray((weight[:, :, None] * slide).sum(axis=1))


def _between(values: FloatArray) -> Array:
    """Means of rows and the rows after them; the last row is its own."""
    following = np.concatenate([values[1:], values[-1:]])
    return np.asarray(0.5 * (values + following))


def _summed(values: Array, first: NDArray[np.int64]) -> Array:
    """Running sums within each transition."""
    total = np.cumsum(values, axis=0)
    before = total[first[:-1]] - values[first[:-1]]
    return np.asarray(total - np.repeat(before, np.diff(first), axis=0))


def _advanced(begin: Array, steps: Array, first: NDArray[np.int64]) -> Array:
    """Positions from where each transition begins, advancing by the steps of all its frames but the last."""
    moved = np.empty_like(steps)
    moved[1:] = steps[:-1]
    moved[first[:-1]] = begin
    return _summed(moved, first)
