"""Recorded clips as the captured surface of one subject: skinned, decimated once, posed (4D data from mocap).

Cost: the retargeting, one decimation of the skin, and skinning, linear in frames × vertices; 2,600 frames of
5,000 vertices take about 5 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from marey._arrays import FloatArray
from marey._progress import Progress
from marey.body.motion import Motion
from marey.character import Character
from marey.errors import InputError
from marey.stage.skin_clip import skin_clip
from marey.surface.decimation import Decimation, diverse_poses
from marey.surface.library import Library

# Poses of every clip that the decimation may use.
POSES = 6


def mesh_library(
    character: Character,
    motions: Sequence[Motion],
    *,
    labels: Sequence[str] = (),
    vertices: int | None = None,
    frame_rate: float = 30.0,
    method: str = "linear",
    progress: Progress | None = None,
) -> Library:
    """The character's surface in all clips, one sequence each, in single precision.

    Args:
        character: a rigged mesh.
        motions: clips, as for :func:`~marey.stage.skin_clip.skin_clip`.
        labels: the behaviour each shows; their names, if not given.
        vertices: most vertices to keep, chosen for the poses of the clips; all, if None.
        frame_rate: of the sequences, frames a second.
        method: "linear", or "dual_quaternion", which keeps the volume of twisting limbs.
        progress: called with sequences done and in all.

    >>> import marey
    >>> walks = [marey.samples.walk(seconds=0.4, speed=v, stature=1.6) for v in (1.0, 1.5)]
    >>> mesh_library(marey.samples.human(), walks, vertices=600).vertices(0).shape
    (600, 3)
    """
    skinned = [_skinned(character, motion.resample(frame_rate)) for motion in motions]
    skin = character.skin
    if vertices is not None and vertices < len(skin.vertices):
        poses = _few_poses(skinned, method)
        skin = Decimation.of(skin, vertices=vertices, poses=poses).apply(skin)
    sequences = []
    for done, one in enumerate(skinned, start=1):
        sequences.append(replace(one, skin=skin).pose(method=method, dtype=np.float32))
        if progress is not None:
            progress(done, len(skinned))
    return Library(tuple(sequences), tuple(labels))


def _skinned(character: Character, motion: Motion) -> Character:
    try:
        return skin_clip(character, motion)
    except InputError as error:
        raise InputError(f"{motion.name or 'clip'}: {error}") from error


def _few_poses(skinned: Sequence[Character], method: str) -> FloatArray:
    few = [
        one.pose(frames=slice(None, None, max(1, one.frames // POSES)), method=method, dtype=np.float32)
        for one in skinned
    ]
    return diverse_poses(Library(tuple(replace(sequence, frame_rate=1.0) for sequence in few)))
