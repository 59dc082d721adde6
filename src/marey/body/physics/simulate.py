"""A character that is dropped and pushed (Tournier 2011, chapters 10 to 12).

Time steps are those of a discrete Hamilton–Pontryagin principle,
`J_l(h v⁺)⁻ᵀ M v⁺ = J_r(h v)⁻ᵀ p + h (∂T/∂g + f)`. The root's group is SO(3) × R³ with the place of the centre
of mass, which moves along a parabola; all else moves as if nothing fell, however fast. "exact" solves the
equations; "variational", the default, does two quasi-Newton iterations and then solves the root's six, so
that momentum is exact; "constant", "identity" and "naive" are the explicit steps that are published. Contacts
with the ground and joint limits bound the new velocity (`J v ≥ b`): it is projected in the metric of the
kinetic energy, by projected Gauss–Seidel and the equations of the rows that act.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray
from marey._report import Report, Result
from marey._work import Progress
from marey.body.anatomy import end_effectors
from marey.body.kinematics import global_frames
from marey.body.limits.learned import LearnedLimits
from marey.body.limits.limits import CompiledLimits, EllipsoidLimits
from marey.body.motion import Motion
from marey.body.physics.inertia import Bones
from marey.body.physics.projection import Projection
from marey.body.physics.reduced import GRAVITY, Basis, PhysicalCharacter
from marey.body.physics.shapes import Shapes, planes
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3

if TYPE_CHECKING:
    from marey.body.physics._step_kernels import Scene, Solve

INTEGRATORS = ("variational", "exact", "constant", "identity", "naive")
DAMPINGS = ("uniform", "kinematic", "energetic")
GROUPS = ("centre", "se3", "so3xr3")


@dataclass(frozen=True)
class SimulationSettings:
    """How time is stepped and what a character meets.

    Args:
        step: seconds.
        integrator: "variational", "exact", "constant", "identity" or "naive".
        damping: of the pose coordinates: "energetic" (1/s), "kinematic" (kg/s) or "uniform" (kg m²).
        rate: of the damping.
        gravity: whether the character falls.
        ground: whether there is one, at `floor` metres.
        friction: of the ground (Coulomb, pyramid); infinite for contacts that stick, as published.
        restitution: share of the speed with which the ground is left again.
        margin: share of a limit's size, within which it bounds the velocity.
        sweeps: of Gauss–Seidel, at most.
        tolerance: m/s, change of a velocity below which the sweeps end.
        drift: share of a contact's or limit's error that is taken back in one step.
        stabilise: whether places are corrected as well after each step (Cline and Pai 2003), instead of only
            where contacts bend too much within one. Velocities are not touched, so momentum about a point
            then changes.
        group: the root's: "centre" (rotation, and place of the centre of mass), "se3" (root joint), or
            "so3xr3" (its rotation and place, as published).
        planes: further planes `(nx, ny, nz, offset)`: allowed is n·x >= offset.
    """

    step: float = 0.01
    integrator: str = "variational"
    damping: str = "energetic"
    rate: float = 3.0
    gravity: bool = True
    ground: bool = True
    floor: float = 0.0
    friction: float = 0.8
    restitution: float = 0.0
    margin: float = 0.2
    sweeps: int = 300
    tolerance: float = 1e-8
    drift: float = 0.2
    stabilise: bool = False
    group: str = "centre"
    planes: tuple[tuple[float, float, float, float], ...] = ()

    def __post_init__(self) -> None:
        for name, value, names in (
            ("integrator", self.integrator, INTEGRATORS),
            ("damping", self.damping, DAMPINGS),
            ("group", self.group, GROUPS),
        ):
            if value not in names:
                raise InputError(f"{name} {value!r}: one of {', '.join(names)}")
        if not 1e-4 <= self.step <= 0.2:
            raise InputError(f"step {self.step}: seconds, from 0.0001 to 0.2")
        if not (self.rate >= 0 and self.friction >= 0 and 0 <= self.restitution <= 1):
            raise InputError("damping and friction must not be negative, restitution be from 0 to 1")


class Push(NamedTuple):
    """A blow: `impulse` `(3,)` in the world, N·s, on a joint, `time` seconds after the start."""

    joint: str
    time: float
    impulse: ArrayLike


class Ball(NamedTuple):
    """A ball that flies and bounces off bodies and planes, without spin.

    Args:
        place, velocity: `(3,)`, where it is in the beginning, m and m/s.
        mass: kilograms.
        radius: metres.
        restitution: share of the speed with which it bounces.
    """

    place: ArrayLike
    velocity: ArrayLike
    mass: float = 0.5
    radius: float = 0.1
    restitution: float = 0.5

    @classmethod
    def thrown(
        cls, target: ArrayLike, velocity: ArrayLike, time: float, *, gravity: bool = True, **given: float
    ) -> Ball:
        """A ball that passes a point `(3,)` after `time` seconds with a velocity `(3,)`."""
        pull, speed = np.array(GRAVITY) * gravity, np.asarray(velocity, dtype=np.float64)
        begin = np.asarray(target) - time * speed + 0.5 * time**2 * pull
        return cls(begin, speed - time * pull, **given)


class Throw(NamedTuple):
    """A ball that is where a joint begins, `time` seconds later, with a velocity `(3,)` m/s."""

    joint: str
    time: float
    velocity: ArrayLike
    mass: float = 0.5
    radius: float = 0.1


class Pin(NamedTuple):
    """A point `(3,)` in a joint's frame that is held at a place `(3,)` in the world."""

    joint: str
    place: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)


