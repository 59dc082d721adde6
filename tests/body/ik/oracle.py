"""A slow, plain twin of the compiled solver, from the kinematics and differentials of the package."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.body.ik import engine
from marey.body.ik.engine import Effectors, Parameters, PoseArrays, decoded, turn_rates, world
from marey.body.kinematics import points_on
from marey.geometry import rotations as so3
from marey.geometry.matrices import dexp_body_inverse
from tests.body.jacobians import orientation_jacobian, position_jacobian

Array = NDArray[np.float64]


def residuals(
    figure: Parameters, features: Effectors, goals: Array, weights: Array, poses: PoseArrays
) -> Array:
    """Weighted goal minus value, three numbers a feature, of the first frame."""
    pose = world(figure, decoded(figure, poses))
    points = points_on(pose, features.joints, features.local)[0]
    rows = []
    for f in range(features.count):
        joint, goal, axis, x = features.joints[f], goals[0, f], features.axes[f], points[f]
        turned = pose.rotations[0, joint]
        kind = features.kinds[f]
        r = np.zeros(3)
        if kind == engine.POINT:
            r = goal[:3] - x
        elif kind == engine.TURN:
            r = so3.log(so3.multiply(so3.inverse(turned), goal))
        elif kind == engine.AIM:
            way = goal[:3] - x
            r = way / np.linalg.norm(way) - so3.rotate(turned, axis)
        elif kind == engine.ROLL:
            r[0] = -so3.rotate(turned, axis) @ goal[:3]
        else:
            short = goal[0] - axis @ x
            r[0] = short if kind == engine.PLANE else max(0.0, short)
        rows.append(weights[0, f] * r)
    return np.concatenate(rows) if rows else np.empty(0)


def point_and_turn_jacobian(
    figure: Parameters, features: Effectors, goals: Array, weights: Array, poses: PoseArrays, free_root: bool
) -> Array:
    """Jacobian of the values of POINT and TURN features, of the first frame."""
    poses = decoded(figure, poses)
    pose = world(figure, poses)
    points = points_on(pose, features.joints, features.local)
    rates = turn_rates(figure, free_root, poses)[0].reshape(3 * figure.joints, -1)
    columns = np.concatenate([rates, np.zeros((3, rates.shape[1]))])
    if free_root:
        columns[-3:, 3:6] = np.eye(3)
    blocks = []
    for f in range(features.count):
        joint = int(features.joints[f])
        if features.kinds[f] == engine.POINT:
            J = position_jacobian(figure.parents, pose, joint, point=points[:, f])[0]
        else:
            turned = pose.rotations[0, joint]
            r = so3.log(so3.multiply(so3.inverse(turned), goals[0, f]))
            J = orientation_jacobian(figure.parents, pose, joint)[0]
            J = dexp_body_inverse(r).T @ so3.to_matrix(turned).T @ J
        blocks.append(weights[0, f] * (J @ columns))
    return np.concatenate(blocks)
