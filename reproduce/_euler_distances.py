"""Pose distances by Euler angles (Boukhayma 2017, eq. 2.1), the ground truth of the published validation.

Near gimbal lock angles differ much where rotations do not; `marey.body.compare` has the better metric.
"""

from __future__ import annotations

import numpy as np

from marey.geometry import matrices, rotations
from marey.statistics.graphs.graph import DistanceMatrix


def euler_angles(clips: list[np.ndarray], *, order: str = "ZYX", root: int | None = 0) -> DistanceMatrix:
    """Root of the summed squares of the differences between all joints' Euler angles, radians, all pairs.

    The root's own heading is taken away before; differences are taken the short way round.

    Args:
        clips: quaternions `(frames, joints, 4)` of each clip.
        order: of the angles.
        root: the joint that carries the heading; None if none does.
    """
    poses = rotations.normalise(np.concatenate(clips))
    frames = len(poses)
    headings = np.zeros(frames)
    if root is not None:
        _, twist = rotations.swing_twist(rotations.inverse(poses[:, root]), (0.0, 1.0, 0.0))
        poses[:, root] = rotations.multiply(twist, poses[:, root])
        headings = -2.0 * np.arctan2(twist[:, 2], twist[:, 0])
    angles = matrices.to_euler(poses, order).reshape(frames, -1)
    squares = np.zeros((frames, frames))
    for column in angles.T:
        apart = np.abs(column[:, None] - column)
        squares += np.minimum(apart, 2.0 * np.pi - apart) ** 2
    turns = np.angle(np.exp(1j * (headings[:, None] - headings)))
    starts = np.cumsum([0, *map(len, clips)])
    names = tuple(f"sequence-{k + 1}" for k in range(len(clips)))
    return DistanceMatrix(np.sqrt(squares), turns, starts, names, "euler")
