"""Many poses of one figure at once: what the particles are, and what constraints look at.

World frames are computed once for all constraints, when the first one asks. Cost: about 20 ns a joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, IntArray
from marey.body.ik.targets import find_point
from marey.body.kinematics import GlobalPose, global_frames
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3


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


def smoothed(rotations: Array, root: Array, width: float) -> tuple[Array, Array]:
    """Rotations `(frames, joints, 4)` and root `(frames, 3)` under a Gaussian of `width` frames; ends stay.

    Near the ends the window is cut symmetrically, so that straight motion stays as it is.
    """
    frames = len(rotations)
    if width <= 0 or frames < 3:
        return so3.normalise(rotations), np.array(root)
    reach = max(1, int(np.ceil(2.5 * width)))
    turned, moved = np.zeros((frames, rotations.shape[1], 3)), np.zeros((frames, 3))
    total = np.ones(frames)
    index = np.arange(frames)
    room = np.minimum(index, frames - 1 - index)
    # The Gaussian narrows towards the ends.
    local = np.minimum(width, np.maximum(room / 2.0, 1e-9))
    for shift in range(1, reach + 1):
        rows = index[room >= shift]
        weight = np.exp(-0.5 * (shift / local[rows]) ** 2)
        total[rows] += 2 * weight
        for other in (rows - shift, rows + shift):
            turn = so3.log(so3.multiply(so3.inverse(rotations[rows]), rotations[other]))
            turned[rows] += weight[:, None, None] * turn
            moved[rows] += weight[:, None] * (root[other] - root[rows])
    out = so3.multiply(rotations, so3.exp(turned / total[:, None, None]))
    return so3.normalise(out), root + moved / total[:, None]
