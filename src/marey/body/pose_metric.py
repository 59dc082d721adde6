"""How much a turn of each joint counts: by its lever arm, or by the kinetic energy (Tournier 2011, ch. 16).

A radian in the spine moves the whole upper body, one in a finger next to nothing. Lever weights are one
number a joint, so that distances stay sums over joints; the kinetic metric couples joints, makes modes
mechanically orthogonal, and is what errors of joint positions are to first order. Both are averages over
poses, the root held still. Cost: one forward kinematics of the poses; for the kinetic metric a product of
(6 points × 3 joints) matrices a pose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey.body.kinematics import GlobalPose, global_frames, points_on
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.tangent import dexp_body

Array = NDArray[np.float64]

# Weights (squared lever arms) and kinetic energies below this share of the largest count as this share.
LEAST_ARM = 1e-3
LEAST_ENERGY = 1e-6
# The kinetic metric averages at most this many poses, taken evenly.
MOST_POSES = 256
# Radius of gyration of the mass at a joint, as a share of the figure's reach from the root.
SPREAD = 0.05
_CHUNK = 32


def lever_weights(skeleton: Skeleton, rotations: ArrayLike) -> Array:
    """A weight a joint `(joints,)`: its mean squared lever arm, the largest being 1.

    The squared arm of a joint is the sum of squared distances from it to every joint and end site it
    carries; arms shorter than a thousandth of the longest count as that.

    rotations: `(poses, joints, 4)`, local

    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 0, 0], [3, 0, 0]], [1], [[1, 0, 0]])
    >>> lever_weights(arm, so3.identity((1, 2))).tolist()  # (3² + 4²) and 1²
    [1.0, 0.04]
    """
    points, carriers = _points(skeleton, _frames(skeleton, rotations))
    squares = np.zeros(skeleton.joints)
    for joint in range(skeleton.joints):
        below = points[:, _carried(skeleton, carriers, joint)]
        squares[joint] = ((below - points[:, joint, None]) ** 2).sum() / len(points)
    largest = squares.max()
    if largest <= 0.0:
        return np.ones(skeleton.joints)
    return np.maximum(squares / largest, LEAST_ARM**2)


def kinetic_matrix(
    skeleton: Skeleton, mean: ArrayLike, rotations: ArrayLike, *, masses: ArrayLike | None = None
) -> Array:
    """The kinetic metric on tangent vectors at the mean, `(3 joints, 3 joints)`: averaged `JᵀMJ` (K-34).

    `J` takes a change of the tangent vector to the velocities of masses at joints and end sites, in the
    root's frame, at each pose. The mass at a joint also resists turning, as if spread to a twentieth of
    the figure's reach around it (5 cm of a grown human): without that, turns about a bone's own axis, such
    as of the head, would cost nothing. Scaled so that the largest diagonal entry is 1.

    mean: `(joints, 4)`; rotations: `(poses, joints, 4)`, local
    masses: `(joints + ends,)`; all alike if None, which makes it the metric of joint positions
    """
    poses = np.asarray(rotations, dtype=np.float64)
    poses = poses[:: max(1, -(-len(poses) // MOST_POSES))]
    mean = checked("mean", mean, (skeleton.joints, 4))
    count = skeleton.joints + len(skeleton.end_parents)
    weights = np.ones(count) if masses is None else checked("masses", masses, (count,))
    if (weights < 0).any() or not (weights > 0).any():
        raise InputError("masses: none may be negative, and one must be above 0")
    total = np.zeros((3 * skeleton.joints,) * 2)
    for start in range(0, len(poses), _CHUNK):
        some = poses[start : start + _CHUNK]
        for jacobian in _tangent_jacobians(skeleton, mean, some):
            heavy = jacobian * np.sqrt(weights[: jacobian.shape[1]])[:, None, None]
            rows = heavy.reshape(-1, 3 * skeleton.joints)
            total += rows.T @ rows
    largest = np.diag(total).max()
    if largest <= 0.0:
        return np.eye(len(total))
    return total / largest + LEAST_ENERGY * np.eye(len(total))


def _tangent_jacobians(skeleton: Skeleton, mean: Array, rotations: Array) -> tuple[Array, Array]:
    """By changes of the tangent vector at the mean: velocities of points `(poses, points, 3, 3 joints)`, and
    of what is spread around the joints `(poses, joints, 3, 3 joints)`."""
    pose = _frames(skeleton, rotations)
    points, carriers = _points(skeleton, pose)
    turns = so3.to_matrix(pose.rotations) @ dexp_body(so3.log(so3.multiply(so3.inverse(mean), rotations)))
    spread = SPREAD * np.linalg.norm(points - points[:, :1], axis=-1).max()
    moved = np.zeros((*points.shape, 3 * skeleton.joints))
    turned = np.zeros((*pose.positions.shape, 3 * skeleton.joints))
    for joint in range(skeleton.joints):
        columns = slice(3 * joint, 3 * joint + 3)
        below = _carried(skeleton, carriers, joint)
        arms = so3.hat(points[:, below] - points[:, joint, None])
        moved[:, below, :, columns] = -arms @ turns[:, joint, None]
        turned[:, skeleton.descendants(joint), :, columns] = spread * turns[:, joint, None]
    return moved, turned


def _frames(skeleton: Skeleton, rotations: ArrayLike) -> GlobalPose:
    rotations = np.asarray(rotations, dtype=np.float64)
    return global_frames(skeleton.parents, skeleton.offsets, rotations, np.zeros((len(rotations), 3)))


def _points(skeleton: Skeleton, pose: GlobalPose) -> tuple[Array, NDArray[np.int64]]:
    """Joints and end sites `(poses, points, 3)`, and the joint that moves each `(points,)`."""
    ends = points_on(pose, skeleton.end_parents, skeleton.end_offsets)
    carriers = np.concatenate([np.asarray(skeleton.parents), np.asarray(skeleton.end_parents)])
    return np.concatenate([pose.positions, ends], axis=1), carriers.astype(np.int64)


def _carried(skeleton: Skeleton, carriers: NDArray[np.int64], joint: int) -> NDArray[np.int64]:
    """Points that a turn of the joint moves."""
    return np.flatnonzero(np.isin(carriers, skeleton.descendants(joint)))
