"""Forward kinematics: where every joint is in the world (Tournier 2011, section 6.2; Courty 2013, 2.1.1).

`G_j = G_parent q_j` and `P_j = P_parent + G_parent offset_j`, parents first. One pass, O(frames × joints);
big arrays go through a compiled kernel (about 20 ns a joint and frame), small ones through NumPy, and both
give the same bits.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray
from marey.body.skeleton import checked_parents
from marey.errors import InputError
from marey.geometry import rotations as so3

if TYPE_CHECKING:
    from marey.body.motion import Motion


# Importing numba for the kernel takes half a second: worth it only for this many rotations.
_MANY = 1_000_000


class GlobalPose(NamedTuple):
    """World frames of all joints.

    Args:
        positions: `(..., joints, 3)`, metres.
        rotations: `(..., joints, 4)`, unit quaternions.
    """

    positions: Array
    rotations: Array


def forward_kinematics(motion: Motion) -> GlobalPose:
    """World positions `(frames, joints, 3)` and rotations `(frames, joints, 4)` of a clip.

    >>> from marey.body import Motion, Skeleton
    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 0, 0], [0.3, 0, 0]])
    >>> quarter = so3.exp([0, 0, np.pi / 2])
    >>> raised = Motion(arm, [[quarter, [1, 0, 0, 0]]], [[0, 1.4, 0]], frame_rate=30)
    >>> forward_kinematics(raised).positions[0].round(3) + 0.0
    array([[0. , 1.4, 0. ],
           [0. , 1.7, 0. ]])
    """
    tree, slid = (motion.skeleton.parents, motion.skeleton.offsets), motion.translations
    return global_frames(*tree, motion.rotations, motion.root, translations=slid)


def global_frames(
    parents: ArrayLike,
    offsets: ArrayLike,
    rotations: ArrayLike,
    root: ArrayLike,
    *,
    translations: ArrayLike | None = None,
) -> GlobalPose:
    """World frames of all joints, for any leading shape of the poses.

    Args:
        parents: `(joints,)`, parents first, -1 for joint 0.
        offsets: `(joints, 3)`, position in the parent's frame.
        rotations: `(..., joints, 4)`, in the parent's frame.
        root: `(..., 3)`, position of joint 0.
        translations: `(..., joints, 3)`, takes the place of the offsets (row 0 is not used).

    >>> pose = global_frames([-1, 0], [[0, 0, 0], [0, 1, 0]], so3.identity((5, 2)), np.zeros((5, 3)))
    >>> pose.positions.shape, pose.positions[0, 1].tolist()
    ((5, 2, 3), [0.0, 1.0, 0.0])
    """
    tree = checked_parents(parents)
    rotations = np.asarray(rotations, dtype=np.float64)
    joints = len(tree)
    if rotations.shape[-2:] != (joints, 4):
        raise InputError(f"rotations: expected shape (..., {joints}, 4), got {rotations.shape}")
    local = np.asarray(offsets if translations is None else translations, dtype=np.float64)
    if local.shape[-2:] != (joints, 3):
        raise InputError(f"offsets: expected shape (..., {joints}, 3), got {local.shape}")
    path = np.asarray(root, dtype=np.float64)
    if path.shape[-1:] != (3,):
        raise InputError(f"root: expected shape (..., 3), got {path.shape}")
    compiled = "numba" in sys.modules or rotations.size // 4 >= _MANY
    return (_compiled_sweep if compiled else sweep_in_numpy)(tree, local, rotations, path)


def end_positions(motion: Motion, pose: GlobalPose | None = None) -> Array:
    """World positions of the end sites, `(frames, ends, 3)`; `pose` if it is at hand already."""
    pose = forward_kinematics(motion) if pose is None else pose
    return points_on(pose, motion.skeleton.end_parents, motion.skeleton.end_offsets)


def local_positions(motion: Motion) -> FloatArray:
    """Position of every joint in its parent's frame, `(frames, joints, 3)`; the root's is its path."""
    if motion.translations is not None:
        return motion.translations
    positions = np.repeat(motion.skeleton.offsets[None], motion.frames, axis=0)
    positions[:, 0] = motion.root
    return positions


def points_on(pose: GlobalPose, joints: ArrayLike, local: ArrayLike) -> Array:
    """World positions `(..., points, 3)` of points fixed in the frames of `joints`.

    Args:
        joints: `(points,)`, index of the joint that carries each point.
        local: `(points, 3)`, the point in that joint's frame.
    """
    carriers = np.asarray(joints, dtype=np.int64)
    return pose.positions[..., carriers, :] + so3.rotate(pose.rotations[..., carriers, :], local)


def sweep_in_numpy(parents: NDArray[np.int64], offsets: Array, rotations: Array, root: Array) -> GlobalPose:
    """The same joint by joint, vectorised over poses: for small arrays, and to check the kernel by."""
    joints = len(parents)
    leading = np.broadcast_shapes(rotations.shape[:-2], root.shape[:-1], offsets.shape[:-2])
    positions = np.empty((*leading, joints, 3))
    turned = np.empty((*leading, joints, 4))
    positions[..., 0, :] = root
    turned[..., 0, :] = rotations[..., 0, :]
    for joint in range(1, joints):
        parent = parents[joint]
        above = turned[..., parent, :]
        turned[..., joint, :] = so3.multiply(above, rotations[..., joint, :])
        positions[..., joint, :] = positions[..., parent, :] + so3.rotate(above, offsets[..., joint, :])
    return GlobalPose(positions, turned)


def _compiled_sweep(parents: NDArray[np.int64], offsets: Array, rotations: Array, root: Array) -> GlobalPose:
    from marey.body import _kernels

    joints = len(parents)
    leading = np.broadcast_shapes(rotations.shape[:-2], root.shape[:-1], offsets.shape[:-2])
    if offsets.ndim > 2:
        offsets = np.broadcast_to(offsets, (*leading, joints, 3))
    rotations, root = np.broadcast_to(rotations, (*leading, joints, 4)), np.broadcast_to(root, (*leading, 3))
    local = np.ascontiguousarray(offsets).reshape(-1, joints, 3)
    turns = np.ascontiguousarray(rotations).reshape(-1, joints, 4)
    path = np.ascontiguousarray(root).reshape(-1, 3)
    positions, turned = np.empty((len(turns), joints, 3)), np.empty(turns.shape)
    _kernels.forward(np.ascontiguousarray(parents), local, turns, path, positions, turned)
    return GlobalPose(positions.reshape(*leading, joints, 3), turned.reshape(*leading, joints, 4))
