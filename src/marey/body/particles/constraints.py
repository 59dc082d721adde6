"""What poses should satisfy, each told by nothing but how far a pose is off (Courty 2013, section 3.1.3).

A constraint gives errors `(particles, numbers)`, zero where it holds, and the noise `σ` to which it is
meant: a pose has the likelihood `exp(-Σ |error|² / σ²)`, so small noise makes a constraint important and
large noise optional. While the filter runs the noise falls from `loose · σ` to `σ`. Any Python function of a
:class:`PoseBatch` makes a constraint too. Cost: a few NumPy operations over all particles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.anatomy import PointMasses, forward_axis
from marey.body.anatomy import masses as body_masses
from marey.body.particles.poses import PoseBatch
from marey.body.pose_model import PoseModel
from marey.geometry import rotations as so3

_HERE = (0.0, 0.0, 0.0)
_UP = (0.0, 1.0, 0.0)


@runtime_checkable
class Constraint(Protocol):
    """Anything with errors and a noise."""

    @property
    def noise(self) -> float:
        """To what the errors are meant, in their own unit."""

    @property
    def loose(self) -> float:
        """Times how much larger the noise is at first."""

    @property
    def size(self) -> float | None:
        """An error this large asks for full steps; None: a quarter of the figure's longest chain."""

    def errors(self, poses: PoseBatch) -> Array:
        """`(particles, numbers)`, zero where the constraint holds."""


@dataclass(frozen=True, eq=False)
class At:
    """A point of the figure is at a place: `position (3,)`, world, metres; `point` in the joint's frame.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> batch = PoseBatch(walk.skeleton, walk.rotations[:1], walk.root[:1])
    >>> At("Hips", walk.root[0] - [0, 0.1, 0]).errors(batch).round(6).tolist()
    [[0.0, 0.1, 0.0]]
    """

    joint: str
    position: ArrayLike
    point: ArrayLike = _HERE
    noise: float = 0.005
    loose: float = 1.0
    size: float | None = None

    def errors(self, poses: PoseBatch) -> Array:
        return poses.point(self.joint, np.asarray(self.point, dtype=np.float64)) - np.asarray(self.position)


@dataclass(frozen=True, eq=False)
class Turned:
    """A joint has a world rotation `(4,)`; errors in radians."""

    joint: str
    rotation: ArrayLike
    noise: float = 0.03
    loose: float = 1.0
    size: float | None = 0.5

    def errors(self, poses: PoseBatch) -> Array:
        return so3.log(so3.multiply(so3.inverse(self.rotation), poses.turn(self.joint)))


@dataclass(frozen=True, eq=False)
class Facing:
    """A joint's `axis` (in its frame; what faces forward at rest if None) points to a place in the world."""

    joint: str
    point: ArrayLike
    axis: ArrayLike | None = None
    noise: float = 0.05
    loose: float = 1.0
    size: float | None = 0.5

    def errors(self, poses: PoseBatch) -> Array:
        ahead = forward_axis(poses.skeleton) if self.axis is None else np.asarray(self.axis, dtype=np.float64)
        seen = so3.rotate(poses.turn(self.joint), ahead / np.linalg.norm(ahead))
        way = np.asarray(self.point) - poses.point(self.joint)
        way = way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-9)
        sine, cosine = np.linalg.norm(np.cross(seen, way), axis=1), np.einsum("ni,ni->n", seen, way)
        return np.arctan2(sine, cosine)[:, None]


@dataclass(frozen=True, eq=False)
class OnPlane:
    """A point touches a plane, such as a foot the floor; `above`: it only does not go below."""

    joint: str
    height: float = 0.0
    normal: ArrayLike = _UP
    above: bool = False
    point: ArrayLike = _HERE
    noise: float = 0.003
    loose: float = 1.0
    size: float | None = None

    def errors(self, poses: PoseBatch) -> Array:
        normal = np.asarray(self.normal, dtype=np.float64)
        place = poses.point(self.joint, np.asarray(self.point, dtype=np.float64))
        off = place @ (normal / np.linalg.norm(normal)) - self.height
        return (np.minimum(off, 0.0) if self.above else off)[:, None]


@dataclass(frozen=True, eq=False)
class Apart:
    """Two points have a distance, such as 0 for fingertips that touch, or at least that (`least`)."""

    joint: str
    other: str
    distance: float = 0.0
    least: bool = False
    noise: float = 0.003
    loose: float = 1.0
    size: float | None = None

    def errors(self, poses: PoseBatch) -> Array:
        way = poses.point(self.joint) - poses.point(self.other)
        if self.distance == 0.0 and not self.least:
            return way
        off = np.linalg.norm(way, axis=1) - self.distance
        return (np.minimum(off, 0.0) if self.least else off)[:, None]


@dataclass(frozen=True, eq=False)
class Coupled:
    """A hinge turns in proportion to another: the last joint of a finger by 2/3 of the one before.

    axis, other_axis: of the hinges, in the joints' frames; zero, other_zero: their rotations at angle 0
    """

    joint: str
    other: str
    ratio: float = 2.0 / 3.0
    axis: ArrayLike = (1.0, 0.0, 0.0)
    other_axis: ArrayLike | None = None
    zero: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    other_zero: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    noise: float = 0.02
    loose: float = 1.0
    size: float | None = 1.0

    def errors(self, poses: PoseBatch) -> Array:
        other_axis = self.axis if self.other_axis is None else self.other_axis
        one = twist_angle(poses.local(self.joint), self.axis, self.zero)
        other = twist_angle(poses.local(self.other), other_axis, self.other_zero)
        return (one - self.ratio * other)[:, None]


