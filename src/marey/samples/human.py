"""A skinned, textured human on the skeleton of the walk, and its surface over time.

The mesh of some 7,600 vertices is stored beside this file; `tools/human` makes it by formula.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from marey.body.motion import Motion
from marey.character import Character
from marey.samples.body_plan import body_skeleton
from marey.samples.walk import walk
from marey.surface.sequence import MeshSequence, Texture
from marey.surface.skinning import SkinnedMesh

ASSET = Path(__file__).with_name("human.npz")


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
