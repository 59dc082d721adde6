"""Compiled loops of vector autoregression. Imported where they are used, as numba takes a moment to load.

Series are `(frames, series, components)`, so that a step of many series is one product of matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Up to so many series, plain loops are faster than calls of BLAS.
FEW = 4
# Columns of a band that are factored together.
PANEL = 4
_QUICK: Any = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"}}


@njit(**_QUICK)
def run_forward(series: Array, steps: Array) -> None:
    """x_t += Σ x_{t−i} A_iᵀ in place from frame `order` on; steps: A_iᵀ `(order, components, components)`."""
    order = len(steps)
    frames, count, size = series.shape
    product = np.empty((count, size))
    for t in range(order, frames):
        for i in range(order):
            if count > FEW:
                np.dot(series[t - 1 - i], steps[i], product)
                series[t] += product
            else:
                _add_product(series[t], series[t - 1 - i], steps[i])


@njit(**_QUICK)
def run_backward(series: Array, steps: Array) -> None:
    """The transpose of :func:`run_forward`: x_{t−i} += x_t A_i, in place; steps: A_i."""
    order = len(steps)
    frames, count, size = series.shape
    product = np.empty((count, size))
    for t in range(frames - 1, order - 1, -1):
        for i in range(order):
            if count > FEW:
                np.dot(series[t], steps[i], product)
                series[t - 1 - i] += product
            else:
                _add_product(series[t - 1 - i], series[t], steps[i])


@njit(**_QUICK)
def _add_product(total: Array, left: Array, right: Array) -> None:
    count, size = left.shape
    fours = size - size % 4
    for n in range(count):
        for j in range(0, fours, 4):
            a, b, c, d = left[n, j], left[n, j + 1], left[n, j + 2], left[n, j + 3]
            for k in range(size):
                one = a * right[j, k] + b * right[j + 1, k]
                total[n, k] += one + (c * right[j + 2, k] + d * right[j + 3, k])
        for j in range(fours, size):
            for k in range(size):
                total[n, k] += left[n, j] * right[j, k]


@njit(cache=True, nogil=True)
def add_to_band(band: Array, table: Array, which: Whole, rows: Whole, columns: Whole) -> None:
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


@njit(**_QUICK)
def factor_band(band: Array) -> bool:
    """Cholesky factor of a band `(n, width + PANEL − 1)`, in place; whether there is one.

    Entry `[j, k]` is between j + k and j; the last PANEL − 1 columns are zero. Four columns are factored,
    then taken from those after them together. In one thread: for such widths waking others costs more.
    """
    n, width = band.shape[0], band.shape[1] - PANEL + 1
    for first in range(0, n, PANEL):
        count = min(PANEL, n - first)
        for a in range(count):
            column = band[first + a]
            for b in range(a):
                value = band[first + b, a - b]
                before = band[first + b, a - b :]
                for k in range(width):
                    column[k] -= value * before[k]
            if not column[0] > 0.0:
                return False
            scale = 1.0 / np.sqrt(column[0])
            for k in range(width):
                column[k] *= scale
        if count < PANEL:
            break
        p, q, r, s = band[first], band[first + 1], band[first + 2], band[first + 3]
        for away in range(PANEL, min(width + PANEL - 1, n - first)):
            u, v, w, x = p[away], q[away - 1], r[away - 2], s[away - 3]
            target = band[first + away]
            pk, qk, rk, sk = p[away:], q[away - 1 :], r[away - 2 :], s[away - 3 :]
            for k in range(width + PANEL - 1 - away):
                target[k] -= (u * pk[k] + v * qk[k]) + (w * rk[k] + x * sk[k])
    return True


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
