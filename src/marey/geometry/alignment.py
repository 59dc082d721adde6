"""Best rigid fit of one point set to another, in space, in the plane, or about the vertical.

Each minimises the weighted mean square of |R source + t - target| in closed form: singular values in
space (with the guard that keeps a rotation from becoming a reflection), one atan2 otherwise. Poses
compare modulo placement this way. Cost: two passes over the points, one 3 x 3 factorisation a fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry._batch import Array


@dataclass(frozen=True)
class Alignment:
    """The motion source -> rotation source + translation, and what it leaves."""

    rotation: Array  # (..., 4), unit quaternions
    translation: Array  # (..., 3)
    rms: Array  # (...), root of the weighted mean squared distance

    def apply(self, points: ArrayLike) -> Array:
        """Points `(..., n, 3)` moved by the fit."""
        return rot.rotate(self.rotation[..., None, :], points) + self.translation[..., None, :]


@dataclass(frozen=True)
class PlanarAlignment:
    """The motion of the plane: turn by `angle` (radians, x towards y), then translate."""

    angle: Array  # (...)
    translation: Array  # (..., 2)
    rms: Array  # (...)

    def apply(self, points: ArrayLike) -> Array:
        """Points `(..., n, 2)` moved by the fit."""
        return _turn(np.asarray(points, dtype=np.float64), self.angle) + self.translation[..., None, :]


def align(source: ArrayLike, target: ArrayLike, weights: ArrayLike | None = None) -> Alignment:
    """Fit points `(..., n, 3)` to points `(..., n, 3)` by a rotation and a translation.

    `weights` `(..., n)` count points more or less; leading shapes broadcast. Points on one line leave
    the turn about it open: some best fit is returned.

    >>> fit = align([[0, 0, 0], [1, 0, 0], [0, 2, 0]], [[5, 0, 0], [5, 1, 0], [3, 0, 0]])
    >>> rot.log(fit.rotation).round(6) + 0.0, fit.translation.round(12) + 0.0, float(fit.rms.round(12))
    (array([0.      , 0.      , 1.570796]), array([5., 0., 0.]), 0.0)
    """
    x, y, share = _points(source, target, weights, 3)
    x_centre, y_centre = _centroid(x, share), _centroid(y, share)
    x, y = x - x_centre[..., None, :], y - y_centre[..., None, :]
    covariance = np.swapaxes(share[..., None] * y, -1, -2) @ x
    U, _, Vt = np.linalg.svd(covariance)
    # With the least singular direction turned over where needed, the product is a proper rotation.
    U[..., :, 2] *= np.sign(np.linalg.det(U @ Vt))[..., None]
    rotation = rot.from_matrix(U @ Vt)
    residual = rot.rotate(rotation[..., None, :], x) - y
    return Alignment(rotation, y_centre - rot.rotate(rotation, x_centre), _rms(residual, share))


def align_in_plane(source: ArrayLike, target: ArrayLike, weights: ArrayLike | None = None) -> PlanarAlignment:
    """Fit points `(..., n, 2)` to points `(..., n, 2)` by a turn and a translation.

    >>> fit = align_in_plane([[0, 0], [1, 0], [0, 2]], [[5, 0], [5, 1], [3, 0]])
    >>> float(fit.angle.round(6)), fit.translation.round(12) + 0.0, float(fit.rms.round(12))
    (1.570796, array([5., 0.]), 0.0)
    """
    x, y, share = _points(source, target, weights, 2)
    x_centre, y_centre = _centroid(x, share), _centroid(y, share)
    x, y = x - x_centre[..., None, :], y - y_centre[..., None, :]
    sine = (share * (x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0])).sum(axis=-1)
    cosine = (share * (x[..., 0] * y[..., 0] + x[..., 1] * y[..., 1])).sum(axis=-1)
    angle = np.asarray(np.arctan2(sine, cosine))
    translation = y_centre - _turn(x_centre[..., None, :], angle)[..., 0, :]
    return PlanarAlignment(angle, translation, _rms(_turn(x, angle) - y, share))


def align_about_vertical(source: ArrayLike, target: ArrayLike, weights: ArrayLike | None = None) -> Alignment:
    """Fit points `(..., n, 3)` by a turn about the vertical y and a translation along the ground.

    Heights stay as they are and count in `rms`, so a crouch is not confused with standing. The turning
    angle is the y component of the rotation's logarithm.

    >>> fit = align_about_vertical([[0, 1, 0], [1, 1, 0]], [[3, 1, 4], [3, 1, 3]])
    >>> rot.log(fit.rotation).round(6) + 0.0, fit.translation.round(12) + 0.0, float(fit.rms.round(12))
    (array([0.      , 1.570796, 0.      ]), array([3., 0., 4.]), 0.0)
    """
    x, y, share = _points(source, target, weights, 3)
    # Seen with z to the right and x up, a turn about y is a positive turn of the plane.
    plane = align_in_plane(x[..., [2, 0]], y[..., [2, 0]], share)
    zero = np.zeros_like(plane.angle)
    rotation = rot.exp(np.stack([zero, plane.angle, zero], axis=-1))
    translation = np.stack([plane.translation[..., 1], zero, plane.translation[..., 0]], axis=-1)
    vertical = _rms(x[..., 1:2] - y[..., 1:2], share)
    return Alignment(rotation, translation, np.hypot(plane.rms, vertical))


def _points(
    source: ArrayLike, target: ArrayLike, weights: ArrayLike | None, dimension: int
) -> tuple[Array, Array, Array]:
    """Both point sets as float64, and weights that sum to one, broadcast against each other."""
    x, y = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    for name, points in (("source", x), ("target", y)):
        if points.ndim < 2 or points.shape[-1] != dimension or points.shape[-2] == 0:
            raise InputError(f"{name} must have shape (..., points, {dimension}), found {points.shape}")
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
        np.broadcast_to(x, (*leading, count, dimension)),
        np.broadcast_to(y, (*leading, count, dimension)),
        np.broadcast_to(share / total, (*leading, count)),
    )


def _centroid(points: Array, share: Array) -> Array:
    return np.asarray(np.einsum("...n,...ni->...i", share, points))


def _rms(residual: Array, share: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("...n,...ni,...ni->...", share, residual, residual)))


def _turn(points: Array, angle: Array) -> Array:
    """Points `(..., n, 2)` turned by angles `(...)`."""
    c, s = np.cos(angle)[..., None], np.sin(angle)[..., None]
    x, y = points[..., 0], points[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)
