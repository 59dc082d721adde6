"""Motion that reacts: one slider from a ragdoll to inverse kinematics (Tournier 2011, section 14.1).

The new velocity minimises `(1 - a)(½ vᵀMv - fᵀv) + a Σ ½ |Γv - γ|²_Λ` where contacts allow it. With the
weights `Λ = (Γ M⁻¹ Γᵀ)⁻¹` of each feature, one feature alone and nothing in the way, `Γv` is a straight blend
of free motion and target. A clip is followed by one feature, root and pose together. What it asks of the root
acts from outside, like the strings of a puppet: this force is reported.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey._report import Report, Result
from marey._work import Progress
from marey.body.anatomy import anatomy
from marey.body.control import qp
from marey.body.control.events import Event, Flight, check_joints
from marey.body.control.features import Feature, Term
from marey.body.control.features.look_at import LookAt
from marey.body.control.features.point import Point
from marey.body.control.features.posture import Whole
from marey.body.control.mechanics import Body, Instant, Mechanics, MechanicsSettings
from marey.body.control.recording import Followed, joints, recorded, rms
from marey.body.control.soles import level_soles, soles
from marey.body.control.targets import Gains
from marey.body.motion import Motion
from marey.body.physics.inertia import Bones
from marey.body.physics.reduced import PhysicalCharacter
from marey.body.physics.simulate import BASES
from marey.body.pose_model import PoseModel
from marey.errors import InputError

STRINGS = ("metric", "modal")
# At a slider of 1 what no feature asks for would be undetermined.
STRONGEST = 0.999


@dataclass(frozen=True)
class PuppetSettings:
    """How a clip is followed.

    Args:
        mechanics: of the step, whose length is chosen by the clip.
        gains: of root and pose.
        handles: of handles and looks; their weight is relative to root and pose.
        weight: of the handles.
        method: "metric", or "modal": each coordinate of the pose by itself and no strings at the root.
        longest: seconds, of a step.
    """

    mechanics: MechanicsSettings = field(default_factory=MechanicsSettings)
    gains: Gains = field(default_factory=lambda: Gains(400.0, 40.0))
    handles: Gains = field(default_factory=lambda: Gains(100.0, 20.0))
    weight: float = 10.0
    method: str = "metric"
    longest: float = 0.01

    def __post_init__(self) -> None:
        if self.method not in STRINGS:
            raise InputError(f"method {self.method!r}: one of {', '.join(STRINGS)}")


class Pulled(NamedTuple):
    """The velocity of a step `(size,)`, impulses of the contacts `(4 n,)`, and what pulls from outside, N."""

    velocity: Array
    contact: Array
    wrench: Array


def pull(now: Instant, terms: Sequence[Term], strength: float) -> Pulled:
    """The velocity of a step between free motion (0) and features (1), see the module.

    The weight of a term is relative to what moving its feature takes; one number a row is used as it is, kg.
    """
    a = min(strength, STRONGEST)
    H, c = (1 - a) * now.effective, (1 - a) * (now.free + now.blows)
    for term in terms:
        rows = term.rows
        if np.ndim(term.weight):
            weight = np.diag(term.weight)
        else:
            inverse = rows @ now.inverse @ rows.T
            inverse[np.diag_indices(len(rows))] += 1e-9 * np.trace(inverse) / len(rows)
            weight = float(term.weight) * np.linalg.inv(inverse)
        H = H + a * rows.T @ weight @ rows
        c = c + a * rows.T @ (weight @ term.target)
    contacts = now.contacts
    found = qp.solve(H, -c, qp.Rows(contacts.J, contacts.bounds, np.full(len(contacts.J), qp.FAR)))
    if found is None:
        raise InputError("the floor cannot be kept: the motion became too fast for the step")
    push = np.maximum(found.multipliers, 0.0)
    v = np.asarray(np.linalg.solve(H, c + push @ contacts.J))
    return Pulled(v, push / (1 - a), now.wrench(v, push / (1 - a)))


@dataclass(frozen=True)
class PuppetReport(Report):
    """What was measured.

    Args:
        error_mean_cm, error_max_cm: RMS distance of the joints to the clip in the character's coordinates.
        peak_deviation_cm: to the same run without pushes and balls, 0 where there are none.
        recovery_seconds: from the last push until that stays below 1 cm.
        root_force_n: mean of what pulls at the root from outside.
    """

    error_mean_cm: float
    error_max_cm: float
    peak_deviation_cm: float
    recovery_seconds: float
    root_force_n: float
    frames: int
    microseconds_per_step: float = 0.0


@dataclass(frozen=True, eq=False)
class PuppetResult(Result):
    """The motion, distances to the clip `(steps,)` and pulls at the root `(steps, 6)`, and the report."""

    motion: Motion
    errors: Array
    wrenches: Array
    report: PuppetReport


def puppet(
    motion: Motion,
    *,
    strength: float = 0.9,
    events: Sequence[Event] = (),
    model: PoseModel | None = None,
    modes: int = 20,
    mass: float | None = None,
    basis: str = "geodesics",
    settings: PuppetSettings | None = None,
    progress: Progress | None = None,
) -> PuppetResult:
    """Play a clip as a puppet that reacts to pushes, balls, the floor and handles.

    Args:
        strength: from 0 (a ragdoll) to 1 (the clip, as far as handles and the floor allow).
        events: pushes, balls, handles and looks.
        model: coordinates of the poses; of `modes` modes, learned from the clip, if None.

    >>> import marey
    >>> blow = Event(0.5, "push", "Spine1", (0.0, 0.0, 40.0))
    >>> found = puppet(marey.samples.walk(1), events=[blow])
    >>> found.report.error_mean_cm < 3, found.report.peak_deviation_cm > 0.1
    (True, True)
    """
    options = settings or PuppetSettings()
    if not 0 <= strength <= 1:
        raise InputError(f"strength {strength}: from 0 (a ragdoll) to 1 (the clip)")
    if motion.frames < 3:
        raise InputError("a clip of 3 frames or more is needed")
    if basis not in BASES:
        raise InputError(f"basis {basis!r}: one of {', '.join(BASES)}")
    check_joints(events, motion.skeleton)
    for event in events:
        if event.kind not in ("push", "ball", "handle", "look_at"):
            raise InputError(f"event {event.kind!r}: a puppet knows push, ball, handle and look_at")
    poses = PoseModel.fit([motion], modes=min(modes, motion.frames - 1)) if model is None else model
    character = PhysicalCharacter(motion.skeleton, BASES[basis](poses), Bones.of(motion.skeleton, mass=mass))
    parts = int(np.ceil(1 / (motion.frame_rate * options.longest) - 1e-9))
    clip = motion if parts == 1 else motion.resample(parts * motion.frame_rate)
    followed = Followed.of(character, clip)
    shapes = level_soles(character, soles(motion))
    mechanics = Mechanics(character, replace(options.mechanics, step=1 / clip.frame_rate), shapes)
    floor = ground(mechanics, followed)
    mechanics = Mechanics(character, replace(mechanics.settings, floor=floor), shapes)
    string = _Strings(mechanics, followed, strength, options)
    ordered = sorted(events, key=lambda event: event.time)
    blows = [event for event in ordered if event.kind in ("push", "ball")]
    share = 0.5 if blows else 1.0
    began = time.process_time()
    states, wrenches = string.run(ordered, progress, share)
    spent = time.process_time() - began
    places = joints(character, states)
    errors = rms(places, joints(character, [followed.body(row) for row in range(len(states))]))
    peak, recovery = 0.0, 0.0
    if blows:
        calm = string.run([event for event in ordered if event not in blows], progress, share, 1 - share)[0]
        away = rms(places, joints(character, calm))
        late = np.flatnonzero(away >= 0.01)
        peak = float(away.max())
        recovery = max(0.0, (late[-1] + 1 if len(late) else 0) / clip.frame_rate - blows[-1].time)
    made = recorded(clip, character, states, clip.frame_rate)[::parts]
    report = PuppetReport(
        error_mean_cm=float(100 * errors.mean()),
        error_max_cm=float(100 * errors.max()),
        peak_deviation_cm=100 * peak,
        recovery_seconds=float(recovery),
        root_force_n=float(np.linalg.norm(wrenches[:, 3:], axis=1).mean()),
        frames=made.frames,
        microseconds_per_step=round(1e6 * spent / max(len(states) - 1, 1), 1),
    )
    return PuppetResult(made, errors, wrenches, report)


def ground(mechanics: Mechanics, followed: Followed, share: float = 5.0) -> float:
    """The floor's height below a clip, metres: a low percentile of the lowest sole."""
    rows = np.unique(np.linspace(0, len(followed.alphas) - 1, 200).astype(int))
    lowest = [mechanics.at(followed.body(row)).heights[mechanics.soles.ravel()].min() for row in rows]
    return mechanics.settings.floor + float(np.percentile(lowest, share))


