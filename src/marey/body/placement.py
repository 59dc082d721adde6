"""Put a whole clip elsewhere: turn it, move it. Only the root changes; O(frames)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import checked
from marey.geometry import rotations as so3

if TYPE_CHECKING:
    from marey.body.motion import Motion


def transform(
    motion: Motion,
    *,
    rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    translation: ArrayLike = (0.0, 0.0, 0.0),
) -> Motion:
    """Turn the clip about the world's origin, then move it.

    rotation: `(4,)` quaternion, such as `rotations.exp([0, angle, 0])` to turn on the ground
    translation: `(3,)`, metres

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> aside = transform(walk, translation=[2, 0, 0])
    >>> (aside.root - walk.root)[0].tolist()
    [2.0, 0.0, 0.0]
    """
    turn = so3.normalise(checked("rotation", rotation, (4,)))
    shift = checked("translation", translation, (3,))
    root = so3.rotate(turn, motion.root) + shift
    rotations = np.array(motion.rotations)
    rotations[:, 0] = so3.multiply(turn, rotations[:, 0])
    return replace(motion, rotations=rotations, root=root)
