"""Little work: the square of the power of control (Tournier 2011, section 15.3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.control.features import Effort
from marey.body.control.mechanics import Instant


@dataclass(frozen=True, eq=False, kw_only=True)
class Laziness(Effort):
    """`(vᵀ Aᵀ μ)²` with the present velocity; it makes motions large."""

    def hessian(self, now: Instant) -> Array:
        return np.outer(now.v[6:], now.v[6:])
