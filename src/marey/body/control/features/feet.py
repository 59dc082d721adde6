"""Feet that stay on the floor (Tournier 2011, section 15.2.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey.body.control.features import Feature, Term
from marey.body.control.mechanics import Instant


@dataclass(frozen=True, eq=False, kw_only=True)
class Feet(Feature):
    """The lower corners of feet close their gaps to the floor: only their normal speed is asked for.

    Args:
        feet: 0 for the left one, 1 for the right.
        closing: 1/s.
    """

    weight: float = 100.0
    feet: tuple[int, ...] = (0, 1)
    closing: float = 20.0

    def term(self, now: Instant) -> Term:
        points = now.mechanics.soles[list(self.feet)].ravel()
        rows = now.soles[1].reshape(2, 4, 3, -1)[list(self.feet), :, 1].reshape(len(points), -1)
        return Term(rows, -self.closing * now.heights[points], self.weight / max(len(points), 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class Lifted(Feature):
    """A foot that is held above the floor, level.

    Args:
        foot: 0 for the left one, 1 for the right.
        height: metres.
    """

    foot: int
    height: float = 0.1

    def term(self, now: Instant) -> Term:
        points = now.mechanics.soles[self.foot].ravel()
        error = self.height - now.heights[points]
        rows = now.soles[1].reshape(2, 4, 3, -1)[self.foot, :, 1]
        return self.asked(now, rows, np.clip(error, -0.05, 0.05))
