"""Compiled linear algebra of the solver's steps, for `_kernels`.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

from marey._arrays import Array
from marey._compiling import njit
from marey.body.limits._kernels import INNER
from marey.geometry._inline_kernels import cholesky_solve

_TINY = 1e-12


@njit(**INNER)
def normal_matrix(
    J: Array, precision: Array, typical_change: Array, dual: bool, H: Array, diagonal: Array
) -> None:
    """H = JᵀJ (lower half; its diagonal alone if `dual`) and what damps a step, by how far unknowns go."""
    rows, unknowns = J.shape
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
    scale = 0.0
    for m in range(unknowns):
        scale += (H[m, m] + precision[m]) * typical_change[m] * typical_change[m]
    for m in range(unknowns):
        diagonal[m] = (scale / unknowns + _TINY) / (typical_change[m] * typical_change[m])


@njit(**INNER)
def dual_step(
    J: Array, r: Array, precision: Array, pull: Array, damping: Array, mu: float, S: Array, y: Array,
    step: Array,
) -> bool:  # fmt: skip
    """Solve (JᵀJ + E) step = Jᵀr + pull in the size of the rows, with a diagonal E = P + mu D.

    step = E⁻¹ (Jᵀ (I + J E⁻¹ Jᵀ)⁻¹ (r - J E⁻¹ pull) + pull); false if that is not positive definite.
    """
    rows, unknowns = J.shape
    for m in range(unknowns):
        step[m] = 1.0 / (precision[m] + mu * damping[m])
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
    if not cholesky_solve(S, rows, y):
        return False
    for m in range(unknowns):
        total = pull[m]
        for a in range(rows):
            total += J[a, m] * y[a]
        step[m] *= total
    return True


@njit(**INNER)
def primal_step(
    H: Array, downhill: Array, precision: Array, damping: Array, metric: Array, kinetic: bool,
    curvature: Array, curved: bool, mu: float, S: Array, step: Array,
) -> bool:  # fmt: skip
    """Solve (H + P + curvature + mu D) step = downhill, D a diagonal or (kinetic) the mass matrix."""
    unknowns = downhill.shape[0]
    for m in range(unknowns):
        step[m] = downhill[m]
        for k in range(m + 1):
            S[m, k] = H[m, k]
            if kinetic:
                S[m, k] += mu * metric[m, k]
            if curved:
                S[m, k] += curvature[m, k]
        S[m, m] += precision[m]
        if not kinetic:
            S[m, m] += mu * damping[m]
    return cholesky_solve(S, unknowns, step)


@njit(**INNER)
def learn_curvature(
    step: Array, slope_change: Array, total_change: Array, curvature: Array, y: Array
) -> None:
    """Update the estimate of what JᵀJ leaves out of the cost's curvature, by how the slope changed.

    The structured secant rule of Dennis, Gay and Welsch (1981, NL2SOL): without it, targets that cannot be
    met make the steps crawl. slope_change: of the targets' part, at equal residuals; total_change: of all.
    Symmetric, all of it kept; y: scratch.
    """
    unknowns = step.shape[0]
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
