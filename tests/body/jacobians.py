"""Jacobians of points and joints, column by column: oracle of velocities and of inverse kinematics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.kinematics import GlobalPose
from marey.body.skeleton import chain_above, checked_parents
from marey.geometry import rotations as so3


def position_jacobian(
    parents: ArrayLike, pose: GlobalPose, joint: int, *, point: ArrayLike | None = None
) -> Array:
    """Jacobian `(..., 3, 3 joints + 3)` of a world point that moves with `joint`.

    Columns: the body angular velocity of each joint in turn, then the root's world velocity.

    Args:
        point: `(..., 3)`, world position of the point; the joint's own if None.
    """
    chain = chain_above(checked_parents(parents), joint)
    x = pose.positions[..., joint, :] if point is None else np.asarray(point, dtype=np.float64)
    leading = np.broadcast_shapes(x.shape[:-1], pose.positions.shape[:-2])
    jacobian = np.zeros((*leading, 3, 3 * pose.positions.shape[-2] + 3))
    for j in chain:
        arm = so3.hat(x - pose.positions[..., j, :])
        jacobian[..., 3 * j : 3 * j + 3] = -arm @ so3.to_matrix(pose.rotations[..., j, :])
    jacobian[..., -3:] = np.eye(3)
    return jacobian


def orientation_jacobian(parents: ArrayLike, pose: GlobalPose, joint: int) -> Array:
    """Jacobian `(..., 3, 3 joints + 3)` of the world angular velocity of `joint`; columns as above."""
    jacobian = np.zeros((*pose.positions.shape[:-2], 3, 3 * pose.positions.shape[-2] + 3))
    for j in chain_above(checked_parents(parents), joint):
        jacobian[..., 3 * j : 3 * j + 3] = so3.to_matrix(pose.rotations[..., j, :])
    return jacobian
