"""Principal geodesic analysis of rotations: tangent PCA at the intrinsic mean (Tournier 2011, section 8.1).

A sample of `(joints,)` rotations becomes its logarithms at the mean, `x = log(mean⁻¹ q)`; the principal
directions are the eigenvectors of their covariance in a metric `M` on the tangent space. Cost: a few
logarithms a sample and joint, and one eigendecomposition of a (3 joints)² matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import assign, checked
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.mean import karcher_mean

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrincipalGeodesics:
    """A mean of many rotations and the geodesics through it along which samples vary most.

    mean: `(joints, 4)`
    directions: `(modes, joints, 3)`, tangent vectors at the mean (each joint's own frame), radians a unit
    duals: `(modes, joints, 3)`, the directions lowered by the metric: coordinates are `duals · log`
    variances: `(modes,)`, of the coordinates, falling
    spectrum: `(3 joints,)`, all variances, falling, of which `variances` are the first

    >>> turns = so3.exp(np.linspace(-1, 1, 9)[:, None, None] * [[0, 0, 0.5], [0.2, 0, 0]])
    >>> found = principal_geodesics(turns, modes=1)
    >>> np.allclose(found.decode(found.encode(turns)), turns), found.explained.round(6).tolist()
    (True, [1.0])
    """

    mean: Array
    directions: Array
    duals: Array
    variances: Array
    spectrum: Array

    def __post_init__(self) -> None:
        mean = checked("mean", self.mean, (None, 4))
        joints = len(mean)
        directions = checked("directions", self.directions, (None, joints, 3))
        modes = len(directions)
        assign(
            self,
            mean=mean,
            directions=directions,
            duals=checked("duals", self.duals, (modes, joints, 3)),
            variances=checked("variances", self.variances, (modes,)),
            spectrum=checked("spectrum", self.spectrum, (None,)),
        )

    @property
    def modes(self) -> int:
        """Number of principal directions kept."""
        return len(self.directions)

    @property
    def explained(self) -> Array:
        """Share of the variance in the first 1, 2, … modes, `(modes,)` (eq. 8.11, over all directions)."""
        total = self.spectrum.sum()
        return np.cumsum(self.variances) / total if total > 0 else np.ones(self.modes)

    def encode(self, rotations: ArrayLike) -> Array:
        """Coordinates `(..., modes)` of rotations `(..., joints, 4)`: tangent projection, first kind."""
        logs = so3.log(so3.multiply(so3.inverse(self.mean), rotations))
        return np.asarray(np.einsum("...ji,kji->...k", logs, self.duals, optimize=True))

    def decode(self, coordinates: ArrayLike) -> Array:
        """Rotations `(..., joints, 4)` of coordinates `(..., modes)`: mean exp(sum λ_i v_i)."""
        return so3.multiply(self.mean, so3.exp(self.tangent(coordinates)))

    def tangent(self, coordinates: ArrayLike) -> Array:
        """Tangent vectors at the mean `(..., joints, 3)` of coordinates `(..., modes)`."""
        coordinates = np.asarray(coordinates, dtype=np.float64)
        joints = len(self.mean)
        return (coordinates @ self.directions.reshape(self.modes, -1)).reshape(
            *coordinates.shape[:-1], joints, 3
        )


def principal_geodesics(
    rotations: ArrayLike,
    *,
    modes: int | None = None,
    variance: float | None = None,
    metric: ArrayLike | None = None,
) -> PrincipalGeodesics:
    """Linearised principal geodesic analysis of `(samples, joints, 4)` rotations.

    modes: how many directions to keep; or
    variance: the share of variance to keep, 0…1 (0.99 if neither is given)
    metric: `(joints,)`, a weight a joint, or `(3 joints, 3 joints)`, symmetric positive; canonical if None
    """
    samples = np.asarray(rotations, dtype=np.float64)
    mean = karcher_mean(samples).mean
    logs = so3.log(so3.multiply(so3.inverse(mean), samples)).reshape(len(samples), -1)
    covariance = logs.T @ logs / len(samples)
    root = _metric_root(metric, len(mean))
    spectrum, vectors = np.linalg.eigh(root.T @ covariance @ root)
    spectrum, vectors = np.maximum(spectrum[::-1], 0.0), vectors[:, ::-1]
    kept = number_of_modes(spectrum, modes=modes, variance=variance)
    # In coordinates y = rootᵀ x the metric is the plain one: x = root⁻ᵀ y, and y = rootᵀ x.
    directions = np.linalg.solve(root.T, vectors[:, :kept]).T.reshape(kept, -1, 3)
    duals = (root @ vectors[:, :kept]).T.reshape(kept, -1, 3)
    return PrincipalGeodesics(mean, directions, duals, spectrum[:kept], spectrum)


def number_of_modes(spectrum: Array, *, modes: int | None = None, variance: float | None = None) -> int:
    """The smallest number of modes whose share of the variance exceeds `variance`; or `modes`, checked.

    >>> number_of_modes(np.array([6.0, 3.0, 1.0]), variance=0.85)
    2
    """
    if modes is not None:
        if not 0 <= modes <= len(spectrum):
            raise InputError(f"modes: must be 0…{len(spectrum)}, got {modes}")
        return modes
    share = 0.99 if variance is None else variance
    if not 0 < share <= 1:
        raise InputError(f"variance: a share above 0 and up to 1, got {share}")
    total = spectrum.sum()
    if total <= 0:
        return 0
    enough = np.flatnonzero(np.cumsum(spectrum) >= share * total * (1 - 1e-12))
    return int(enough[0]) + 1 if enough.size else len(spectrum)


def _metric_root(metric: ArrayLike | None, joints: int) -> Array:
    """A square root of the metric, M = root rootᵀ."""
    if metric is None:
        return np.eye(3 * joints)
    metric = np.asarray(metric, dtype=np.float64)
    if metric.shape == (joints,):
        return np.diag(np.repeat(np.sqrt(metric), 3))
    return np.linalg.cholesky(metric)
