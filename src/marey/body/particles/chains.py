"""A skeleton with its joints' ways to turn and their limits (Courty 2013, sections 3.1.3 and 3.1.4).

Joints are described by a table: hinges, saddles and balls about axes in their own frames, ranges in radians.
Bodies are in :mod:`marey.body.particles.bodies`, hands in :mod:`marey.body.particles.hands`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.particles.constraints import Constraint
from marey.body.particles.limits import SwingTwistLimits
from marey.body.particles.noise import JointNoise
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.geometry.matrices import from_matrix

Range = tuple[float, float]

# Radians: how far a hinge may turn other than about its axis.
GIVE = 0.03


@dataclass(frozen=True, eq=False)
class Freedom:
    """How one joint may turn: about `axis` (twist), `side` and their cross product (swings).

    deviations: how readily about each, 1 = freely, 0 = not at all
    twist, swing: ranges; of swings, how far to the negative and positive side
    zero: `(4,)`, the local rotation that counts as none
    """

    axis: ArrayLike
    side: ArrayLike
    deviations: tuple[float, float, float]
    twist: Range
    swing: tuple[Range, Range]
    zero: ArrayLike = (1.0, 0.0, 0.0, 0.0)

    @classmethod
    def hinge(cls, axis: ArrayLike, low: float, high: float) -> Freedom:
        """One way to turn."""
        return cls(axis, _across(axis), (1.0, 0.0, 0.0), (low, high), ((GIVE, GIVE), (GIVE, GIVE)))

    @classmethod
    def saddle(cls, bone: ArrayLike, axis: ArrayLike, first: Range, second: Range) -> Freedom:
        """Two: about `axis` and about bone × axis, hardly about the bone."""
        ranges = ((-first[0], first[1]), (-second[0], second[1]))
        return cls(bone, axis, (0.0, 1.0, 1.0), (-0.1, 0.1), ranges)

    @classmethod
    def ball(cls, bone: ArrayLike, twist: Range, cone: float) -> Freedom:
        """Three: the bone in a cone, and about itself."""
        return cls(bone, _across(bone), (1.0, 1.0, 1.0), twist, ((cone, cone), (cone, cone)))


@dataclass(frozen=True, eq=False)
class Chain:
    """A skeleton with what its joints can do.

    noise, limits: of all joints
    root_deviation: `(3,)`, metres the root strays for each radian that joints do; 0: it is held
    rules: constraints that always hold, such as coupled joints
    """

    skeleton: Skeleton
    noise: JointNoise
    limits: SwingTwistLimits
    root_deviation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rules: tuple[Constraint, ...] = field(default=())

    @property
    def freedoms(self) -> int:
        """Degrees of freedom: of all joints, and of the root's place if it is free."""
        return self.noise.freedoms + sum(d > 0 for d in self.root_deviation)

    @property
    def reach(self) -> float:
        """Metres along the bones from the root to the farthest joint or end site."""
        skeleton = self.skeleton
        along = np.zeros(skeleton.joints)
        for joint in range(1, skeleton.joints):
            along[joint] = along[skeleton.parents[joint]] + np.linalg.norm(skeleton.offsets[joint])
        ends = along[skeleton.end_parents] + np.linalg.norm(skeleton.end_offsets, axis=1)
        return float(max(along.max(), ends.max(initial=0.0)))


def chain_of(
    skeleton: Skeleton,
    freedoms: Mapping[str, Freedom],
    *,
    root_deviation: tuple[float, float, float] = (0.0, 0.0, 0.0),
    rules: tuple[Constraint, ...] = (),
) -> Chain:
    """A chain from a table of joints by name; joints that are not in it are stiff at rest.

    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 0, 0], [0, 1, 0]], [1], [[0, 1, 0]])
    >>> chain = chain_of(arm, {"elbow": Freedom.hinge([1, 0, 0], 0.0, 2.0)})
    >>> chain.freedoms, chain.reach
    (1, 2.0)
    """
    joints = skeleton.joints
    limits = SwingTwistLimits.free(joints)
    frames, deviations = so3.identity(joints), np.zeros((joints, 3))
    for name, freedom in freedoms.items():
        joint = skeleton.index(name)
        frames[joint] = frame_of(freedom.axis, freedom.side)
        deviations[joint] = freedom.deviations
        limits = limits.with_joint(
            joint, twist=freedom.twist, swing=freedom.swing, frame=frames[joint], centre=freedom.zero
        )
    return Chain(skeleton, JointNoise(frames, deviations), limits, root_deviation, rules)


def frame_of(axis: ArrayLike, side: ArrayLike) -> Array:
    """The rotation `(4,)` that takes x to `axis` and y to `side`, made orthogonal to it."""
    x = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    y = np.asarray(side, dtype=np.float64)
    y = y - (y @ x) * x
    y = y / np.linalg.norm(y)
    return from_matrix(np.stack([x, y, np.cross(x, y)], axis=1))


def bone_of(skeleton: Skeleton, joint: int) -> Array:
    """Direction `(3,)` from a joint to the middle of what hangs on it, in its frame; along y for a tip."""
    below = [skeleton.offsets[child] for child in skeleton.children(joint)]
    below += list(skeleton.end_offsets[skeleton.end_parents == joint])
    way = np.mean(below, axis=0) if below else np.zeros(3)
    length = float(np.linalg.norm(way))
    return way / length if length > 1e-9 else np.array([0.0, 1.0, 0.0])


def _across(axis: ArrayLike) -> Array:
    """Any direction at right angles."""
    along = np.asarray(axis, dtype=np.float64)
    return np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
