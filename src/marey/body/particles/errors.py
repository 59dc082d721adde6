"""Errors of all constraints side by side, and the likelihood they make (Courty 2013, equation 3.13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.particles.constraints import Constraint
from marey.body.particles.poses import PoseBatch
from marey.errors import InputError

Indices = NDArray[np.int64]


class Errors(NamedTuple):
    """Errors of all constraints, `(particles, numbers)`, and which constraint each number is of."""

    values: Array
    owners: Indices

    @classmethod
    def of(cls, constraints: Sequence[Constraint], poses: PoseBatch) -> Errors:
        blocks = [constraint.errors(poses) for constraint in constraints]
        for constraint, block in zip(constraints, blocks):
            if block.ndim != 2 or len(block) != poses.count or not np.isfinite(block).all():
                raise InputError(
                    f"{type(constraint).__name__}: errors must be finite, ({poses.count}, numbers); "
                    f"got shape {block.shape}"
                )
        owners = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
        return cls(np.concatenate(blocks, axis=1), owners)

    @staticmethod
    def noise(constraints: Sequence[Constraint], progress: float) -> Array:
        """Noise `(constraints,)` at some `progress`, 0 … 1, of the schedule."""
        return np.array([c.noise * c.loose ** (1.0 - progress) for c in constraints])

    def scaled(self, noise: Array) -> Array:
        """In units of the noise."""
        return self.values / noise[self.owners]

    def log_likelihood(self, noise: Array) -> Array:
        """`-Σ |error|² / noise²`, `(particles,)`."""
        return np.asarray(-np.square(self.scaled(noise)).sum(axis=1))

    def lengths(self, constraints: int) -> Array:
        """Lengths `(particles, constraints)` of each constraint's errors."""
        member = self.owners[:, None] == np.arange(constraints)
        return np.sqrt(np.square(self.values) @ member)

    def take(self, rows: Indices) -> Errors:
        return Errors(self.values[rows], self.owners)
