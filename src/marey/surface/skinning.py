"""Meshes bound to joints, and vertices that follow them: linear blend and dual quaternion skinning.

Linear blending averages matrices (Magnenat-Thalmann et al. 1988) and loses volume where joints twist; dual
quaternions average rigid motions (Kavan et al. 2008, section 4) and keep it. Cost: linear in frames ×
vertices × influences, some nanoseconds each (benchmarks/skinning.py); beside the result it takes about
64 MB. Much work goes through a compiled kernel, little through NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from marey import _work
from marey._arrays import FloatArray, IntArray, assign, checked
from marey.errors import InputError
from marey.geometry import rotations
from marey.surface.sequence import Texture, checked_appearance, checked_faces

Ints = NDArray[np.int32]
# Moves the vertices of a block of frames: (vertices, influences, weights, joint motions, result).
Mover = Callable[[FloatArray, Ints, FloatArray, FloatArray, FloatArray], None]


@dataclass(frozen=True, eq=False)
class SkinnedMesh:
    """A mesh at rest and the joints that move its vertices.

    Attributes:
        vertices: `(vertices, 3)`, metres, at rest.
        faces: `(faces, 3)`.
        joint_names: the joints it is bound to.
        bind: `(joints, 4, 4)`, world transform of each joint at rest.
        influences: `(vertices, k)`, joint indices.
        weights: `(vertices, k)`, non-negative, each row sums to 1.
        uv: `uv`, `uv_faces`, `colours`, `texture` as in :class:`~marey.surface.sequence.MeshSequence`.

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
        return skin(self.vertices, self.influences, self.weights, transforms, method=method, dtype=dtype)


def linear_blend(
    vertices: ArrayLike,
    influences: ArrayLike,
    weights: ArrayLike,
    transforms: ArrayLike,
    *,
    dtype: DTypeLike = np.float64,
) -> FloatArray:
    """Each vertex moved by the weighted mean of its joints' matrices: `(frames, vertices, 3)`.

    Args:
        vertices: `(vertices, 3)`, at rest.
        influences: `(vertices, k)`, joint indices.
        weights: `(vertices, k)`, non-negative, each row sums to 1.
        transforms: `(frames, joints, 4, 4)`, relative to bind: posed world transform · inverse of bind.
        dtype: float64 or float32, of the result and the work.

    >>> lift = np.eye(4)
    >>> lift[1, 3] = 1.0
    >>> linear_blend([[0, 0, 0]], [[0, 1]], [[0.5, 0.5]], [[np.eye(4), lift]])
    array([[[0. , 0.5, 0. ]]])
    """
    points, joints, shares, matrices = _checked(vertices, influences, weights, transforms, dtype)
    return _in_blocks(points, joints, shares, matrices, _upper_rows, "linear_blend", linear_blend_in_numpy)


def dual_quaternion(
    vertices: ArrayLike,
    influences: ArrayLike,
    weights: ArrayLike,
    transforms: ArrayLike,
    *,
    dtype: DTypeLike = np.float64,
) -> FloatArray:
    """Each vertex moved by the blended rigid motion of its joints: `(frames, vertices, 3)`.

    Arguments as in :func:`linear_blend`; the transforms must be rigid. Of q and -q, which mean the same,
    the one nearer to the vertex's heaviest joint is blended, so joints may turn by any angle.

    >>> turn = np.eye(4)
    >>> turn[:3, :3] = rotations.to_matrix(rotations.exp([0, np.pi / 2, 0]))
    >>> dual_quaternion([[1, 0, 0]], [[0, 1]], [[0.5, 0.5]], [[np.eye(4), turn]]).round(6)
    array([[[ 0.707107,  0.      , -0.707107]]])
    """
    points, joints, shares, matrices = _checked(vertices, influences, weights, transforms, dtype)
    _check_rigid(matrices)
    joints, shares = heaviest_first(joints, shares)
    return _in_blocks(
        points, joints, shares, matrices, dual_quaternions, "dual_quaternion", dual_quaternion_in_numpy
    )


METHODS: dict[str, Callable[..., FloatArray]] = {"linear": linear_blend, "dual_quaternion": dual_quaternion}


def skin(
    vertices: ArrayLike,
    influences: ArrayLike,
    weights: ArrayLike,
    transforms: ArrayLike,
    *,
    method: str = "linear",
    dtype: DTypeLike = np.float64,
) -> FloatArray:
    """:func:`linear_blend` or :func:`dual_quaternion`, by name."""
    if method not in METHODS:
        raise InputError(f"skinning method {method!r}: one of {', '.join(METHODS)}")
    return METHODS[method](vertices, influences, weights, transforms, dtype=dtype)


def dual_quaternions(transforms: FloatArray) -> NDArray[np.float64]:
    """Rigid transforms `(..., 4, 4)` as unit dual quaternions `(..., 8)`, real part first.

    The dual part is half the product of translation and rotation.

    >>> lift = np.eye(4)
    >>> lift[1, 3] = 2.0
    >>> dual_quaternions(lift)
    array([1., 0., 0., 0., 0., 0., 1., 0.])
    """
    real = rotations.from_matrix(transforms[..., :3, :3])
    translation = np.zeros(real.shape)
    translation[..., 1:] = transforms[..., :3, 3]
    return np.concatenate([real, 0.5 * rotations.multiply(translation, real)], axis=-1) + 0.0