class State(NamedTuple):
    """Configuration and velocity of a character, and all else that the next step depends on.

    Args:
        rotation, place: `(4,)`, `(3,)`, of the root in the world.
        alpha: `(modes,)`, coordinates of the pose.
        velocity: `(6 + modes,)`, the root's twist (angular, linear) in its frame, rates of coordinates.
        momentum: `(6 + modes,)`, M v at the last step's start, in the velocities of the root's group; None
            for M v here.
        multipliers: `(slots,)`, impulses of contacts and limits, where the next solve starts; None for 0.
        balls: `(balls, 6)`, places and velocities; None for where they begin.
    """

    rotation: FloatArray
    place: FloatArray
    alpha: FloatArray
    velocity: FloatArray
    momentum: FloatArray | None = None
    multipliers: FloatArray | None = None
    balls: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What was recorded, a row a step.

    Args:
        kinetic, potential: `(steps,)`, joules, of the character.
        linear, angular: `(steps, 3)`, its momenta about the world's origin.
        support: `(steps,)`, N·s, pushes of the planes.
        multipliers: `(steps, slots)`, impulses: normal and two tangents a contact point, planes one after
            the other; limits; pins.
        rotations, places, coordinates: configurations `(steps, …)` after each step.
        balls: `(steps, balls, 6)`, places and velocities after each step.
        state: the last one.
    """

    kinetic: Array
    potential: Array
    linear: Array
    angular: Array
    support: Array
    multipliers: Array
    rotations: Array
    places: Array
    coordinates: Array
    balls: Array
    state: State

    @classmethod
    def of(cls, record: Array, multipliers: Array, state: State, modes: int) -> Trajectory:
        """What kernels recorded, `(steps, 16 + modes + 6 balls)`, in parts."""
        kinetic, potential, linear, angular, support, turns, places, coordinates, balls = np.split(
            record, [1, 2, 5, 8, 9, 13, 16, 16 + modes], axis=1
        )
        return cls(
            kinetic[:, 0], potential[:, 0], linear, angular, support[:, 0], multipliers, turns, places,
            coordinates, balls.reshape(len(record), -1, 6), state,
        )  # fmt: skip


class Simulator:
    """Steps a character; states go in and come out, nothing else is kept between calls."""

    def __init__(
        self,
        character: PhysicalCharacter,
        settings: SimulationSettings | None = None,
        limits: CompiledLimits | None = None,
        *,
        balls: Sequence[Ball] = (),
        pins: Sequence[Pin] = (),
        shapes: Shapes | None = None,
    ) -> None:
        self.character, self.settings = character, settings or SimulationSettings()
        self.limits: CompiledLimits = EllipsoidLimits.none() if limits is None else limits
        self.balls, self.pins = tuple(balls), tuple(pins)
        self.shapes = Shapes.of(character) if shapes is None else shapes
        self._scene = self._make_scene(self.settings)

    def _make_scene(self, settings: SimulationSettings) -> Scene:
        from marey.body.physics._step_kernels import Scene

        limits, skeleton, shapes = self.limits, self.character.skeleton, self.shapes
        numbers = [settings.step, settings.rate, min(settings.friction, 1e9), settings.restitution]
        numbers += [settings.margin, settings.tolerance, settings.drift]
        numbers += [pull * settings.gravity for pull in GRAVITY]
        choices = [INTEGRATORS.index(settings.integrator), DAMPINGS.index(settings.damping)]
        choices += [GROUPS.index(settings.group), limits.kind, settings.sweeps, settings.stabilise]
        ends = [int(self.character.tree.parents[end.joint, 1]) for end in end_effectors(skeleton)]
        pins = [
            [skeleton.index(pin.joint), *np.asarray(pin.point), *np.asarray(pin.place)] for pin in self.pins
        ]
        balls = [[ball.mass, ball.radius, ball.restitution] for ball in self.balls]
        return Scene(
            np.array(numbers),
            np.array(choices, dtype=np.int64),
            planes(settings),
            shapes.carriers,
            shapes.spheres,
            shapes.capsules,
            np.array(balls, dtype=np.float64).reshape(-1, 3),
            np.array(pins, dtype=np.float64).reshape(-1, 7),
            np.array(ends, dtype=np.int64),
            np.array(limits.joints, dtype=np.int64),
            np.array(limits.centres, dtype=np.float64),
            np.array(limits.parameters, dtype=np.float64),
            np.array([_exponential(0), _exponential(1), _bernoulli()]),
        )

    def run(self, state: State, steps: int, pushes: Sequence[Push] = ()) -> Trajectory:
        """The next `steps` steps; an error if the motion becomes too fast for the step."""
        return self.run_many([state], steps, [pushes], jobs=1)[0]

    def step(self, state: State, pushes: Sequence[Push] = ()) -> State:
        """The state one step later."""
        return self.run(state, 1, pushes).state

    def run_many(
        self,
        states: Sequence[State],
        steps: int,
        pushes: Sequence[Sequence[Push]] = (),
        *,
        jobs: int | None = None,
    ) -> list[Trajectory]:
        """The next steps of many characters, which do not meet each other.

        Args:
            pushes: a list for each character, or none at all.
            jobs: threads; as many as there are cores if None.
        """
        from marey.body.physics import _step_kernels

        h, modes, count = self.settings.step, self.character.basis.modes, len(states)
        state, scene, index = self._gathered(states), self._scene, self.character.skeleton.index
        blows = [
            [round(b.time / h), i, index(b.joint), 0, 0, 0, *np.asarray(b.impulse, dtype=np.float64)]
            for i, own in enumerate(pushes)
            for b in own
        ]
        impulses = np.array(blows, dtype=np.float64).reshape(-1, 9)
        record = np.empty((count, steps, 16 + modes + 6 * len(self.balls)))
        multipliers = np.empty((count, steps, state.kept.shape[1]))
        threads = min(count, jobs or os.cpu_count() or 1)
        edges = np.linspace(0, count, threads + 1).astype(int)

        def some(first: int, last: int) -> int:
            work, room = self.character.room(), self._room()
            done = _step_kernels.advance(
                self.character.tree,
                work,
                scene,
                room,
                state,
                impulses,
                first,
                last,
                False,
                record,
                multipliers,
            )
            return int(done)

        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                done = min(pool.map(some, edges[:-1], edges[1:]))
        else:
            done = some(0, count)
        if done < steps or not np.isfinite(record).all():
            raise InputError(
                f"the simulation failed after {done * h:.3g} s: use a shorter step or more damping"
            )
        return [
            Trajectory.of(record[i], multipliers[i], State(*(part[i] for part in state)), modes)
            for i in range(count)
        ]

    def _gathered(self, states: Sequence[State]) -> Any:
        """Copies of states as kernels take them."""
        from marey.body.physics import _step_kernels

        modes, size, slots, balls = self.character.basis.modes, self.character.size, self._slots(), self.balls
        begin = [np.concatenate([np.asarray(ball.place), np.asarray(ball.velocity)]) for ball in balls]
        parts: list[Array] = [np.zeros((len(states), width)) for width in (4, 3, modes, size, size, slots)]
        parts[4][:] = np.nan
        parts.append(np.tile(np.reshape(begin, (len(balls), 6)), (len(states), 1, 1)))
        made = _step_kernels.State(*parts)
        for i, state in enumerate(states):
            for rows, given in zip(made, state, strict=True):
                if given is not None:
                    rows[i] = given
        return made

    def _slots(self) -> int:
        """Places for multipliers that the next step starts with."""
        scene = self._scene
        return 3 * len(scene.planes) * len(scene.carriers) + len(scene.limited) + 3 * len(scene.pins)

    def _room(self) -> Solve:
        from marey.body.physics._step_kernels import Solve

        balls = len(self.balls)
        # Joints may need several planes of their limits.
        rows = (
            self._slots()
            + 2 * len(self._scene.limited)
            + balls * (len(self._scene.bones) + len(self._scene.planes))
        )
        width, modes = self.character.size + 3 * balls, self.character.basis.modes
        shapes = ((6, width + 1), (width, rows), (rows, rows), (rows, rows + 1), (6, rows), (rows, 6))
        vectors, J, A, B, line, spot = (np.zeros(shape) for shape in shapes)
        kind, mark, order = (
            np.zeros(shape, dtype=np.int64) for shape in ((rows, 4), self._slots() + 1, rows)
        )
        frames = np.zeros_like(self.character.room().frames)
        return Solve(vectors, J, A, B, line, spot, kind, mark, order, np.zeros((1, modes)), frames)

    def settle(self, state: State, *, iterations: int = 20) -> State:
        """The state moved to where contacts, limits and pins hold, in the metric of the mass."""
        from marey.body.physics import _step_kernels

        found, work, room = self._gathered([state]), self.character.room(), self._room()
        nothing, record = (
            np.empty((0, 9)),
            np.empty((1, iterations, 16 + found.alpha.shape[1] + 6 * len(self.balls))),
        )
        kept = np.empty((1, iterations, 0))
        _step_kernels.advance(
            self.character.tree, work, self._scene, room, found, nothing, 0, 1, True, record, kept
        )
        return state._replace(rotation=found.q[0], place=found.x[0], alpha=found.alpha[0], momentum=None)

    def problem(self, state: State) -> Projection:
        """What the step "constant" solves for the new velocity of a state, see :class:`Projection`.

        The balls are left out; the velocity is that of the root joint and the coordinates.
        """
        from marey.body.physics import _projection_kernels, _step_kernels

        alone = Simulator(
            self.character,
            replace(self.settings, integrator="constant", sweeps=0, stabilise=False),
            self.limits,
            pins=self.pins,
            shapes=self.shapes,
        )
        found = self._gathered([state._replace(multipliers=None, balls=None)])
        work, room, record = (
            self.character.room(),
            alone._room(),
            np.empty((1, 1, 16 + alone.character.basis.modes)),
        )
        _step_kernels.advance(
            self.character.tree, work, alone._scene, room, found, np.empty((0, 9)), 0, 1, False, record,
            np.empty((1, 1, 0)),
        )  # fmt: skip
        rows, size = int(room.mark[-1]), self.character.size
        to_group = np.eye(size)
        if self.settings.group == "centre":
            M = self.character.mass(state.alpha)
            to_group[3:6] = M[3:6] / M[3, 3]
        root, kind = np.triu(work.U) @ to_group, room.kind[:rows, _projection_kernels.SORT].copy()
        bounds = room.line[_projection_kernels.BOUND, :rows].copy()
        slots = room.kind[:rows, _projection_kernels.SLOT].copy()
        return Projection(root.T @ root, found.v[0], room.J[:size, :rows].T @ root, bounds, kind, slots)

    def penetration(self, trajectory: Trajectory) -> Array:
        """Metres `(steps,)` by which the deepest shape is behind a plane."""
        basis, skeleton = self.character.basis, self.character.skeleton
        rotations = basis.decode(trajectory.coordinates)
        rotations[:, 0] = trajectory.rotations
        pose = global_frames(skeleton.parents, skeleton.offsets, rotations, trajectory.places)
        carriers, spheres = self.shapes.carriers, self.shapes.spheres
        centres = pose.positions[:, carriers] + so3.rotate(pose.rotations[:, carriers], spheres[:, :3])
        made = self._scene.planes
        gaps = centres @ made[:, :3].T - made[:, 3] - spheres[:, 3:]
        return np.asarray(np.maximum(-gaps.min(axis=(1, 2), initial=0.0), 0.0))


BASES = {"geodesics": Basis.geodesics, "hybrid": Basis.hybrid, "full": Basis.moving}


@dataclass(frozen=True)
class SimulateReport(Report):
    """What was measured; momenta drift from the last push on, relative to the largest."""

    frames: int
    steps: int
    linear_momentum_drift: float
    angular_momentum_drift: float
    energy_ratio_min: float
    energy_ratio_max: float
    penetration_max_mm: float
    limit_excess_max: float
    microseconds_per_step: float = 0.0


@dataclass(frozen=True, eq=False)
class SimulateResult(Result):
    """The simulated clip, what was recorded in each step, and the report."""

    motion: Motion
    trajectory: Trajectory
    report: SimulateReport


def simulate(
    motion: Motion,
    *,
    model: PoseModel | None = None,
    seconds: float = 3.0,
    start: float = 0.0,
    height: float = 0.0,
    pushes: Sequence[Push] = (),
    throws: Sequence[Throw] = (),
    limits: LearnedLimits | CompiledLimits | None = None,
    mass: float | None = None,
    masses: Mapping[str, float] | None = None,
    basis: str = "geodesics",
    settings: SimulationSettings | None = None,
    progress: Progress | None = None,
) -> SimulateResult:
    """Let go of a character: it falls, is pushed, and keeps to the poses that were learned.

    Args:
        motion: where it starts, with the velocity it has there; also what a pose model of 20 modes is learned
            from if none is given.
        seconds: how long.
        start: seconds into the clip.
        height: metres to lift it by before.
        throws: balls.
        limits: of the joints, such as :func:`marey.body.limits.learn` gives; none if None.
        mass, masses: kilograms, of the body and of single bones by name.
        basis: "geodesics", "hybrid" (legs move by themselves as well) or "full" (no pose model).

    >>> import marey
    >>> free = SimulationSettings(gravity=False, ground=False)
    >>> blow = Push("LeftHand", 0.0, (0.0, 0.0, 1.0))
    >>> found = simulate(marey.samples.walk(), seconds=0.2, pushes=[blow], settings=free)
    >>> found.motion.frames, found.report.linear_momentum_drift < 1e-10
    (12, True)
    """
    options = settings or SimulationSettings()
    if not (math.isfinite(seconds) and seconds > options.step):
        raise InputError(f"seconds {seconds}: must be longer than a step")
    poses = PoseModel.fit([motion], modes=min(20, motion.frames - 1)) if model is None else model
    if poses.skeleton.names != motion.skeleton.names:
        raise InputError("the model's joints are not those of the clip")
    if basis not in BASES:
        raise InputError(f"basis {basis!r}: one of {', '.join(BASES)}")
    made = BASES[basis](poses)
    character = PhysicalCharacter(motion.skeleton, made, Bones.of(motion.skeleton, mass=mass, single=masses))
    state = initial_state(character, motion, start, height)
    places = motion.positions()[round(start * motion.frame_rate)] + [0.0, height, 0.0]
    balls = [
        Ball.thrown(places[motion.skeleton.index(t.joint)], t.velocity, t.time, gravity=options.gravity,
                    mass=t.mass, radius=t.radius)
        for t in throws
    ]  # fmt: skip
    bounds = limits.of(motion.skeleton) if isinstance(limits, LearnedLimits) else limits
    simulator = Simulator(character, options, bounds, balls=balls)
    if options.ground:
        state = simulator.settle(state)
    steps = round(seconds / options.step)
    simulator.run(state, 1)  # loads the compiled code
    began = time.process_time()
    found = simulator.run(state, steps, pushes)
    spent = 1e6 * (time.process_time() - began) / steps
    if progress is not None:
        progress(steps, steps)
    clip, found, report = _result(simulator, motion, found, pushes)
    return SimulateResult(clip, found, replace(report, microseconds_per_step=round(spent, 1)))


def initial_state(
    character: PhysicalCharacter, motion: Motion, start: float = 0.0, height: float = 0.0
) -> State:
    """Pose and velocity of a clip at a time, as near as the basis comes."""
    frame = round(start * motion.frame_rate)
    if not 0 <= frame < motion.frames:
        raise InputError(f"start {start} s: the clip has {motion.duration:.3g} s")
    pair = [min(frame, max(motion.frames - 2, 0)), min(frame + 1, motion.frames - 1)]
    alphas = character.basis.encode(motion.rotations[pair])
    turns, rate = motion.rotations[pair, 0], motion.frame_rate
    spin = so3.log(so3.multiply(so3.inverse(turns[0]), turns[1])) * rate
    moved = so3.rotate(so3.inverse(turns[0]), motion.root[pair[1]] - motion.root[pair[0]]) * rate
    v = np.concatenate([spin, moved, (alphas[1] - alphas[0]) * rate])
    alpha = character.basis.encode(motion.rotations[frame])
    return State(motion.rotations[frame, 0], motion.root[frame] + [0.0, height, 0.0], alpha, v)


def _result(
    simulator: Simulator, motion: Motion, found: Trajectory, pushes: Sequence[Push]
) -> tuple[Motion, Trajectory, SimulateReport]:
    settings, basis = simulator.settings, simulator.character.basis
    rate = 1.0 / settings.step
    rotations = basis.decode(found.coordinates)
    rotations[:, 0] = found.rotations
    excess = simulator.limits.excess(rotations)
    clip = replace(
        motion,
        rotations=so3.continuous(so3.normalise(rotations)),
        root=found.places,
        frame_rate=rate,
        translations=None,
        first_frame=0,
    )
    if rate > motion.frame_rate or rate > 120:
        clip = clip.resample(min(motion.frame_rate, 120.0))
    last = max((round(push.time / settings.step) for push in pushes), default=0)
    after = slice(min(last, len(found.kinetic) - 1), None)
    drifts = [
        float(np.abs(values[after] - values[after][0]).max() / max(np.abs(values[after]).max(), 1e-9))
        for values in (found.linear, found.angular)
    ]
    energy = found.kinetic[after] / max(found.kinetic[after][0], 1e-12)
    deepest = float(simulator.penetration(found).max()) * 1e3 if settings.ground else 0.0
    report = SimulateReport(
        frames=clip.frames,
        steps=len(found.kinetic),
        linear_momentum_drift=drifts[0],
        angular_momentum_drift=drifts[1],
        energy_ratio_min=float(energy.min()),
        energy_ratio_max=float(energy.max()),
        penetration_max_mm=deepest,
        limit_excess_max=float(max(excess.max(initial=-1.0), 0.0)),
    )
    return clip, found, report


def _exponential(shift: int) -> list[float]:
    """Coefficients of exp (0), or of its left differential (1)."""
    return [1 / math.factorial(n + shift) for n in range(31)]


def _bernoulli() -> list[float]:
    """Coefficients B_n / n! of the inverse of the left differential."""
    found = [1.0, -0.5]
    for n in range(2, 31):
        zeta = sum(k ** -float(n) for k in range(1, 40)) + 40 ** (1.0 - n) / (n - 1) + 0.5 * 40 ** -float(n)
        exact = {2: 1 / 12, 4: -1 / 720, 6: 1 / 30240, 8: -1 / 1209600}
        found.append(0.0 if n % 2 else exact.get(n, (-1) ** (n // 2 + 1) * 2 * zeta / (2 * math.pi) ** n))
    return found
