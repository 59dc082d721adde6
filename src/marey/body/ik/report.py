"""What inverse kinematics achieved: how far each target was missed, in how many steps and how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marey._arrays import Array
from marey._report import Report
from marey.body.ik.engine import AIM, SETTINGS, IKSettings
from marey.body.ik.targets import CompiledTargets, LookAt, Orient, Target, describe


@dataclass(frozen=True)
class TargetError:
    """How far one target was missed: mean and worst over the frames in which it was asked for.

    Args:
        target: in a few words.
        cm, worst_cm: of a point, centimetres; NaN if it was never asked for.
        degrees: of a direction.
        reached: whether it was as near as the settings ask.
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
class IKReport(Report):
    """What was missed by how much.

    Args:
        errors: one a target, in the order given.
        iterations: of the solver, mean over frames.
        milliseconds: for all frames.
        modes: unknowns of the pose (without the root).
    """

    errors: tuple[TargetError, ...]
    iterations: float
    milliseconds: float
    modes: int

    @property
    def residual_cm(self) -> float:
        """The largest error of a point, of any target and frame."""
        return max((e.worst_cm for e in self.errors if np.isfinite(e.worst_cm)), default=0.0)

    @property
    def missed(self) -> tuple[TargetError, ...]:
        """Targets that were not reached."""
        return tuple(error for error in self.errors if not error.reached)

    def lines(self) -> list[str]:
        """One sentence for every target that was missed."""
        return [
            f"{e.target} is missed by "
            + (f"{e.degrees:.1f}°" if np.isfinite(e.degrees) else f"{e.worst_cm:.1f} cm")
            for e in self.missed
        ]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "residual_cm": round(self.residual_cm, 4),
            "milliseconds": round(self.milliseconds, 4),
            "modes": self.modes,
            "iterations": round(self.iterations, 2),
            "targets": [error.as_dict() for error in self.errors],
        }


def report_on(
    targets: Sequence[Target],
    plan: CompiledTargets,
    errors: Array,
    weights: Array,
    iterations: float,
    seconds: float,
    modes: int,
    settings: IKSettings = SETTINGS,
) -> IKReport:
    """The report of errors `(frames, effectors)`, as the engine gives them, of targets with weights
    `(frames, effectors)`; frames in which a target fades in or out do not count."""
    whole = weights >= 0.999 * weights.max(axis=0, keepdims=True, initial=0.0)
    errors = np.where(whole, errors, np.nan)
    found = []
    for owner, target in enumerate(targets):
        rows = np.flatnonzero(plan.owners == owner)
        turned = isinstance(target, Orient | LookAt)
        values = errors[:, rows]
        if isinstance(target, LookAt):
            # An aim's error is a chord of the unit circle, a roll's a sine.
            share = np.where(plan.effectors.kinds[rows] == AIM, 2.0, 1.0)
            values = share * np.arcsin(np.clip(values / share, 0, 1))
        asked = values[np.isfinite(values)]
        mean, worst = (asked.mean(), asked.max()) if asked.size else (np.nan, np.nan)
        cm, worst_cm = (np.nan, np.nan) if turned else (100 * mean, 100 * worst)
        degrees = np.degrees(worst) if turned else np.nan
        near = degrees <= settings.reached_degrees if turned else worst <= settings.reached_metres
        reached = not asked.size or bool(near)
        found.append(TargetError(describe(target), float(cm), float(worst_cm), float(degrees), reached))
    return IKReport(tuple(found), float(iterations), 1e3 * seconds, modes)
