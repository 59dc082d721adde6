"""Compiled loops of vector autoregression. Imported where they are used, as numba takes a moment to load.

Series are `(frames, series, components)`, so that a step of many series is one product of matrices.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array, Integers
from marey._compiling import njit


@njit(cache=True, nogil=True)
def run_forward(series: Array, steps: Array) -> None:
    """x_t += Σ x_{t−i} A_iᵀ in place from frame `order` on; steps: A_iᵀ `(order, components, components)`."""
    order = len(steps)
    frames, count, size = series.shape
    product = np.empty((count, size))
    for t in range(order, frames):
        for i in range(order):
            np.dot(series[t - 1 - i], steps[i], product)
            series[t] += product


@njit(cache=True, nogil=True)
def add_to_band(band: Array, table: Array, which: Integers, rows: Integers, columns: Integers) -> None:
    """Add blocks `table[which[n]]` to a lower band, at ranks `rows[n]`, `columns[n]` (−1: not there)."""
    size = table.shape[1]
    for n in range(len(which)):
        block = table[which[n]]
        for c in range(size):
            column = columns[n, c]
            if column < 0:
                continue
            for r in range(size):
                row = rows[n, r]
                if row >= column:
                    band[column, row - column] += block[r, c]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def selected_inverse(factor: Array) -> Array:
    """The band of `(L Lᵀ)⁻¹`, `(n, width)` with entry `[i, k]` between i and i + k, from L in the same form.

    Backwards: Z_ij = (δ_ij / L_ii − Σ_k>i L_ki Z_kj) / L_ii, for j ≥ i within the band (Takahashi's rule).
    A full square window of the inverse slides along, so that the sums run through memory in order.
    """
    n, width = factor.shape
    reach = width - 1
    found = np.zeros((n, width))
    # window[(i + a) % width, (i + b) % width] is Z between i + a and i + b.
    window = np.zeros((width, width))
    row = np.zeros(width)
    spread = np.zeros(width)
    for i in range(n - 1, -1, -1):
        scale = 1.0 / factor[i, 0]
        here = i % width
        inside = min(reach, n - 1 - i)
        spread[:] = 0.0
        for k in range(1, inside + 1):
            spread[(i + k) % width] = factor[i, k]
        for j in range(1, inside + 1):
            at = (i + j) % width
            total = 0.0
            for k in range(width):
                total += spread[k] * window[at, k]
            row[at] = -scale * total
        corner = 0.0
        for j in range(1, inside + 1):
            at = (i + j) % width
            corner += spread[at] * row[at]
            window[at, here] = row[at]
            window[here, at] = row[at]
            found[i, j] = row[at]
        found[i, 0] = scale * (scale - corner)
        window[here, here] = found[i, 0]
    return found
