"""Skeletons whose joints sit anywhere on both bones they link (Tournier 2011, section 6.2, corrected).

Joint i has the frame C_i in the parent bone and P_i in its own bone: `f_i = f_parent C_i r_i P_i^-1`, a
product of rigid transforms. Bones may then be framed where it suits, such as at their centres of mass.
BVH-like skeletons are the case C_i = offset, P_i = 1, for which `marey.body.kinematics` is the
quicker road. Twists are body twists `(omega, v)`. Each sweep is O(bones) a pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, IntArray
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.geometry.rigid import Rigid
from tests.geometry import twists as rigid


@dataclass(frozen=True, eq=False)
class JointFrames:
    """Where each joint sits on the two bones it links; row 0 belongs to the root and is not used.

    parents: `(bones,)`, parents first, -1 for bone 0
    in_parent: C, `(bones,)` transforms: the joint in the frame of the parent bone
    in_bone: P, `(bones,)` transforms: the joint in the frame of its own bone

    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 0, 0], [0.3, 0, 0]])
    >>> JointFrames.of(arm).in_parent.translation[1]
    array([0.3, 0. , 0. ])
    """

    parents: IntArray
    in_parent: Rigid
    in_bone: Rigid

    @classmethod
    def of(cls, skeleton: Skeleton) -> JointFrames:
        """Bones framed at their joints, as in BVH."""
        still = rigid.identity(skeleton.joints)
        return cls(
            skeleton.parents, Rigid(still.rotation, np.asarray(skeleton.offsets, dtype=np.float64)), still
        )


def bone_frames(frames: JointFrames, rotations: ArrayLike, root: ArrayLike) -> Rigid:
    """World transforms `(..., bones)` of all bones.

    rotations: `(..., bones, 4)`, r_i of each joint, row 0 the root bone's in the world
    root: `(..., 3)`, position of the root bone
    """
    r = np.asarray(rotations, dtype=np.float64)
    step = _steps(frames, r)
    turned, moved = np.empty(r.shape), np.empty((*r.shape[:-1], 3))
    turned[..., 0, :], moved[..., 0, :] = r[..., 0, :], root
    for bone, parent in _outward(frames):
        above = Rigid(turned[..., parent, :], moved[..., parent, :])
        here = Rigid(step.rotation[..., bone, :], step.translation[..., bone, :])
        turned[..., bone, :], moved[..., bone, :] = rigid.compose(above, here)
    return Rigid(turned, moved)


def push_forward(
    frames: JointFrames, rotations: ArrayLike, joint_velocities: ArrayLike, root_twist: ArrayLike
) -> Array:
    """Body twists `(..., bones, 6)`: `V_i = Ad((C_i r_i P_i^-1)^-1) V_parent + Ad(P_i) (omega_i, 0)`.

    joint_velocities: `(..., bones, 3)`, body angular velocity of each r_i; row 0 is not used
    root_twist: `(..., 6)`, body twist of the root bone
    """
    r = np.asarray(rotations, dtype=np.float64)
    back = rigid.adjoint(rigid.inverse(_steps(frames, r)))
    own = rigid.adjoint(frames.in_bone)[..., :3] @ np.asarray(joint_velocities, dtype=np.float64)[..., None]
    twists = np.array(np.broadcast_to(own[..., 0], (*r.shape[:-1], 6)))
    twists[..., 0, :] = root_twist
    for bone, parent in _outward(frames):
        twists[..., bone, :] += (back[..., bone, :, :] @ twists[..., parent, :, None])[..., 0]
    return twists


def pull_back(frames: JointFrames, rotations: ArrayLike, wrenches: ArrayLike) -> tuple[Array, Array]:
    """Joint torques `(..., bones, 3)` (row 0 zero) and the root's body wrench `(..., 6)`.

    The transpose of :func:`push_forward`, by one sweep from the leaves to the root.

    wrenches: `(..., bones, 6)`, body wrench (moment, force) on each bone
    """
    r = np.asarray(rotations, dtype=np.float64)
    inward = rigid.coadjoint(rigid.inverse(_steps(frames, r)))
    felt = np.array(np.broadcast_to(np.asarray(wrenches, dtype=np.float64), (*r.shape[:-1], 6)))
    for bone, parent in reversed(_outward(frames)):
        felt[..., parent, :] += (inward[..., bone, :, :] @ felt[..., bone, :, None])[..., 0]
    torques = (rigid.coadjoint(frames.in_bone)[..., :3, :] @ felt[..., None])[..., 0]
    torques[..., 0, :] = 0.0
    return torques, felt[..., 0, :]


def _steps(frames: JointFrames, rotations: Array) -> Rigid:
    """`C_i r_i P_i^-1`: each bone in the frame of its parent."""
    joint = Rigid(so3.multiply(frames.in_parent.rotation, rotations), frames.in_parent.translation)
    return rigid.compose(joint, rigid.inverse(frames.in_bone))


def _outward(frames: JointFrames) -> list[tuple[int, int]]:
    return [(bone, int(parent)) for bone, parent in enumerate(frames.parents) if parent >= 0]
