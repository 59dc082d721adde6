"""Coordinates of the second kind: a product of turns, one a mode (Tournier 2011, sections 8.1.1 and 8.2).

    second kind: mean exp(λ_1 v_1) exp(λ_2 v_2) … exp(λ_k v_k)
    first kind:  mean exp(λ_1 v_1 + … + λ_k v_k), which is `PrincipalGeodesics.decode`

The two agree when one coordinate alone is not zero. With the coordinates of the tangent projection the
product does *not* lead back to the data, however many modes there are, since turns do not commute; encode
by :func:`encode`, or by :func:`deflate`. The first kind is the default everywhere: it inverts its
projection, and costs one exponential a joint where the product costs one a joint and mode.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.geometry import rotations as so3
from marey.statistics.exact_geodesics import project_on_geodesic
from marey.statistics.geodesics import PrincipalGeodesics
from marey.statistics.refitting import joint_weights, nearest_coordinates

Array = NDArray[np.float64]


def decode(geodesics: PrincipalGeodesics, coordinates: ArrayLike) -> Array:
    """Rotations `(..., joints, 4)` of coordinates `(..., modes)` of the second kind.

    >>> turns = so3.exp(np.linspace(-1, 1, 9)[:, None, None] * [[0, 0, 0.5], [0.2, 0, 0]])
    >>> from marey.statistics.geodesics import principal_geodesics
    >>> found = principal_geodesics(turns, modes=1)
    >>> np.allclose(decode(found, found.encode(turns)), turns)
    True
    """
    values = np.asarray(coordinates, dtype=np.float64)
    turned = np.broadcast_to(geodesics.mean, (*values.shape[:-1], *geodesics.mean.shape))
    for mode in range(geodesics.modes):
        turned = so3.multiply(turned, _factor(geodesics, values, mode))
    return np.array(turned)


def jacobian(geodesics: PrincipalGeodesics, coordinates: ArrayLike) -> Array:
    """Body velocities `R_jᵀ ∂R_j/∂λ_i` `(..., modes, joints, 3)` of :func:`decode`.

    With S the product of the factors after the i-th it is `Sᵀ v_i` (eq. 8.12, corrected: the source prints
    the factors before).
    """
    values = np.asarray(coordinates, dtype=np.float64)
    leading = values.shape[:-1]
    columns = np.empty((*leading, *geodesics.directions.shape))
    after = so3.identity((*leading, len(geodesics.mean)))
    for mode in range(geodesics.modes - 1, -1, -1):
        columns[..., mode, :, :] = so3.rotate(so3.inverse(after), geodesics.directions[mode])
        after = so3.multiply(_factor(geodesics, values, mode), after)
    return columns


def deflate(
    geodesics: PrincipalGeodesics, rotations: ArrayLike, *, weights: ArrayLike | None = None
) -> Array:
    """Coordinates `(samples, modes)` of rotations `(samples, joints, 4)`, one geodesic after the other.

    Each coordinate is the exact projection of what the ones before have left. Not the nearest in all
    coordinates together, but never worse with one mode more.

    weights: `(joints,)`, of squared angles; canonical if None
    """
    left = so3.multiply(so3.inverse(geodesics.mean), rotations)
    found = np.empty((len(left), geodesics.modes))
    for mode, direction in enumerate(geodesics.directions):
        found[:, mode] = project_on_geodesic(left, direction, weights=weights)
        left = so3.multiply(so3.inverse(_factor(geodesics, found, mode)), left)
    return found


def encode(geodesics: PrincipalGeodesics, rotations: ArrayLike, *, weights: ArrayLike | None = None) -> Array:
    """Coordinates `(samples, modes)` whose product is nearest to rotations `(samples, joints, 4)`.

    Gauss–Newton from the deflated coordinates, all of them together.
    """
    samples = np.asarray(rotations, dtype=np.float64)
    return nearest_coordinates(
        samples,
        deflate(geodesics, samples, weights=weights),
        lambda values: decode(geodesics, values),
        lambda values: jacobian(geodesics, values),
        joint_weights(weights, len(geodesics.mean)),
    )


def _factor(geodesics: PrincipalGeodesics, coordinates: Array, mode: int) -> Array:
    """exp(λ_i v_i), `(..., joints, 4)`."""
    return so3.exp(coordinates[..., mode, None, None] * geodesics.directions[mode])
