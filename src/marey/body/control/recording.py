"""States of a controlled character as clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.control.mechanics import Body
from marey.body.kinematics import global_frames
from marey.body.motion import Motion
from marey.body.physics.reduced import PhysicalCharacter
from marey.geometry import rotations as so3


def arms(character: PhysicalCharacter, rotations: ArrayLike, alphas: ArrayLike) -> Array:
    """From the root joint to the centre of mass in the world `(n, 3)`, roots turned by `(n, 4)`."""
    skeleton, bones = character.skeleton, character.bones
    turned = character.basis.decode(alphas)
    turned[:, 0] = rotations
    pose = global_frames(skeleton.parents, skeleton.offsets, turned, np.zeros((len(turned), 3)))
    middles = pose.positions + so3.rotate(pose.rotations, bones.centres)
    return np.asarray((bones.masses[:, None] * middles).sum(axis=1) / bones.masses.sum())


def poses(character: PhysicalCharacter, bodies: Sequence[Body]) -> tuple[Array, Array]:
    """Local rotations `(n, joints, 4)` and places of the root `(n, 3)`."""
    alphas, turns = np.array([body.alpha for body in bodies]), np.array([body.rotation for body in bodies])
    rotations = character.basis.decode(alphas)
    rotations[:, 0] = turns
    return rotations, np.array([body.centre for body in bodies]) - arms(character, turns, alphas)


def recorded(
    motion: Motion, character: PhysicalCharacter, bodies: Sequence[Body], frame_rate: float
) -> Motion:
    """States as a clip, with no more frames a second than another clip has."""
    rotations, places = poses(character, bodies)
    clip = replace(
        motion,
        rotations=so3.continuous(so3.normalise(rotations)),
        root=places,
        frame_rate=frame_rate,
        translations=None,
        first_frame=0,
    )
    return clip if frame_rate <= motion.frame_rate else clip.resample(motion.frame_rate)
