"""The algebra of rigid transforms, twists and wrenches, which tests compare kinematics with.

Twists are `(omega, v)`, angular first; body velocities become spatial by the adjoint, and forces, being
covectors, by the transposed adjoint of the inverse (Tournier 2011, sections 5.2 and 6.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry._batch import dot, square, vectors
from marey.geometry.matrices import angle_minus_sine, inverse_second, one_minus_cosine
from marey.geometry.rigid import Rigid


def identity(shape: int | tuple[int, ...] = ()) -> Rigid:
    """Transforms that do nothing.

    >>> identity(5).translation.shape
    (5, 3)
    """
    rotation = rot.identity(shape)
    return Rigid(rotation, np.zeros((*rotation.shape[:-1], 3)))


def compose(a: Rigid, b: Rigid) -> Rigid:
    """The transform `a` after `b`.

    >>> lift = Rigid(rot.identity(), np.array([0.0, 1.0, 0.0]))
    >>> compose(lift, lift).translation
    array([0., 2., 0.])
    """
    return Rigid(rot.multiply(a[0], b[0]), apply(a, b[1]))


def inverse(g: Rigid) -> Rigid:
    """The transform that undoes `g`.

    >>> there = Rigid(rot.exp([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0]))
    >>> apply(inverse(there), apply(there, [4.0, 5.0, 6.0])).round(12)
    array([4., 5., 6.])
    """
    back = rot.inverse(g[0])
    return Rigid(back, -rot.rotate(back, g[1]))


def apply(g: Rigid, points: ArrayLike) -> Array:
    """Points `(..., 3)` moved by `g`.

    >>> apply(Rigid(rot.exp([0.0, 0.0, np.pi / 2]), np.array([1.0, 0.0, 0.0])), [1.0, 0.0, 0.0]).round(12)
    array([1., 1., 0.])
    """
    return rot.rotate(g[0], points) + vectors(g[1], "translations")


def exp(twist: ArrayLike) -> Rigid:
    """The transform `(...)` reached after unit time with a constant body twist `(..., 6)`.

    >>> exp([0.0, 0.0, 0.0, 1.0, 2.0, 3.0]).translation
    array([1., 2., 3.])
    """
    omega, v = _split(twist)
    squared = dot(omega, omega)
    return Rigid(rot.exp(omega), _mix(omega, v, one_minus_cosine(squared), angle_minus_sine(squared)))


def log(g: Rigid) -> Array:
    """The twist `(..., 6)` of smallest rotation whose exponential is `g`; exact near 0 and near pi.

    >>> log(exp([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])).round(12)
    array([0.1, 0.2, 0.3, 1. , 2. , 3. ])
    """
    omega = rot.log(g[0])
    v = _mix(omega, vectors(g[1], "translations"), np.array(-0.5), inverse_second(dot(omega, omega)))
    return np.concatenate(np.broadcast_arrays(omega, v), axis=-1)


def adjoint(g: Rigid) -> Array:
    """Matrices `(..., 6, 6)` that turn body twists of the frame `g` into spatial ones.

    >>> adjoint(Rigid(rot.identity(), np.array([0.0, 0.0, 1.0]))) @ [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    array([1., 0., 0., 0., 1., 0.])
    """
    R = rot.to_matrix(g[0])
    lever = rot.hat(g[1]) @ R
    Ad = np.zeros((*lever.shape[:-2], 6, 6))
    Ad[..., :3, :3] = R
    Ad[..., 3:, 3:] = R
    Ad[..., 3:, :3] = lever
    return Ad


def coadjoint(g: Rigid) -> Array:
    """The transposed adjoint `(..., 6, 6)`, which acts on wrenches (moment, force).

    A body wrench f of the frame g is `coadjoint(inverse(g)) @ f` in the fixed frame.

    >>> coadjoint(Rigid(rot.identity(), np.array([0.0, 0.0, 1.0]))) @ [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    array([1., 0., 0., 0., 1., 0.])
    """
    return np.swapaxes(adjoint(g), -1, -2)


def hat(twist: ArrayLike) -> Array:
    """Matrices `(..., 4, 4)` of twists `(..., 6)`, whose matrix exponential is the transform.

    >>> hat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    array([[ 0., -3.,  2.,  4.],
           [ 3.,  0., -1.,  5.],
           [-2.,  1.,  0.,  6.],
           [ 0.,  0.,  0.,  0.]])
    """
    omega, v = _split(twist)
    matrix = np.zeros((*omega.shape[:-1], 4, 4))
    matrix[..., :3, :3] = rot.hat(omega)
    matrix[..., :3, 3] = v
    return matrix


def vee(matrix: ArrayLike) -> Array:
    """Twists `(..., 6)` of matrices `(..., 4, 4)`: the inverse of :func:`hat`.

    >>> vee(hat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    array([1., 2., 3., 4., 5., 6.])
    """
    M = square(matrix, 4)
    return np.concatenate([vector_of(M[..., :3, :3]), M[..., :3, 3]], axis=-1)


def from_matrix(matrix: ArrayLike) -> Rigid:
    """Transforms of homogeneous matrices `(..., 4, 4)` without scale or shear.

    >>> from_matrix(np.eye(4)).rotation
    array([1., 0., 0., 0.])
    """
    M = square(matrix, 4)
    return Rigid(rot.from_matrix(M[..., :3, :3]), M[..., :3, 3].copy())


def _split(twist: ArrayLike) -> tuple[Array, Array]:
    array = np.asarray(twist, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != 6:
        raise InputError(f"twists must have shape (..., 6), angular part first, found {array.shape}")
    return array[..., :3], array[..., 3:]


def _mix(omega: Array, v: Array, first: Array, second: Array) -> Array:
    """(I + first W + second W^2) v with W = hat(omega)."""
    once = np.cross(omega, v)
    return v + first[..., None] * once + second[..., None] * np.cross(omega, once)


def vector_of(skew: ArrayLike) -> Array:
    """Vectors `(..., 3)` of matrices `(..., 3, 3)`: the inverse of `hat`, from their skew part."""
    S = square(skew, 3, "skew matrices")
    return 0.5 * np.stack(
        [S[..., 2, 1] - S[..., 1, 2], S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]], axis=-1
    )
