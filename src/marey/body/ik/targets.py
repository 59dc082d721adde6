"""What a pose should meet: points to reach, directions to take, things to look at, ground to stand on.

Targets are plain data. Each has a weight (of its squared error) and a priority (0 first); positions and
weights may be given for one pose or a row a frame, and a position of NaN, or weight 0, means that nothing
is known there. A radian counts like `IKSettings.metres_per_radian`. The report says how far each was missed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array
from marey._report import Report
from marey.body.anatomy import anatomy
from marey.body.ik import engine
from marey.body.ik.engine import AIM, SETTINGS, Effectors, IKSettings
from marey.body.skeleton import Skeleton
from marey.errors import InputError

END = "_end"
_HERE = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Reach:
    """A point of the figure should be at a position.

    Args:
        joint: its name, or `NAME_end` for the end site the joint carries (toe tip, top of the head).
        position: `(3,)` or `(frames, 3)`, world, metres.
        point: `(3,)`, in the joint's frame, from the joint or end site, metres.
        weight: of the squared error; one number or one a frame.
        priority: 0 first.
    """

    joint: str
    position: ArrayLike
    point: ArrayLike = _HERE
    weight: ArrayLike = 1.0
    priority: int = 0


@dataclass(frozen=True, eq=False)
class Orient:
    """A joint should have a world rotation.

    Args:
        rotation: `(4,)` or `(frames, 4)`, unit quaternions.
    """

    joint: str
    rotation: ArrayLike
    weight: ArrayLike = 1.0
    priority: int = 0


@dataclass(frozen=True, eq=False)
class LookAt:
    """A joint should face a point (Tournier 2011, section 15.1.2).

    Args:
        point: `(3,)` or `(frames, 3)`, world, metres.
        axis: `(3,)`, what faces forward, in the joint's frame; found from the skeleton at rest if None.
        upright: also keep the head from tilting sideways.
    """

    joint: str
    point: ArrayLike
    axis: ArrayLike | None = None
    upright: bool = False
    weight: ArrayLike = 1.0
    priority: int = 0


@dataclass(frozen=True, eq=False)
class Pin:
    """A point of the figure stays where it is when the solver starts."""

    joint: str
    point: ArrayLike = _HERE
    weight: ArrayLike = 1.0
    priority: int = 0


@dataclass(frozen=True, eq=False)
class Contact:
    """A point of the figure touches a plane, or only does not go below it.

    Args:
        height: how far the plane is from the origin along its normal, metres; one number, or one a frame.
        above: the point may be above the plane (on the normal's side).
    """

    joint: str
    height: ArrayLike = 0.0
    normal: ArrayLike = (0.0, 1.0, 0.0)
    above: bool = False
    point: ArrayLike = _HERE
    weight: ArrayLike = 1.0
    priority: int = 0


Target = Reach | Orient | LookAt | Pin | Contact


@dataclass(frozen=True, eq=False)
class CompiledTargets:
    """Targets as effectors of the engine: what does not change when they move.

    Args:
        effectors: see :class:`Effectors`.
        owners: `(effectors,)`, which target each belongs to.
        priorities: `(effectors,)`.
        pinned: whether there are pins.
        only_points: whether all targets are positions to reach.
    """

    effectors: Effectors
    owners: NDArray[np.int64]
    priorities: NDArray[np.int64]
    pinned: bool
    only_points: bool

    @cached_property
    def ranked(self) -> bool:
        """Whether some targets are more important than others."""
        return len(set(self.priorities.tolist())) > 1


def compile_targets(targets: Sequence[Target], skeleton: Skeleton) -> CompiledTargets:
    """Which effectors the targets are about."""
    rows: list[tuple[int, int, Array, Array, int, int]] = []
    for owner, target in enumerate(targets):
        joint, place = find_point(skeleton, target.joint)
        point = place + _vector(target, "point") if not isinstance(target, Orient | LookAt) else place
        zero = np.zeros(3)
        if isinstance(target, Reach | Pin):
            found = [(engine.POINT, point, zero)]
        elif isinstance(target, Orient):
            found = [(engine.TURN, zero, zero)]
        elif isinstance(target, Contact):
            kind = engine.ABOVE if target.above else engine.PLANE
            found = [(kind, point, _unit(target, "normal"))]
        else:
            ahead = anatomy(skeleton).forward if target.axis is None else _unit(target, "axis")
            found = [(engine.AIM, place, ahead)]
            if target.upright:
                # Horizontal at rest and across the view: up × ahead.
                side = np.cross([0.0, 1.0, 0.0], ahead)
                length = float(np.linalg.norm(side))
                side = side / length if length > 1e-6 else np.array([1.0, 0.0, 0.0])
                found.append((engine.ROLL, place, side))
        rows += [(kind, joint, at, axis, owner, int(target.priority)) for kind, at, axis in found]
    kinds, joints, owners, priorities = (
        np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1, 4, 5)
    )
    local, axes = (np.array([row[i] for row in rows]).reshape(-1, 3) for i in (2, 3))
    effectors = Effectors(kinds, joints, local, axes)
    pinned = any(isinstance(target, Pin) for target in targets)
    points = all(isinstance(target, Reach) for target in targets)
    return CompiledTargets(effectors, owners, priorities, pinned, points)


def targets_key(targets: Sequence[Target]) -> tuple[object, ...]:
    """Equal for targets about equal effectors, so that a solver can keep what it prepared."""
    key: list[object] = []
    for target in targets:
        key += (type(target), target.joint, target.priority)
        for name in _EFFECTOR_FIELDS[type(target)]:
            value = getattr(target, name)
            plain = value is None or value is _HERE or isinstance(value, bool)
            key.append(value if plain else np.asarray(value).tobytes())
    return tuple(key)


def same_targets(one: Sequence[Target], other: Sequence[Target]) -> bool:
    """Whether two lists of reaches are about the very same points; False if that is costly to find out."""
    return len(one) == len(other) and all(
        type(a) is Reach is type(b) and a.joint is b.joint and a.point is b.point and a.priority == b.priority
        for a, b in zip(one, other)
    )


def goals_of_frame(
    targets: Sequence[Target], plan: CompiledTargets, places: Array | None
) -> tuple[Array, Array]:
    """:func:`goals_and_weights` of a single frame; of points alone in a few microseconds."""
    if plan.only_points:
        goals = np.zeros((1, plan.effectors.count, 4))
        try:
            goals[0, :, :3] = [target.position for target in targets]  # type: ignore[union-attr, assignment]
            if math.isfinite(goals.sum()) and all(target.weight == 1.0 for target in targets):
                return goals, np.ones((1, plan.effectors.count))
        except (TypeError, ValueError):
            # A row a frame, or something wrong: the slower path says which.
            pass
    return goals_and_weights(targets, plan, frames=1, places=places)


def goals_and_weights(
    targets: Sequence[Target], plan: CompiledTargets, *, frames: int, places: Array | None = None
) -> tuple[Array, Array]:
    """What effectors should be: goals `(frames, effectors, 4)`, weights of residuals `(frames, effectors)`.

    Args:
        places: `(frames, effectors, 3)`, where the effectors' points are to begin with: pins stay there.
    """
    goals = np.zeros((frames, plan.effectors.count, 4))
    weights = np.zeros((frames, plan.effectors.count))
    for f, (kind, owner) in enumerate(zip(plan.effectors.kinds.tolist(), plan.owners.tolist())):
        target = targets[owner]
        if isinstance(target, Pin):
            assert places is not None
            goal = places[:, f]
        elif isinstance(target, Contact):
            goal = _rows(target, "height", frames, 1)
        elif kind == engine.ROLL:
            goal = np.broadcast_to(np.array([0.0, 1.0, 0.0]), (frames, 3))
        elif isinstance(target, Orient):
            goal = _rows(target, "rotation", frames, 4)
            norms = np.linalg.norm(goal, axis=1, keepdims=True)
            if (norms < 1e-6).any():
                raise InputError(f"{describe(target)}: four zeros are no rotation; write 1,0,0,0 for no turn")
            goal = goal / norms
        else:
            goal = _rows(target, "position" if isinstance(target, Reach) else "point", frames, 3)
        weight = _rows(target, "weight", frames, 1)[:, 0]
        if not np.isfinite(weight).all() or (weight < 0).any():
            raise InputError(f"{describe(target)}: its weight must be finite and not negative")
        known = np.asarray(np.isfinite(goal).all(axis=1))
        goals[:, f, : goal.shape[1]] = np.where(known[:, None], goal, 0.0)
        scale = SETTINGS.metres_per_radian if kind in (engine.TURN, engine.AIM, engine.ROLL) else 1.0
        weights[:, f] = scale * np.sqrt(np.where(known, weight, 0.0))
    return goals, weights


def find_point(skeleton: Skeleton, name: str) -> tuple[int, Array]:
    """A joint's index and the point meant in its frame: `NAME`, or `NAME_end` for its (first) end site.

    >>> import marey
    >>> find_point(marey.samples.walk().skeleton, "Head_end")[0]
    13
    """
    if name not in skeleton.names and name.endswith(END) and name[: -len(END)] in skeleton.names:
        joint = skeleton.index(name[: -len(END)])
        ends = np.flatnonzero(skeleton.end_parents == joint)
        if not ends.size:
            carriers = ", ".join(skeleton.names[j] + END for j in skeleton.end_parents[:8])
            raise InputError(f"{name[: -len(END)]!r} carries no end site; there are: {carriers or 'none'}")
        return joint, np.array(skeleton.end_offsets[ends[0]])
    return skeleton.index(name), np.zeros(3)


def describe(target: Target) -> str:
    """A few words for messages: `reach LeftHand`."""
    words = {Reach: "reach", Orient: "orient", LookAt: "look-at", Pin: "pin", Contact: "contact"}
    return f"{words[type(target)]} {target.joint}"


_EFFECTOR_FIELDS = {
    Reach: ("point",),
    Orient: (),
    LookAt: ("axis", "upright"),
    Pin: ("point",),
    Contact: ("normal", "above", "point"),
}
assert all(set(names) <= {f.name for f in fields(kind)} for kind, names in _EFFECTOR_FIELDS.items())


def _rows(target: Target, name: str, frames: int, columns: int) -> Array:
    try:
        value = np.asarray(getattr(target, name), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{describe(target)}: its {name} must be numbers") from None
    if columns == 1 and value.ndim <= 1:
        value = value[..., None]
    if value.shape not in ((columns,), (frames, columns), (1, columns)):
        one = "one number" if columns == 1 else f"({columns},)"
        shapes = f"{one} or ({frames}, {columns})"
        raise InputError(f"{describe(target)}: its {name} must be {shapes}, got {value.shape}")
    return np.broadcast_to(value, (frames, columns))


def _vector(target: Target, name: str) -> Array:
    value = np.asarray(getattr(target, name), dtype=np.float64)
    if value.shape != (3,) or not np.isfinite(value).all():
        raise InputError(f"{describe(target)}: its {name} must be three finite numbers")
    return value


def _unit(target: Target, name: str) -> Array:
    value = _vector(target, name)
    length = float(np.linalg.norm(value))
    if length < 1e-9:
        raise InputError(f"{describe(target)}: its {name} has no length")
    return value / length


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

    def as_dict(self) -> dict[str, object]:
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

    def as_dict(self) -> dict[str, object]:
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
