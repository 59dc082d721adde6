"""How far an end of the body can be pulled while others stay, and where the ground is.

A pointer may be anywhere. What it pulls at goes no farther than the bones between it and the ends that are
held, and not below the ground, so that the body is stretched at most, and never torn off its feet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.body.skeleton import Skeleton
from marey.studio.body.ends import Ends
from marey.views.mannequin_parts import Poses

Array = NDArray[np.float64]

# Of the bones' length in a straight line, which hips and shoulders do not allow.
STRETCHED = 0.93
# How often the place is brought within reach of each held end in turn.
TURNS = 8


@dataclass(frozen=True, eq=False)
class Reachable:
    """Where ends can be.

    lengths: `(ends, ends)`, of the bones from one end to another, metres
    ground: height below which no end goes, metres; minus infinity for a figure without feet
    """

    lengths: Array
    ground: float

    @classmethod
    def of(cls, ends: Ends, poses: Poses) -> Reachable:
        """For the ends of a clip's figure; its ground is the lowest that any of them comes to."""
        if not ends.feet.any():
            return cls(_lengths(poses.skeleton, ends), -np.inf)
        lowest = float(ends.places(poses, slice(None))[..., 1].min())
        return cls(_lengths(poses.skeleton, ends), lowest)

    def nearest(self, end: int, place: Array, *, start: Array, held: Sequence[int]) -> Array:
        """The place `(3,)` within reach that is nearest to a place, while others are held.

        start: `(ends, 3)`, where all are at first, which is within reach of each other
        """
        found = np.array(place, dtype=np.float64)
        for _ in range(TURNS if len(held) > 1 else 1):
            for other in held:
                way = found - start[other]
                far = float(np.linalg.norm(way))
                at_first = float(np.linalg.norm(start[end] - start[other]))
                most = max(STRETCHED * self.lengths[end, other], at_first)
                if far > most:
                    found = start[other] + way * (most / far)
        found[1] = max(found[1], min(self.ground, start[end, 1]))
        return found


def _lengths(skeleton: Skeleton, ends: Ends) -> Array:
    bones = np.linalg.norm(skeleton.offsets, axis=1)
    tips = np.linalg.norm(ends.points, axis=1)
    chains = [set(skeleton.ancestors(int(joint))) for joint in ends.joints]
    found = np.zeros((len(chains), len(chains)))
    for i, one in enumerate(chains):
        for k, other in enumerate(chains):
            # In order, since floating sums depend on it.
            found[i, k] = sum(float(bones[joint]) for joint in sorted(one ^ other)) + tips[i] + tips[k]
    return found
