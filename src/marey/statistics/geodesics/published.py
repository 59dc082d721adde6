"""Other published definitions of principal directions and coordinates, in place of the linearised ones.

`ExactGeodesics`: coordinates are those of the nearest point of the geodesic submanifold (Tournier 2011,
section 8.1.1). `SecondKindGeodesics`: a product of exponentials, one a direction (section 8.2.1; Courty 2013,
section 2.2.2). `LogComponents`: principal components of the rotation vectors (Courty 2013, section 2.2.1.1),
the Euclidean baseline. All have `encode`, `decode` and `jacobian` of `PrincipalGeodesics`. Cost: exact
coordinates take some ten exponentials a joint, the product one a joint and mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.matrices import dexp_body
from marey.statistics.geodesics import exact
from marey.statistics.geodesics.linear import PrincipalGeodesics, principal_axes

METHODS = ("linear", "exact", "second-kind", "pca")
# Samples that exact directions are improved on.
MOST = 1024


@dataclass(frozen=True, eq=False)
class ExactGeodesics(PrincipalGeodesics):
    """Directions of an exact scheme, coordinates by exact projection.

    Attributes:
        weights: `(joints,)`, of squared angles, what distances are measured in.
    """

    weights: Array
    method: ClassVar[str] = "exact"

    def encode(self, rotations: ArrayLike) -> Array:
        """Coordinates `(..., modes)` of the points nearest to rotations `(..., joints, 4)`."""
        samples = np.asarray(rotations, dtype=np.float64)
        flat = samples.reshape(-1, *samples.shape[-2:])
        return self._found(flat).reshape(*samples.shape[:-2], self.modes)

    def _found(self, samples: Array) -> Array:
        return exact.project(self, samples, weights=self.weights)


@dataclass(frozen=True, eq=False)
class SecondKindGeodesics(ExactGeodesics):
    """Coordinates of the second kind, `mean exp(λ_1 v_1) … exp(λ_k v_k)`.

    Attributes:
        deflated: Whether coordinates are found one after the other, by deflation (scheme 3), or all together.
    """

    deflated: bool = False
    method: ClassVar[str] = "second-kind"
    first_kind: ClassVar[bool] = False

    def decode(self, coordinates: ArrayLike) -> Array:
        """Rotations `(..., joints, 4)` of coordinates `(..., modes)`."""
        return exact.decode_second_kind(self, coordinates)

    def jacobian(self, coordinates: ArrayLike) -> Array:
        """Body velocities `(..., modes, joints, 3)` of :meth:`decode`."""
        return exact.jacobian_second_kind(self, coordinates)

    def _found(self, samples: Array) -> Array:
        find = exact.deflate if self.deflated else exact.encode_second_kind
        return find(self, samples, weights=self.weights)


@dataclass(frozen=True, eq=False)
class LogComponents(PrincipalGeodesics):
    """Principal components of rotation vectors: `exp(log(mean) + λ_1 v_1 + … + λ_k v_k)`."""

    method: ClassVar[str] = "pca"
    first_kind: ClassVar[bool] = False

    def logarithms(self, rotations: ArrayLike) -> Array:
        """Rotation vectors less their mean `(..., joints, 3)`."""
        return so3.log(rotations) - so3.log(self.mean)

    def decode(self, coordinates: ArrayLike) -> Array:
        """Rotations `(..., joints, 4)` of coordinates `(..., modes)`."""
        return so3.exp(so3.log(self.mean) + self.tangent(coordinates))

    def jacobian(self, coordinates: ArrayLike) -> Array:
        """Body velocities `(..., modes, joints, 3)` of :meth:`decode`."""
        turn = dexp_body(so3.log(self.mean) + self.tangent(coordinates))
        turned: Array = np.einsum("...jab,kjb->...kja", turn, self.directions, optimize=True)
        return turned


def log_components(mean: Array, covariance: Array, weights: Array) -> LogComponents:
    """All principal components of rotation vectors `(joints, 3)` of this mean and covariance.

    >>> found = log_components(np.zeros((1, 3)), np.diag([1.0, 4.0, 0.0]), np.ones(1))
    >>> found.spectrum.tolist(), np.abs(found.directions[0, 0]).tolist()
    ([4.0, 1.0, 0.0], [0.0, 1.0, 0.0])
    """
    axes = principal_axes(covariance, np.repeat(weights, 3))
    directions, duals = (part.reshape(-1, len(mean), 3) for part in (axes.directions, axes.duals))
    return LogComponents(so3.exp(mean), directions, duals, axes.spectrum, axes.spectrum)


def published(
    method: str, start: PrincipalGeodesics, rotations: Array, weights: Array, *, scheme: str | None = None
) -> PrincipalGeodesics:
    """Exact geodesics, or coordinates of the second kind, from linearised directions.

    Args:
        method: "exact", by a scheme; or "second-kind", with the linearised directions.
        start: The linearised ones.
        rotations: `(samples, joints, 4)`; at most 1,024 of them, evenly spaced, are used.
        weights: `(joints,)`, the metric.
        scheme: Of "exact": "variance", "error" (if None) or "deflation", which has the second kind.
    """
    if scheme is not None and method != "exact":
        raise InputError(f"scheme {scheme}: of method exact")
    found, chosen = start, scheme or "error"
    if method == "exact":
        some = rotations[:: -(-len(rotations) // MOST)]
        found = exact.refine(some, start, scheme=chosen, weights=weights)
    parts = found.mean, found.directions, found.duals, found.variances, found.spectrum, weights
    deflated = method == "exact" and chosen == "deflation"
    if deflated or method == "second-kind":
        return SecondKindGeodesics(*parts, deflated)
    return ExactGeodesics(*parts)
