"""Angular momentum about the centre of mass (Tournier 2011, section 15.2.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.control.features import Feature, Term
from marey.body.control.mechanics import Instant


@dataclass(frozen=True, eq=False, kw_only=True)
class AngularMomentum(Feature):
    """Little angular momentum about the centre of mass. The weight is in 1/(kg m²).

    Args:
        decay: 1/s, how fast it is to fall; at once if infinite.
        velocity: `(size,)`, whose angular momentum is wanted; none if None.
    """

    weight: float = 0.1
    decay: float = float("inf")
    velocity: Array | None = None

    def term(self, now: Instant) -> Term:
        rows = self.rows(now)
        left = max(0.0, 1.0 - self.decay * now.step)
        wanted = np.zeros(3) if self.velocity is None else rows @ self.velocity
        return Term(rows, wanted + left * (rows @ now.v - wanted), self.weight)

    @staticmethod
    def rows(now: Instant) -> Array:
        """Angular momentum about the centre of mass in the world `(3, size)` by v."""
        return np.asarray(now.R @ now.work.M[:3])
