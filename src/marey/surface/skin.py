"""A mesh bound to joints: which of them move a vertex, and how much.

How the vertices follow is :mod:`marey.surface.skinning`; which skeleton the joints belong to is the
business of :mod:`marey.character`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from marey._arrays import FloatArray, IntArray, assign, checked
from marey.errors import InputError
from marey.surface import skinning
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

    >>> corner = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> flap = SkinnedMesh(corner, [[0, 1, 2]], ("hinge",), [np.eye(4)], [[0]] * 3, [[1]] * 3)
    >>> flap.pose([[np.diag([-1.0, 1.0, -1.0, 1.0])]])[0, 1].tolist()
    [-1.0, 0.0, 0.0]
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
        if count == 0 or joints == 0:
            raise InputError("skinned mesh: there is no vertex or no joint")
        faces = checked_faces("faces", self.faces, count)
        influences = checked("influences", self.influences, (count, None), dtype=np.int32)
        if influences.size and not (influences.min() >= 0 and influences.max() < joints):
            raise InputError(f"influences: joint indices must lie in 0…{joints - 1}")
        weights = checked("weights", self.weights, influences.shape)
        sums = weights.sum(axis=1)
        if (weights < 0).any() or np.abs(sums - 1).max() > 1e-3:
            worst = int(np.abs(sums - 1).argmax())
            raise InputError(f"weights: those of vertex {worst} sum to {sums[worst]:.4g}, not 1")
        bind = checked("bind", self.bind, (joints, 4, 4))
        singular = np.flatnonzero(np.abs(np.linalg.det(bind)) < 1e-12)
        if singular.size:
            raise InputError(f"bind: the transform of joint {self.joint_names[singular[0]]!r} has no inverse")
        assign(
            self,
            vertices=vertices,
            faces=faces,
            joint_names=tuple(self.joint_names),
            bind=bind,
            influences=influences,
            weights=checked("weights", weights / sums[:, None], influences.shape),
            **checked_appearance(self.uv, self.uv_faces, self.colours, faces, count),
        )

    def pose(
        self, transforms: ArrayLike, *, method: str = "linear", dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """Vertices `(frames, vertices, 3)` under transforms relative to bind, `(frames, joints, 4, 4)`."""
        return skinning.skin(
            self.vertices, self.influences, self.weights, transforms, method=method, dtype=dtype
        )
