"""How readily a body leaves the poses of a clip: along the clip's own modes first, its joints singly next.

A displacement of a frame is `B z` with z of independent unit numbers: coordinates of the pose model by their
deviations (so that limbs move together as they do in the clip, the prior of inverse kinematics in Courty
2013, section 2.2.2.1), small turns of each joint about the axes it uses, and a little of the root. The map
changes slowly in the world's frame: a captured limb whose twist jumps, while its joints do not, is displaced
without a jump. Numbers are bounded smoothly, so that no joint and no root goes further than bodies do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.kinematics import GlobalPose, forward_kinematics
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.pose_samples import pose_rotations
from marey.geometry import rotations as so3
from marey.geometry.continuity import unwrap
from marey.geometry.matrices import hat, to_matrix
from marey.geometry.tangent import dexp_body
from marey.statistics.geodesics import PrincipalGeodesics

# What a joint does by itself: this share of its own deviation, at least so many radians if it moves at all.
ALONE, LEAST_TURN = 0.35, 0.02
MOVES = 1e-4
# Seconds over which the map is smoothed.
SMOOTH = 0.05
# The root, as readily as a mode goes by one deviation: radians, metres.
ROOT_TURN, ROOT_SHIFT = 0.1, 0.05
# Deviations that are never passed: of modes, of joints singly, and of the root's way (30 cm).
MOST_MODE, MOST_ALONE, MOST_SHIFT = 3.0, 6.0, 6.0


@dataclass(frozen=True, eq=False)
class Freedom:
    """Displacements of frames by unit numbers: `modes + 3 joints + 3` a frame.

    tangent: `(frames, joints, 3, 3)`, how turns along the modes act at each frame's pose
    directions: `(modes, joints, 3)`, radians by one deviation
    alone: `(frames, joints, 3, 3)`, how each joint turns by itself, radians by one deviation
    shift: metres by one deviation of the root's
    """

    tangent: Array
    directions: Array
    alone: Array
    shift: float

    @classmethod
    def of(cls, motion: Motion, model: PoseModel) -> Freedom:
        """Of the frames of a clip."""
        geodesics = model.geodesics
        logs = unwrap(geodesics.logarithms(pose_rotations(motion)))
        directions = geodesics.directions * geodesics.deviations[:, None, None]
        world = to_matrix(forward_kinematics(motion).rotations)
        back = np.swapaxes(world, -1, -2)
        tangent = back @ _smoothed(world @ dexp_body(logs), motion.frame_rate)
        alone = back @ _smoothed(world, motion.frame_rate) * _own_turns(geodesics)[:, None]
        return cls(tangent, directions, alone, ROOT_SHIFT)

    @property
    def size(self) -> int:
        """Numbers of a frame."""
        return len(self.directions) + 3 * self.alone.shape[1] + 3

    def at(self, frames: NDArray[np.intp]) -> Freedom:
        """The same of some of the frames."""
        return Freedom(self.tangent[frames], self.directions, self.alone[frames], self.shift)

    def displacement(self, numbers: Array) -> tuple[Array, Array]:
        """Turns `(frames, joints, 3)` in the joints' frames and shifts `(frames, 3)` of `(frames, size)`."""
        modes, joints = len(self.directions), self.alone.shape[1]
        numbers = self._bounded(numbers)
        along = np.einsum("tm,mjc->tjc", numbers[:, :modes], self.directions)
        turns = np.einsum("tjab,tjb->tja", self.tangent, along)
        turns += np.einsum("tjab,tjb->tja", self.alone, numbers[:, modes:-3].reshape(-1, joints, 3))
        return turns, self.shift * numbers[:, -3:]

    def gradients(self, numbers: Array, turns: Array, pose: GlobalPose, above: Array, points: Array) -> Array:
        """How points move with the numbers, `(points, 3, size)`; one point a frame.

        numbers: `(points, size)`, where
        turns: `(points, joints, 3)`, displacement that the pose has already
        above: `(points, joints)`, 1 for joints that carry the point
        points: `(points, 3)`, world, metres
        """
        arms = (points[:, None] - pose.positions) * above[..., None]
        lever = -hat(arms) @ to_matrix(pose.rotations) @ dexp_body(turns)
        count = len(points)
        along = np.swapaxes(lever @ self.tangent, 1, 2).reshape(count, 3, -1)
        by_modes = along @ self.directions.reshape(len(self.directions), -1).T
        singly = np.swapaxes(lever @ self.alone, 1, 2).reshape(count, 3, -1)
        by_root = np.broadcast_to(self.shift * np.eye(3), (count, 3, 3))
        free = np.concatenate([by_modes, singly, by_root], axis=2)
        return self._by_unbounded(free, numbers)

    def _bounded(self, numbers: Array) -> Array:
        """Numbers `(frames, size)`, small ones as they are, the largest no more than the most."""
        return numbers * _slack(self._sizes(numbers)) ** 0.25

    def _by_unbounded(self, slopes: Array, numbers: Array) -> Array:
        """Slopes `(points, 3, size)` by bounded numbers as those by the numbers themselves."""
        slack = _slack(self._sizes(numbers))
        found = slopes * (slack**1.25)[:, None]
        # The root's three are bounded together, so they depend on one another.
        way, its = numbers[:, -3:], slack[:, -3:]
        along = its**1.25 * way / MOST_SHIFT**2
        found[..., -3:] = (
            slopes[..., -3:] * (its**0.25)[:, None]
            - ((slopes[..., -3:] @ way[..., None]) @ along[:, None])
            * ((way**2).sum(axis=1) / MOST_SHIFT**2)[:, None, None]
        )
        return np.asarray(found)

    def _sizes(self, numbers: Array) -> Array:
        """How large numbers are, of what they may be."""
        modes = len(self.directions)
        sizes = np.abs(numbers) / MOST_ALONE
        sizes[:, :modes] = np.abs(numbers[:, :modes]) / MOST_MODE
        sizes[:, -3:] = np.linalg.norm(numbers[:, -3:], axis=1, keepdims=True) / MOST_SHIFT
        return sizes


def displaced(rotations: Array, root: Array, turns: Array, shifts: Array) -> tuple[Array, Array]:
    """Rotations `(frames, joints, 4)` turned in their own frames, and the root's path shifted."""
    return so3.multiply(rotations, so3.exp(turns)), root + shifts


def _slack(sizes: Array) -> Array:
    """1 for small sizes, towards 0 beyond 1; `size · slack^¼` stays below 1 and has the slope `slack^1¼`."""
    return np.asarray(1.0 / (1.0 + sizes**4))


def _own_turns(geodesics: PrincipalGeodesics) -> Array:
    """Radians `(joints, 3)` that each joint readily turns by itself about its axes."""
    spread = np.sqrt((geodesics.directions**2 * geodesics.variances[:, None, None]).sum(axis=0))
    moving = spread.max(axis=1) > MOVES
    if not moving.any():
        moving[:] = True
    turns = np.where(moving[:, None], ALONE * spread + LEAST_TURN, 0.0)
    turns[0] = ROOT_TURN
    return turns


def _smoothed(matrices: Array, frame_rate: float) -> Array:
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(gaussian_filter1d(matrices, SMOOTH * frame_rate, axis=0, mode="nearest"))
