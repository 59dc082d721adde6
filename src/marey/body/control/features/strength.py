"""Little strength: the kinetic energy that control alone would give (Tournier 2011, section 15.3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.control.features import Effort
from marey.body.control.mechanics import Instant


@dataclass(frozen=True, eq=False, kw_only=True)
class Strength(Effort):
    """`μᵀ A M⁻¹ Aᵀ μ`, which also avoids abrupt changes."""

    def hessian(self, now: Instant) -> Array:
        return np.asarray(now.inverse[6:, 6:])