@dataclass(frozen=True, eq=False)
class Balanced:
    """The centre of mass is above the polygon of some joints on the ground: metres outside of it."""

    supports: Sequence[str]
    masses: PointMasses | None = None
    noise: float = 0.02
    loose: float = 1.0
    size: float | None = None

    def errors(self, poses: PoseBatch) -> Array:
        masses = body_masses(poses.skeleton) if self.masses is None else self.masses
        there = poses.positions + so3.rotate(poses.world.rotations, masses.points)
        centre = np.einsum("j,nji->ni", masses.masses, there)[:, [0, 2]]
        corners = np.stack([poses.point(name)[:, [0, 2]] for name in self.supports], axis=1)
        return _outside(centre, corners)[:, None]


@dataclass(frozen=True, eq=False)
class Clear:
    """Balls at joints stay out of balls in the world: metres by which they sink in.

    joints: names; radius: of the balls at them, metres; centres `(balls, 3)`, radii `(balls,)`
    """

    joints: Sequence[str]
    centres: ArrayLike
    radii: ArrayLike
    radius: float = 0.05
    noise: float = 0.003
    loose: float = 1.0
    size: float | None = None

    def errors(self, poses: PoseBatch) -> Array:
        places = np.stack([poses.point(name) for name in self.joints], axis=1)
        centres = np.asarray(self.centres, dtype=np.float64).reshape(-1, 3)
        gap = np.linalg.norm(places[:, :, None] - centres, axis=3) - np.asarray(self.radii) - self.radius
        return np.minimum(gap, 0.0).reshape(poses.count, -1)


@dataclass(frozen=True, eq=False)
class Likely:
    """The pose is likely under a pose model: its coordinates, in deviations (Mahalanobis).

    With `noise` √2 the likelihood is that of the model's Gaussian.
    """

    model: PoseModel
    noise: float = 2.0**0.5
    loose: float = 1.0
    size: float | None = np.inf

    def errors(self, poses: PoseBatch) -> Array:
        rotations = np.array(poses.rotations)
        if self.model.travel is None:
            rotations[:, 0] = self.model.geodesics.mean[0]
        geodesics = self.model.geodesics
        return geodesics.encode(rotations) / np.maximum(geodesics.deviations, 1e-9)


@dataclass(frozen=True, eq=False)
class NearRest:
    """Joints, the root too, stay near a pose: `rotations (joints, 4)`, at identity if None; radians."""

    rotations: ArrayLike | None = None
    noise: float = 0.5
    loose: float = 1.0
    size: float | None = np.inf

    def errors(self, poses: PoseBatch) -> Array:
        rest = so3.identity(poses.skeleton.joints) if self.rotations is None else self.rotations
        turns = so3.log(so3.multiply(so3.inverse(rest), poses.rotations))
        return turns.reshape(poses.count, -1)


@dataclass(frozen=True, eq=False)
class Asked:
    """Whatever a function of the poses tells: `function(poses) -> (particles,)` or `(particles, numbers)`.

    >>> level = Asked(lambda poses: poses.point("Head")[:, 1] - 1.2, noise=0.01)
    """

    function: Callable[[PoseBatch], Array]
    noise: float = 0.01
    loose: float = 1.0
    size: float | None = None

    def errors(self, poses: PoseBatch) -> Array:
        return np.asarray(self.function(poses), dtype=np.float64).reshape(poses.count, -1)


def twist_angle(rotations: Array, axis: ArrayLike, zero: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> Array:
    """Angle `(...)` about an axis of local rotations `(..., 4)`, radians, from -π to π.

    >>> round(float(twist_angle(so3.exp([0.5, 0, 0]), [1, 0, 0])), 6)
    0.5
    """
    q = so3.multiply(so3.inverse(zero), rotations)
    along = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    angle = 2.0 * np.arctan2(q[..., 1:] @ along, q[..., 0])
    return (angle + np.pi) % (2 * np.pi) - np.pi


def _outside(points: Array, corners: Array) -> Array:
    """Distances `(n,)` of points `(n, 2)` from the hulls of corners `(n, k, 2)`, 0 inside.

    A hull in the plane is the union of the triangles of its corners, its edge among their connections.
    """
    count = corners.shape[1]
    least = np.linalg.norm(points - corners[:, 0], axis=1)
    for i, j in combinations(range(count), 2):
        way, towards = corners[:, j] - corners[:, i], points - corners[:, i]
        share = np.einsum("ni,ni->n", towards, way) / np.maximum(np.einsum("ni,ni->n", way, way), 1e-18)
        off = towards - np.clip(share, 0.0, 1.0)[:, None] * way
        least = np.minimum(least, np.linalg.norm(off, axis=1))
    for triple in combinations(range(count), 3):
        a, b, c = (corners[:, i] for i in triple)
        sides = np.stack([_side(a, b, points), _side(b, c, points), _side(c, a, points)])
        least[(sides > 0).all(axis=0) | (sides < 0).all(axis=0)] = 0.0
    return least


def _side(a: Array, b: Array, points: Array) -> Array:
    """Above 0 for points to the left of the way from a to b."""
    way, towards = b - a, points - a
    return way[:, 0] * towards[:, 1] - way[:, 1] * towards[:, 0]
