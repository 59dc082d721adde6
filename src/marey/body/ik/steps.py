"""Moving poses by a step of the unknowns and pulling them back to a centre, in NumPy, over frames.

Rotations are updated as `q ← q exp(step)` in their own frame (Tournier 2011, section 6.3). For solvers that
are not compiled: priorities, the classical methods, whole clips.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.body.ik.engine import Figure, Poses, tangents
from marey.body.kinematics import GlobalPose, global_frames
from marey.geometry import rotations as so3

Array = NDArray[np.float64]


def moved(figure: Figure, free_root: bool, poses: Poses, step: Array) -> Poses:
    """Poses after a step `(frames, unknowns)`."""
    root, rotations, coordinates = poses.root, poses.rotations, poses.coordinates
    pose = step[:, 6:] if free_root else step
    turned = np.array(rotations)
    if free_root:
        turned[:, 0] = so3.multiply(rotations[:, 0], so3.exp(step[:, :3]))
        root = root + step[:, 3:6]
    if figure.full:
        turns = so3.exp(pose.reshape(len(pose), -1, 3))
        turned[:, 1:] = so3.normalise(so3.multiply(rotations[:, 1:], turns))
        return Poses(root, coordinates, turned)
    return decoded(figure, Poses(root, coordinates + pose, turned))


def decoded(figure: Figure, poses: Poses) -> Poses:
    """Poses whose rotations are those of the coordinates; a full figure's stay."""
    if figure.full:
        return poses
    rotations = so3.multiply(figure.mean, so3.exp(tangents(figure, poses.coordinates)))
    rotations[:, 0] = poses.rotations[:, 0]
    return Poses(poses.root, poses.coordinates, rotations)


def world(figure: Figure, poses: Poses) -> GlobalPose:
    """World frames of all joints."""
    return global_frames(figure.parents, figure.offsets, poses.rotations, poses.root)


def pull_back(
    figure: Figure, free_root: bool, poses: Poses, centre: Poses, precision: Array
) -> tuple[Array, Array]:
    """Half the downhill gradient of the prior `(frames, unknowns)`, and the prior `(frames,)`."""
    ways = []
    if free_root:
        back = so3.multiply(so3.inverse(poses.rotations[:, 0]), centre.rotations[:, 0])
        ways += [so3.log(back), centre.root - poses.root]
    if figure.full:
        back = so3.multiply(so3.inverse(poses.rotations[:, 1:]), centre.rotations[:, 1:])
        ways.append(so3.log(back).reshape(len(poses.root), -1))
    else:
        ways.append(centre.coordinates - poses.coordinates)
    way = np.concatenate(ways, axis=1)
    return precision * way, (precision * way**2).sum(axis=1)
