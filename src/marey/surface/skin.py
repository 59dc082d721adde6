"""A mesh bound to joints, and the two ways its vertices follow them: linear blend and dual quaternion.

Arrays only: which skeleton the joints belong to is the business of :mod:`marey.character`. Cost: linear
in frames × vertices × influences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import FloatArray, IntArray, assign, checked
from marey.errors import InputError
from marey.surface.sequence import checked_appearance, checked_faces
from marey.surface.texture import Texture


@dataclass(frozen=True, eq=False)
class SkinnedMesh:
    """A mesh at rest and how much each joint pulls on each vertex.

    vertices: `(vertices, 3)`, metres, at rest
    faces: `(faces, 3)`
    joint_names: the joints it is bound to
    bind: `(joints, 4, 4)`, world transform of each joint at rest
    influences: `(vertices, k)`, joint indices
    weights: `(vertices, k)`, non-negative, each row sums to 1
    uv, uv_faces, colours, texture: as in :class:`~marey.surface.sequence.MeshSequence`
    """

    vertices: FloatArray
    faces: IntArray
    joint_names: tuple[str, ...]
    bind: FloatArray
    influences: IntArray
    weights: FloatArray
    uv: FloatArray | None = None
    uv_faces: IntArray | None = None
    colours: FloatArray | None = None
    texture: Texture | None = None

    def __post_init__(self) -> None:
        vertices = checked("vertices", self.vertices, (None, 3))
        count, joints = len(vertices), len(self.joint_names)
        faces = checked_faces("faces", self.faces, count)
        influences = checked("influences", self.influences, (count, None), dtype=np.int32)
        if influences.size and not (influences.min() >= 0 and influences.max() < joints):
            raise InputError(f"influences: joint indices must lie in 0…{joints - 1}")
        weights = checked("weights", self.weights, influences.shape)
        sums = weights.sum(axis=1)
        if (weights < 0).any() or np.abs(sums - 1).max() > 1e-3:
            worst = int(np.abs(sums - 1).argmax())
            raise InputError(f"weights: those of vertex {worst} sum to {sums[worst]:.4g}, not 1")
        assign(
            self,
            vertices=vertices,
            faces=faces,
            joint_names=tuple(self.joint_names),
            bind=checked("bind", self.bind, (joints, 4, 4)),
            influences=influences,
            weights=checked("weights", weights / sums[:, None], influences.shape),
            **checked_appearance(self.uv, self.uv_faces, self.colours, faces, count),
        )
