"""Rigid transforms, and the best rigid fit of one point set to another (Kabsch 1976).

The fit minimises the weighted mean square of |R source + t - target| in closed form, by singular values, with
the guard that keeps a rotation from becoming a reflection; for the ground plane see :mod:`.planar`. Cost: two
passes over the points, one 3 x 3 factorisation a fit. For statistics keep rotation and translation apart:
SE(3) has no bi-invariant distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry._batch import vectors


class Rigid(NamedTuple):
    """The transform x -> rotation x + translation, over any leading shape.

    >>> q, t = Rigid(rot.identity(), np.zeros(3))
    """

    rotation: Array  # (..., 4), unit quaternions (w, x, y, z)
    translation: Array  # (..., 3)


def to_matrix(g: Rigid) -> Array:
    """Homogeneous matrices `(..., 4, 4)`, for column vectors.

    >>> to_matrix(Rigid(rot.identity(), np.array([1.0, 2.0, 3.0])))[:, 3]
    array([1., 2., 3., 1.])
    """
    R, t = rot.to_matrix(g[0]), vectors(g[1], "translations")
    matrix = np.zeros((*np.broadcast_shapes(R.shape[:-2], t.shape[:-1]), 4, 4))
    matrix[..., :3, :3] = R
    matrix[..., :3, 3] = t
    matrix[..., 3, 3] = 1.0
    return matrix


@dataclass(frozen=True)
class Alignment:
    """The motion source -> rotation source + translation, and what it leaves."""

    rotation: Array  # (..., 4), unit quaternions
    translation: Array  # (..., 3)
    rms: Array  # (...), root of the weighted mean squared distance

    def apply(self, points: ArrayLike) -> Array:
        """Points `(..., n, 3)` moved by the fit."""
        return rot.rotate(self.rotation[..., None, :], points) + self.translation[..., None, :]


def align(source: ArrayLike, target: ArrayLike, weights: ArrayLike | None = None) -> Alignment:
    """Fit points to points by a rotation and a translation.

    Points on one line leave the turn about it open: some best fit is returned.

    Args:
        source: `(..., n, 3)`; leading shapes broadcast.
        target: `(..., n, 3)`.
        weights: `(..., n)`, count points more or less.

    >>> fit = align([[0, 0, 0], [1, 0, 0], [0, 2, 0]], [[5, 0, 0], [5, 1, 0], [3, 0, 0]])
    >>> rot.log(fit.rotation).round(6) + 0.0, fit.translation.round(12) + 0.0, float(fit.rms.round(12))
    (array([0.      , 0.      , 1.570796]), array([5., 0., 0.]), 0.0)
    """
    x, y, share = _points(source, target, weights)
    x_centre, y_centre = _centroid(x, share), _centroid(y, share)
    x, y = x - x_centre[..., None, :], y - y_centre[..., None, :]
    covariance = np.swapaxes(share[..., None] * y, -1, -2) @ x
    U, _, Vt = np.linalg.svd(covariance)
    # With the least singular direction turned over where needed, the product is a proper rotation.
    U[..., :, 2] *= np.sign(np.linalg.det(U @ Vt))[..., None]
    rotation = rot.from_matrix(U @ Vt)
    residual = rot.rotate(rotation[..., None, :], x) - y
    return Alignment(rotation, y_centre - rot.rotate(rotation, x_centre), _rms(residual, share))


def _points(source: ArrayLike, target: ArrayLike, weights: ArrayLike | None) -> tuple[Array, Array, Array]:
    """Both point sets as float64, and weights that sum to one, broadcast against each other."""
    x, y = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    for name, points in (("source", x), ("target", y)):
        if points.ndim < 2 or points.shape[-1] != 3 or points.shape[-2] == 0:
            raise InputError(f"{name} must have shape (..., points, 3), found {points.shape}")
        if not np.isfinite(points).all():
            raise InputError(f"{name} holds values that are not finite: leave such points out")
    if x.shape[-2] != y.shape[-2]:
        raise InputError(f"source has {x.shape[-2]} points and target {y.shape[-2]}: they must correspond")
    count = x.shape[-2]
    share = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    if share.ndim == 0 or share.shape[-1] != count:
        raise InputError(f"weights must have shape (..., {count}), one for each point, found {share.shape}")
    total = share.sum(axis=-1, keepdims=True)
    if not (np.isfinite(share).all() and (share >= 0.0).all() and (total > 0.0).all()):
        raise InputError("weights must be finite, not negative, and not all zero")
    try:
        leading = np.broadcast_shapes(x.shape[:-2], y.shape[:-2], share.shape[:-1])
    except ValueError as error:
        raise InputError(
            f"source {x.shape}, target {y.shape} and weights {share.shape} do not broadcast"
        ) from error
    return (
        np.broadcast_to(x, (*leading, count, 3)),
        np.broadcast_to(y, (*leading, count, 3)),
        np.broadcast_to(share / total, (*leading, count)),
    )


def _centroid(points: Array, share: Array) -> Array:
    return np.asarray(np.einsum("...n,...ni->...i", share, points))


def _rms(residual: Array, share: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("...n,...ni,...ni->...", share, residual, residual)))
