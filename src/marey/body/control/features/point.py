"""A point of the body at a place: inverse kinematics (Tournier 2011, section 15.1.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.control.features import Feature, Term
from marey.body.control.mechanics import Instant

# Metres.
FARTHEST = 0.06


@dataclass(frozen=True, eq=False, kw_only=True)
class Point(Feature):
    """A point in a joint's frame at a place in the world.

    Args:
        joint: its number.
        place: `(3,)`, metres.
        point: `(3,)`, in the joint's frame.
        velocity: `(3,)`, of the target, m/s.
        farthest: metres, errors beyond this count as this, so that far targets are not rushed at.
        along: which coordinates count.
    """

    joint: int
    place: Array
    point: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    velocity: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    along: tuple[int, ...] = (0, 1, 2)
    farthest: float = FARTHEST

    def term(self, now: Instant) -> Term:
        R, here = now.joint(self.joint)
        point = np.asarray(self.point, dtype=np.float64)
        rows = now.moves([self.joint], point[None])[0][list(self.along)]
        error = (np.asarray(self.place) - here - R @ point)[list(self.along)]
        error *= min(1.0, self.farthest / max(float(np.linalg.norm(error)), 1e-12))
        return self.asked(now, rows, error, np.asarray(self.velocity)[list(self.along)])
