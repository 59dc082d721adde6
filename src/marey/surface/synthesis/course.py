"""Where the frames of transitions stand and face, found without a mesh (Boukhayma 2017, algorithm 2).

Position and heading of a blend advance by the blended increments of both clips, re-aligned at every frame;
the increments are those to the next frames of the time warp, not to the next captured ones as printed. On top
of the source's rule, the body is carried so that what touches the ground stays where it is while the weights
of the blend change. Cost: a few dozen operations a frame and patch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError
from marey.geometry.planar import PlanarMotion, rotate
from marey.surface.contacts import LOW
from marey.surface.synthesis.tracks import Tracks, at_times

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
        from marey.surface.synthesis import _kernels as kernels

        starts = np.array([0, len(times)]) if first is None else np.asarray(first, np.int64)
        contacts = tracks.contacts
        count = len(times)
        filled = (
            np.empty(count), np.empty(count), np.empty((count, 2)), np.empty(count),
            np.zeros((count, contacts.patches)),
        )  # fmt: skip
        kernels.lay_out_places(
            starts.astype(np.int64), times, weights, turns, tracks.centroids, contacts.floors,
            tracks.patches, contacts.touching, LOW * contacts.height, anchored, *filled,
        )  # fmt: skip
        return cls(starts, times, weights, *filled)

    def arrival(self, tracks: Tracks) -> tuple[PlanarMotion, Array]:
        """How each transition moves its last frame: along the ground, and up, `(transitions,)`."""
        last = self.first[1:] - 1
        frames = self.times[last, 1]
        planar = PlanarMotion.about(
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
            result[:, 0::2] += share[:, None] * rotate(offset, turns)
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
