"""What poses should satisfy, each given by nothing but how far a pose is off (Courty 2013, section 3.1.3).

A constraint has errors `(particles, numbers)`, zero where it holds, and the noise `σ` to which it is meant: a
pose has the likelihood `exp(-Σ |error|² / σ²)` (equation 3.13), so small noise makes a constraint important
and large noise optional. While the filter runs the noise falls from `initial_scale · σ` to `σ`. Targets of
inverse kinematics are constraints too, and so is any Python function of a :class:`PoseBatch`. Cost: a few
NumPy operations over all particles.

A batch of poses is what the particles are. Its world frames are computed once for all constraints, when the
first one asks: about 20 ns a joint.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, IntArray, assign, derived
from marey.body.anatomy import PointMasses, anatomy, masses
from marey.body.ik.targets import Contact, LookAt, Orient, Reach, find_point
from marey.body.kinematics import GlobalPose, global_frames
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

# The noise of a target of weight 1: metres, or radians.
TARGET_NOISE = {Reach: 0.005, Orient: 0.03, LookAt: 0.05, Contact: 0.003}


@dataclass(frozen=True, eq=False)
class Constraint(ABC):
    """Anything with errors and a noise.

    Args:
        noise: to what the errors are meant, in their own unit.
        initial_scale: times how much larger the noise is at first.
        full_step_error: an error this large asks for full steps; a quarter of the figure's longest chain if
            None.
    """

    _: KW_ONLY
    noise: float = 0.003
    initial_scale: float = 1.0
    full_step_error: float | None = None

    @abstractmethod
    def errors(self, poses: PoseBatch) -> Array:
        """`(particles, numbers)`, zero where the constraint holds."""


Target = Reach | Orient | LookAt | Contact


@dataclass(frozen=True, eq=False)
class Noisy(Constraint):
    """A target of inverse kinematics, for a single frame, with a noise instead of its weight.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> batch = PoseBatch(walk.skeleton, walk.rotations[:1], walk.root[:1])
    >>> Noisy(Reach("Hips", walk.root[0] - [0, 0.1, 0]), noise=0.002).errors(batch).round(6).tolist()
    [[0.0, 0.1, 0.0]]
    """

    target: Target

    def __post_init__(self) -> None:
        if self.full_step_error is None and isinstance(self.target, Orient | LookAt):
            assign(self, full_step_error=0.5)

    def errors(self, poses: PoseBatch) -> Array:
        target = self.target
        if isinstance(target, Reach):
            return np.asarray(poses.point(target.joint, target.point) - np.asarray(target.position))
        if isinstance(target, Orient):
            return so3.log(so3.multiply(so3.inverse(target.rotation), poses.turn(target.joint)))
        if isinstance(target, Contact):
            normal = np.asarray(target.normal, dtype=np.float64)
            place = poses.point(target.joint, target.point)
            off = place @ (normal / np.linalg.norm(normal)) - np.asarray(target.height)
            return np.asarray((np.minimum(off, 0.0) if target.above else off)[:, None])
        axis = anatomy(poses.skeleton).forward if target.axis is None else np.asarray(target.axis)
        ahead = so3.rotate(poses.turn(target.joint), axis / np.linalg.norm(axis))
        offset = np.asarray(target.point) - poses.point(target.joint)
        sine, cosine = np.linalg.norm(np.cross(ahead, offset), axis=1), np.einsum("ni,ni->n", ahead, offset)
        return np.asarray(np.arctan2(sine, cosine)[:, None])


def as_constraints(given: Sequence[Constraint | Target]) -> tuple[Constraint, ...]:
    """Constraints as they are; targets with the noise of their kind over the root of their weight."""
    found: list[Constraint] = []
    for one in given:
        if isinstance(one, Constraint):
            found.append(one)
            continue
        kind = type(one).__name__
        if type(one) not in TARGET_NOISE:
            raise InputError(f"{kind}: not a constraint; give a Reach, Orient, LookAt or Contact")
        weight = np.asarray(one.weight, dtype=np.float64)
        if weight.shape or not weight > 0:
            raise InputError(f"{kind}: its weight must be one number above 0")
        if isinstance(one, LookAt) and one.upright:
            raise InputError("LookAt: particles keep no head upright; add an Orient or a Custom constraint")
        found.append(Noisy(one, noise=TARGET_NOISE[type(one)] / float(np.sqrt(weight))))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Distance(Constraint):
    """Two points have a distance, such as 0 for fingertips that touch, or at least that (`least`)."""

    joint: str
    other: str
    distance: float = 0.0
    least: bool = False

    def errors(self, poses: PoseBatch) -> Array:
        offset = poses.point(self.joint) - poses.point(self.other)
        if self.distance == 0.0 and not self.least:
            return offset
        off = np.linalg.norm(offset, axis=1) - self.distance
        return np.asarray((np.minimum(off, 0.0) if self.least else off)[:, None])


@dataclass(frozen=True, eq=False)
class Coupled(Constraint):
    """A hinge turns in proportion to another: the last joint of a finger by 2/3 of the one before.

    Args:
        axis: `(3,)`, of both hinges, in the joints' frames.
    """

    joint: str
    other: str
    ratio: float = 2.0 / 3.0
    axis: ArrayLike = (1.0, 0.0, 0.0)
    noise: float = field(default=0.02, kw_only=True)
    full_step_error: float | None = field(default=1.0, kw_only=True)

    def errors(self, poses: PoseBatch) -> Array:
        along = np.asarray(self.axis, dtype=np.float64) / np.linalg.norm(self.axis)
        turns = (poses.rotations[:, poses.skeleton.index(name)] for name in (self.joint, self.other))
        angles = (2.0 * np.arctan2(q[:, 1:] @ along, q[:, 0]) for q in turns)
        one, other = ((angle + np.pi) % (2 * np.pi) - np.pi for angle in angles)
        return np.asarray((one - self.ratio * other)[:, None])


@dataclass(frozen=True, eq=False)
class Balance(Constraint):
    """The centre of mass is above the polygon of some joints on the ground: metres outside of it."""

    supports: Sequence[str]
    masses: PointMasses | None = None
    noise: float = field(default=0.02, kw_only=True)

    def errors(self, poses: PoseBatch) -> Array:
        points = masses(poses.skeleton) if self.masses is None else self.masses
        there = poses.positions + so3.rotate(poses.world.rotations, points.points)
        centre = np.einsum("j,nji->ni", points.masses, there)[:, [0, 2]]
        corners = np.stack([poses.point(name)[:, [0, 2]] for name in self.supports], axis=1)
        return _outside(centre, corners)[:, None]


@dataclass(frozen=True, eq=False)
class Avoid(Constraint):
    """Balls at joints stay out of balls in the world: metres by which they sink in.

    Args:
        joints: names.
        centres: `(balls, 3)`, world, metres.
        radii: `(balls,)`, metres.
        radius: of the balls at the joints, metres.
    """

    joints: Sequence[str]
    centres: ArrayLike
    radii: ArrayLike
    radius: float = 0.05

    def errors(self, poses: PoseBatch) -> Array:
        places = np.stack([poses.point(name) for name in self.joints], axis=1)
        centres = np.asarray(self.centres, dtype=np.float64).reshape(-1, 3)
        gap = np.linalg.norm(places[:, :, None] - centres, axis=3) - np.asarray(self.radii) - self.radius
        return np.asarray(np.minimum(gap, 0.0).reshape(poses.count, -1))


@dataclass(frozen=True, eq=False)
class PosePrior(Constraint):
    """The pose is likely under a pose model: its coordinates, in deviations (Mahalanobis).

    With `noise` √2 the likelihood is that of the model's Gaussian.
    """

    model: PoseModel
    noise: float = field(default=2.0**0.5, kw_only=True)
    full_step_error: float | None = field(default=np.inf, kw_only=True)

    def errors(self, poses: PoseBatch) -> Array:
        rotations, geodesics = np.array(poses.rotations), self.model.geodesics
        if self.model.root_motion is None:
            rotations[:, 0] = geodesics.mean[0]
        return geodesics.encode(rotations) / np.maximum(geodesics.deviations, 1e-9)


@dataclass(frozen=True, eq=False)
class NearPose(Constraint):
    """Joints, the root too, stay near a pose: `rotations (joints, 4)`, at identity if None; radians."""

    rotations: ArrayLike | None = None
    noise: float = field(default=0.5, kw_only=True)
    full_step_error: float | None = field(default=np.inf, kw_only=True)

    def errors(self, poses: PoseBatch) -> Array:
        rest = so3.identity(poses.skeleton.joints) if self.rotations is None else self.rotations
        turns = so3.log(so3.multiply(so3.inverse(rest), poses.rotations))
        return turns.reshape(poses.count, -1)


@dataclass(frozen=True, eq=False)
class Custom(Constraint):
    """Whatever a function of the poses measures.

    Args:
        function: of a :class:`PoseBatch`, gives errors `(particles,)` or `(particles, numbers)`.

    >>> level = Custom(lambda poses: poses.point("Head")[:, 1] - 1.2, noise=0.01)
    """

    function: Callable[[PoseBatch], Array]
    noise: float = field(default=0.01, kw_only=True)

    def errors(self, poses: PoseBatch) -> Array:
        return np.asarray(self.function(poses), dtype=np.float64).reshape(poses.count, -1)


def feet_on_floor(poses: PoseBatch) -> list[Noisy]:
    """Constraints that keep the feet of a pose (the first of the batch) where they stand, ankle and toe.

    The higher foot stands too if it is at most 5 cm above the lower one.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> batch = PoseBatch(walk.skeleton, walk.rotations[:1], walk.root[:1])
    >>> sorted(kept.target.joint for kept in feet_on_floor(batch))
    ['RightFoot', 'RightToeBase']
    """
    skeleton, places = poses.skeleton, poses.positions[0]
    feet = [[joint for joint in (leg.tip, leg.end) if joint >= 0] for leg in anatomy(skeleton).legs]
    if not feet:
        raise InputError("no feet found by name; keep joints where they are with constraints of your own")
    lowest = min(places[foot[0], 1] for foot in feet)
    contact = [joint for foot in feet if places[foot[0], 1] <= lowest + 0.05 for joint in foot]
    return [Noisy(Reach(skeleton.names[joint], places[joint]), noise=0.002) for joint in contact]


def largest_errors(motion: Motion, targets: Sequence[Target]) -> tuple[float, float]:
    """Metres, and radians of turns and looks, by which the last frame misses targets; NaN without any."""
    last = PoseBatch(motion.skeleton, np.array(motion.rotations[-1:]), np.array(motion.root[-1:]))
    errors = [float(np.linalg.norm(one.errors(last))) for one in as_constraints(targets)]
    places = [error for error, target in zip(errors, targets) if isinstance(target, Reach)]
    looks = [error for error, target in zip(errors, targets) if isinstance(target, LookAt | Orient)]
    return max(places, default=math.nan), max(looks, default=math.nan)


def foot_drift(motion: Motion, feet: Sequence[Noisy]) -> float:
    """Metres by which feet leave their places at most."""
    frames = PoseBatch(motion.skeleton, np.array(motion.rotations), np.array(motion.root))
    return max(float(np.linalg.norm(foot.errors(frames), axis=1).max()) for foot in feet)


class Errors(NamedTuple):
    """Errors of all constraints, `(particles, numbers)`, and which constraint each number is of."""

    values: Array
    owners: IntArray

    @classmethod
    def of(cls, constraints: Sequence[Constraint], poses: PoseBatch) -> Errors:
        blocks = [constraint.errors(poses) for constraint in constraints]
        for constraint, block in zip(constraints, blocks):
            if block.ndim != 2 or len(block) != poses.count or not np.isfinite(block).all():
                raise InputError(
                    f"{type(constraint).__name__}: errors must be finite, ({poses.count}, numbers); "
                    f"got shape {block.shape}"
                )
        owners = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
        return cls(np.concatenate(blocks, axis=1), owners)

    @staticmethod
    def noise(constraints: Sequence[Constraint], progress: float = 1.0) -> Array:
        """Noise `(constraints,)` at some `progress`, 0 … 1, of the schedule."""
        return np.array([c.noise * c.initial_scale ** (1.0 - progress) for c in constraints])

    def scaled(self, noise: Array) -> Array:
        """In units of the noise."""
        return self.values / noise[self.owners]

    def log_likelihood(self, noise: Array) -> Array:
        """`-Σ |error|² / noise²`, `(particles,)`."""
        return np.asarray(-np.square(self.scaled(noise)).sum(axis=1))

    def lengths(self, constraints: int) -> Array:
        """Lengths `(particles, constraints)` of each constraint's errors."""
        member = self.owners[:, None] == np.arange(constraints)
        return np.asarray(np.sqrt(np.square(self.values) @ member))

    def take(self, rows: IntArray) -> Errors:
        return Errors(self.values[rows], self.owners)


