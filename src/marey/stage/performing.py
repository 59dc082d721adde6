"""Recorded clips as the captured surface of one subject: dressed, decimated once, posed (4D data from mocap).

Cost: the dressing, one decimation of the skin, and skinning, linear in frames × vertices; 2,600 frames of
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
from marey.stage.dressing import dress
from marey.surface.decimation import Decimation, spread_poses
from marey.surface.library import Library

FRAME_RATE = 30.0
# Poses of every clip that the decimation may look at.
LOOKS = 6


def perform(
    character: Character,
    motions: Sequence[Motion],
    *,
    labels: Sequence[str] = (),
    vertices: int | None = None,
    frame_rate: float = FRAME_RATE,
    method: str = "linear",
    progress: Progress | None = None,
) -> Library:
    """The character's surface in all clips, one sequence each, in single precision.

    motions: clips whose joints are named like the character's; see :func:`~marey.stage.dressing.dress`
    labels: the behaviour each shows; their names, if not given
    vertices: at most so many, chosen for the poses of the clips; all, if None
    frame_rate: of the sequences, frames per second
    method: "linear", or "dual_quaternion", which keeps the volume of twisting limbs

    >>> import marey
    >>> walks = [marey.samples.walk(seconds=0.4, speed=v, stature=1.6) for v in (1.0, 1.5)]
    >>> perform(marey.samples.human(), walks, vertices=600).vertices(0).shape
    (600, 3)
    """
    dressed = [_dressed(character, motion.resample(frame_rate)) for motion in motions]
    skin = character.skin
    if vertices is not None and vertices < len(skin.vertices):
        poses = _few_poses(dressed, method)
        skin = Decimation.of(skin, vertices=vertices, poses=poses).apply(skin)
    sequences = []
    for done, one in enumerate(dressed, start=1):
        sequences.append(replace(one, skin=skin).pose(method=method, dtype=np.float32))
        if progress is not None:
            progress(done, len(dressed))
    return Library(tuple(sequences), tuple(labels))


def _dressed(character: Character, motion: Motion) -> Character:
    try:
        return dress(character, motion)
    except InputError as error:
        raise InputError(f"{motion.name or 'clip'}: {error}") from error


def _few_poses(dressed: Sequence[Character], method: str) -> FloatArray:
    few = [
        one.pose(frames=slice(None, None, max(1, one.frames // LOOKS)), method=method, dtype=np.float32)
        for one in dressed
    ]
    return spread_poses(Library(tuple(replace(sequence, frame_rate=1.0) for sequence in few)))
