"""A pose that is kept or followed, in the coordinates of the basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.control.features import Feature, Term
from marey.body.control.mechanics import Instant
from marey.geometry import rotations as so3


@dataclass(frozen=True, eq=False, kw_only=True)
class Posture(Feature):
    """Coordinates of the pose. The weight is a share of their inertia: none is fast because it is light.

    Args:
        alpha: `(modes,)`.
        rates: `(modes,)`, of the target, 1/s.
        change: `(modes,)`, of the rates in the step.
    """

    alpha: Array
    rates: Array | float = 0.0
    change: Array | float = 0.0

    def term(self, now: Instant) -> Term:
        root = now.inertia
        rows = np.zeros((len(root), len(now.free)))
        rows[:, 6:] = root
        error = self.alpha - now.state.alpha
        wanted = self.gains.velocity(error, now.v[6:], now.step, self.rates, self.change)
        return Term(rows, root @ wanted, self.weight)


@dataclass(frozen=True, eq=False, kw_only=True)
class Whole(Feature):
    """Root, centre of mass and pose together, as one feature.

    Args:
        rotation, centre, alpha: `(4,)`, `(3,)`, `(modes,)`, of the target.
        velocity, change: `(size,)`, of the target, and by how much it changes in the step.
    """

    rotation: Array
    centre: Array
    alpha: Array
    velocity: Array
    change: Array

    def term(self, now: Instant) -> Term:
        turn = so3.log(so3.from_matrix(now.R.T @ so3.to_matrix(self.rotation)))
        moved = now.R.T @ (self.centre - now.state.centre)
        error = np.concatenate([turn, moved, self.alpha - now.state.alpha])
        wanted = self.gains.velocity(error, now.v, now.step, self.velocity, self.change)
        return Term(np.eye(len(now.free)), wanted, self.weight)
