"""Walking bodies of many people: their poses over time, one by one as clips, and their foot skate.

All people share one skeleton, scaled per person. Cost: 16 bytes a joint, person and frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey._progress import Progress
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError

# Number of people sampled to measure foot skate.
SAMPLED = 60


@dataclass(frozen=True, eq=False)
class WalkingCrowd:
    """Walking bodies of one skeleton, scaled per person.

    Attributes:
        skeleton: joints of the shared body.
        rotations: `(frames, people, joints, 4)`, float32, in the parents' frames; the root's in the world.
        roots: `(frames, people, 3)`, float32, metres, y up.
        sizes: `(people,)`, scale of each person's skeleton.
        present: `(frames, people)`.
        frame_rate: frames a second.
        ids: `(people,)`, of the tracks.
        outfits: `(people,)`, which of :func:`marey.stage.walk.figure.outfits` each wears.
        heights: `(people,)`, metres.
        source_skate: metres a second, foot skate of the captured walks.
        path_error: metres between bodies and their tracks, mean.
        origin: metres, position in the tracks' plan that is 0, 0 here; not 0, 0 for map coordinates.
    """

    skeleton: Skeleton
    rotations: NDArray[np.float32]
    roots: NDArray[np.float32]
    sizes: Array
    present: NDArray[np.bool_]
    frame_rate: float
    ids: NDArray[np.int64]
    outfits: NDArray[np.int64]
    heights: Array
    source_skate: float = 0.0
    path_error: float = 0.0
    origin: tuple[float, float] = (0.0, 0.0)
    name: str = ""

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.rotations)

    @property
    def people(self) -> int:
        """Number of people."""
        return self.rotations.shape[1]

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.frames / self.frame_rate

    def person(self, number: int) -> Motion:
        """One of the people, from the first to the last sighting, as a clip of that person's size."""
        if not 0 <= number < self.people:
            raise InputError(f"person {number}: there are 0 to {self.people - 1}")
        seen = np.flatnonzero(self.present[:, number])
        when = slice(int(seen[0]), int(seen[-1]) + 1)
        bones = replace(self.skeleton, offsets=self.sizes[number] * self.skeleton.offsets)
        turns = self.rotations[when, number].astype(np.float64)
        turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
        name = f"person {self.ids[number]}"
        return Motion(bones, turns, self.roots[when, number].astype(np.float64), self.frame_rate, name=name)

    def foot_skate(self) -> float:
        """Mean horizontal speed of feet in contact, metres a second, of at most 60 people."""
        from marey.body.feet import contacts, slide_speed

        chosen = np.unique(np.linspace(0, self.people - 1, SAMPLED).astype(np.int64))
        motions = [motion for number in chosen if (motion := self.person(int(number))).frames > 5]
        found = [(slide_speed(motion, mask := contacts(motion)), mask.sum()) for motion in motions]
        speeds, weights = np.transpose(found) if found else np.zeros((2, 0))
        return float(speeds @ weights / weights.sum()) if weights.any() else 0.0

    def save(self, path: str | PathLike[str], *, progress: Progress | None = None) -> None:
        """Write all people as skinned, animated bodies, `.glb` or `.gltf`."""
        from marey.stage.walk.gltf import write

        write(self, path, progress=progress)

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {"kind": "walking crowd", "people": self.people, "joints": self.skeleton.joints}
