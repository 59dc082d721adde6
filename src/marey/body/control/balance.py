"""A character that stands by internal forces alone (Tournier 2011, chapter 15).

Its controller is a list of weighted features: the centre of mass and the head above the support centre, the
height of the centre of mass, feet on the floor, little angular momentum; below these what the user wants, the
look and the posture. No foot is held: the floor only pushes, with friction. A support is changed by first
bringing the centre of mass above the other foot.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray
from marey._report import Report, Result
from marey._work import Progress
from marey.body.anatomy import anatomy
from marey.body.control.actuation import Actuation, ActuationSettings, Planner
from marey.body.control.events import Event, Flight, check_joints
from marey.body.control.features import Effort, Feature
from marey.body.control.features.angular_momentum import AngularMomentum
from marey.body.control.features.centre import HEIGHT, Centre
from marey.body.control.features.feet import Feet, Lifted
from marey.body.control.features.look_at import LookAt
from marey.body.control.features.orientation import Orientation
from marey.body.control.features.point import FARTHEST, Point
from marey.body.control.features.posture import Posture
from marey.body.control.features.strength import Strength
from marey.body.control.features.support import Capture, Support, centroid, inside, polygon
from marey.body.control.mechanics import EDGES, Body, Instant, Mechanics, MechanicsSettings, Tissue
from marey.body.control.recording import Followed, joints, recorded, rms
from marey.body.control.soles import Sole, level_soles, soles
from marey.body.control.targets import Gains
from marey.body.motion import Motion
from marey.body.physics.inertia import Bones
from marey.body.physics.reduced import NEW_DIRECTION, Basis, PhysicalCharacter
from marey.body.physics.shapes import Shapes
from marey.body.physics.simulate import BASES, initial_state
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3

# Share of the first height of the centre of mass below which a character has fallen.
LOWEST = 0.6
# rad/s and m/s: faster than any body, where time steps no longer hold: taken as a fall, and brought to rest.
FASTEST = 60.0
# Seconds, of the Gaussian that makes the accelerations of a clip fit to follow.
SMOOTH = 0.04
# N·m/rad, passive stiffness of the ball of a foot.
BALL = 30.0
FEET = {"both": (0, 1), "left": (0,), "right": (1,)}
NAMES = (
    "support",
    "height",
    "feet",
    "angular_momentum",
    "head",
    "posture",
    "root",
    "look_at",
    "handles",
    "lifted",
)


@dataclass(frozen=True)
class BalanceSettings:
    """What the features weigh, the same for all clips.

    Args:
        mechanics, actuation: of the step.
        support, height, head: kg.
        feet: kg, of the feet's normal speed.
        angular_momentum: 1/(kg m²); decay: 1/s, how fast it is to fall.
        posture, ease: shares of the inertia, of the posture below the balance, and beside it.
        handles: kg; look_at, root: kg m².
        lifted: kg, of the foot that does not stand.
        strength: of the effort.
        gains: of the balance; those of the user's targets are `user`, of a clip `following`.
        leaning: 1/s, how fast handles are pulled beyond their places while they are missed.
        smoothing: seconds, of the support centre.
        limp: 1/s, damping of the pose after a fall.
        shift: metres from the border of the new support from which on the other foot is lifted.
        lift: metres.
    """

    mechanics: MechanicsSettings = field(default_factory=MechanicsSettings)
    actuation: ActuationSettings = field(default_factory=ActuationSettings)
    support: float = 10000.0
    height: float = 300.0
    head: float = 2.0
    feet: float = 100.0
    angular_momentum: float = 0.1
    decay: float = 5.0
    posture: float = 1.0
    ease: float = 0.2
    leaning: float = 2.0
    handles: float = 50.0
    root: float = 5.0
    look_at: float = 20.0
    lifted: float = 50.0
    strength: float = 1e-3
    gains: Gains = field(default_factory=Gains)
    user: Gains = field(default_factory=lambda: Gains(60.0, 15.0))
    returning: float = 2.0
    edge: float = 0.01
    closing: float = 50.0
    following: Gains = field(default_factory=lambda: Gains(400.0, 40.0))
    smoothing: float = 0.05
    limp: float = 50.0
    shift: float = 0.015
    lift: float = 0.08


class BalanceState(NamedTuple):
    """Everything the next step depends on.

    Args:
        body: configuration and velocity.
        standing: `(4,)`, the contact mode: left heel, left toes, right heel, right toes.
        centre: `(2,)`, the support centre, x and z, metres.
        feet: those that stand.
        fell: whether something else met the floor, or the centre of mass sank too low; control then ends.
        beyond: `(3,)` by joint, metres, how far beyond its place a handle pulls.
    """

    body: Body
    standing: BoolArray
    centre: Array
    feet: tuple[int, ...]
    fell: bool = False
    beyond: Mapping[str, Array] = {}


@dataclass(frozen=True, eq=False)
class Wishes:
    """What the user wants.

    Args:
        support: "both", "left" or "right".
        handles: places `(3,)` by joint.
        look_at: `(3,)`, or None.
        off: names of features that do not count.
    """

    support: str = "both"
    handles: Mapping[str, Array] = field(default_factory=dict)
    look_at: Array | None = None
    off: frozenset[str] = frozenset()

    def after(self, event: Event) -> Wishes:
        """The wishes once an event has happened."""
        at = None if event.at is None else np.asarray(event.at, dtype=np.float64)
        if event.kind == "handle":
            rest = {name: place for name, place in self.handles.items() if name != event.joint}
            return replace(self, handles=rest if at is None else {**rest, event.joint: at})
        if event.kind == "look_at":
            return replace(self, look_at=at)
        if event.kind == "support":
            return replace(self, support=event.name)
        if event.kind == "feature":
            if event.name not in NAMES:
                raise InputError(f"feature {event.name!r}: one of {', '.join(NAMES)}")
            return replace(self, off=self.off - {event.name} if event.on else self.off | {event.name})
        return self


class Stepped(NamedTuple):
    """A step: the next state, and what led to it."""

    state: BalanceState
    now: Instant
    control: Actuation
    velocity: Array
    contact: Array


class Balancer:
    """Keeps a character standing. A step is a pure function of the state."""

    def __init__(
        self,
        character: PhysicalCharacter,
        settings: BalanceSettings | None = None,
        shapes: Shapes | None = None,
        tissue: Tissue | None = None,
    ) -> None:
        self.settings = settings or BalanceSettings()
        self.mechanics = Mechanics(character, self.settings.mechanics, shapes, tissue)
        self.planner = Planner(character, self.settings.actuation)
        parts = anatomy(character.skeleton)
        self.head, self.forward = parts.head, parts.forward

    @classmethod
    def of(
        cls,
        motion: Motion,
        *,
        model: PoseModel | None = None,
        mass: float | None = None,
        basis: str = "hybrid",
        settings: BalanceSettings | None = None,
    ) -> Balancer:
        """With the body, the soles and the range of a clip."""
        poses = PoseModel.fit([motion], modes=min(20, motion.frames - 1)) if model is None else model
        feet = soles(motion)
        made = free_legs(poses, feet) if basis == "hybrid" else BASES[basis](poses)
        character = PhysicalCharacter(motion.skeleton, made, Bones.of(motion.skeleton, mass=mass))
        return cls(character, settings, level_soles(character, feet), ranges(made, motion, feet))

    def start(self, motion: Motion, frame: int, support: str = "both") -> tuple[BalanceState, Home]:
        """A state at rest in the pose of a frame of a clip, and what to come back to."""
        mechanics = self.mechanics
        begin = initial_state(mechanics.character, motion, frame / motion.frame_rate)
        state = self.begin(grounded(mechanics, mechanics.body(begin)), support)
        height = float(state.body.centre[1]) - mechanics.settings.floor
        return state, Home(height, state.body.alpha, rotation=state.body.rotation)

    def begin(self, body: Body, support: str = "both") -> BalanceState:
        """A state at rest, with the feet that are to stand flat on the floor."""
        settled = self.mechanics.settle(body)
        now = self.mechanics.at(settled)
        feet = [foot for foot in (0, 1) if now.heights[self.mechanics.soles[foot]].min() < 0.01]
        if not feet:
            raise InputError("no foot reaches the floor in this frame")
        state = BalanceState(settled, np.ones(4, dtype=bool), np.zeros(2), tuple(feet))
        return state._replace(centre=centroid(self.polygon(now, FEET[support])))

    def polygon(self, now: Instant, feet: Sequence[int]) -> Array:
        """Corners `(n, 2)`, x and z, of what feet stand on: their soles near the floor, else all of them."""
        points = self.mechanics.soles[list(feet)].ravel()
        low = points[now.heights[points] < 0.01]
        return polygon(now.places(low if len(low) > 2 else points)[:, [0, 2]])

    def features(self, now: Instant, state: BalanceState, home: Home, wishes: Wishes) -> list[Feature]:
        """The list of weighted features of a step."""
        s, index = self.settings, self.mechanics.character.skeleton.index
        rates = 0.0 if home.velocity is None else home.velocity[6:]
        found: dict[str, list[Feature]] = {
            "support": [
                Capture(
                    place=state.centre if home.place is None else home.place,
                    corners=self.polygon(now, state.feet),
                    weight=s.support,
                    level=0,
                    returning=s.returning,
                    margin=s.edge,
                )
            ],
            "height": [
                Centre(
                    place=np.array([0.0, self.mechanics.settings.floor + home.height, 0.0]),
                    along=HEIGHT,
                    weight=s.height,
                    level=0,
                    gains=s.gains,
                )
            ],
            "feet": [Feet(weight=s.feet, feet=state.feet, level=0, closing=s.closing)],
            "angular_momentum": [
                AngularMomentum(weight=s.angular_momentum, decay=s.decay, velocity=home.velocity, level=0)
            ],
            "posture": [
                Posture(
                    alpha=home.alpha,
                    rates=rates,
                    change=home.change,
                    weight=weight,
                    level=level,
                    kept=level > 0,
                    gains=s.user if home.velocity is None else s.following,
                )
                for level, weight in ((0, s.ease), (1, s.posture))
            ],
            "lifted": [
                Lifted(foot=foot, height=s.lift, weight=s.lifted, level=0, gains=s.user)
                for foot in (0, 1)
                if foot not in state.feet
            ],
            "handles": [
                Point(
                    joint=index(name),
                    place=place + state.beyond.get(name, 0.0),
                    weight=s.handles,
                    gains=s.user,
                )
                for name, place in wishes.handles.items()
            ],
        }
        if home.rotation is not None:
            gains = s.user if home.velocity is None else s.following
            found["root"] = [Orientation(joint=0, rotation=home.rotation, weight=s.root, gains=gains)]
        if self.head >= 0 and home.place is None:
            found["head"] = [Support(place=state.centre, joint=self.head, weight=s.head, gains=s.gains)]
        if self.head >= 0 and wishes.look_at is not None:
            found["look_at"] = [
                LookAt(
                    joint=self.head, place=wishes.look_at, forward=self.forward, weight=s.look_at,
                    gains=s.user,
                )
            ]  # fmt: skip
        return [one for name, own in found.items() if name not in wishes.off for one in own]

    def step(
        self,
        state: BalanceState,
        home: Home,
        wishes: Wishes,
        impulses: Sequence[tuple[int, Array, Array]] = (),
    ) -> Stepped:
        """The next step."""
        settings = self.settings
        body = state.body
        if not np.abs(body.velocity).max() < FASTEST:
            body, impulses = body.still, ()
        now = self.mechanics.at(body, impulses, damping=settings.limp if state.fell else None)
        wanted = FEET[wishes.support]
        corners = self.polygon(now, wanted)
        ease = min(1.0, now.step / settings.smoothing)
        centre = state.centre + ease * (centroid(corners) - state.centre)
        feet = state.feet
        if set(feet) != set(wanted):
            # Feet that are to stand come down at once; others leave once the rest carries.
            carried = inside(corners, Centre.of(now)[[0, 2]]) > settings.shift
            feet = wanted if carried else tuple(sorted({*feet, *wanted}))
        low = now.state.centre[1] - self.mechanics.settings.floor < LOWEST * home.height
        met = now.heights[~self.mechanics.feet].min(initial=1.0) < 0
        fell = bool(state.fell or low or met or body is not state.body)
        beyond = {}
        for name, place in wishes.handles.items():
            missed = place - now.joint(self.mechanics.character.skeleton.index(name))[1]
            longer = state.beyond.get(name, np.zeros(3)) + now.step * settings.leaning * missed
            beyond[name] = longer * min(1.0, FARTHEST / max(float(np.linalg.norm(longer)), 1e-12))
        state = state._replace(centre=centre, feet=feet, fell=fell, beyond=beyond)
        efforts: list[Effort] = [Strength(weight=settings.strength)]
        wanted_features = [] if fell else self.features(now, state, home, wishes)
        control = self.planner.plan(now, wanted_features, efforts, state.standing)
        velocity, contact = now.respond(np.concatenate([np.zeros(6), control.impulse]))
        body = self.mechanics.move(now, velocity)
        standing = control.standing if control.exact else np.ones(4, dtype=bool)
        return Stepped(state._replace(body=body, standing=standing), now, control, velocity, contact)


class Home(NamedTuple):
    """What the character comes back to, or follows.

    Args:
        height: of the centre of mass, metres.
        alpha: `(modes,)`, the pose.
        velocity, change: `(size,)`, of a clip that is followed, and by how much it changes in the step.
        place: `(2,)`, of the centre of mass, x and z; above the support centre if None.
        rotation: `(4,)`, of the root; free if None.
    """

    height: float
    alpha: Array
    velocity: Array | None = None
    change: Array | float = 0.0
    place: Array | None = None
    rotation: Array | None = None

    @classmethod
    def along(cls, path: Followed, row: int, floor: float) -> Home:
        """A row of a clip, as reached from the row before."""
        centre, v = path.centres[row], path.velocities[row - 1]
        change = v[6:] - path.velocities[max(row - 2, 0), 6:]
        height = float(centre[1]) - floor
        return cls(height, path.alphas[row], v, change, centre[[0, 2]], path.rotations[row])


@dataclass(frozen=True)
class BalanceReport(Report):
    """What was measured.

    Args:
        stood_seconds: until the fall, or all.
        fell: whether something other than the feet met the floor, or the centre of mass sank below 0.6 of its
            height.
        com_error_cm: distance of the projected centre of mass from the support centre in the end.
        root_wrench_max: force and torque that no contact explains, relative to the weight.
        steps_taken: steps with the feet.
        mode_changes_per_second: of the contact mode.
        inexact_share: share of the time steps without a feasible contact mode.
        support_newtons: mean push of the floor.
        reach_residual_cm: distances of the handles in the end.
        error_mean_cm, error_max_cm: RMS distance of the joints to a clip that is followed.
    """

    stood_seconds: float
    fell: bool
    com_error_cm: float
    root_wrench_max: float
    steps_taken: int
    mode_changes_per_second: float
    inexact_share: float
    support_newtons: float
    reach_residual_cm: tuple[float, ...] = ()
    error_mean_cm: float = 0.0
    error_max_cm: float = 0.0
    microseconds_per_step: float = 0.0


@dataclass(frozen=True, eq=False)
class Balanced:
    """A row a step.

    Args:
        states: of the body after each step.
        centres: `(steps, 3)`, of mass, metres.
        supports: `(steps, 2)`, support centres.
        angular: `(steps, 3)`, momentum about the centre of mass, kg m²/s.
        pushes: `(steps,)`, of the floor, N.
        points, forces: for each step contacts `(n, 3)`, metres, and forces `(n, 3)`, N.
        polygons: for each step `(n, 2)`.
        balls: `(steps, balls, 6)`.
    """

    states: tuple[Body, ...]
    centres: Array
    supports: Array
    angular: Array
    pushes: Array
    points: tuple[Array, ...]
    forces: tuple[Array, ...]
    polygons: tuple[Array, ...]
    balls: Array


@dataclass(frozen=True, eq=False)
class BalanceResult(Result):
    """The motion, what was recorded, and the report."""

    motion: Motion
    record: Balanced
    report: BalanceReport


def balance(
    motion: Motion,
    *,
    frame: int = 0,
    seconds: float = 5.0,
    support: str = "both",
    events: Sequence[Event] = (),
    reach: Mapping[str, ArrayLike] | None = None,
    look_at: ArrayLike | None = None,
    follow: bool = False,
    model: PoseModel | None = None,
    mass: float | None = None,
    basis: str = "hybrid",
    settings: BalanceSettings | None = None,
    progress: Progress | None = None,
) -> BalanceResult:
    """Stand by internal forces alone from a frame of a clip on.

    Args:
        motion: where it starts; also what a pose model of 20 modes is learned from if none is given.
        frame: of the clip.
        seconds: how long.
        support: "both", "left" or "right" foot.
        events: pushes, balls and all else, see :class:`marey.body.control.events.Event`.
        reach: places `(3,)` in the world for joints, metres.
        look_at: `(3,)`, what the head looks at.
        follow: whether the clip goes on as gestures of somebody who stands, instead of staying as it begins.
        basis: "hybrid" (legs move by themselves as well), "geodesics" or "full".

    >>> import marey
    >>> found = balance(marey.samples.walk(2), frame=0, seconds=0.3)
    >>> found.report.fell, found.report.root_wrench_max < 1e-8
    (False, True)
    """
    options = settings or BalanceSettings()
    if not (np.isfinite(seconds) and seconds >= options.mechanics.step):
        raise InputError(f"seconds {seconds}: must be at least a step")
    if not 0 <= frame < motion.frames:
        raise InputError(f"frame {frame}: the clip has {motion.frames}")
    if support not in FEET or basis not in BASES:
        raise InputError(f"support {support!r} or basis {basis!r} is not one of {(*FEET, *BASES)}")
    check_joints(events, motion.skeleton)
    balancer = Balancer.of(motion, model=model, mass=mass, basis=basis, settings=options)
    character = balancer.mechanics.character
    wishes = Wishes(support, {k: np.asarray(v, dtype=np.float64) for k, v in (reach or {}).items()})
    if look_at is not None:
        wishes = replace(wishes, look_at=np.asarray(look_at, dtype=np.float64))
    for name in wishes.handles:
        motion.skeleton.index(name)
    path = None
    if follow:
        clip = motion[frame:].resample(1 / options.mechanics.step)
        path = Followed.of(character, clip)
        seconds = min(seconds, (clip.frames - 1) * options.mechanics.step)
    start = balancer.start(motion, frame, support)
    return _run(
        balancer, motion, start, seconds, wishes, sorted(events, key=lambda e: e.time), progress, path
    )


def free_legs(model: PoseModel, feet: Sequence[Sole | None] = ()) -> Basis:
    """Geodesics, and hips and ankles that also move by themselves, and knees about the axis they bend about.

    Free about all axes, a leg could spin between its hip and its foot. The balls of the feet bend by
    themselves alone: moved with the rest of the body, they would pry feet off the floor.
    """
    skeleton = model.skeleton
    legs = anatomy(skeleton).legs
    basis = Basis.hybrid(model, [skeleton.names[joint] for leg in legs for joint in (leg.root, leg.end)])
    rows = basis.directions.reshape(basis.modes, -1)
    for leg in legs:
        shown = model.geodesics.directions[:, leg.middle]
        unit = np.zeros((skeleton.joints, 3))
        unit[leg.middle] = np.linalg.svd(shown)[2][0]
        left = unit.ravel() - np.linalg.lstsq(rows.T, unit.ravel(), rcond=None)[0] @ rows
        if np.linalg.norm(left) > NEW_DIRECTION:
            rows = np.concatenate([rows, left[None] / np.linalg.norm(left)])
    directions = rows.reshape(-1, skeleton.joints, 3).copy()
    directions[:, 0] = 0.0
    mean, bends = np.array(basis.mean), np.zeros((0, skeleton.joints, 3))
    for foot in feet:
        if foot is not None and skeleton.parents[foot.ball] == foot.ankle:
            directions[:, foot.ball] = 0.0
            mean[foot.ball] = so3.from_matrix(foot.axes[0] @ foot.axes[1].T)
            bends = np.concatenate([bends, np.zeros((1, skeleton.joints, 3))])
            bends[-1, foot.ball] = foot.axes[1, :, 2]
    directions = directions[np.linalg.norm(directions, axis=(1, 2)) > NEW_DIRECTION]
    return Basis(mean, np.concatenate([directions, bends]))


def ranges(basis: Basis, motion: Motion, feet: Sequence[Sole | None], margin: float = 0.5) -> Tissue:
    """Coordinates as far as a clip goes, and a margin, radians; the balls of the feet spring back to flat."""
    shown = basis.encode(motion.rotations)
    low, high = shown.min(axis=0) - margin, shown.max(axis=0) + margin
    stiffness = np.zeros(basis.modes)
    for foot in feet:
        if foot is not None:
            own = np.linalg.norm(basis.directions[:, foot.ball], axis=1) > 0.999
            stiffness[own], low[own], high[own] = BALL, 0.0, 0.0
    return Tissue(low, high, stiffness)


def grounded(mechanics: Mechanics, body: Body) -> Body:
    """A state moved up or down so that its lowest sole is on the floor."""
    soles = mechanics.soles.ravel()
    lowest = float(mechanics.at(body).heights[soles].min())
    return body._replace(centre=body.centre - [0.0, lowest, 0.0], momentum=None)


def _run(
    balancer: Balancer,
    motion: Motion,
    start: tuple[BalanceState, Home],
    seconds: float,
    wishes: Wishes,
    events: Sequence[Event],
    progress: Progress | None,
    path: Followed | None = None,
) -> BalanceResult:
    mechanics, step = balancer.mechanics, balancer.settings.mechanics.step
    index, steps = motion.skeleton.index, round(seconds / step)
    state, home = start
    flight, left = Flight(events, step), list(events)
    trace: list[tuple[Array, ...]] = []
    states, points, forces, polygons, balls = [], [], [], [], []
    stood, changes, inexact, planted, spent = float(seconds), 0, 0, 0, 0.0
    wrench = 0.0
    shown = path
    if path is not None:
        shown = path = path._replace(centres=path.centres + (state.body.centre - path.centres[0]))
        path = path.smoothed(SMOOTH / step, 1 / step)
    for number in range(steps):
        now_time, impulses = number * step, []
        if path is not None:
            home = Home.along(path, number + 1, mechanics.settings.floor)
        while left and left[0].time <= now_time + 1e-9:
            event = left.pop(0)
            wishes = wishes.after(event)
            if event.kind == "push":
                impulses.append((index(event.joint), np.zeros(3), np.asarray(event.at, dtype=np.float64)))
        if flight.thrown:
            impulses += flight.hits(mechanics.at(state.body), now_time)
        began = time.process_time()
        done = balancer.step(state, home, wishes, impulses)
        spent += time.process_time() - began
        now, edges = done.now, done.contact.reshape(-1, 4)
        changes += int((done.state.standing != state.standing).sum() > 0 and number > 0)
        planted += len(set(done.state.feet) - set(state.feet))
        inexact += not done.control.exact
        force = now.mechanics.settings.friction * (edges @ EDGES)
        force[:, 1] = edges.sum(axis=1)
        hidden = now.wrench(done.velocity, done.contact)
        wrench = max(wrench, float(np.abs(hidden).max()) / mechanics.weight)
        points.append(now.contacts.places)
        forces.append(force / step)
        polygons.append(balancer.polygon(now, done.state.feet))
        balls.append(flight.where.copy())
        centre = Centre.of(now)
        trace.append((centre, done.state.centre, AngularMomentum.rows(now) @ done.velocity,
                      np.array([force[:, 1].sum() / step])))  # fmt: skip
        state = done.state
        states.append(state.body)
        if state.fell and stood > now_time:
            stood = now_time
        if progress is not None and number % 20 == 0:
            progress(number, steps)
    centres, supports, angular, pushes = (np.array([row[i] for row in trace]) for i in range(4))
    record = Balanced(
        tuple(states), centres, supports, angular, pushes[:, 0], tuple(points), tuple(forces),
        tuple(polygons), np.array(balls),
    )  # fmt: skip
    last = mechanics.at(state.body)
    missed = [np.linalg.norm(last.joint(index(k))[1] - place) for k, place in wishes.handles.items()]
    errors = np.zeros(1)
    if shown is not None:
        character = mechanics.character
        bodies = [shown.body(row + 1) for row in range(len(states))]
        errors = 100 * rms(joints(character, states), joints(character, bodies))
    report = BalanceReport(
        stood_seconds=stood,
        fell=state.fell,
        com_error_cm=float(100 * np.linalg.norm(Centre.of(last)[[0, 2]] - state.centre)),
        root_wrench_max=wrench,
        steps_taken=planted,
        mode_changes_per_second=changes / seconds,
        inexact_share=inexact / steps,
        support_newtons=float(record.pushes.mean()),
        reach_residual_cm=tuple(float(100 * one) for one in missed),
        error_mean_cm=float(errors.mean()),
        error_max_cm=float(errors.max()),
        microseconds_per_step=round(1e6 * spent / steps, 1),
    )
    return BalanceResult(recorded(motion, balancer.mechanics.character, states, 1 / step), record, report)