def heaviest_first(influences: Ints, weights: FloatArray) -> tuple[Ints, FloatArray]:
    """The same influences and weights, with that of the greatest weight in the first column.

    >>> heaviest_first(np.array([[4, 7]], dtype=np.int32), np.array([[0.25, 0.75]]))
    (array([[7, 4]], dtype=int32), array([[0.75, 0.25]]))
    """
    heaviest = weights.argmax(axis=1)
    if not heaviest.any():
        return influences, weights
    order = np.tile(np.arange(weights.shape[1]), (len(weights), 1))
    order[np.arange(len(order)), heaviest] = 0
    order[:, 0] = heaviest
    return np.take_along_axis(influences, order, axis=1), np.take_along_axis(weights, order, axis=1)


def linear_blend_in_numpy(
    vertices: FloatArray, influences: Ints, weights: FloatArray, matrices: FloatArray, out: FloatArray
) -> None:
    """The kernel's twin. matrices: `(frames, joints, 12)`, the upper three rows of each."""
    rows = matrices.reshape(*matrices.shape[:2], 3, 4)
    out[:] = 0
    for k in range(influences.shape[1]):
        mine = rows[:, influences[:, k]]
        moved = np.einsum("fvij,vj->fvi", mine[..., :3], vertices) + mine[..., 3]
        out += weights[:, k, None] * moved


def dual_quaternion_in_numpy(
    vertices: FloatArray, influences: Ints, weights: FloatArray, quaternions: FloatArray, out: FloatArray
) -> None:
    """The kernel's twin. quaternions: `(frames, joints, 8)`; the heaviest influence comes first."""
    pivot = quaternions[:, influences[:, 0], :4]
    blend = np.zeros((*pivot.shape[:2], 8), dtype=out.dtype)
    for k in range(influences.shape[1]):
        mine = quaternions[:, influences[:, k]]
        near = np.einsum("fvi,fvi->fv", mine[..., :4], pivot) >= 0
        blend += (weights[:, k] * np.where(near, 1, -1).astype(out.dtype))[..., None] * mine
    w, r, d0, d = blend[..., :1], blend[..., 1:4], blend[..., 4:5], blend[..., 5:]
    factor = 2 / np.einsum("fvi,fvi->fv", blend[..., :4], blend[..., :4])[..., None]
    inner = np.cross(r, vertices) + w * vertices + d
    out[:] = vertices + factor * (np.cross(r, inner) + w * d - d0 * r)


# The kernel pays from the few on; importing numba for it (half a second) only from the many on.
_FEW, _MANY = 2_000, 5_000_000


def _in_blocks(
    points: FloatArray,
    joints: Ints,
    shares: FloatArray,
    matrices: FloatArray,
    motions_of: Callable[[FloatArray], FloatArray],
    kernel: str,
    twin: Mover,
) -> FloatArray:
    frames = len(matrices)
    out = np.empty((frames, len(points), 3), dtype=points.dtype)
    compiled = None
    if frames * joints.size >= (_FEW if "numba" in sys.modules else _MANY):
        from marey.surface import _skinning_kernels

        compiled = getattr(_skinning_kernels, kernel)
    # Temporary numbers a frame: the twin up to 32 a vertex, both about 64 a joint.
    for block in _work.blocks(frames, 512 * matrices.shape[1] + (0 if compiled else 256 * len(points))):
        motions = motions_of(matrices[block]).astype(points.dtype, copy=False)
        if compiled is None:
            twin(points, joints, shares, motions, out[block])
        else:
            compiled(points, joints, shares, _packed(motions), out[block])
    return out


def _upper_rows(matrices: FloatArray) -> FloatArray:
    return matrices[:, :, :3].reshape(*matrices.shape[:2], 12)


def _packed(motions: FloatArray) -> FloatArray:
    """`(frames, joints, n)` as `(blocks, joints, n, lanes)`; the last block repeats its last frame."""
    frames, joints, n = motions.shape
    lanes = min(32, frames)
    blocks = -(-frames // lanes)
    filled = motions[np.minimum(np.arange(blocks * lanes), frames - 1)]
    return np.ascontiguousarray(filled.reshape(blocks, lanes, joints, n).transpose(0, 2, 3, 1))


def _checked(
    vertices: ArrayLike, influences: ArrayLike, weights: ArrayLike, transforms: ArrayLike, dtype: DTypeLike
) -> tuple[FloatArray, Ints, FloatArray, FloatArray]:
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise InputError(f"dtype: float32 or float64, got {np.dtype(dtype)}")
    matrices = checked("transforms", transforms, (None, None, 4, 4))
    points = checked("vertices", vertices, (None, 3), dtype=dtype)
    joints = checked("influences", influences, (len(points), None), dtype=np.int32)
    shares = checked("weights", weights, joints.shape, dtype=dtype)
    count = matrices.shape[1]
    if joints.size and not 0 <= joints.min() <= joints.max() < count:
        raise InputError(f"influences: joint indices must lie in 0…{count - 1}")
    if joints.shape[1] == 0:
        raise InputError("influences: each vertex needs a joint at least")
    return np.ascontiguousarray(points), np.ascontiguousarray(joints), np.ascontiguousarray(shares), matrices


def _check_rigid(matrices: FloatArray) -> None:
    R = matrices[..., :3, :3]
    off = np.abs(np.einsum("fjik,fjlk->fjil", R, R) - np.eye(3)).max(axis=(2, 3), initial=0)
    bad = np.argwhere((off > 1e-3) | (np.linalg.det(R) < 0))
    if len(bad):
        frame, joint = bad[0].tolist()
        raise InputError(
            f"transforms: that of joint {joint} at frame {frame} scales or mirrors, which dual quaternions "
            "cannot; use method 'linear'"
        )
