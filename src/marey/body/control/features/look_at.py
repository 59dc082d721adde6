"""The head looks at a point (Tournier 2011, section 15.1.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.control.features import Feature, Term
from marey.body.control.features.orientation import difference
from marey.body.control.mechanics import UP, Instant

# Cosine between the view and up beyond which the target has no upright.
UPRIGHT = 0.98


@dataclass(frozen=True, eq=False, kw_only=True)
class LookAt(Feature):
    """The frame of a joint with its `forward` axis towards a point, and upright.

    Args:
        joint: the head.
        place: `(3,)`, what it looks at, metres.
        forward: `(3,)`, where the joint faces, in its frame.
        velocity: `(3,)`, of what it looks at, m/s.
    """

    joint: int
    place: Array
    forward: Array
    velocity: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]

    def term(self, now: Instant) -> Term | None:
        R, here = now.joint(self.joint)
        view = np.asarray(self.place) - here
        target = view_frame(view)
        if target is None:
            return None
        own = view_frame(np.asarray(self.forward, dtype=np.float64))
        assert own is not None
        rows = now.moves([self.joint], np.zeros((1, 3)))[0]
        spin = own @ view_rate(target, view, np.asarray(self.velocity) - rows @ now.v)
        return self.asked(now, now.turning(self.joint), difference(R, target @ own.T), spin)


def view_frame(view: Array) -> Array | None:
    """A rotation `(3, 3)` whose first axis is a view and whose second is as upright as can be."""
    first = view / max(float(np.linalg.norm(view)), 1e-12)
    if abs(first[1]) > UPRIGHT:
        return None
    second = UP - first[1] * first
    second /= np.linalg.norm(second)
    return np.stack([first, second, np.cross(first, second)], axis=1)


def view_rate(frame: Array, view: Array, change: Array) -> Array:
    """Angular velocity `(3,)` of :func:`view_frame`, in its frame, when the view changes.

    With y = gᵀ ẇ/|w| and a = gᵀ u: ω_z = y_y, ω_y = -y_z, ω_x = (a_x/a_y) ω_y.
    """
    y, a = frame.T @ change / np.linalg.norm(view), frame.T @ UP
    return np.array([-a[0] / a[1] * y[2], -y[2], y[1]])
