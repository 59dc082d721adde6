"""Compiled loops of vector autoregression. Imported where they are used, as numba takes a moment to load."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]


@njit(cache=True, fastmath={"contract", "reassoc"})
def selected_inverse(factor: Array) -> Array:
    """The band of `(L Lᵀ)⁻¹`, `(n, width)` with entry `[i, k]` between i and i + k, from L in the same form.

    Backwards: Z_ij = (δ_ij / L_ii − Σ_k>i L_ki Z_kj) / L_ii, for j ≥ i within the band (Takahashi's rule).
    """
    n, width = factor.shape
    found = np.zeros((n, width))
    for i in range(n - 1, -1, -1):
        reach = min(width - 1, n - 1 - i)
        scale = 1.0 / factor[i, 0]
        for j in range(reach, -1, -1):
            total = 0.0
            for k in range(1, reach + 1):
                low, high = min(k, j), max(k, j)
                if j == 0:
                    total += factor[i, k] * found[i, k]
                else:
                    total += factor[i, k] * found[i + low, high - low]
            found[i, j] = scale * ((scale if j == 0 else 0.0) - total)
    return found