def step(followed: Followed, row: int, gains: Gains) -> Whole:
    """The step of a clip from a row to the next as a feature."""
    v = followed.body(row).velocity
    return Whole(
        rotation=followed.rotations[row], centre=followed.centres[row], alpha=followed.alphas[row],
        velocity=v, change=followed.velocities[row] - v, gains=gains,
    )  # fmt: skip


class _Strings:
    """A run of a puppet."""

    def __init__(
        self, mechanics: Mechanics, followed: Followed, strength: float, settings: PuppetSettings
    ) -> None:
        self.mechanics, self.followed, self.strength, self.settings = mechanics, followed, strength, settings

    def run(
        self, events: Sequence[Event], progress: Progress | None, share: float, done: float = 0.0
    ) -> tuple[list[Body], Array]:
        """The states at all rows of the clip, and what pulled at the root."""
        mechanics, followed = self.mechanics, self.followed
        h, index = mechanics.settings.step, mechanics.character.skeleton.index
        steps, left = len(followed.alphas) - 1, list(events)
        flight, wishes = Flight(events, h), {}
        states, wrenches = [followed.body(0)], []
        for row in range(steps):
            impulses = []
            while left and left[0].time <= row * h + 1e-9:
                event = left.pop(0)
                if event.kind == "push":
                    impulses.append((index(event.joint), np.zeros(3), np.asarray(event.at, dtype=np.float64)))
                elif event.kind != "ball":
                    wishes[event.joint or "look"] = event.at
            if flight.thrown:
                impulses += flight.hits(mechanics.at(states[-1]), row * h)
            now = mechanics.at(states[-1], impulses)
            found = pull(now, self._terms(now, row, wishes), self.strength)
            states.append(mechanics.move(now, found.velocity))
            wrenches.append(found.wrench)
            if progress is not None and row % 20 == 0:
                progress(round(1000 * (done + share * row / steps)), 1000)
        return states, np.array(wrenches)

    def _terms(self, now: Instant, row: int, wishes: Mapping[str, ArrayLike | None]) -> list[Term]:
        settings = self.settings
        whole = step(self.followed, row, settings.gains).term(now)
        if settings.method == "modal":
            # Each coordinate by its own inertia, and nothing that could act from outside.
            whole = Term(whole.rows[6:], whole.target[6:], np.diagonal(now.work.M)[6:])
        found: list[Feature] = []
        skeleton = self.mechanics.character.skeleton
        for name, place in wishes.items():
            if place is None:
                continue
            at, given = np.asarray(place, dtype=np.float64), (settings.weight, settings.handles)
            if name == "look":
                parts = anatomy(skeleton)
                if parts.head >= 0:
                    found.append(
                        LookAt(joint=parts.head, place=at, forward=parts.forward, weight=given[0],
                               gains=given[1])
                    )  # fmt: skip
            else:
                found.append(Point(joint=skeleton.index(name), place=at, weight=given[0], gains=given[1]))
        terms = [feature.term(now) for feature in found]
        return [whole, *(term for term in terms if term is not None)]
