"""A proposal that knows the constraints, found without derivatives: a weighted ensemble Kalman step.

How errors change with the noise that drives a step is learned from the particles themselves, by regression.
That gives the Gaussian law of the noise given the constraints, from which steps are drawn instead of from the
evolution law; the ratio of the two laws goes into the weights (Papadakis, Mémin, Cuzol & Gengembre 2010,
Tellus A 62). What is far from met is approached over the steps, as people move
their hands. Cost: one more evaluation of all particles and O(particles × freedoms²) a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array

# Times the number of particles: holds the regression where there are few.
RIDGE = 1e-3
# Share of the steps after which constraints are aimed at in full.
ARRIVAL = 0.8


class Guide(NamedTuple):
    """Law of the driving noise given the constraints: mean `gain @ residual` and one covariance for all.

    gain: `(freedoms, numbers)`; factor: `(freedoms, freedoms)`, Cholesky factor of the inverse covariance in
        its lower triangle
    """

    gain: Array
    factor: Array

    @classmethod
    def learned(cls, drive: Array, change: Array) -> Guide:
        """From driving noise `(particles, freedoms)` and what it changed in errors `(particles, numbers)`.

        Errors are in units of their noise, and their likelihood is `exp(-|error|²)`.

        >>> drive = np.random.default_rng(0).standard_normal((50, 2))
        >>> guide = Guide.learned(drive, 3.0 * drive[:, :1])
        >>> (guide.gain[:, 0].round(2) + 0.0).tolist(), (np.diag(guide.factor) ** 2).round().tolist()
        ([-0.32, 0.0], [19.0, 1.0])
        """
        from marey.body.particles._guide_kernels import learn

        return cls(*learn(drive, np.ascontiguousarray(change), RIDGE))

    def draw(self, residual: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Driving noise `(particles, freedoms)` for residuals `(particles, numbers)`, and the logarithm of
        the evolution law's density there over that of this law, up to a constant."""
        from marey.body.particles import _guide_kernels

        own = rng.standard_normal((len(residual), len(self.gain)))
        drive = np.empty_like(own)
        _guide_kernels.draw(self.gain, self.factor, residual, own, drive)
        ratio = 0.5 * (np.square(own).sum(axis=1) - np.square(drive).sum(axis=1))
        return drive, ratio


def next_goals(guide: Guide, errors: Array, owners: NDArray[np.int64], wanted: Array, speed: float) -> Array:
    """Errors `(numbers,)` that the next step should leave.

    errors: `(numbers,)`, means over the particles; owners: which constraint each belongs to
    wanted: `(constraints,)`, how long each constraint's errors should be then
    speed: how long a mean step for one constraint may be, in deviations of the driving noise
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


def left_to_go(progress: float) -> float:
    """Share of the way that is left, 1 … 0: a movement of least jerk that ends before the steps do.

    >>> [round(left_to_go(t), 3) for t in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
    [1.0, 0.896, 0.5, 0.104, 0.0, 0.0]
    """
    t = min(progress / ARRIVAL, 1.0)
    return float(1.0 - t**3 * (10.0 - 15.0 * t + 6.0 * t**2))
