"""A body for a bare motion: one tapered bone for each segment of the skeleton, so that it can be seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, IntArray
from marey.body.motion import Motion

Array = NDArray[np.float64]

# How far along a bone it is thickest, and how thick, in parts of its length; and the largest half width.
_WAIST, _HALF_WIDTH, _LARGEST = 0.12, 0.09, 0.04

# Triangles of an octahedron: head 0, waist 1-4, tail 5.
_TRIANGLES = np.array(
    [[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4], [5, 1, 2], [5, 2, 3], [5, 3, 4], [5, 4, 1]]
)


def bones(motion: Motion) -> tuple[Array, IntArray]:
    """Corners of the bones in their joints' frames `(8 * 3 * bones, 3)`, and each corner's joint.

    Every three corners are a triangle.

    >>> from marey import Motion, Skeleton
    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 1.4, 0], [0.3, 0, 0]])
    >>> corners, joints = bones(Motion(arm, [[[1, 0, 0, 0]] * 2], [[0, 1.4, 0]], 30))
    >>> corners.shape, float(corners[:, 0].max()), set(joints.tolist())
    ((24, 3), 0.3, {0})
    """
    owners, tips = _segments(motion)
    if not len(tips):
        owners, tips = np.array([0]), np.array([[0.0, 0.1, 0.0]])
    length = np.linalg.norm(tips, axis=1, keepdims=True)
    along = tips / length
    across = np.cross(along, np.eye(3)[np.abs(along).argmin(axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    width = np.minimum(_HALF_WIDTH * length, _LARGEST)
    side, front = across * width, np.cross(along, across) * width
    waist = _WAIST * tips
    octahedra = np.stack(
        [np.zeros_like(tips), waist + side, waist + front, waist - side, waist - front, tips], axis=1
    )
    corners = octahedra[:, _TRIANGLES].reshape(-1, 3)
    return corners, np.repeat(owners, 3 * len(_TRIANGLES))


def _segments(motion: Motion) -> tuple[IntArray, FloatArray]:
    """Joints and, in their frames, the children and end sites they lead to."""
    skeleton = motion.skeleton
    offsets = skeleton.offsets
    if motion.translations is not None:
        offsets = np.median(motion.translations, axis=0)
    owners = np.concatenate([skeleton.parents[1:], skeleton.end_parents])
    tips = np.concatenate([offsets[1:], skeleton.end_offsets])
    long = np.linalg.norm(tips, axis=1) > 1e-4
    return owners[long], tips[long]
