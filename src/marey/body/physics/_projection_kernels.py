"""Compiled solution of a step's rows: triangular factors, projected Gauss–Seidel, equations of acting rows.

Constraints are rows `J v ≥ b`, kept as `J U⁻¹` with `UᵀU` the damped mass matrix: in these coordinates the
metric of the kinetic energy is the identity. Sweeps of Gauss–Seidel on the rows' own matrix find which rows
act; the equations of these are then solved directly.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

from marey._arrays import Array, Integers
from marey._compiling import njit
from marey.body.physics._kernels import INNER, LEFT, NUMBERS, PAIRS, TABLE

# What a row is, if not the friction of the normal row of this number: pushes only, or holds both ways.
PUSHES, HOLDS = -1, -2
# Columns of a row's kind: see above; where the multiplier is kept for the next step, -1 if nowhere; the
# joint, -1 if none; the ball, or that there is none, or that the row is of a limit.
SORT, SLOT, BODY, BALL = range(4)
NONE, LIMIT = -1, -2
# Rows of `line`: multiplier, speed beyond the bound, bound, bound without what gaps differ by, change, most
# friction.
PUSH, SPEED, BOUND, BASE, CHANGE, MOST = range(6)
# After so many sweeps bounds of friction are kept until the rest is solved, and then moved by this share.
COUPLED, MOVED = 12, 0.5


@njit(f"boolean({TABLE}, int64)", **INNER)
def factor(U: Array, size: int) -> bool:
    """U ← the upper factor of the matrix in its upper half, `UᵀU`; false if it has none."""
    for k in range(size):
        if not U[k, k] > 0.0:
            return False
        scale = 1.0 / math.sqrt(U[k, k])
        for j in range(k, size):
            U[k, j] *= scale
        for i in range(k + 1, size):
            factor = U[k, i]
            for j in range(i, size):
                U[i, j] -= factor * U[k, j]
    return True


@njit(f"void({TABLE}, int64, {TABLE}, int64)", **INNER)
def forward(U: Array, size: int, y: Array, r: int) -> None:
    """y[r] ← U⁻ᵀ y[r]."""
    for k in range(size):
        value = y[r, k] / U[k, k]
        y[r, k] = value
        for i in range(k + 1, size):
            y[r, i] -= value * U[k, i]


@njit(f"void({TABLE}, int64, {TABLE}, int64)", **INNER)
def backward(U: Array, size: int, y: Array, r: int) -> None:
    """y[r] ← U⁻¹ y[r]."""
    for k in range(size - 1, -1, -1):
        total = y[r, k]
        for i in range(k + 1, size):
            total -= U[k, i] * y[r, i]
        y[r, k] = total / U[k, k]


@njit(
    f"float64({TABLE}, {TABLE}, {TABLE}, {TABLE}, {PAIRS}, {NUMBERS}, {TABLE}, int64, float64, int64, "
    "float64)",
    **INNER,
)  # fmt: skip
def project(
    J: Array, A: Array, B: Array, line: Array, kind: Integers, order: Integers, z: Array, rows: int,
    friction: float, sweeps: int, tolerance: float,
) -> float:  # fmt: skip
    """Project the velocity `z[LEFT]`, in the rows' coordinates, on `J z ≥ b` and friction's bounds.

    Starts with the multipliers in `line`; ends when no row's velocity changes by more than the tolerance in
    a sweep. Returns what changed most in the last one, m/s.
    """
    largest = 0.0
    for r in range(rows):
        line[SPEED, r] = -line[BOUND, r]
    for k in range(J.shape[0]):
        value = z[LEFT, k]
        for r in range(rows):
            line[SPEED, r] += value * J[k, r]
    for q in range(rows):
        value = line[PUSH, q]
        if value != 0.0:
            for r in range(rows):
                line[SPEED, r] += value * A[q, r]
    for sweep in range(sweeps):
        kept, largest = sweep >= COUPLED, 0.0
        for r in range(rows):
            old = line[PUSH, r]
            if kind[r, SORT] >= 0 and sweep <= COUPLED:
                line[MOST, r] = friction * line[PUSH, kind[r, SORT]]
            new = bounded(line, kind, r, old - line[SPEED, r] / A[r, r])
            change = new - old
            if change != 0.0:
                line[PUSH, r] = new
                for q in range(rows):
                    line[SPEED, q] += change * A[r, q]
                largest = max(largest, abs(change) * A[r, r])
        if largest < tolerance and kept:
            for r in range(rows):
                if kind[r, SORT] >= 0:
                    off = friction * line[PUSH, kind[r, SORT]] - line[MOST, r]
                    if abs(line[PUSH, r]) >= line[MOST, r]:
                        largest = max(largest, abs(off) * A[r, r])
                    line[MOST, r] += MOVED * off
        if largest < tolerance:
            break
        if sweep % 2 == 1:
            for _ in range(rows):
                if solve_acting(A, B, line, kind, order, rows, 0.0 if kept else friction) == 1.0:
                    break
    for k in range(J.shape[0]):
        total = 0.0
        for r in range(rows):
            total += J[k, r] * line[PUSH, r]
        z[LEFT, k] += total
    return largest


@njit(f"float64({TABLE}, {PAIRS}, int64, float64)", **INNER)
def bounded(line: Array, kind: Integers, r: int, value: float) -> float:
    """A multiplier within the bounds of its row."""
    sort, most = kind[r, SORT], line[MOST, r]
    if sort == HOLDS:
        return value
    return max(value, 0.0) if sort == PUSHES else min(max(value, -most), most)


@njit(f"float64({TABLE}, {TABLE}, {TABLE}, {PAIRS}, {NUMBERS}, int64, float64)", **INNER)
def solve_acting(
    A: Array, B: Array, line: Array, kind: Integers, order: Integers, rows: int, friction: float
) -> float:
    """Solve the equations of rows that are not at a bound, up to the first new bound.

    Friction that slides stays at its bound, which moves with the normal multiplier by `friction`, or not at
    all if that is 0. Returns the share of the step to the solution that was gone, 1 for all.
    """
    count = 0
    for r in range(rows):
        sort, value = kind[r, SORT], line[PUSH, r]
        acts = sort == HOLDS or (sort == PUSHES and value > 0.0)
        if sort >= 0:
            acts = abs(value) < line[MOST, r]
        order[r] = count if acts else -1
        count += acts
    for r in range(rows):
        i = order[r]
        if i >= 0:
            for q in range(rows):
                j = order[q]
                if j >= 0:
                    B[i, j] = A[r, q]
                elif kind[q, SORT] >= 0 and order[kind[q, SORT]] >= 0 and line[PUSH, q] != 0.0:
                    # Its normal row comes before it, so that entry is there already.
                    B[i, order[kind[q, SORT]]] += math.copysign(friction, line[PUSH, q]) * A[r, q]
            B[i, count] = -line[SPEED, r]
    for k in range(count):
        if not abs(B[k, k]) > 0.0:
            return 1.0
        for i in range(k + 1, count):
            factor = B[i, k] / B[k, k]
            if factor != 0.0:
                for j in range(k + 1, count + 1):
                    B[i, j] -= factor * B[k, j]
    for k in range(count - 1, -1, -1):
        total = B[k, count]
        for j in range(k + 1, count):
            total -= B[k, j] * B[j, count]
        B[k, count] = total / B[k, k]
    share = 1.0
    for r in range(rows):
        sort, value, change = kind[r, SORT], line[PUSH, r], 0.0
        if order[r] >= 0:
            change = B[order[r], count]
            if sort == PUSHES and value + share * change < 0.0:
                share = -value / change
        if sort >= 0:
            opens, most = friction * line[CHANGE, sort], line[MOST, r]
            if order[r] < 0:
                change = math.copysign(opens, opens * value) if value != 0.0 else 0.0
            elif abs(value + share * change) > most + share * opens:
                side = math.copysign(1.0, value + share * change)
                share = (most - side * value) / (side * change - opens)
        line[CHANGE, r] = change
    for r in range(rows):
        if kind[r, SORT] >= 0 and friction > 0.0:
            line[MOST, r] = friction * line[PUSH, kind[r, SORT]]
        change = bounded(line, kind, r, line[PUSH, r] + share * line[CHANGE, r]) - line[PUSH, r]
        if change != 0.0:
            line[PUSH, r] += change
            for q in range(rows):
                line[SPEED, q] += change * A[r, q]
    return share
