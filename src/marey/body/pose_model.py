"""The pose model of a clip: a mean pose and the geodesics along which its poses vary (Tournier 2011, ch. 8).

The root is left out, so poses compare wherever the figure stands: row 0 of every array is the root's and
is neutral. `encode` and `decode` cost one logarithm or exponential a joint and frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.statistics.geodesics import PrincipalGeodesics, principal_geodesics

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PoseModel:
    """Poses of a skeleton in a few coordinates.

    skeleton: whose poses
    geodesics: mean `(joints, 4)`, directions `(modes, joints, 3)`, …; row 0, the root, is neutral
    frames: how many it was learned from

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> model = PoseModel.fit([walk], variance=0.99)
    >>> model.encode(walk).shape == (walk.frames, model.modes), model.decode(np.zeros(model.modes)).shape
    (True, (26, 4))
    """

    skeleton: Skeleton
    geodesics: PrincipalGeodesics
    frames: int

    @classmethod
    def fit(
        cls, motions: Sequence[Motion], *, modes: int | None = None, variance: float | None = None
    ) -> PoseModel:
        """Learn from clips of one skeleton; keep `modes`, or enough for `variance` (0.99) of the whole."""
        poses = np.concatenate([pose_rotations(motion) for motion in motions])
        return cls(
            motions[0].skeleton, principal_geodesics(poses, modes=modes, variance=variance), len(poses)
        )

    @property
    def modes(self) -> int:
        """Number of coordinates of a pose."""
        return self.geodesics.modes

    def encode(self, motion: Motion) -> Array:
        """Coordinates `(frames, modes)` of a clip's poses."""
        return self.geodesics.encode(pose_rotations(motion))

    def decode(self, coordinates: ArrayLike) -> Array:
        """Local rotations `(..., joints, 4)`; the root's is the identity."""
        return self.geodesics.decode(coordinates)


def pose_rotations(motion: Motion) -> Array:
    """Local rotations `(frames, joints, 4)` with the identity for the root."""
    poses = np.array(motion.rotations, dtype=np.float64)
    poses[:, 0] = so3.identity()
    return poses
