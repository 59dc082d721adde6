"""Velocities under constraints as a quadratic programme (Tournier 2011, sections 10.1.2 and 11.3).

The new velocity is the free one, `M⁻¹ f`, projected on what the constraints allow in the metric of the
kinetic energy: `min ½ vᵀMv - fᵀv` with `J v = b` where a row holds both ways and `J v ≥ b` where it only
pushes. The multipliers are impulses. Solved by daqp's dual active set; where the ground rubs, tangential
impulses are at most the friction times the normal one, which a fixed point of such programmes finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, Integers
from marey.errors import InputError

# What a row of a constraint is, if not the friction of the normal row of this number.
PUSHES, HOLDS = -1, -2
# Added to the diagonal of J M⁻¹ Jᵀ, relative: rows of eight corners on two feet depend on each other.
SOFTNESS = 1e-12


class Projected(NamedTuple):
    """The new velocity `(size,)` and the multipliers `(rows,)`, impulses."""

    velocity: Array
    multipliers: Array


@dataclass(frozen=True, eq=False)
class Projection:
    """A velocity to be projected.

    Args:
        mass: `(size, size)`, positive definite.
        free: `(size,)`, the velocity without constraints.
        J: `(rows, size)`.
        bounds: `(rows,)`.
        kinds: `(rows,)`: PUSHES, HOLDS, or the number of the normal row that bounds a row's friction.
        slots: `(rows,)`, which multipliers of a state the rows' are, if it is of one.

    >>> still = Projection(np.diag([2.0, 1.0]), np.array([0.0, -3.0]), np.array([[0.0, 1.0]]),
    ...                    np.array([0.0]), np.array([PUSHES]))
    >>> [(part.round(6) + 0.0).tolist() for part in still.solve()]
    [[0.0, 0.0], [3.0]]
    """

    mass: Array
    free: Array
    J: Array
    bounds: Array
    kinds: Integers
    slots: Integers | None = None

    def solve(self, *, friction: float = 0.8, rounds: int = 100, start: ArrayLike | None = None) -> Projected:
        """Velocity and impulses by quadratic programmes.

        Args:
            friction: Coulomb's, for rows of friction.
            rounds: of the fixed point, at most.
            start: `(rows,)`, impulses that it starts at; where something rubs there may be several solutions.
        """
        if not len(self.J):
            return Projected(np.array(self.free), np.empty(0))
        W = np.linalg.solve(self.mass, self.J.T)
        A, c = self.J @ W, self.J @ self.free - self.bounds
        low, high = np.zeros(len(c)), np.full(len(c), np.inf)
        low[self.kinds == HOLDS] = -np.inf
        tangential = np.flatnonzero(self.kinds >= 0)
        found = np.zeros(len(c)) if start is None else np.array(start, dtype=np.float64)
        most = np.zeros(len(tangential))
        for done in range(rounds if len(tangential) else 1):
            before = found
            # Less than the whole way after a while: bounds may swing to and fro.
            most += (1.0 if done < 20 else 0.5) * (friction * before[self.kinds[tangential]] - most)
            high[tangential] = most
            low[tangential] = -high[tangential]
            found = box_programme(A, c, low, high)
            if np.abs(found - before).max() < 1e-9 * (1 + np.abs(found).max()):
                break
        return Projected(self.free + W @ found, found)


def box_programme(A: Array, c: Array, low: Array, high: Array) -> Array:
    """`min ½ xᵀAx + cᵀx` with `low ≤ x ≤ high`, by daqp; A positive semi-definite."""
    import daqp

    count = len(c)
    # Rows of contacts and limits differ by their units.
    scale = 1 / np.sqrt(np.maximum(np.diag(A), 1e-12))
    H = np.ascontiguousarray(scale[:, None] * A * scale)
    bounds = [np.clip(bound / scale, -1e30, 1e30) for bound in (high, low)]
    flag = 0
    for softness, tolerance in ((SOFTNESS, 1e-10), (1e3 * SOFTNESS, 1e-8)):
        kinds, soft = np.zeros(count, dtype=np.int32), H + softness * np.eye(count)
        found, _, flag, _ = daqp.solve(
            soft, c * scale, np.empty((0, count)), *bounds, kinds, primal_tol=tolerance
        )
        if flag >= 1:
            break
    else:
        raise InputError(f"the constraints of a step cannot be met: daqp ended with {flag}")
    found = np.asarray(found) * scale
    found = np.clip(found, low, high)
    # Exact, with the rows that are not at a bound: those that repeat each other share their part.
    edge = 1e-9 * (1 + np.abs(found).max())
    free = np.flatnonzero((found > low + edge) & (found < high - edge))
    found[free] -= np.linalg.lstsq(A[np.ix_(free, free)], (A @ found + c)[free], rcond=1e-11)[0]
    return np.asarray(np.clip(found, low, high))
