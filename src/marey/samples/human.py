"""A skinned, textured human on the skeleton of the walk, its surface over time, and its other motions.

The mesh of some 7,600 vertices and the clips (standing, running, jumping, walking along a curve, 30 frames a
second) are stored beside this file; `tools/human` makes them by formula.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from marey.body.motion import Motion
from marey.character import Character
from marey.geometry import rotations as so3
from marey.samples.body_plan import body_skeleton
from marey.samples.walk import walk
from marey.surface.decimation import Decimation
from marey.surface.sequence import Library, MeshSequence, Texture
from marey.surface.skinning import SkinnedMesh

ASSET = Path(__file__).with_name("human.npz")
GAITS = Path(__file__).with_name("gaits.npz")
FRAME_RATE = 30.0


def human(motion: Motion | None = None) -> Character:
    """A human of 1.75 m, with uv and texture, who does `motion` (the walk, if none is given).

    Any clip of the samples' skeleton will do, or of one with the same joint names.

    >>> person = human()
    >>> person.skin.weights.shape[1], person.motion.name
    (4, 'walk')
    """
    return Character(_skin(), (walk() if motion is None else motion,), name="human")


def mesh_sequence(motion: Motion | None = None) -> MeshSequence:
    """The human's surface over time: what a 4D capture of the walk (or of `motion`) would give.

    >>> mesh_sequence(walk(seconds=0.1, frame_rate=30)).vertices.shape[0]
    3
    """
    return human(motion).pose(dtype=np.float32)


@cache
def _skin() -> SkinnedMesh:
    with np.load(ASSET) as stored:
        arrays = dict(stored)
    texture = Texture(data=arrays.pop("texture").tobytes())
    return SkinnedMesh(joint_names=body_skeleton().names, texture=texture, **arrays)


@cache
def gaits() -> dict[str, tuple[str, Motion]]:
    """The behaviour and the clip of each, by name.

    >>> [name for name, (behaviour, _) in gaits().items() if behaviour == "walk"]
    ['walk-slow', 'walk', 'walk-brisk']
    """
    with np.load(GAITS) as stored:
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
