"""States of a controlled character as clips, and clips as its states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

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


def joints(character: PhysicalCharacter, bodies: Sequence[Body]) -> Array:
    """Places of all joints `(bodies, joints, 3)`."""
    rotations, places = poses(character, bodies)
    skeleton = character.skeleton
    return global_frames(skeleton.parents, skeleton.offsets, rotations, places).positions


def rms(one: Array, other: Array) -> Array:
    """Root mean square distance of joints `(frames, joints, 3)`, a number a frame."""
    return np.asarray(np.sqrt(((one - other) ** 2).sum(axis=2).mean(axis=1)))


class Followed(NamedTuple):
    """A clip in the coordinates of a character, a row a step.

    Args:
        rotations, centres, alphas: `(steps, 4)`, `(steps, 3)`, `(steps, modes)`.
        velocities: `(steps, size)`, from each row to the next.
    """

    rotations: Array
    centres: Array
    alphas: Array
    velocities: Array

    @classmethod
    def of(cls, character: PhysicalCharacter, motion: Motion) -> Followed:
        """The clip as near as the basis comes, at the clip's frames."""
        turns = np.array(motion.rotations[:, 0], dtype=np.float64)
        alphas = character.basis.encode(motion.rotations)
        return cls.through(turns, motion.root + arms(character, turns, alphas), alphas, motion.frame_rate)

    @classmethod
    def through(cls, turns: Array, centres: Array, alphas: Array, rate: float) -> Followed:
        """Rows with velocities from each to the next, `rate` rows a second."""
        spins = so3.log(so3.multiply(so3.inverse(turns[:-1]), turns[1:])) * rate
        moved = so3.rotate(so3.inverse(turns[:-1]), np.diff(centres, axis=0)) * rate
        v = np.concatenate([spins, moved, np.diff(alphas, axis=0) * rate], axis=1)
        return cls(turns, centres, alphas, np.concatenate([v, v[-1:]]))

    def smoothed(self, rows: float, rate: float) -> Followed:
        """The same after a Gaussian filter of a standard deviation of some rows, `rate` rows a second."""
        from scipy.ndimage import gaussian_filter1d

        def smooth(values: Array) -> Array:
            return np.asarray(gaussian_filter1d(values, rows, axis=0, mode="nearest"))

        turns = so3.normalise(smooth(so3.continuous(self.rotations)))
        return self.through(turns, smooth(self.centres), smooth(self.alphas), rate)

    def body(self, row: int) -> Body:
        """Where the clip is in a row, and how it came there."""
        v = self.velocities[max(row - 1, 0)].copy()
        if row:
            before, here = so3.to_matrix(self.rotations[row - 1 : row + 1])
            v[3:6] = v[3:6] @ before.T @ here
        return Body(self.rotations[row], self.centres[row], self.alphas[row], v)


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
