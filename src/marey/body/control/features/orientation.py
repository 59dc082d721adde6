"""A joint that is turned as wanted, in the world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.control.features import Feature, Term
from marey.body.control.mechanics import Instant
from marey.geometry import rotations as so3


@dataclass(frozen=True, eq=False, kw_only=True)
class Orientation(Feature):
    """A joint's rotation in the world.

    Args:
        joint: its number.
        rotation: `(4,)`, the target.
        velocity: `(3,)`, angular velocity of the target in its own frame, rad/s.
    """

    joint: int
    rotation: Array
    velocity: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]

    def term(self, now: Instant) -> Term:
        error = difference(now.joint(self.joint)[0], so3.to_matrix(self.rotation))
        return self.asked(now, now.turning(self.joint), error, np.asarray(self.velocity))


def difference(now: Array, target: Array) -> Array:
    """The rotation vector `(3,)`, in the frame of the rotation `now`, that brings it to a target."""
    return so3.log(so3.from_matrix(now.T @ target))
