"""Filters on rotations and vectors over time that stay on the manifold (Courty 2013, section 2.1.2)."""

from marey.geometry.filtering.bilateral import bilateral_rotations, bilateral_vectors
from marey.geometry.filtering.derivatives import angular_motion
from marey.geometry.filtering.linear import (
    binomial_mask,
    butterworth_mask,
    gaussian_mask,
    linear_rotations,
    linear_vectors,
)
from marey.geometry.filtering.noise import rotation_noise, vector_noise

__all__ = [
    "angular_motion",
    "bilateral_rotations",
    "bilateral_vectors",
    "binomial_mask",
    "butterworth_mask",
    "gaussian_mask",
    "linear_rotations",
    "linear_vectors",
    "rotation_noise",
    "vector_noise",
]
