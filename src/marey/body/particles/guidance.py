"""A proposal that knows the constraints, found without derivatives: a weighted ensemble Kalman step.

How errors change with the noise that drives a step is learned from the particles themselves, by regression.
That gives the Gaussian distribution of the noise given the constraints, from which steps are drawn instead of
from the evolution; the ratio of the two densities goes into the weights (Papadakis, Mémin, Cuzol & Gengembre
2010, Tellus A 62). What is far from met is approached over the steps, as people move their hands. Cost: one
more evaluation of all particles and O(particles × freedoms²) a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marey._arrays import Array, IntArray
from marey.geometry.fades import minimum_jerk


class Guide(NamedTuple):
    """Distribution of the driving noise given the constraints: mean `gain @ residual`, one covariance.

    Attributes:
        gain: `(freedoms, numbers)`.
        root: `(freedoms, freedoms)`, R with R Rᵀ the covariance.
    """

    gain: Array
    root: Array

    @classmethod
    def learned(cls, drive: Array, change: Array, *, ridge: float = 1e-3) -> Guide:
        """From driving noise `(particles, freedoms)` and what it changed in errors `(particles, numbers)`.

        Errors are in units of their noise, and their likelihood is `exp(-|error|²)`.

        Args:
            ridge: times the number of particles: holds the regression where there are few.

        >>> drive = np.random.default_rng(0).standard_normal((50, 2))
        >>> guide = Guide.learned(drive, 3.0 * drive[:, :1])
        >>> (guide.gain[:, 0].round(2) + 0.0).tolist(), (np.diag(guide.root) ** -2).round().tolist()
        ([-0.32, 0.0], [19.0, 1.0])
        """
        unit = np.eye(drive.shape[1])
        slopes = np.linalg.solve(drive.T @ drive + ridge * len(drive) * unit, drive.T @ change)
        lower = np.linalg.cholesky(unit + 2.0 * slopes @ slopes.T)
        root = np.linalg.inv(lower).T
        return cls(-2.0 * root @ (root.T @ slopes), root)

    def draw(self, residual: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Driving noise `(particles, freedoms)` for residuals `(particles, numbers)`, and the logarithm of
        the evolution's density there over that of this distribution, up to a constant."""
        own = rng.standard_normal((len(residual), len(self.gain)))
        drive = residual @ self.gain.T + own @ self.root.T
        ratio = 0.5 * (np.square(own).sum(axis=1) - np.square(drive).sum(axis=1))
        return drive, ratio


def step_targets(guide: Guide, errors: Array, owners: IntArray, wanted: Array, speed: float) -> Array:
    """Errors `(numbers,)` that the next step should leave.

    Args:
        errors: `(numbers,)`, means over the particles.
        owners: `(numbers,)`, which constraint each belongs to.
        wanted: `(constraints,)`, how long each constraint's errors should be then.
        speed: how long a mean step for one constraint may be, in deviations of the driving noise.
    """
    goals = np.zeros(len(errors))
    for owner, most in enumerate(wanted):
        own = owners == owner
        length = float(np.linalg.norm(errors[own]))
        if length == 0.0:
            continue
        kick = float(np.linalg.norm(guide.gain[:, own] @ errors[own]))
        share = min(1.0 - min(most / length, 1.0), speed / kick if kick > 0 else 1.0)
        goals[own] = (1.0 - share) * errors[own]
    return goals


def remaining(progress: float, arrival: float) -> float:
    """Share of the distance that is left, 1 … 0: a movement of least jerk that ends before the steps do.

    >>> [round(remaining(t, 0.8), 3) for t in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
    [1.0, 0.896, 0.5, 0.104, 0.0, 0.0]
    """
    return 1.0 - float(minimum_jerk(progress / arrival))
