"""Principal geodesics of rotations: linearised, exact, of the second kind, of more than fits in memory."""

from marey.statistics.geodesics.linear import (
    PrincipalGeodesics,
    number_of_modes,
    principal_axes,
    principal_geodesics,
)

__all__ = ["PrincipalGeodesics", "number_of_modes", "principal_axes", "principal_geodesics"]
