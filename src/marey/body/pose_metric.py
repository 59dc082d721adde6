"""How much a turn of each joint counts: by its lever arm, or by the kinetic energy (Tournier 2011, ch. 16).

A radian in the spine moves the whole upper body, one in a finger next to nothing. Lever weights are one
number a joint, so that distances stay sums over joints; the kinetic metric couples joints, makes modes
mechanically orthogonal, and is what errors of joint positions are to first order. Both are averages over
poses, the root held still. Cost: one forward kinematics of the poses, and for the kinetic metric a 3 × 3
block a pose and pair of joints one above the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, checked
from marey.body.kinematics import GlobalPose, global_frames, points_on
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.geometry.matrices import dexp_body

# Weights (squared lever arms) and kinetic energies below this share of the largest count as this share.
LEAST_ARM = 1e-3
LEAST_ENERGY = 1e-6
# The kinetic metric averages at most this many poses, taken evenly.
MOST_POSES = 256
# Radius of gyration of the mass at a joint, as a share of the figure's reach from the root.
SPREAD = 0.05


def lever_weights(skeleton: Skeleton, rotations: ArrayLike) -> Array:
    """A weight a joint `(joints,)`: its mean squared lever arm, the largest being 1.

    The squared arm of a joint is the sum of squared distances from it to every joint and end site it
    carries; arms shorter than a thousandth of the longest count as that.

    Args:
        rotations: `(poses, joints, 4)`, local.

    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 0, 0], [3, 0, 0]], [1], [[1, 0, 0]])
    >>> lever_weights(arm, so3.identity((1, 2))).tolist()  # (3² + 4²) and 1²
    [1.0, 0.04]
    """
    points, carriers = _points(skeleton, _frames(skeleton, rotations))
    squares = np.zeros(skeleton.joints)
    for joint in range(skeleton.joints):
        # Points that a turn of the joint moves.
        below = points[:, np.isin(carriers, skeleton.descendants(joint))]
        squares[joint] = ((below - points[:, joint, None]) ** 2).sum() / len(points)
    largest = squares.max()
    if largest <= 0.0:
        return np.ones(skeleton.joints)
    return np.asarray(np.maximum(squares / largest, LEAST_ARM**2))


def kinetic_matrix(skeleton: Skeleton, mean: ArrayLike, rotations: ArrayLike) -> Array:
    """The kinetic metric on tangent vectors at the mean, `(3 joints, 3 joints)`: averaged `JᵀJ`.

    `J` takes a change of the tangent vector to the velocities of equal masses at joints and end sites, in
    the root's frame, at each pose. The mass at a joint also resists turning, as if spread to a twentieth of
    the figure's reach around it (5 cm of a grown human): without that, turns about a bone's own axis, such
    as of the head, would cost nothing. Scaled so that the largest diagonal entry is 1.

    Args:
        mean: `(joints, 4)`.
        rotations: `(poses, joints, 4)`, local.
    """
    poses = np.asarray(rotations, dtype=np.float64)
    poses = poses[:: max(1, -(-len(poses) // MOST_POSES))]
    mean = checked("mean", mean, (skeleton.joints, 4))
    pose = _frames(skeleton, poses)
    vectors = so3.log(so3.multiply(so3.inverse(mean), poses))
    points, _ = _points(skeleton, pose)
    reach = np.linalg.norm(points - points[:, :1], axis=-1).max()
    total = _summed_energy(skeleton, pose, vectors, SPREAD * reach)
    largest = np.diag(total).max()
    if largest <= 0.0:
        return np.eye(len(total))
    return np.asarray(total / largest + LEAST_ENERGY * np.eye(len(total)))


def displacement_matrix(
    skeleton: Skeleton, pose: GlobalPose, vectors: ArrayLike, *, gyration: float = 0.0
) -> Array:
    """Mean squared displacement of the joints by small changes of rotation vectors, `(3 joints, 3 joints)`.

    `eᵀ M e` is the mean over poses of the sum over joints and end sites of the squared displacement by a
    change `e` of the vectors, a joint: square metres a squared radian.

    Args:
        pose: world frames, `(poses, joints, …)`.
        vectors: `(poses, joints, 3)`, rotation vectors of the joints about any mean.
        gyration: metres, radius of points about each joint that count as well, so that twists are seen.
    """
    total = _summed_energy(skeleton, pose, np.asarray(vectors, dtype=np.float64), gyration)
    return total / (len(pose.rotations) * skeleton.joints)


def _summed_energy(skeleton: Skeleton, pose: GlobalPose, vectors: Array, gyration: float) -> Array:
    """Sum over poses of `JᵀJ`, `(3 joints, 3 joints)`, by the moments of what joints carry instead of by J.

    Two joints, i above j, move together what j carries: `Σ (a·b I - b aᵀ)` with arms a from i and b from j.
    """
    points, carriers = _points(skeleton, pose)
    points = points - points.mean(axis=1, keepdims=True)
    turns = so3.to_matrix(pose.rotations) @ dexp_body(vectors)
    joints = skeleton.joints
    mass, first = np.ones(len(carriers)), points.copy()
    inertia = np.where(np.arange(len(carriers)) < joints, gyration**2, 0.0)
    second = first[..., None] * points[..., None, :]
    for point in range(len(carriers) - 1, 0, -1):
        above = carriers[point]
        mass[above] += mass[point]
        inertia[above] += inertia[point]
        first[:, above] += first[:, point]
        second[:, above] += second[:, point]
    total = np.zeros((3 * joints,) * 2)
    for j in range(joints):
        for i in skeleton.ancestors(j):
            here, there = points[:, i], points[:, j]
            arms = second[:, j] - first[:, j, :, None] * here[:, None] - there[..., None] * first[:, j, None]
            arms += mass[j] * there[..., None] * here[:, None]
            block = -arms
            spun = np.trace(arms, axis1=1, axis2=2) + inertia[j]
            block[:, np.arange(3), np.arange(3)] += spun[:, None]
            energy = np.einsum("mpa,mpq,mqb->ab", turns[:, i], block, turns[:, j], optimize=True)
            total[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = energy
            total[3 * j : 3 * j + 3, 3 * i : 3 * i + 3] = energy.T
    return total


def _frames(skeleton: Skeleton, rotations: ArrayLike) -> GlobalPose:
    rotations = np.asarray(rotations, dtype=np.float64)
    return global_frames(skeleton.parents, skeleton.offsets, rotations, np.zeros((len(rotations), 3)))


def _points(skeleton: Skeleton, pose: GlobalPose) -> tuple[Array, NDArray[np.int64]]:
    """Joints and end sites `(poses, points, 3)`, and the joint that moves each `(points,)`."""
    ends = points_on(pose, skeleton.end_parents, skeleton.end_offsets)
    carriers = np.concatenate([np.asarray(skeleton.parents), np.asarray(skeleton.end_parents)])
    return np.concatenate([pose.positions, ends], axis=1), carriers.astype(np.int64)
