"""Relative heading of two poses from the rotations of all triangles.

Footprints, by which Boukhayma 2017 aligns poses (eq. 2.3), mislead where the legs of two poses are crossed:
those of a walk half a cycle apart lie on each other best at a wrong heading. The turn about the vertical
that brings the rotations of all triangles nearest, in least squares, has a closed form too: a product of
matrices for all pairs. It is within some degrees of the one that makes the surface distance least.
Cost: seconds for 2,600 frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, IntArray
from marey.geometry import mesh, rotations
from marey.surface.distances.deformation import least_area
from marey.surface.distances.template import ReferencePose, deformation_features
from marey.surface.sequence import Library


def yaw_between(
    onto: FloatArray, moving: FloatArray, faces: IntArray, *, areas: FloatArray | None = None
) -> float:
    """Radians by which `moving` `(vertices, 3)` turns about the vertical to face as `onto` does.

    Args:
        onto: `(vertices, 3)`.
        moving: `(vertices, 3)`.
        faces: `(faces, 3)`.
        areas: `(faces,)`, what each triangle counts; its mean area in both poses, if None.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> turned = walk.transform(rotation=[0.8, 0, 0.6, 0])
    >>> round(float(np.rad2deg(yaw_between(walk.vertices[0], turned.vertices[0], walk.faces))), 3)
    -73.74
    """
    from marey.surface.distances import _kernels

    if areas is None:
        areas = (mesh.face_areas(onto, faces) + mesh.face_areas(moving, faces)) / 2
    poses = np.stack([onto, moving]).astype(np.float64)
    triangles = np.ascontiguousarray(faces, np.int32)
    return float(_kernels.yaw(poses, triangles, least_area(poses), np.array(areas, np.float64)))


def yaw_offsets(library: Library, reference: ReferencePose) -> NDArray[np.float32]:
    """The turn of each frame (column) to face as each other (row) does, `(frames, frames)`, antisymmetric."""
    found, areas = deformation_features(library, reference)
    frames = library.frames
    root = np.sqrt(areas / max(areas.sum(), np.finfo(float).tiny))
    matrices = rotations.to_matrix(np.moveaxis(found[:, :4], 1, 2)) * root[:, None, None]
    x, z = matrices[:, :, 0].reshape(frames, -1), matrices[:, :, 2].reshape(frames, -1)
    turns = np.zeros((frames, frames), np.float32)
    for start in range(0, frames, 128):
        rows, rest = slice(start, start + 128), slice(start, None)
        along = x[rows] @ x[rest].T + z[rows] @ z[rest].T
        across = x[rows] @ z[rest].T - z[rows] @ x[rest].T
        turns[rows, rest] = np.arctan2(across, along)
    turns = np.triu(turns, 1)
    return turns - turns.T
