"""The sample human's other motions: standing, running, jumping, walking along a curve; and all as meshes.

The clips are stored beside this file, with 30 frames a second; `tools/human/gaits.py` makes them by formula.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from marey.body.motion import Motion
from marey.geometry import rotations as so3
from marey.samples.body_plan import body_skeleton
from marey.samples.human import human
from marey.surface.decimation import Decimation
from marey.surface.sequence import Library

ASSET = Path(__file__).with_name("gaits.npz")
FRAME_RATE = 30.0


@cache
def gaits() -> dict[str, tuple[str, Motion]]:
    """The behaviour and the clip of each, by name.

    >>> [name for name, (behaviour, _) in gaits().items() if behaviour == "walk"]
    ['walk-slow', 'walk', 'walk-brisk']
    """
    with np.load(ASSET) as stored:
        names, behaviours, starts = (stored[name].tolist() for name in ("names", "behaviours", "starts"))
        rotations, roots = so3.normalise(stored["rotations"].astype(np.float64)), stored["roots"]
    parts = [slice(*ends) for ends in pairwise(starts)]
    return {
        name: (behaviour, Motion(body_skeleton(), rotations[part], roots[part], FRAME_RATE, name=name))
        for name, behaviour, part in zip(names, behaviours, parts, strict=True)
    }


@lru_cache(maxsize=4)
def mesh_library(*, vertices: int = 2000, frame_rate: float = FRAME_RATE) -> Library:
    """Ten sequences of one human, with the behaviours walk, turn-left, turn-right, run, jump and idle.

    vertices: of the mesh; the human itself has some 7,600
    frame_rate: frames per second

    >>> library = mesh_library(vertices=800)
    >>> len(library), library.vertices(0).shape
    (10, (800, 3))
    """
    behaviours, motions = zip(*gaits().values(), strict=True)
    if frame_rate != FRAME_RATE:
        motions = tuple(motion.resample(frame_rate) for motion in motions)
    person = human()
    poses = np.concatenate(
        [person.pose(motion, frames=motion.frames // 2).vertices for motion in motions[-3:] + motions[:2]]
    )
    skin = Decimation.of(person.skin, vertices=vertices, poses=poses).apply(person.skin)
    small = replace(person, skin=skin)
    return Library(tuple(small.pose(motion, dtype=np.float32) for motion in motions), behaviours)
