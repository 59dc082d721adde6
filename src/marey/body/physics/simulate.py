"""A character that is dropped and pushed (Tournier 2011, chapters 10 to 12).

Time steps are those of a discrete Hamilton–Pontryagin principle on SE(3) × R^modes,
`J_l(h v⁺)⁻ᵀ M v⁺ = J_r(h v)⁻ᵀ p + h (∂T/∂g + f)`. "exact" solves it; "variational", the default, does two
quasi-Newton iterations and then solves the root's six equations, so that momentum is exact; "constant",
"identity" and "naive" are the explicit steps that are published. Contacts with the ground and joint limits
bound the new velocity (`J v ≥ b`): it is projected in the metric of the kinetic energy, by projected
Gauss–Seidel.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, Integers
from marey._report import Report, Result
from marey._work import Progress
from marey.body.anatomy import anatomy, end_effectors
from marey.body.kinematics import global_frames
from marey.body.limits.limits import CompiledLimits, EllipsoidLimits
from marey.body.motion import Motion
from marey.body.physics.inertia import Bones
from marey.body.physics.reduced import GRAVITY, Basis, PhysicalCharacter
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3

if TYPE_CHECKING:
    from marey.body.physics._step_kernels import Scene, Solve

INTEGRATORS = ("variational", "exact", "constant", "identity", "naive")
DAMPINGS = ("uniform", "kinematic", "energetic")


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
        margin: of a limit's excess, from which on it bounds the velocity.
        sweeps: of Gauss–Seidel, at most.
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
    margin: float = 0.4
    sweeps: int = 200

    def __post_init__(self) -> None:
        for name, value, names in (
            ("integrator", self.integrator, INTEGRATORS),
            ("damping", self.damping, DAMPINGS),
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


class State(NamedTuple):
    """Configuration and velocity of a character.

    Args:
        rotation, place: `(4,)`, `(3,)`, of the root in the world.
        alpha: `(modes,)`, coordinates of the pose.
        velocity: `(6 + modes,)`, the root's twist (angular, linear) in its frame, rates of coordinates.
        momentum: `(6 + modes,)`, M v at the last step's beginning; None for M v here.
    """

    rotation: FloatArray
    place: FloatArray
    alpha: FloatArray
    velocity: FloatArray
    momentum: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What was recorded, a row a step.

    Args:
        kinetic: `(steps,)`, joules.
        linear, angular: `(steps, 3)`, momenta about the world's origin.
        support: `(steps,)`, N·s, pushes of the ground.
        rotations, places, coordinates: configurations `(steps, …)` after each step.
        state: the last one.
    """

    kinetic: Array
    linear: Array
    angular: Array
    support: Array
    rotations: Array
    places: Array
    coordinates: Array
    state: State


