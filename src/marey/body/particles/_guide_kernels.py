"""Compiled algebra of the guided step, in one thread: for a hundred unknowns faster than waking several.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np

from marey._arrays import Array
from marey._compiling import njit

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"}}


@njit(**_OPTIONS)
def gram(a: Array) -> Array:
    """aᵀ a."""
    out = np.zeros((a.shape[1], a.shape[1]))
    for n in range(a.shape[0]):
        for i in range(a.shape[1]):
            value = a[n, i]
            for j in range(i + 1):
                out[i, j] += value * a[n, j]
    for i in range(a.shape[1]):
        for j in range(i):
            out[j, i] = out[i, j]
    return out


@njit(**_OPTIONS)
def product(a: Array, b: Array) -> Array:
    """aᵀ b."""
    out = np.zeros((a.shape[1], b.shape[1]))
    for n in range(a.shape[0]):
        for i in range(a.shape[1]):
            value = a[n, i]
            for j in range(b.shape[1]):
                out[i, j] += value * b[n, j]
    return out


@njit(**_OPTIONS)
def factorise(matrix: Array) -> None:
    """The lower triangle becomes L of L Lᵀ, for a positive definite matrix."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(total) if i == j else total / matrix[j, j]


@njit(**_OPTIONS)
def solve(lower: Array, right: Array) -> None:
    """`right` `(size, columns)` becomes X with L Lᵀ X = right."""
    size, columns = right.shape
    for i in range(size):
        for k in range(i):
            for c in range(columns):
                right[i, c] -= lower[i, k] * right[k, c]
        for c in range(columns):
            right[i, c] /= lower[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            for c in range(columns):
                right[i, c] -= lower[k, i] * right[k, c]
        for c in range(columns):
            right[i, c] /= lower[i, i]


@njit(**_OPTIONS)
def learn(drive: Array, change: Array, ridge: float) -> tuple[Array, Array]:
    """Gain `(freedoms, numbers)` and Cholesky factor of the precision, see `guidance.Guide`."""
    freedoms = drive.shape[1]
    normal = gram(drive)
    for i in range(freedoms):
        normal[i, i] += ridge * drive.shape[0]
    slopes = product(drive, change)
    factorise(normal)
    solve(normal, slopes)
    across = np.ascontiguousarray(slopes.T)
    precision = gram(across)
    for i in range(freedoms):
        for j in range(freedoms):
            precision[i, j] *= 2.0
        precision[i, i] += 1.0
    factorise(precision)
    gain = -2.0 * slopes
    solve(precision, gain)
    return gain, precision


@njit(**_OPTIONS)
def draw(gain: Array, lower: Array, residual: Array, own: Array, out: Array) -> None:
    """out = gain residual + L⁻ᵀ own, row by row."""
    freedoms = gain.shape[0]
    for n in range(residual.shape[0]):
        for i in range(freedoms - 1, -1, -1):
            total = own[n, i]
            for k in range(i + 1, freedoms):
                total -= lower[k, i] * out[n, k]
            out[n, i] = total / lower[i, i]
        for i in range(freedoms):
            total = 0.0
            for c in range(gain.shape[1]):
                total += gain[i, c] * residual[n, c]
            out[n, i] += total
