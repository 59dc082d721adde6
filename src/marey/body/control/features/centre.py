"""The centre of mass: its place, height or projection on the floor (Tournier 2011, section 15.2.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.control.features import Feature, Term
from marey.body.control.mechanics import Instant

PLACE, HEIGHT, PROJECTION = (0, 1, 2), (1,), (0, 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Centre(Feature):
    """The centre of mass at a place.

    Args:
        place: `(3,)`, metres.
        velocity: `(3,)`, of the target, m/s.
        along: which coordinates count: PLACE, HEIGHT or PROJECTION.
    """

    place: Array
    velocity: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    along: tuple[int, ...] = PLACE

    def term(self, now: Instant) -> Term:
        which = list(self.along)
        error = (np.asarray(self.place) - self.of(now))[which]
        return self.asked(now, self.rows(now)[which], error, np.asarray(self.velocity)[which])

    @staticmethod
    def of(now: Instant) -> Array:
        """The centre of mass `(3,)` in the world."""
        return now.state.centre

    @staticmethod
    def rows(now: Instant) -> Array:
        """Its velocity `(3, size)` by v."""
        rows = np.zeros((3, len(now.free)))
        rows[:, 3:6] = now.R
        return rows
