"""How a triangle turns and stretches from one pose to another (Boukhayma 2017, eqs 2.6-2.12).

The map that takes the edges and the unit normal of a triangle onto those of its other pose acts in the
triangle's plane only, so its polar factors come from a 2x2 matrix in closed form: no iteration, nothing that
fails. The map is target times inverse of source, acting on columns; the publication prints the factors the
other way round, which is the same only for rows. Cost: some 100 operations a triangle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, FloatArray, IntArray
from marey.geometry import mesh
from marey.surface import _distance_kernels as _kernels
from marey.surface.distances import STRETCH_WEIGHT, least_area, tangent_frames, yaw_between


@dataclass(frozen=True, eq=False)
class Deformation:
    """Per triangle, T = R S: first the stretch in the source's plane, then the rotation.

    Attributes:
        rotations: `(..., faces, 3, 3)`, proper rotations.
        stretches: `(..., faces, 3, 3)`, symmetric, positive definite, 1 along the normal.
        degenerate: `(..., faces)`, triangles without area in one of the poses: identity in both factors.
    """

    rotations: Array
    stretches: Array
    degenerate: BoolArray

    @property
    def gradients(self) -> Array:
        """T, `(..., faces, 3, 3)`: takes edges of the source to edges of the target."""
        return self.rotations @ self.stretches

    @property
    def angles(self) -> Array:
        """Angle of each rotation, radians in 0…π, `(..., faces)`."""
        return rotation_angles(self.rotations)

    @property
    def log_stretch(self) -> Array:
        """Frobenius norm of the logarithm of each stretch, `(..., faces)`."""
        values = np.linalg.eigvalsh(self.stretches)
        return np.asarray(np.linalg.norm(np.log(values), axis=-1))


def deformation(source: ArrayLike, target: ArrayLike, faces: IntArray) -> Deformation:
    """Rotation and stretch of each triangle from vertices `(..., vertices, 3)` to others.

    >>> corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> quarter = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> found = deformation(corners, 2 * corners @ quarter.T, np.array([[0, 1, 2]]))
    >>> found.rotations.round(9).tolist()[0] == quarter.tolist()
    True
    >>> np.diag(found.stretches[0]).round(9).tolist()
    [2.0, 2.0, 1.0]
    """
    before, edges, flat_before = tangent_frames(np.asarray(source, np.float64), faces)
    after, moved, flat_after = tangent_frames(np.asarray(target, np.float64), faces)
    degenerate = flat_before | flat_after
    # The 2x2 map of the edges; its lower left entry is zero, since the first edges lie on the first axes.
    x, y, z = np.moveaxis(edges, -1, 0)
    j11 = moved[..., 0] / x
    j12 = (moved[..., 1] - j11 * y) / z
    j22 = moved[..., 2] / z
    size = np.hypot(j11 + j22, j12)
    cosine, sine = (j11 + j22) / size, -j12 / size
    turn, stretch = np.zeros((2, *size.shape, 3, 3))
    turn[..., 0, 0] = turn[..., 1, 1] = cosine
    turn[..., 1, 0], turn[..., 0, 1] = sine, -sine
    stretch[..., 0, 0], stretch[..., 1, 1] = cosine * j11, cosine * j22 - sine * j12
    stretch[..., 0, 1] = stretch[..., 1, 0] = cosine * j12 + sine * j22
    turn[..., 2, 2] = stretch[..., 2, 2] = 1
    back = np.swapaxes(before, -1, -2)
    rotations, stretches = after @ turn @ back, before @ stretch @ back
    rotations[degenerate] = stretches[degenerate] = np.eye(3)
    return Deformation(rotations, stretches, degenerate)


def rotation_angles(matrices: Array) -> Array:
    """Angles `(...)` of rotations `(..., 3, 3)`, radians in 0…π, to full precision at both ends."""
    axis = np.stack(
        [
            matrices[..., 2, 1] - matrices[..., 1, 2],
            matrices[..., 0, 2] - matrices[..., 2, 0],
            matrices[..., 1, 0] - matrices[..., 0, 1],
        ],
        axis=-1,
    )
    trace = np.trace(matrices, axis1=-2, axis2=-1)
    return np.asarray(np.arctan2(np.linalg.norm(axis, axis=-1), trace - 1))


def pose_distance(
    first: FloatArray,
    second: FloatArray,
    faces: IntArray,
    *,
    turn: float | None = None,
    stretch_weight: float = STRETCH_WEIGHT,
    areas: FloatArray | None = None,
) -> float:
    """Surface distance of two poses `(vertices, 3)`, radians, without any approximation.

    Args:
        first: `(vertices, 3)`.
        second: `(vertices, 3)`.
        faces: `(faces, 3)`.
        turn: radians by which the second turns about the vertical beforehand; to face as the first, if None.
        stretch_weight: what the logarithm of the stretch counts beside a radian.
        areas: `(faces,)`, what each triangle counts; the mean of its areas in both poses, if None.
    """
    if areas is None:
        areas = (mesh.face_areas(first, faces) + mesh.face_areas(second, faces)) / 2
    angle = yaw_between(first, second, faces, areas=areas) if turn is None else turn
    poses, triangles = np.stack([first, second]).astype(np.float64), np.ascontiguousarray(faces, np.int32)
    found, flat = np.empty((2, 7, len(triangles))), np.zeros(len(triangles), np.bool_)
    _kernels.tangent_features(poses, triangles, least_area(poses), found, flat)
    weights = np.where(flat, 0.0, areas)
    values, turns = np.zeros((2, 2)), np.full((2, 2), float(angle))
    share = weights / weights.sum()
    _kernels.add_distances_exactly(found, share, turns, float(stretch_weight), (0, 1), (1, 2), True, values)
    return float(values[0, 1])
