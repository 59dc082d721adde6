"""Velocities that bring a feature to its target: proportional and derivative laws on Lie groups.

Tournier (2011, section 14.1.2) asks a feature φ with values in a Lie group for the velocity
`-κ_p log(h*⁻¹ φ) - κ_d φ̇`. Reached exactly in each step, its errors follow a 2×2 map that is stable for
`0 ≤ κ_d < 1` and `0 < κ_p h < 2 (1 - κ_d)`. The other two laws are those of a damped spring, the new velocity
from the present one; "implicit" is backward Euler, stable for any gains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError

LAWS = ("spring", "implicit", "published")


@dataclass(frozen=True)
class Gains:
    """How fast a feature goes to its target.

    Args:
        stiffness: 1/s²; of the published law 1/s.
        damping: 1/s; of the published law without unit.
        law: "spring", "implicit" or "published".
    """

    stiffness: float = 100.0
    damping: float = 20.0
    law: str = "spring"

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise InputError(f"law {self.law!r}: one of {', '.join(LAWS)}")
        if self.stiffness < 0 or self.damping < 0:
            raise InputError("gains must not be negative")

    def velocity(
        self,
        error: Array,
        speed: Array,
        step: float,
        wanted: ArrayLike = 0.0,
        change: ArrayLike = 0.0,
    ) -> Array:
        """The velocity to ask for.

        Args:
            error: `(d,)`, from the value to its target, `-log(h*⁻¹ φ)`.
            speed: `(d,)`, velocity of the value.
            step: seconds.
            wanted: velocity of the target.
            change: by how much the target's velocity changes in the step.
        """
        a, b = self.factors(step)
        if self.law == "published":
            return np.asarray(a * speed + b * error + np.asarray(wanted))
        keep = np.asarray(wanted)
        if self.law == "implicit":
            error = error + step * keep
        return np.asarray(keep + a * (speed - keep) + b * error + np.asarray(change))

    def factors(self, step: float) -> tuple[float, float]:
        """What the law multiplies the velocity and the error with."""
        if self.law == "published":
            return -self.damping, self.stiffness
        if self.law == "spring":
            return 1 - step * self.damping, step * self.stiffness
        scale = 1 / (1 + step * self.damping + step**2 * self.stiffness)
        return scale, scale * step * self.stiffness

    def growth(self, step: float) -> float:
        """By how much errors grow in a step at most if the feature meets what it is asked: stable below 1.

        >>> Gains(150, 0.2, "published").growth(0.01) < 1 < Gains(170, 0.2, "published").growth(0.01)
        True
        """
        a, b = self.factors(step)
        return float(np.abs(np.linalg.eigvals([[1 - step * b, step * a], [-b, a]])).max())
