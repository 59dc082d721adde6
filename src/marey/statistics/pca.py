"""Principal components of numbers, and of rotations by logarithms at the identity (Courty 2013, 2.2.1.1).

The Euclidean baseline for principal geodesic analysis: the chart is fixed where the rest pose is, not at
the mean, so results depend on how the joints' frames were drawn, and joints that rest near half a turn
wrap. Cost: one eigendecomposition of a (numbers)² matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, assign, checked
from marey.geometry import rotations as so3
from marey.statistics.geodesics import number_of_modes, principal_axes


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """A mean and orthonormal directions along which samples vary most.

    Attributes:
        mean: `(numbers,)`.
        directions: `(modes, numbers)`.
        variances: `(modes,)`, of the coordinates, falling.
        spectrum: `(numbers,)`, all of them.

    >>> found = principal_components([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]], modes=1)
    >>> found.decode(found.encode([[3.0, 6.0]])).round(9)
    array([[3., 6.]])
    """

    mean: Array
    directions: Array
    variances: Array
    spectrum: Array

    def __post_init__(self) -> None:
        mean = checked("mean", self.mean, (None,))
        directions = checked("directions", self.directions, (None, len(mean)))
        assign(
            self,
            mean=mean,
            directions=directions,
            variances=checked("variances", self.variances, (len(directions),)),
            spectrum=checked("spectrum", self.spectrum, (None,)),
        )

    @property
    def modes(self) -> int:
        """Number of directions kept."""
        return len(self.directions)

    def encode(self, samples: ArrayLike) -> Array:
        """Coordinates `(..., modes)` of samples `(..., numbers)`."""
        return (np.asarray(samples, dtype=np.float64) - self.mean) @ self.directions.T

    def decode(self, coordinates: ArrayLike) -> Array:
        """Samples `(..., numbers)` of coordinates `(..., modes)`."""
        return self.mean + np.asarray(coordinates, dtype=np.float64) @ self.directions


def principal_components(
    samples: ArrayLike, *, modes: int | None = None, variance: float | None = None
) -> PrincipalComponents:
    """Principal components of `(samples, numbers)`; `modes`, or enough for `variance` (0.99) of the whole."""
    values = checked("samples", samples, (None, None))
    mean = values.mean(axis=0)
    away = values - mean
    axes = principal_axes(away.T @ away / len(values))
    kept = number_of_modes(axes.spectrum, modes=modes, variance=variance)
    return PrincipalComponents(mean, axes.directions[:kept], axes.spectrum[:kept], axes.spectrum)


@dataclass(frozen=True, eq=False)
class LogComponents:
    """Principal components of rotation vectors, for rotations `(..., joints, 4)`."""

    components: PrincipalComponents

    def encode(self, rotations: ArrayLike) -> Array:
        """Coordinates `(..., modes)`."""
        return self.components.encode(_flat(so3.log(rotations)))

    def decode(self, coordinates: ArrayLike) -> Array:
        """Rotations `(..., joints, 4)`."""
        vectors = self.components.decode(coordinates)
        return so3.exp(vectors.reshape(*vectors.shape[:-1], -1, 3))


def log_components(
    rotations: ArrayLike, *, modes: int | None = None, variance: float | None = None
) -> LogComponents:
    """Principal components of the rotation vectors of `(samples, joints, 4)`.

    >>> turns = so3.exp(np.linspace(-1, 1, 9)[:, None, None] * [[0, 0, 0.5], [0.2, 0, 0]])
    >>> found = log_components(turns, modes=1)
    >>> np.allclose(found.decode(found.encode(turns)), turns)
    True
    """
    return LogComponents(principal_components(_flat(so3.log(rotations)), modes=modes, variance=variance))


def _flat(vectors: Array) -> Array:
    return vectors.reshape(*vectors.shape[:-2], -1)
