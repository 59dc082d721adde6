"""How velocities go out through the skeleton and forces come back (Tournier 2011, section 6.2, world form).

A joint velocity `omega_j` is in radians per second in the joint's own (body) frame: `dq_j = q_j omega_j`.
It moves everything below: `dx = (G_j omega_j) × (x - P_j)`. Push-forward and pull-back are one sweep each,
O(joints) a pose, vectorised over poses; a Jacobian fills only the columns of the chain above its point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.kinematics import GlobalPose
from marey.body.skeleton import chain_above, checked_parents
from marey.geometry import rotations as so3


class Velocities(NamedTuple):
    """World velocities of all joints, `(..., joints, 3)` each: metres and radians per second."""

    linear: Array
    angular: Array


class GeneralisedForces(NamedTuple):
    """What pose and root feel: torques in joint frames `(..., joints, 3)`, world force `(..., 3)`."""

    joints: Array
    root: Array


def push_forward(
    parents: ArrayLike, pose: GlobalPose, joint_velocities: ArrayLike, root_velocity: ArrayLike = 0.0
) -> Velocities:
    """World velocities of all joints.

    joint_velocities: `(..., joints, 3)`, in each joint's own frame
    root_velocity: `(..., 3)`, of the root's position in the world

    >>> from marey.body.kinematics import global_frames
    >>> pose = global_frames([-1, 0], [[0, 0, 0], [1, 0, 0]], so3.identity(2), np.zeros(3))
    >>> push_forward([-1, 0], pose, [[0, 0, 2], [0, 0, 1]]).linear[1]
    array([0., 2., 0.])
    """
    tree = checked_parents(parents)
    angular = so3.rotate(pose.rotations, joint_velocities)
    linear = np.empty(angular.shape)
    linear[..., 0, :] = root_velocity
    for joint in range(1, len(tree)):
        parent = tree[joint]
        arm = pose.positions[..., joint, :] - pose.positions[..., parent, :]
        linear[..., joint, :] = linear[..., parent, :] + np.cross(angular[..., parent, :], arm)
        angular[..., joint, :] += angular[..., parent, :]
    return Velocities(linear, angular)


def pull_back(
    parents: ArrayLike, pose: GlobalPose, forces: ArrayLike, torques: ArrayLike = 0.0
) -> GeneralisedForces:
    """Generalised forces of world forces and torques at the joints: the transpose of :func:`push_forward`.

    One sweep from the leaves to the root; no Jacobian is formed.

    forces, torques: `(..., joints, 3)`, world frame, acting on each joint at its position

    >>> from marey.body.kinematics import global_frames
    >>> pose = global_frames([-1, 0], [[0, 0, 0], [1, 0, 0]], so3.identity(2), np.zeros(3))
    >>> pull_back([-1, 0], pose, [[0, 0, 0], [0, 3, 0]]).joints[0]
    array([0., 0., 3.])
    """
    tree = checked_parents(parents)
    push = np.array(np.broadcast_to(np.asarray(forces, dtype=np.float64), pose.positions.shape))
    twist = np.array(np.broadcast_to(np.asarray(torques, dtype=np.float64), pose.positions.shape))
    for joint in range(len(tree) - 1, 0, -1):
        parent = tree[joint]
        arm = pose.positions[..., joint, :] - pose.positions[..., parent, :]
        push[..., parent, :] += push[..., joint, :]
        twist[..., parent, :] += twist[..., joint, :] + np.cross(arm, push[..., joint, :])
    return GeneralisedForces(so3.rotate(so3.inverse(pose.rotations), twist), push[..., 0, :])


def position_jacobian(
    parents: ArrayLike, pose: GlobalPose, joint: int, *, point: ArrayLike | None = None
) -> Array:
    """Jacobian `(..., 3, 3 joints + 3)` of a world point that moves with `joint`.

    Columns: the body angular velocity of each joint in turn, then the root's world velocity.

    point: `(..., 3)`, world position of the point; the joint's own if None
    """
    chain = chain_above(checked_parents(parents), joint)
    x = pose.positions[..., joint, :] if point is None else np.asarray(point, dtype=np.float64)
    leading = np.broadcast_shapes(x.shape[:-1], pose.positions.shape[:-2])
    jacobian = _no_columns(leading, pose)
    for j in chain:
        arm = so3.hat(x - pose.positions[..., j, :])
        jacobian[..., 3 * j : 3 * j + 3] = -arm @ so3.to_matrix(pose.rotations[..., j, :])
    jacobian[..., -3:] = np.eye(3)
    return jacobian


def orientation_jacobian(parents: ArrayLike, pose: GlobalPose, joint: int) -> Array:
    """Jacobian `(..., 3, 3 joints + 3)` of the world angular velocity of `joint`; columns as above."""
    jacobian = _no_columns(pose.positions.shape[:-2], pose)
    for j in chain_above(checked_parents(parents), joint):
        jacobian[..., 3 * j : 3 * j + 3] = so3.to_matrix(pose.rotations[..., j, :])
    return jacobian


def _no_columns(leading: tuple[int, ...], pose: GlobalPose) -> Array:
    return np.zeros((*leading, 3, 3 * pose.positions.shape[-2] + 3))
