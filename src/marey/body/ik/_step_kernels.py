"""Compiled linear algebra of the solver's steps, for `_kernels`.

The compiled code of `_kernels` contains these functions: after a change here, that file must change (or be
touched) too. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]

# What damps a step: the diagonal of the normal matrix (Marquardt), how far unknowns usually go, the masses.
MARQUARDT, USUAL, KINETIC = 0, 1, 2

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_TINY = 1e-12
# Floor of Marquardt's damping, a share of the mean diagonal: some unknowns move no target.
_FLOOR = 1e-4


@njit(**_OPTIONS)
def factor_and_solve(H: Array, size: int, b: Array) -> bool:
    """Cholesky in the lower half of H, then b ← H⁻¹ b; false if H is not positive definite."""
    for i in range(size):
        for j in range(i + 1):
            total = H[i, j]
            for k in range(j):
                total -= H[i, k] * H[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                H[i, i] = math.sqrt(total)
            else:
                H[i, j] = total / H[j, j]
    for i in range(size):
        total = b[i]
        for k in range(i):
            total -= H[i, k] * b[k]
        b[i] = total / H[i, i]
    for i in range(size - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, size):
            total -= H[k, i] * b[k]
        b[i] = total / H[i, i]
    return True


@njit(**_OPTIONS)
def step_of(
    rows: int,
    unknowns: int,
    J: Array,
    r: Array,
    downhill: Array,
    H: Array,
    diagonal: Array,
    precision: Array,
    pull: Array,
    metric: Array,
    curvature: Array,
    curved: bool,
    damping: int,
    dual: bool,
    mu: float,
    S: Array,
    y: Array,
    step: Array,
) -> bool:
    """Solve (JᵀJ + P + curvature + mu D) step = Jᵀr + pull; `dual`: in the size of the rows."""
    if dual:
        # With diagonal E = P + mu D:  step = E⁻¹ (Jᵀ (I + J E⁻¹ Jᵀ)⁻¹ (r - J E⁻¹ pull) + pull)
        for m in range(unknowns):
            step[m] = 1.0 / (precision[m] + mu * diagonal[m])
        for a in range(rows):
            total = r[a]
            for m in range(unknowns):
                total -= J[a, m] * step[m] * pull[m]
            y[a] = total
            for b in range(a + 1):
                total = 0.0
                for m in range(unknowns):
                    total += J[a, m] * step[m] * J[b, m]
                S[a, b] = total
            S[a, a] += 1.0
        if not factor_and_solve(S, rows, y):
            return False
        for m in range(unknowns):
            total = pull[m]
            for a in range(rows):
                total += J[a, m] * y[a]
            step[m] *= total
        return True
    for m in range(unknowns):
        step[m] = downhill[m]
        for k in range(m + 1):
            S[m, k] = H[m, k]
            if damping == KINETIC:
                S[m, k] += mu * metric[m, k]
            if curved:
                S[m, k] += curvature[m, k]
        S[m, m] += precision[m]
        if damping != KINETIC:
            S[m, m] += mu * diagonal[m]
    return factor_and_solve(S, unknowns, step)


@njit(**_OPTIONS)
def learn_curvature(
    unknowns: int, step: Array, slope_change: Array, total_change: Array, curvature: Array, y: Array
) -> None:
    """Update the estimate of what JᵀJ leaves out of the cost's curvature, by how the slope changed.

    The structured secant rule of Dennis, Gay and Welsch (1981, NL2SOL): without it, targets that cannot be
    met make the steps crawl. slope_change: of the targets' part, at equal residuals; total_change: of all.
    Symmetric, all of it kept; y: scratch.
    """
    along, size, known, wanted = 0.0, 0.0, 0.0, 0.0
    for m in range(unknowns):
        total = 0.0
        for k in range(unknowns):
            total += curvature[m, k] * step[k]
        y[m] = total
        known += step[m] * total
        wanted += step[m] * slope_change[m]
        along += total_change[m] * step[m]
        size += total_change[m] * total_change[m]
    if not along > 1e-12 * math.sqrt(size):
        return
    share = min(1.0, abs(wanted) / abs(known)) if known != 0.0 else 1.0
    rest = 0.0
    for m in range(unknowns):
        y[m] = slope_change[m] - share * y[m]
        rest += step[m] * y[m]
    for m in range(unknowns):
        for k in range(unknowns):
            curvature[m, k] = (
                share * curvature[m, k]
                + (y[m] * total_change[k] + total_change[m] * y[k]) / along
                - rest * total_change[m] * total_change[k] / (along * along)
            )


@njit(**_OPTIONS)
def normal_matrix(
    rows: int,
    unknowns: int,
    J: Array,
    precision: Array,
    spreads: Array,
    damping: int,
    dual: bool,
    H: Array,
    diagonal: Array,
) -> None:
    """H = JᵀJ (lower half; its diagonal alone if only that is asked for) and what damps a step."""
    for m in range(unknowns):
        total = 0.0
        for a in range(rows):
            total += J[a, m] * J[a, m]
        H[m, m] = total
    if not dual:
        for m in range(unknowns):
            for k in range(m):
                H[m, k] = 0.0
        for a in range(rows):
            for m in range(unknowns):
                factor = J[a, m]
                if factor != 0.0:
                    for k in range(m):
                        H[m, k] += factor * J[a, k]
    trace, usual = 0.0, 0.0
    for m in range(unknowns):
        trace += H[m, m] + precision[m]
        usual += (H[m, m] + precision[m]) * spreads[m] * spreads[m]
    floor = _FLOOR * trace / unknowns + _TINY
    for m in range(unknowns):
        if damping == USUAL:
            diagonal[m] = (usual / unknowns + _TINY) / (spreads[m] * spreads[m])
        else:
            diagonal[m] = H[m, m] + precision[m] + floor


@njit(types.boolean(types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")), **_OPTIONS)
def solve_banded(rows: Array, b: Array) -> bool:
    """b ← A⁻¹ b for a banded, positive definite A by Cholesky, in one thread; false if A is not.

    rows: `(unknowns, width + 1)`, entries of columns i - width … i in row i; becomes the factor. Libraries
    do this with many threads, which takes them far longer when the machine is busy.
    """
    size, width = rows.shape[0], rows.shape[1] - 1
    column = np.empty(width + 1)
    for j in range(size):
        pivot = rows[j, width]
        if not pivot > 0.0:
            return False
        pivot = math.sqrt(pivot)
        rows[j, width] = pivot
        last = min(j + width, size - 1)
        for i in range(j + 1, last + 1):
            value = rows[i, j - i + width] / pivot
            rows[i, j - i + width] = value
            column[i - j] = value
        for i in range(j + 1, last + 1):
            value = column[i - j]
            if value != 0.0:
                first = j + 1 - i + width
                for k in range(i - j):
                    rows[i, first + k] -= value * column[1 + k]
    for i in range(size):
        total = b[i]
        for k in range(max(0, i - width), i):
            total -= rows[i, k - i + width] * b[k]
        b[i] = total / rows[i, width]
    for i in range(size - 1, -1, -1):
        b[i] /= rows[i, width]
        for k in range(max(0, i - width), i):
            b[k] -= rows[i, k - i + width] * b[i]
    return True
