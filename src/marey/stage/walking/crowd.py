"""Walking bodies of many people: their poses over time, one by one as clips, and how well their feet stand.

Everyone has the same skeleton in a size of his own. Cost: 16 bytes a joint, person and frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from marey._progress import Progress
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError

Array = NDArray[np.float64]

# People whose feet are looked at to tell how much they slide.
LOOKED_AT = 60


@dataclass(frozen=True, eq=False)
class WalkingCrowd:
    """Walking bodies of one skeleton, in sizes of their own.

    skeleton: joints of the shared body
    rotations: `(frames, people, joints, 4)`, float32, in the parents' frames; the root's in the world
    roots: `(frames, people, 3)`, float32, metres, y up
    sizes: `(people,)`, how much larger than the shared body each is
    present: `(frames, people)`
    frame_rate: frames a second
    ids: `(people,)`, the tracks' own numbers
    outfits: `(people,)`, which of :func:`marey.stage.walking.outfits.outfits` each wears
    statures: `(people,)`, metres
    clip_slide: metres a second that standing feet of the captured walks slide, as they were
    path_error: metres between bodies and their tracks, mean
    origin: metres, place of the tracks' plan that is 0, 0 here; other than that only for map coordinates
    """

    skeleton: Skeleton
    rotations: NDArray[np.float32]
    roots: NDArray[np.float32]
    sizes: Array
    present: NDArray[np.bool_]
    frame_rate: float
    ids: NDArray[np.int64]
    outfits: NDArray[np.int64]
    statures: Array
    clip_slide: float = 0.0
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
        """One of the people, from when he is first seen to the last time, as a clip of his own size."""
        if not 0 <= number < self.people:
            raise InputError(f"person {number}: there are 0 to {self.people - 1}")
        seen = np.flatnonzero(self.present[:, number])
        when = slice(int(seen[0]), int(seen[-1]) + 1)
        bones = Skeleton(
            self.skeleton.names, self.skeleton.parents, self.sizes[number] * np.asarray(self.skeleton.offsets)
        )
        turns = self.rotations[when, number].astype(np.float64)
        turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
        name = f"person {self.ids[number]}"
        return Motion(bones, turns, self.roots[when, number].astype(np.float64), self.frame_rate, name=name)

    def foot_slide(self) -> float:
        """Mean horizontal speed of standing feet, metres a second, of up to sixty people."""
        from marey.body.contacts import contacts, sliding

        chosen = np.unique(np.linspace(0, self.people - 1, LOOKED_AT).astype(np.int64))
        way = seconds = 0.0
        for number in chosen:
            motion = self.person(int(number))
            if motion.frames > 5:
                found = sliding(motion, contacts(motion))
                way, seconds = way + found.way, seconds + found.seconds
        return way / seconds if seconds else 0.0

    def save(self, path: str | PathLike[str], *, progress: Progress | None = None) -> None:
        """Write all people as skinned, animated bodies, `.glb` or `.gltf`."""
        from marey.stage.walking.gltf import write

        write(self, path, progress=progress)
