"""What inverse kinematics achieved: how far each target was missed, in how many steps and how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.body.ik import engine
from marey.body.ik.targets import Layout, LookAt, Orient, Target, describe

Array = NDArray[np.float64]

# A point nearer than this, or a direction within this angle, counts as met.
NEAR = 0.01
CLOSE = np.radians(3.0)


@dataclass(frozen=True)
class Miss:
    """How far one target was missed: mean and worst over the frames in which it was asked for.

    cm: of a point; degrees: of a direction; NaN if it was never asked for
    """

    target: str
    cm: float
    worst_cm: float
    degrees: float
    reached: bool

    def as_dict(self) -> dict[str, Any]:
        """For JSON; only what applies."""
        known = {"cm": self.cm, "worst_cm": self.worst_cm, "degrees": self.degrees}
        return {
            "target": self.target,
            **{name: round(value, 4) for name, value in known.items() if np.isfinite(value)},
            "reached": self.reached,
        }


@dataclass(frozen=True)
class IKReport:
    """What was missed by how much.

    misses: one a target, in the order given
    iterations: of the solver, mean over frames
    milliseconds: for all frames
    modes: unknowns of the pose (without the root)
    """

    misses: tuple[Miss, ...]
    iterations: float
    milliseconds: float
    modes: int

    @property
    def residual_cm(self) -> float:
        """The largest miss of a point, of any target and frame."""
        return max((m.worst_cm for m in self.misses if np.isfinite(m.worst_cm)), default=0.0)

    @property
    def missed(self) -> tuple[Miss, ...]:
        """Targets that were not reached."""
        return tuple(miss for miss in self.misses if not miss.reached)

    def lines(self) -> list[str]:
        """One sentence for every target that was missed."""
        return [
            f"{m.target} is missed by "
            + (f"{m.degrees:.1f}°" if np.isfinite(m.degrees) else f"{m.worst_cm:.1f} cm")
            for m in self.missed
        ]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "residual_cm": round(self.residual_cm, 4),
            "milliseconds": round(self.milliseconds, 4),
            "modes": self.modes,
            "iterations": round(self.iterations, 2),
            "targets": [miss.as_dict() for miss in self.misses],
        }


def report_on(
    targets: Sequence[Target],
    plan: Layout,
    misses: Array,
    weights: Array,
    *,
    iterations: float,
    seconds: float,
    modes: int,
    near: float = NEAR,
    close: float = CLOSE,
) -> IKReport:
    """The report of `misses (frames, features)` as the engine gives them, and the features' weights.

    Frames in which a target fades in or out do not count.
    """
    whole = weights >= 0.999 * weights.max(axis=0, keepdims=True, initial=0.0)
    misses = np.where(whole, misses, np.nan)
    found = []
    for owner, target in enumerate(targets):
        rows = np.flatnonzero(plan.owners == owner)
        turned = isinstance(target, Orient | LookAt)
        values = misses[:, rows]
        if isinstance(target, LookAt):
            # An aim's miss is a chord of the unit circle, a roll's a sine.
            chords = plan.features.kinds[rows] == engine.AIM
            values = np.where(
                chords, 2 * np.arcsin(np.clip(values / 2, 0, 1)), np.arcsin(np.clip(values, 0, 1))
            )
        asked = values[np.isfinite(values)]
        mean, worst = (asked.mean(), asked.max()) if asked.size else (np.nan, np.nan)
        reached = not asked.size or bool(worst <= (close if turned else near))
        cm, worst_cm = (np.nan, np.nan) if turned else (100 * mean, 100 * worst)
        degrees = np.degrees(worst) if turned else np.nan
        found.append(Miss(describe(target), float(cm), float(worst_cm), float(degrees), reached))
    return IKReport(tuple(found), float(iterations), 1e3 * seconds, modes)
