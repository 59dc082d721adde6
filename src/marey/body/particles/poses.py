"""Many poses of one figure at once: what the particles are, and what constraints look at.

World frames are computed once for all constraints, when the first one asks. Cost: about 20 ns a joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.ik.targets import find_point
from marey.body.kinematics import GlobalPose, global_frames
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3


@dataclass(frozen=True, eq=False)
class PoseBatch:
    """Poses of a skeleton, one a particle.

    rotations: `(particles, joints, 4)`, local; root: `(particles, 3)`, metres
    history: `(particles, order, modes)`, coordinates in a pose model, the latest last, or None

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

    @property
    def count(self) -> int:
        """Number of poses."""
        return len(self.rotations)

    @cached_property
    def world(self) -> GlobalPose:
        """World positions `(particles, joints, 3)` and rotations `(particles, joints, 4)`."""
        return global_frames(self.skeleton.parents, self.skeleton.offsets, self.rotations, self.root)

    @property
    def positions(self) -> Array:
        """World positions of all joints, `(particles, joints, 3)`, metres."""
        return self.world.positions

    def point(self, joint: str, offset: Array | None = None) -> Array:
        """World position `(particles, 3)` of a joint or its end site (`NAME_end`), or of a point beside."""
        index, local = find_point(self.skeleton, joint)
        if offset is not None:
            local = local + offset
        there = self.world.positions[:, index]
        return there if not local.any() else there + so3.rotate(self.world.rotations[:, index], local)

    def turn(self, joint: str) -> Array:
        """World rotation `(particles, 4)` of a joint."""
        return self.world.rotations[:, self.skeleton.index(joint)]

    def local(self, joint: str) -> Array:
        """Local rotation `(particles, 4)` of a joint."""
        return self.rotations[:, self.skeleton.index(joint)]

    def take(self, rows: NDArray[np.int64]) -> PoseBatch:
        """These poses, in this order."""
        history = None if self.history is None else self.history[rows]
        return PoseBatch(self.skeleton, self.rotations[rows], self.root[rows], history)
