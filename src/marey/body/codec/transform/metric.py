"""What an error in each curve does to the body: the mean square displacement of its joints, as a matrix.

`eᵀ M e` is the mean over joints of the squared displacement by a small error `e` of the curves, averaged over
frames of the clip; end sites count half, and a shell about each joint a little, so that twists are seen. Only
the encoder needs it. Cost: one Jacobian a joint for at most 48 frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.codec.transform.channels import Channels
from marey.body.kinematics import global_frames, points_on
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.geometry.tangent import dexp_body

_MOST_FRAMES = 48
_END_SITES = 1.0
_TWIST = 0.012  # metres
# The limbs' geometry changes over the clip: errors of two joints cancel less reliably than on average.
_TRUST_IN_CANCELLING = 0.95


def displacement_metric(skeleton: Skeleton, rotations: Array, channels: Channels, curves: Array) -> Array:
    """Symmetric positive matrix `(columns, columns)`, square metres a squared unit of the curves."""
    joints = skeleton.joints
    frames = np.unique(np.linspace(0, len(rotations) - 1, _MOST_FRAMES).astype(int))
    pose = global_frames(skeleton.parents, skeleton.offsets, rotations[frames], np.zeros(3))
    # World axes about which a unit of each curve turns; those of quaternions are averaged out below.
    turns = so3.to_matrix(pose.rotations) @ dexp_body(channels.logarithms(curves[frames]))
    ends = points_on(pose, skeleton.end_parents, skeleton.end_offsets)
    carriers = [*range(joints), *skeleton.end_parents.tolist()]
    points = np.concatenate([pose.positions, ends], axis=1)
    total = np.zeros((3 * joints, 3 * joints))
    for point, carrier in enumerate(carriers):
        chain = list(skeleton.ancestors(carrier))
        arms = points[:, point, None] - pose.positions[:, chain]
        moves = np.cross(turns[:, chain].swapaxes(2, 3), arms[:, :, None])  # (frames, chain, axis, 3)
        _add(total, chain, moves, 1.0 if point < joints else _END_SITES)
        if point < joints:
            _add(total, chain, turns[:, chain].swapaxes(2, 3), _TWIST**2)
    return _in_columns(total / joints, channels.wide)


def _add(total: Array, chain: list[int], moves: Array, weight: float) -> None:
    rows = (3 * np.array(chain)[:, None] + np.arange(3)).ravel()
    flat = moves.reshape(len(moves), len(rows), 3)
    total[np.ix_(rows, rows)] += weight * np.einsum("tai,tbi->ab", flat, flat, optimize=True) / len(moves)


def _in_columns(by_joint: Array, wide: NDArray[np.bool_]) -> Array:
    """The metric of joint rotations as that of the curves, shrunk towards its diagonal."""
    joints = len(wide)
    starts = 3 + np.concatenate([[0], np.cumsum(np.where(wide, 4, 3))])
    metric = np.zeros((starts[-1], starts[-1]))
    metric[:3, :3] = np.eye(3)
    narrow = np.flatnonzero(~wide)
    rows = (starts[narrow][:, None] + np.arange(3)).ravel()
    sources = (3 * narrow[:, None] + np.arange(3)).ravel()
    metric[np.ix_(rows, rows)] = by_joint[np.ix_(sources, sources)]
    for joint in range(joints):
        if wide[joint]:
            here = slice(starts[joint], starts[joint] + 4)
            block = by_joint[3 * joint : 3 * joint + 3, 3 * joint : 3 * joint + 3]
            metric[here, here] = np.eye(4) * 4 * np.trace(block) / 3
    diagonal = np.diag(np.diag(metric))
    shrunk = diagonal + _TRUST_IN_CANCELLING * (metric - diagonal)
    return np.asarray(shrunk + 1e-9 * np.eye(len(metric)))