class Simulator:
    """Steps a character; states go in and come out, nothing else is kept between calls."""

    def __init__(
        self,
        character: PhysicalCharacter,
        settings: SimulationSettings | None = None,
        limits: CompiledLimits | None = None,
    ) -> None:
        self.character, self.settings = character, settings or SimulationSettings()
        self.limits: CompiledLimits = EllipsoidLimits.none() if limits is None else limits
        self.spheres = contact_spheres(character)
        self._scene = self._make_scene()

    def _make_scene(self) -> Scene:
        from marey.body.physics._step_kernels import Scene

        settings, limits, skeleton = self.settings, self.limits, self.character.skeleton
        numbers = (settings.step, settings.rate, min(settings.friction, 1e9), settings.restitution)
        choices = [INTEGRATORS.index(settings.integrator), DAMPINGS.index(settings.damping), settings.ground]
        ends = [end.joint for end in end_effectors(skeleton)]
        carriers, points, radii = self.spheres
        return Scene(
            np.array([*numbers, settings.margin, settings.floor]),
            np.array([*choices, limits.kind, settings.sweeps], dtype=np.int64),
            np.array(GRAVITY) * settings.gravity,
            carriers,
            points,
            radii,
            np.array(ends, dtype=np.int64),
            np.array(limits.joints, dtype=np.int64),
            np.array(limits.centres, dtype=np.float64),
            np.array(limits.parameters, dtype=np.float64),
            np.array([_exponential(0), _exponential(1), _bernoulli()]),
        )

    def run(self, state: State, steps: int, pushes: Sequence[Push] = ()) -> Trajectory:
        """The next `steps` steps; an error if the motion becomes too fast for the step."""
        from marey.body.physics import _step_kernels

        character, h = self.character, self.settings.step
        q, x, alpha, v = (np.array(part, dtype=np.float64) for part in state[:4])
        given = character.momentum(alpha, v)[0] if state.momentum is None else state.momentum
        p, record = np.array(given), np.empty((steps, 15 + character.basis.modes))
        index = character.skeleton.index
        blows = [[round(b.time / h), index(b.joint), 0, 0, 0, *np.asarray(b.impulse)] for b in pushes]
        impulses = np.array(blows, dtype=np.float64).reshape(-1, 8)
        done = _step_kernels.advance(
            character.tree,
            character.work(alpha),
            self._scene,
            self._room(),
            q,
            x,
            alpha,
            v,
            p,
            impulses,
            record,
        )
        if done < steps or not np.isfinite(record).all():
            raise InputError(
                f"the simulation failed after {done * h:.3g} s: use a shorter step or more damping"
            )
        kinetic, linear, angular, support, *path = np.split(record, [1, 4, 7, 8, 12, 15], axis=1)
        end = State(q, x, alpha, v, p)
        return Trajectory(kinetic[:, 0], linear, angular, support[:, 0], path[0], path[1], path[2], state=end)

    def step(self, state: State, pushes: Sequence[Push] = ()) -> State:
        """The state one step later."""
        return self.run(state, 1, pushes).state

    def _room(self) -> Solve:
        from marey.body.physics._step_kernels import Solve

        size, rows = self.character.size, 3 * len(self.spheres[0]) + len(self.limits.joints)
        square, wide = (size, size), (rows, size)
        M, L, vectors, J, W, row = (
            np.zeros(shape) for shape in (square, square, (4, size), wide, wide, (rows, 3))
        )
        return Solve(M, L, vectors, J, W, row, np.zeros(rows, dtype=np.int64))

    def penetration(self, trajectory: Trajectory) -> Array:
        """Metres `(steps,)` by which the deepest contact sphere is below the ground."""
        basis, skeleton = self.character.basis, self.character.skeleton
        rotations = basis.decode(trajectory.coordinates)
        rotations[:, 0] = trajectory.rotations
        pose = global_frames(skeleton.parents, skeleton.offsets, rotations, trajectory.places)
        carriers, points, radii = self.spheres
        centres = pose.positions[:, carriers] + so3.rotate(pose.rotations[:, carriers], points)
        return np.asarray(np.maximum((self.settings.floor + radii - centres[..., 1]).max(axis=1), 0.0))


def contact_spheres(character: PhysicalCharacter) -> tuple[Integers, Array, Array]:
    """Spheres that touch the ground: joints `(n,)`, centres in their frames `(n, 3)`, radii `(n,)`, metres.

    One at the far end of every bone, and one at the root; four corners a foot, without radius.
    """
    skeleton, bones = character.skeleton, character.bones
    feet = {leg.end for leg in anatomy(skeleton).legs} | {leg.tip for leg in anatomy(skeleton).legs}
    carriers, points, radii = [0], [np.zeros(3)], [0.08]
    for joint in range(1, skeleton.joints):
        if joint not in feet and np.linalg.norm(bones.tips[joint]) > 0.03:
            carriers.append(joint)
            points.append(bones.tips[joint])
            radii.append(bones.radii[joint])
    low = skeleton.rest_positions()[:, 1]
    forward = anatomy(skeleton).forward
    side = np.cross([0.0, 1.0, 0.0], forward)
    for leg in anatomy(skeleton).legs:
        ball = leg.tip if leg.tip >= 0 else leg.end
        sole = min(low[ball], low[leg.end] - 0.03) - 0.02
        for joint, along in ((leg.end, -0.04), (ball, 0.06)):
            for across in (-0.04, 0.04):
                carriers.append(joint)
                points.append(along * forward + across * side + [0.0, sole - low[joint], 0.0])
                radii.append(0.0)
    return np.array(carriers, dtype=np.int64), np.array(points), np.array(radii, dtype=np.float64)


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
    limits: CompiledLimits | None = None,
    mass: float | None = None,
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
        limits: of the joints, such as learned ones.
        mass: kilograms.
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
    bases = {"geodesics": Basis.geodesics, "hybrid": Basis.hybrid}
    if basis not in (*bases, "full"):
        raise InputError(f"basis {basis!r}: one of {', '.join(bases)}, full")
    made = Basis.full(Basis.geodesics(poses).mean) if basis == "full" else bases[basis](poses)
    character = PhysicalCharacter(motion.skeleton, made, Bones.of(motion.skeleton, mass=mass))
    simulator = Simulator(character, options, limits)
    state = initial_state(character, motion, start, height)
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
