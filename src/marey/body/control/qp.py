"""Quadratic programmes by daqp's dual active set, with equations that may repeat each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marey._arrays import Array

FAR = 1e30
# Relative: eigenvalues of the equations' Gram matrix below this belong to equations that repeat others.
REPEATED = 1e-11
EQUATION = 5
# Of rows; the second where rounding lets the first find nothing.
TOLERANCES = (1e-8, 1e-6)


class Solution(NamedTuple):
    """A minimum `(size,)` and the multipliers `(rows,)` of the rows, positive where a lower bound acts."""

    x: Array
    multipliers: Array


class Rows(NamedTuple):
    """Rows `low ≤ A x ≤ high`, `(rows, size)` and twice `(rows,)`."""

    A: Array
    low: Array
    high: Array


def solve(H: Array, c: Array, bounds: Rows, equations: Rows | None = None) -> Solution | None:
    """`min ½ xᵀHx + cᵀx` under rows and equations; None if nothing meets them.

    Args:
        H: `(size, size)`, positive definite.
        c: `(size,)`.
        bounds: where it has fewer rows A than bounds, the first bounds are of x itself.
        equations: rows with equal bounds, which may repeat each other (see :func:`independent`).

    >>> found = solve(np.eye(2), np.array([-1.0, 2.0]), Rows(np.empty((0, 2)), np.zeros(2), np.full(2, FAR)))
    >>> found.x.round(6).tolist(), (found.multipliers.round(6) + 0.0).tolist()
    ([1.0, 0.0], [0.0, 2.0])
    """
    import daqp

    A, low, high = bounds
    kinds = np.zeros(len(low), dtype=np.int32)
    if equations is not None and len(equations.A):
        A = np.concatenate([A, equations.A])
        low, high = np.concatenate([low, equations.low]), np.concatenate([high, equations.high])
        kinds = np.concatenate([kinds, np.full(len(equations.A), EQUATION, dtype=np.int32)])
    if not len(low):
        return Solution(np.asarray(np.linalg.solve(H, -c)), np.empty(0))
    rows = np.ascontiguousarray(A)
    for tolerance in TOLERANCES:
        x, _, flag, more = daqp.solve(H, c, rows, high, low, kinds, primal_tol=tolerance)
        if flag >= 1:
            break
    else:
        return None
    return Solution(np.asarray(x), -np.asarray(more["lam"])[: len(bounds.low)])


def independent(A: Array, values: Array) -> Rows:
    """Equations `A x = values` without those that repeat others, with orthonormal rows.

    >>> independent(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([1.0, 2.0])).A.round(6) + 0.0
    array([[1., 0.]])
    """
    if not len(A):
        return Rows(A, values, values)
    scale = 1.0 / np.maximum(np.linalg.norm(A, axis=1), 1e-12)
    rows = A * scale[:, None]
    sizes, directions = np.linalg.eigh(rows @ rows.T)
    kept = sizes > REPEATED * sizes[-1]
    combined = directions[:, kept] / np.sqrt(sizes[kept])
    right = combined.T @ (scale * values)
    return Rows(combined.T @ rows, right, right)
