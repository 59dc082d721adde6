"""What a controller wants: features affine in the new velocity (Tournier 2011, 14.1.1 and 15)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from marey._arrays import Array
from marey.body.control.mechanics import Instant
from marey.body.control.targets import Gains


class Term(NamedTuple):
    """`½ weight |Γ v - target|²`.

    Args:
        rows: Γ `(d, size)`.
        target: `(d,)`, the velocity that is wanted.
        weight: one number, kg (or kg m² for angles), or `(d,)`.
    """

    rows: Array
    target: Array
    weight: float | Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Feature:
    """Something about the motion that is wanted.

    Args:
        weight: kg, or kg m² for angles.
        level: features of a lower number come first: those of higher ones use what they leave open.
        kept: whether higher levels keep what was reached; else it only says what is best in its level.
        gains: how fast its target is reached.
    """

    weight: float = 1.0
    level: int = 1
    kept: bool = True
    gains: Gains = field(default_factory=Gains)

    def term(self, now: Instant) -> Term | None:
        """What is asked of the new velocity; None if nothing now."""
        raise NotImplementedError

    def asked(self, now: Instant, rows: Array, error: Array, wanted: Array | float = 0.0) -> Term:
        """The term that brings an error to zero by the gains."""
        return Term(rows, self.gains.velocity(error, rows @ now.v, now.step, wanted), self.weight)


@dataclass(frozen=True, eq=False, kw_only=True)
class Effort:
    """A cost `½ weight μᵀ H μ` of the generalised impulses μ of control."""

    weight: float = 1e-3

    def hessian(self, now: Instant) -> Array:
        """H `(modes, modes)`."""
        raise NotImplementedError


def stacked(terms: list[Term], size: int) -> Term:
    """Terms as one, of weight 1."""
    if not terms:
        return Term(np.empty((0, size)), np.empty(0), 1.0)
    roots = [np.broadcast_to(np.sqrt(t.weight), t.target.shape) for t in terms]
    rows = np.concatenate([root[:, None] * t.rows for root, t in zip(roots, terms, strict=True)])
    target = np.concatenate([root * t.target for root, t in zip(roots, terms, strict=True)])
    return Term(rows, target, 1.0)