def _outside(points: Array, corners: Array) -> Array:
    """Distances `(n,)` of points `(n, 2)` from the hulls of corners `(n, k, 2)`, 0 inside.

    A hull in the plane is the union of the triangles of its corners, its edge among their connections.
    """
    count = corners.shape[1]
    least = np.linalg.norm(points - corners[:, 0], axis=1)
    for i, j in combinations(range(count), 2):
        edge, towards = corners[:, j] - corners[:, i], points - corners[:, i]
        share = (towards * edge).sum(axis=1) / np.maximum((edge * edge).sum(axis=1), 1e-18)
        off = towards - np.clip(share, 0.0, 1.0)[:, None] * edge
        least = np.minimum(least, np.linalg.norm(off, axis=1))
    for triple in combinations(range(count), 3):
        around = corners[:, list(triple)]
        edge, towards = np.roll(around, -1, axis=1) - around, points[:, None] - around
        # Above 0 for points to the left of an edge.
        sides = edge[..., 0] * towards[..., 1] - edge[..., 1] * towards[..., 0]
        least[(sides > 0).all(axis=1) | (sides < 0).all(axis=1)] = 0.0
    return np.asarray(least)


@dataclass(frozen=True, eq=False)
class PoseBatch:
    """Poses of a skeleton, one a particle.

    Args:
        rotations: `(particles, joints, 4)`, local.
        root: `(particles, 3)`, metres.
        history: `(particles, order, modes)`, coordinates in a pose model, the latest last, or None.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> batch = PoseBatch(walk.skeleton, walk.rotations, walk.root)
    >>> batch.count, batch.point("Head_end").shape
    (240, (240, 3))
    """

    skeleton: Skeleton
    rotations: Array
    root: Array
    history: Array | None = None

    count = derived(len, "rotations", "Number of poses.")

    @cached_property
    def world(self) -> GlobalPose:
        """World positions `(particles, joints, 3)` and rotations `(particles, joints, 4)`."""
        return global_frames(self.skeleton.parents, self.skeleton.offsets, self.rotations, self.root)

    @property
    def positions(self) -> Array:
        """World positions of all joints, `(particles, joints, 3)`, metres."""
        return self.world.positions

    def point(self, joint: str, offset: ArrayLike = 0.0) -> Array:
        """World position `(particles, 3)` of a joint or its end site (`NAME_end`), or of a point beside."""
        index, local = find_point(self.skeleton, joint)
        local = local + np.asarray(offset)
        there = self.world.positions[:, index]
        return there if not local.any() else there + so3.rotate(self.world.rotations[:, index], local)

    def turn(self, joint: str) -> Array:
        """World rotation `(particles, 4)` of a joint."""
        return self.world.rotations[:, self.skeleton.index(joint)]

    def local(self, joint: str) -> Array:
        """Local rotation `(particles, 4)` of a joint."""
        return self.rotations[:, self.skeleton.index(joint)]

    def take(self, rows: IntArray) -> PoseBatch:
        """These poses, in this order."""
        history = None if self.history is None else self.history[rows]
        return PoseBatch(self.skeleton, self.rotations[rows], self.root[rows], history)
